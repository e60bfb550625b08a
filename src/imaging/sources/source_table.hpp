#pragma once
#include <Eigen/Dense>
#include <cstddef>
#include <vector>

#include "imaging/sources/field_source.hpp"
#include "imaging/sources/source_finder.hpp"

namespace nearfield {

/// How kernels/imaging/sources.cl reads the plane waves and point sources of one frequency, in floats: how many they
/// are, what their errors add to the expected squared error of an image of the first plane for prior power 1, zeros up
/// to kHeader; then for each of them
///   amplitudes   [value][re, im], what its amplitude is made of
///   fields       [value][re, im], what it is made of
///   energies     [kMostWaves][re, im], what it shares with each of them of the energy of an image of the first plane
///   images       [plane][pixel][re, im], the plan's quantity for amplitude 1
struct SourceTable {
  static constexpr std::size_t kHeader = 8;
  std::size_t values = 0;  ///< of a field: modes of all classes, with those that fill the last blocks, or microphones
  std::size_t planes = 0;  ///< 1 on a surface
  std::size_t pixels = 0;  ///< of an image

  /// Floats of a source.
  [[nodiscard]] std::size_t stride() const {
    return 4 * values + 2 * (static_cast<std::size_t>(kMostWaves) + planes * pixels);
  }
  /// Floats of a frequency.
  [[nodiscard]] std::size_t size() const { return kHeader + static_cast<std::size_t>(kMostWaves) * stride(); }
};

/// Throws Error where findings are not of so many frequencies or do not fit into such tables.
void require_fit(const std::vector<FoundWaves>& found, std::size_t frequencies, const SourceTable& table);

/// The header and the sources that were found last. amplitudes and fields: (value, source).
std::vector<float> make_source_table(const SourceFinder& found, const Eigen::MatrixXcd& amplitudes,
                                     const Eigen::MatrixXcd& fields);
/// The same with other amplitudes and fields. (value, source)
std::vector<float> with_fields(std::vector<float> table, std::size_t stride, const Eigen::MatrixXcd& amplitudes,
                               const Eigen::MatrixXcd& fields);
/// From modes to the amplitudes of the sources that were found last: A = sum over modes of factors times y. (mode,
/// source)
Eigen::MatrixXcd amplitude_factors(const SourceFit& fit);

}  // namespace nearfield
