#pragma once
#include <Eigen/Dense>
#include <array>
#include <complex>
#include <cstdint>
#include <span>
#include <utility>

#include "imaging/priors/sonah_model.hpp"
#include "imaging/shared/search.hpp"
#include "imaging/sources/field_source.hpp"
#include "imaging/sources/source_finder.hpp"
#include "imaging/sources/source_modes.hpp"

namespace nearfield {

/// Grid of plane waves for a matched filter: over K-space, as far as evanescent waves reach the microphones.
class WaveGrid {
 public:
  /// `model` must outlive it.
  WaveGrid(const ImagePlan& plan, std::size_t frequency, const SonahModel& model);
  /// The wave with the largest output of the matched filter. Arguments like those of PointGrid::strongest().
  [[nodiscard]] Candidate strongest(const Eigen::VectorXcd& white, int step, double prior);
  /// SourceSpace::move().
  [[nodiscard]] double move(PlaneWave& wave, const Eigen::Ref<const Eigen::VectorXd>& by) const;

 private:
  /// Half the microphones of an axis, and the grid's wavenumbers from 0 up.
  struct Axis {
    Eigen::ArrayXd places_m;
    Eigen::ArrayXd grid_rad_per_m;
    std::array<Eigen::MatrixXd, 2> waves;  ///< even, odd: (place, grid)
  };
  [[nodiscard]] Axis make_axis(int microphones, double pitch_m) const;
  [[nodiscard]] const Eigen::MatrixXf& grid_powers();

  const SonahModel* model_;
  SourceModes modes_;
  double most_rad_per_m_;
  Axis x_;
  Axis y_;
  Eigen::MatrixXf powers_;  ///< power of the matched filter over the prior's; (noise step, y and x)
};

/// The posterior mean of the field, over an image's plane.
struct FieldEstimate {
  Eigen::MatrixXcd image;  ///< (row, column), in the plan's quantity
  double noise_pa = 0.0;   ///< rms per microphone
  /// Expected squared error, summed over the pixels, as published: the prior's part times
  /// ImagePlan::error_calibration() squared, and the part of the sources' amplitudes unscaled, about which fields from
  /// elsewhere say nothing.
  double squared_error = 0.0;
};

/// Finds the plane waves and point sources of one frequency that sonah's prior does not explain (docs/how/sonah.md),
/// and makes their table for its kernels.
class WaveFinder {
 public:
  /// `model` must outlive it; its first image plane is used.
  WaveFinder(const ImagePlan& plan, std::size_t frequency, const SonahModel& model);
  /// SourceFinder::find(), with the table.
  FoundWaves find(std::span<const std::complex<double>> field, std::uint64_t number,
                  const MicrophoneMask* mask = nullptr);
  /// SourceFinder::find_from(), with the table.
  FoundWaves find_from(Sources sources, std::span<const std::complex<double>> field,
                       const MicrophoneMask* mask = nullptr);
  /// Sources of the last find().
  [[nodiscard]] const Sources& sources() const { return finder_.sources(); }
  [[nodiscard]] double criterion() const { return finder_.criterion(); }
  /// Forgets the sources found before.
  void restart() { finder_.restart(); }
  /// Posterior mean of the field on the first plane after the last find(), sources included; for plans with one pixel
  /// per microphone.
  [[nodiscard]] FieldEstimate estimate() const;

 private:
  [[nodiscard]] FoundWaves with_table(const MicrophoneMask* mask);
  [[nodiscard]] ResidualFilling filling_of(const MicrophoneMask& mask, const std::vector<float>& table) const;

  ImagePlan plan_;
  std::size_t frequency_;
  const SonahModel* model_;
  SourceFinder finder_;
  double sources_error_ = 0.0;  ///< part of its sources in the expected squared error, for prior power 1
};

}  // namespace nearfield
