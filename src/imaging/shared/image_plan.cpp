#include "imaging/shared/image_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>

#include "core/error.hpp"
#include "core/frame.hpp"
#include "core/numerics.hpp"
#include "imaging/shared/image_surface.hpp"

namespace nearfield {
namespace {

constexpr int kMinimumLineForPrediction = 4;
constexpr int kMinimumLineForSpectrum = 4;
/// Growth beyond which float32 overflows: ln(3.4e38) = 88.7.
constexpr double kLargestGrowth = 80.0;

double largest_wavenumber(const ArrayGeometry& geometry) {
  return std::hypot(std::numbers::pi / geometry.pitch_x_m, std::numbers::pi / geometry.pitch_y_m);
}

/// ln of filter times propagator at kr over distance d.
double log_gain(double kr, double k, double distance_m, double cutoff, const FilterSettings& filter) {
  const double growth = std::sqrt(std::max(kr * kr - k * k, 0.0)) * distance_m;
  if (filter.kind == FilterKind::kTikhonov) {
    return growth - std::log1p(filter.tikhonov_lambda * std::exp(std::min(2.0 * growth, 700.0)));
  }
  const double relative = filter.kind == FilterKind::kCos ? (1.0 - kr / cutoff) / filter.slope : 0.0;
  return growth + std::min(relative, 0.0);
}

/// Largest log_gain() up to the corner of K-space.
double largest_log_gain(const ImagePlan& plan, std::size_t frequency, double distance_m) {
  constexpr int kSteps = 1000;
  double largest = 0.0;
  for (int step = 0; step <= kSteps; ++step) {
    const double kr = largest_wavenumber(plan.geometry) * step / kSteps;
    largest = std::max(largest, log_gain(kr, plan.wavenumber(frequency), distance_m, plan.cutoff_rad_per_m[frequency],
                                         plan.holography.filter));
  }
  return largest;
}

/// Throws ConfigError if a batch has more values than a kernel's indices can count.
void require_indices(const ImagePlan& plan) {
  const HolographySettings& holography = plan.holography;
  const auto images = static_cast<double>(plan.fields()) * static_cast<double>(plan.holograms());
  const auto refuse_above = [&](double values, const std::string& points) {
    if (values > std::numeric_limits<std::int32_t>::max()) {
      throw ConfigError(fmt::format(
          "holography: {} planes of {} holograms at {}, upsample {}, are {:.3g} values; expected at most {}",
          holography.planes_m.size(), plan.holograms(), points, holography.upsample, values,
          std::numeric_limits<std::int32_t>::max()));
    }
  };
  if (!plan.geometry.is_grid()) {
    const ImageGrid grid = plan.grid();
    refuse_above(images * static_cast<double>(grid.pixels()),
                 fmt::format("{} x {} nodes", grid.node_rows, grid.node_columns));
    return;
  }
  refuse_above(images * std::pow(holography.upsample, 2) * plan.rows().padded * plan.columns().padded,
               fmt::format("{} x {} padded points", plan.rows().padded, plan.columns().padded));
}

constexpr std::size_t kFewestMicrophones = 48;
/// Each step of a fit multiplies with the whole basis: by a count of operations, a search of 1024 microphones that
/// tries eight sources would take half a minute per frequency.
constexpr std::size_t kMostMicrophones = 512;

bool may_search_points(const ImagePlan& plan) { return plan.holography.search_every_frames > 0 && !plan.sources; }

/// Range of the used microphones' z, m.
double depth_of(const ImagePlan& plan) {
  std::vector<double> z_m;
  for (const int channel : used_microphones(plan)) {
    z_m.push_back(plan.geometry.position_m(channel).z_m);
  }
  const auto [low, high] = std::minmax_element(z_m.begin(), z_m.end());
  return z_m.empty() ? 0.0 : *high - *low;
}

bool fits_search(std::size_t used) { return used >= kFewestMicrophones && used <= kMostMicrophones; }

}  // namespace

PaddedAxis pad_axis(int measured, double factor, double pitch_m) {
  const int padded = next_fft_length(static_cast<int>(std::ceil(factor * measured - 1e-9)));
  return {.measured = measured, .padded = padded, .before = (padded - measured) / 2, .pitch_m = pitch_m};
}

int spectrum_length(int microphones) {
  while (!is_fft_length(microphones)) {
    --microphones;
  }
  return microphones;
}

int usable_order(int order, int length) { return std::max(1, std::min(order, length - 2)); }

PaddedAxis ImagePlan::rows() const {
  return pad_axis(geometry.rows, holography.extrapolation.factor, geometry.pitch_y_m);
}

PaddedAxis ImagePlan::columns() const {
  return pad_axis(geometry.columns, holography.extrapolation.factor, geometry.pitch_x_m);
}

bool ImagePlan::measures_cutoff() const {
  return resolve_imager(*this) == ImagerKind::kPnah && holography.filter.kind == FilterKind::kCos &&
         holography.filter.cutoff_rule == CutoffRule::kAuto &&
         std::min(geometry.rows, geometry.columns) >= kMinimumLineForSpectrum;
}

int ImagePlan::search_every_hops() const {
  const ImagerKind imager = resolve_imager(*this);
  const bool may_search =
      searches && (imager == ImagerKind::kSonah || (imager == ImagerKind::kOperators && searches_points(*this)) ||
                   searches_cutoff());
  return may_search ? holography.search_every_frames : 0;
}

std::int64_t ImagePlan::memory_hops() const {
  const bool is_remembered = resolve_imager(*this) != ImagerKind::kPnah || measures_cutoff();
  return (is_remembered ? kMemoryHops : 0) + kSearchesOfMemory * std::int64_t{search_every_hops()};
}

bool ImagePlan::searches_cutoff() const {
  return resolve_imager(*this) == ImagerKind::kPnah && holography.filter.kind == FilterKind::kCos &&
         holography.filter.cutoff_rule == CutoffRule::kSearch && holography.search_every_frames > 0;
}

double ImagePlan::error_calibration() const {
  const bool is_measured = measures_cutoff();
  switch (holography.quantity) {
    case Quantity::kPressure:
      return is_measured ? 1.0 : 0.75;
    case Quantity::kNormalVelocity:
    case Quantity::kDisplacement:
      return is_measured ? 1.2 : 0.85;
    case Quantity::kActiveIntensity:
      return is_measured ? 0.8 : 1.0;
  }
  return 1.0;
}

int ImagePlan::image_rows() const { return surface ? surface->rows : grid().rows(); }

int ImagePlan::image_columns() const { return surface ? surface->columns : grid().columns(); }

double ImagePlan::largest_distance_m() const {
  if (surface) {
    return standoff_m - surface->lowest_m();
  }
  return standoff_m - *std::min_element(holography.planes_m.begin(), holography.planes_m.end());
}

bool ImagePlan::separates() const {
  if (holography.imager != ImagerKind::kOperators || image_sides(holography, geometry) == 1) {
    return false;
  }
  if (holography.operators.behind == Behind::kSeparate) {
    return true;
  }
  std::vector<MicrophonePosition> used_m;
  for (const int channel : used_microphones(*this)) {
    used_m.push_back(geometry.position_m(channel));
  }
  return !surface && stands_in_layers(used_m);
}

namespace {

/// Largest pitch over the standoff at which kAuto is sonah (docs/decisions/0039-auto-by-kinds-of-fields.md).
constexpr double kMostAutoPitch = 3.0;

}  // namespace

ImagerKind resolve_imager(const HolographySettings& holography, const ImagerConditions& conditions) {
  if (holography.imager != ImagerKind::kAuto) {
    return holography.imager;
  }
  const ArrayGeometry& geometry = conditions.geometry;
  if (!geometry.is_grid()) {
    return ImagerKind::kOperators;
  }
  if (holography.quantity == Quantity::kActiveIntensity) {
    return ImagerKind::kPnah;
  }
  if (!holography.surface_path.empty() || holography.prior != FieldPrior::kAuto) {
    return ImagerKind::kSonah;
  }
  const bool is_dense = std::max(geometry.pitch_x_m, geometry.pitch_y_m) <= kMostAutoPitch * holography.standoff_m;
  const bool wants_pnah = holography.extrapolation != ExtrapolationSettings{} ||
                          holography.filter != FilterSettings{} || conditions.fft != DeviceSettings{}.fft;
  const bool is_small = conditions.frequencies * holography.planes_m.size() <= kMostAutoModels;
  return is_dense && is_small && !wants_pnah ? ImagerKind::kSonah : ImagerKind::kPnah;
}

ImagerKind resolve_imager(const ImagePlan& plan) {
  HolographySettings holography = plan.holography;
  holography.standoff_m = plan.standoff_m;
  return resolve_imager(holography,
                        {.geometry = plan.geometry, .frequencies = plan.frequencies_hz.size(), .fft = plan.fft});
}

std::vector<double> resolve_cutoffs(const HolographySettings& holography, const MediumSettings& medium,
                                    const ArrayGeometry& geometry, const std::vector<double>& frequencies_hz) {
  const FilterSettings& filter = holography.filter;
  if (filter.cutoff_rule == CutoffRule::kGiven) {
    const std::size_t given = filter.cutoff_rad_per_m.size();
    if (given == 1) {
      return std::vector<double>(frequencies_hz.size(), filter.cutoff_rad_per_m.front());
    }
    if (given != frequencies_hz.size()) {
      throw ConfigError(
          fmt::format("holography.filter.cutoff_rad_per_m: expected 1 or {} values, one per frequency, found {}",
                      frequencies_hz.size(), given));
    }
    return filter.cutoff_rad_per_m;
  }
  const double evanescent = filter.dynamic_range_db * std::numbers::ln10 / (20.0 * holography.standoff_m);
  const double nyquist = std::numbers::pi / std::max(geometry.pitch_x_m, geometry.pitch_y_m);
  std::vector<double> cutoffs;
  for (const double frequency_hz : frequencies_hz) {
    const double k = 2.0 * std::numbers::pi * frequency_hz / medium.sound_speed_m_s;
    cutoffs.push_back(std::max(k, std::min(nyquist, std::hypot(k, evanescent))));
  }
  return cutoffs;
}

std::vector<FilterReport> constant_reports(const ImagePlan& plan) {
  const FilterSettings& filter = plan.holography.filter;
  const bool has_cutoff = filter.kind == FilterKind::kCos;
  const float none = std::numeric_limits<float>::quiet_NaN();
  std::vector<FilterReport> reports;
  for (std::size_t i = 0; i < plan.holograms(); ++i) {
    const double cutoff = plan.cutoff_rad_per_m[i % plan.frequencies_hz.size()];
    reports.push_back({.cutoff_rad_per_m = has_cutoff ? static_cast<float>(cutoff) : none,
                       .slope = has_cutoff ? static_cast<float>(filter.slope) : none,
                       .noise_pa = none,
                       .error_estimate = none});
  }
  return reports;
}

namespace {

/// z of the microphone nearest to the planes. Around a surface they may be anywhere.
double lowest_microphone_m(const ImagePlan& plan) {
  double lowest_m = plan.standoff_m;
  const bool may_differ = !plan.geometry.is_grid() && !plan.surface;
  for (int channel = 0; may_differ && channel < plan.geometry.channels(); ++channel) {
    lowest_m = std::min(lowest_m, plan.standoff_m + plan.geometry.position_m(channel).z_m);
  }
  return lowest_m;
}

}  // namespace

void validate(const ImagePlan& plan) {
  const ArrayGeometry& geometry = plan.geometry;
  const HolographySettings& holography = plan.holography;
  require_indices(plan);
  const bool filters = resolve_imager(plan) == ImagerKind::kPnah;
  if (plan.surface && filters) {
    throw ConfigError(
        fmt::format("holography.surface: expected null with {}, which makes images on planes alone, found a surface of "
                    "{} x {} pixels",
                    name_of(ImagerKind::kPnah), plan.image_rows(), plan.image_columns()));
  }
  if (filters && predicts(holography.extrapolation.method) &&
      std::min(geometry.rows, geometry.columns) < kMinimumLineForPrediction) {
    throw ConfigError(fmt::format(
        "holography.extrapolation.method: {} needs at least {} microphones a side, found {} x {}; use edge or zero",
        name_of(holography.extrapolation.method), kMinimumLineForPrediction, geometry.rows, geometry.columns));
  }
  if (holography.operators.behind == Behind::kSeparate && holography.imager == ImagerKind::kOperators &&
      depth_of(plan) <= 0.01 * geometry.pitch_x_m) {
    throw ConfigError(
        fmt::format("{}operators.behind: expected microphones at two or more distances from the surface, which tell "
                    "waves from behind apart, found all {} at one; or ignore",
                    plan.section, geometry.channels()));
  }
  for (const double plane_m : holography.planes_m) {
    const double distance_m = plan.standoff_m - plane_m;
    const double lowest_m = lowest_microphone_m(plan);
    if (!(lowest_m > plane_m)) {
      throw ConfigError(fmt::format("holography.planes_m: expected planes below the microphones at {} m, found {} m",
                                    lowest_m, plane_m));
    }
    for (std::size_t f = 0; filters && !plan.measures_cutoff() && f < plan.frequencies_hz.size(); ++f) {
      const double gain = largest_log_gain(plan, f, distance_m);
      if (gain > kLargestGrowth) {
        throw ConfigError(
            fmt::format("holography.filter: {} at {:.1f} Hz would amplify by e^{:.0f} over {} m, beyond float32; "
                        "lower the cut-off or the slope, raise tikhonov_lambda, or come closer",
                        name_of(holography.filter.kind), plan.frequencies_hz[f], gain, distance_m));
      }
    }
  }
}

bool searches_points(const ImagePlan& plan) {
  return may_search_points(plan) && fits_search(used_microphones(plan).size());
}

std::string reason_for_no_points(const ImagePlan& plan) {
  const std::size_t used = used_microphones(plan).size();
  if (!may_search_points(plan) || fits_search(used)) {
    return {};
  }
  return fmt::format("no point sources are looked for: {} microphones are used, and a search takes {} to {}", used,
                     kFewestMicrophones, kMostMicrophones);
}

}  // namespace nearfield
