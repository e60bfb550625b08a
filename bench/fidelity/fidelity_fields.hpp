#pragma once
#include <complex>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "nearfield/geometry.hpp"
#include "nearfield/settings.hpp"

/// Sound fields whose truth on the surface is known, for `nearfield bench fidelity`.
namespace nearfield::bench {

/// Pixels of images, or values at points.
using Values = std::vector<std::complex<float>>;

/// A place on the surface.
struct Place {
  double x_m = 0.0;
  double y_m = 0.0;
};

/// What the microphones hear of one source, frequency by frequency, and what is true on the surface, z = 0.
struct TrueField {
  std::string name;
  Quantity quantity = Quantity::kPressure;
  ArrayGeometry geometry;
  double standoff_m = 0.03;
  MediumSettings medium;
  std::vector<double> frequencies_hz;
  Values aperture;                   ///< pressure at the microphones, [frequency][row][column]
  Values truth;                      ///< of `quantity`, [frequency][row][column], or [frequency][point]
  std::vector<unsigned char> valid;  ///< [row][column], pixels where there is a truth; empty: all
  std::vector<Place> points;         ///< where the truth was measured; empty: on the microphones' x and y

  [[nodiscard]] std::size_t channels() const { return static_cast<std::size_t>(geometry.channels()); }
  /// The truth of one frequency.
  [[nodiscard]] std::span<const std::complex<float>> truth_of(std::size_t frequency) const;
  /// The microphones of one frequency.
  [[nodiscard]] std::span<const std::complex<float>> aperture_of(std::size_t frequency) const;
};

/// The eight cases of the research notes as three sources, 32 x 32 microphones 2 cm apart: monopoles 3 cm behind the
/// surface, in the array's middle and near its edge, at 500, 2000 and 4000 Hz, and a pattern sin(2 pi x / 0.27 m + 0.7)
/// sin(2 pi y / 0.35 m + 0.4) at 500 and 2000 Hz. The notes leave the pattern's phases open; these make it neither odd
/// nor even about the array's centre.
std::vector<TrueField> closed_form_fields(double standoff_m);

/// Sources of config/scenes, for users' eyes: two monopoles, pistons and plates, each as pressure and as normal
/// velocity. Of a scene with many tones, those that are imaged. Throws what load_scene() throws.
std::vector<TrueField> scene_fields();

/// A file of spectra with /truth/normal_velocity (and /truth/valid), or with /truth/normal_velocity_points and
/// /truth/points_xy_m. Throws NoInputError, DataError.
TrueField measured_field(const std::filesystem::path& path);

/// Mean of |p|^2 over the microphones at one frequency.
double mean_power(const TrueField& field, std::size_t frequency);

/// The field with white complex noise, `draws` times: [draw][frequency][row][column]. The signal-to-noise ratio holds
/// over the mean power of the aperture, for each frequency. The same draws at every ratio, but for their size.
Values noisy_draws(const TrueField& field, double snr_db, int draws);

/// One of them: [frequency][row][column].
Values noisy_draw(const TrueField& field, double snr_db, int draw);

/// The image's values where the truth has some: valid pixels, or points (bilinear between pixels, linear beyond the
/// outermost ones).
Values where_true(const TrueField& field, std::span<const std::complex<float>> image);
/// The truth of one frequency at the same places.
Values known_truth(const TrueField& field, std::size_t frequency);

}  // namespace nearfield::bench
