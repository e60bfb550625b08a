#pragma once
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bench/fidelity/fidelity_fields.hpp"
#include "cl/device.hpp"
#include "engine/engine.hpp"
#include "nearfield/settings.hpp"

/// Images of known fields through the real engine, with settings as a user writes them.
namespace nearfield::bench {

/// Settings by name: `--set` of `nearfield replay`.
struct NamedSettings {
  std::string name;
  std::vector<std::string> overrides;
};

/// Every extrapolation, the default first.
const std::vector<NamedSettings>& extrapolations();
/// The first one.
const std::string& main_extrapolation();
/// Every filter and way to its cut-off that does not use the truth.
const std::vector<NamedSettings>& filters();
/// Imagers with neither extrapolation nor filter; their rows have the name under `filter`.
const std::vector<NamedSettings>& other_imagers();
/// What such rows have for an extrapolation.
inline constexpr std::string_view kNoExtrapolation = "none";
/// Filters and imagers that others look for.
inline constexpr std::string_view kMeasuredFilter = "cos, auto";
inline constexpr std::string_view kSearchedFilter = "cos, search";
inline constexpr std::string_view kSonahImager = "sonah";
/// The imager by the rule that needs no hand: what the marks are held against.
inline constexpr std::string_view kAutomaticImager = "imager: auto";

/// The settings of an extrapolation and a filter together, or of an imager and nothing. Throws ConfigError where this
/// version has no such settings.
Settings settings_of(const NamedSettings& extrapolation, const NamedSettings& filter);
/// True when both are what is used when nothing is set.
bool is_default(const Settings& settings);

/// A plan for a field: its array, medium, frequencies and quantity at z = 0, `batch` frames a launch.
EnginePlan plan_for(const TrueField& field, Settings settings, InputForm input, int batch);

/// Images, and the imager's report of each.
struct Imaged {
  std::vector<Values> images;            ///< [frame * frequencies + frequency]
  std::vector<double> cutoff_rad_per_m;  ///< the same order; NaN where the filter has none
  std::vector<double> slope;             ///< the same order
  std::vector<double> error_estimate;    ///< the same order; NaN where none is published
};

/// Copies the engine's last images and reports.
void take_images(Engine& engine, std::size_t windows, Imaged& imaged);

/// Images `frames` ([frame][frequency][row][column]), all of them in one launch of a new engine.
Imaged image_frames(const ocl::Device& device, const TrueField& field, const Settings& settings,
                    std::span<const std::complex<float>> frames);

/// What is least when an image is best: 0 for the truth.
using Distance =
    std::function<double(std::size_t frame, std::size_t frequency, std::span<const std::complex<float>> image)>;

/// The mean distance from the truth over the frames, for fixed cut-offs.
struct CutoffScan {
  double slope = 0.1;
  std::vector<double> cutoff_rad_per_m;
  std::vector<std::vector<double>> distance;  ///< [frequency][cut-off]

  /// Index of the best cut-off of a frequency.
  [[nodiscard]] std::size_t best(std::size_t frequency) const;
};

/// 40 cut-offs, evenly spaced as logarithms from a tenth of pi / (the larger pitch) to the whole, of the `cos` filter
/// with this slope; all else from `settings`.
CutoffScan scan_cutoffs(const ocl::Device& device, const TrueField& field, const Settings& settings, double slope,
                        std::span<const std::complex<float>> frames, const Distance& distance);

/// `settings` with the `cos` filter at these cut-offs, one for each frequency.
Settings with_cutoffs(Settings settings, double slope, const std::vector<double>& cutoff_rad_per_m);

}  // namespace nearfield::bench
