#pragma once
#include <complex>
#include <cstdint>
#include <span>
#include <vector>

#include "imaging/shared/image_plan.hpp"

namespace nearfield::reference {

using Complex = std::complex<double>;

/// A complex field, [row][column], column fastest.
struct Field {
  int rows = 0;
  int columns = 0;
  std::vector<Complex> values;

  Field() = default;
  Field(int row_count, int column_count)
      : rows(row_count), columns(column_count), values(static_cast<std::size_t>(row_count * column_count)) {}
  [[nodiscard]] Complex& at(int row, int column) { return values[static_cast<std::size_t>(row * columns + column)]; }
  [[nodiscard]] const Complex& at(int row, int column) const {
    return values[static_cast<std::size_t>(row * columns + column)];
  }
};

struct ConditionedSpectra {
  std::vector<Field> fields;  ///< [frequency]
  std::uint32_t flags = 0;
  int non_finite_channels = 0;
};

/// Calibration and interpolation of unusable microphones (kernels/imaging/microphones.cl has the definition).
ConditionedSpectra condition_microphones(std::span<const Complex> spectra, const ImagePlan& plan);

struct Images {
  std::vector<Complex> images;        ///< [plane][frequency][row][column]
  std::vector<FilterReport> reports;  ///< [frequency]
  std::uint32_t flags = 0;
  int non_finite_channels = 0;
};

/// Position of a frame in its stream, and whether it has all its bits; else it is not remembered.
struct FrameHop {
  std::uint64_t hop = 0;
  bool is_whole = true;
};

}  // namespace nearfield::reference
