#pragma once
#include <Eigen/Dense>
#include <array>
#include <complex>
#include <span>
#include <vector>

#include "imaging/priors/sonah_model.hpp"
#include "imaging/shared/array_plan.hpp"
#include "imaging/shared/image_plan.hpp"
#include "imaging/sources/field_source.hpp"

/// Plane waves and point sources in the modes of sonah's prior, and on the image.
namespace nearfield {

/// Phase of each class's factors: without it, plane waves are real vectors over the folded microphones.
inline constexpr std::array<std::complex<double>, kParities> kClassPhases = {
    std::complex<double>(1.0), std::complex<double>(0.0, 1.0), std::complex<double>(0.0, 1.0),
    std::complex<double>(-1.0)};

/// Fields of sources in the prior's modes, for amplitude 1: of a plane wave at the array's centre, of a point source
/// e^{-jkr} / r.
class SourceModes {
 public:
  /// `model` must outlive it.
  SourceModes(const ImagePlan& plan, std::size_t frequency, const SonahModel& model);
  /// Fills masked microphones of fields as in the measurement, so that the residual of a source's own field is 0; null:
  /// none. `mask` must outlive the calls that follow.
  void use(const MicrophoneMask* mask) { mask_ = mask != nullptr && !mask->channels.empty() ? mask : nullptr; }
  /// (class and mode, source)
  [[nodiscard]] Eigen::MatrixXcd fields(const Sources& sources) const;
  /// Derivatives by each of the sources' coordinates; 0 for sources that do not have it. [coordinate](class and mode,
  /// source)
  [[nodiscard]] std::vector<Eigen::MatrixXcd> slopes(const Sources& sources) const;
  /// A measured field [row][column] in modes. [class and mode]
  [[nodiscard]] Eigen::VectorXcd of_field(std::span<const std::complex<double>> field) const;

 private:
  /// Sums over mirrored microphones of each class, (sample, part of a source). Real and imaginary parts lie side by
  /// side, so that one real product makes the modes of all sources of a class.
  using Folded = std::array<Eigen::MatrixXd, kParities>;
  [[nodiscard]] std::vector<Eigen::MatrixXcd> modes_of(const Sources& sources, std::span<const int> coordinates) const;
  [[nodiscard]] Eigen::MatrixXcd modes_of(const Folded& folded) const;
  void fold_wave(const PlaneWave& wave, int coordinate, Eigen::Ref<Eigen::MatrixXd> real) const;
  [[nodiscard]] Eigen::VectorXcd field_of(const PlaneWave& wave, int coordinate) const;
  [[nodiscard]] std::vector<PointField> at_microphones(const PointSource& point) const;

  ImagePlan plan_;
  std::size_t frequency_;
  double k_;
  const SonahModel* model_;
  const MicrophoneMask* mask_ = nullptr;
};

/// 1 / (power + noise), the weights of modes in the grids' matched filters. (noise step, class and mode)
Eigen::MatrixXd filter_weights(const SonahModel& model);

/// Sums over mirrored microphones of a field [row][column] in a class. [sample]
Eigen::VectorXcd fold_class(const ArrayGeometry& geometry, const Eigen::VectorXcd& field, std::size_t parity);

/// The plan's quantity of a source for amplitude 1: at each pixel of a plane, or of the plan's surface, 0 for pixels
/// off it. [pixel]
Eigen::VectorXcd source_image(const ImagePlan& plan, double k, const FieldSource& source, double plane_m);

/// Image of modes that are divided by power + noise, on the model's first plane or on its surface. (class and mode,
/// column) to (pixel, column)
Eigen::MatrixXcd image_of_modes(const ImagePlan& plan, const SonahModel& model, const Eigen::MatrixXcd& white);

/// Sum of e^{j k x} and e^{-j k x} with the sign of a class, over its phase.
double mirrored_pair(double k_rad_per_m, double x_m, bool is_odd);
/// Derivative of mirrored_pair() by k.
double mirrored_slope(double k_rad_per_m, double x_m, bool is_odd);

/// Factor from a wave's amplitude at the microphones to the plan's quantity on a plane.
std::complex<double> wave_gain(const ImagePlan& plan, double k, const PlaneWave& wave, double plane_m);

}  // namespace nearfield
