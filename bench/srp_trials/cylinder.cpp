#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "bench/common/frame_needs.hpp"
#include "bench/common/outputs.hpp"
#include "bench/srp_trials/srp_trials.hpp"
#include "bench/srp_trials/trial_array.hpp"
#include "nearfield/error.hpp"

namespace nearfield::bench {
namespace {

using far_field::Position;

constexpr double kRingRadius_m = 0.122;
constexpr double kRingsApart_m = 0.24;

/// Half of the microphones on each end of the cylinder, those of one between those of the other. Its axis is that of
/// the grid `sphere`.
ArrayGeometry rings_of(int microphones) {
  std::vector<MicrophonePosition> positions_m;
  for (int m = 0; m < microphones; ++m) {
    const double angle = 2.0 * std::numbers::pi * m / microphones;
    positions_m.push_back({.x_m = kRingRadius_m * std::cos(angle),
                           .y_m = kRingRadius_m * std::sin(angle),
                           .z_m = m % 2 == 0 ? kRingsApart_m / 2.0 : -kRingsApart_m / 2.0});
  }
  return irregular_geometry_of(std::move(positions_m));
}

/// Of 3,888, 97,200 and 388,800 places: 5, 1 and half a degree.
double sphere_step_deg(int pixels) {
  constexpr double kWhole = 360.0 * 90.0 * 3.0;
  const double step = std::sqrt(kWhole / pixels);
  constexpr double kRounding = 1e-9;
  if (std::abs(90.0 / step - std::round(90.0 / step)) > kRounding) {
    throw ConfigError(fmt::format("--pixels: expected 97,200 over a square, such as 3888 or 388800, found {}", pixels));
  }
  return step;
}

/// T. Lee, S. Chang, D. Yook, "Parallel SRP-PHAT for GPUs", Comput. Speech Lang. 35 (2016): 4096 samples at 16 kHz, a
/// hemisphere of azimuths from 0 and elevations from 0 degrees, radii of 1, 2 and 3 m. Of the bins those of 500 to 4000
/// Hz. How the microphones lie on the cylinder is not printed there.
std::unique_ptr<TrialArray> cylinder_array(int microphones, int pixels, SrpDomain domain) {
  constexpr double kRate_hz = 16000.0;
  constexpr int kWindow_samples = 4096;
  auto array =
      std::make_unique<TrialArray>(rings_of(microphones), kRate_hz, kWindow_samples, std::array{500.0, 4000.0});
  const double step = sphere_step_deg(pixels);
  array->own.grid.kind = far_field::GridKind::kSphere;
  array->own.grid.radius_m = {1.0, 2.0, 3.0};
  array->own.grid.step_deg = step;
  array->own.grid.azimuth_deg = {0.0, 360.0 - step};
  array->own.grid.elevation_deg = {0.0, 90.0 - step};
  array->own.domain = domain;
  array->own.tracks.enabled = false;
  return array;
}

double azimuth_deg(const Position& place) { return std::atan2(place.y, place.x) / kTrialDegree; }
double elevation_deg(const Position& place) {
  return std::atan2(-place.z, std::hypot(place.x, place.y)) / kTrialDegree;
}

CylinderFigures cylinder_figures(TrialArray& array, int pixels, const SrpTrialOptions& options) {
  constexpr double kDistance_m = 2.0;
  constexpr double kSourceHeight_m = 0.44;
  constexpr std::array<double, 4> kAzimuthsInDegrees = {90.0, 120.0, 150.0, 180.0};
  NormalNumbers numbers(options.seed, 3);
  CylinderFigures figures = {
      .pixels = pixels, .domain = std::string(name_of(array.own.domain)), .draws = options.draws};
  std::vector<double> errors_deg;
  for (int draw = 0; draw < options.draws; ++draw) {
    const double azimuth =
        kAzimuthsInDegrees.at(static_cast<std::size_t>(draw) % kAzimuthsInDegrees.size()) * kTrialDegree;
    const Position source = {kDistance_m * std::cos(azimuth), kDistance_m * std::sin(azimuth), -kSourceHeight_m};
    array.fill_with_noise(numbers);
    array.add_source(source, 1.0, numbers);
    const FoundSource found = array.find().at(0);
    const double aside_deg = std::abs(std::remainder(azimuth_deg(found.place) - azimuth_deg(source), 360.0));
    const double above_deg = std::abs(elevation_deg(found.place) - elevation_deg(source));
    figures.within_10_deg += std::max(aside_deg, above_deg) <= 10.0 ? 1 : 0;
    figures.within_5_and_3_deg += aside_deg <= 5.0 && above_deg <= 3.0 ? 1 : 0;
    errors_deg.push_back(angle_deg(found.place, source));
  }
  figures.median_deg = quantile(errors_deg, 0.5);
  figures.largest_deg = errors_deg.back();  // sorted
  return figures;
}

void open_with_noise(TrialArray& array, const ocl::Device& device, const SrpTrialOptions& options) {
  array.open(device);
  NormalNumbers numbers(options.seed, 4);
  array.fill_with_noise(numbers);
  (void)array.find();
}

double least_seconds(TrialArray& array, const ocl::Device& device, const SrpTrialOptions& options) {
  open_with_noise(array, device, options);
  double least_s = std::numeric_limits<double>::infinity();
  for (int i = 0; i < options.repetitions; ++i) {
    least_s = std::min(least_s, array.seconds());
  }
  return least_s;
}

void add_bounds(TrialArray& array, const ocl::Device& profiled, const Ceilings& ceilings,
                const SrpTrialOptions& options, TimeFigures& figures) {
  open_with_noise(array, profiled, options);
  const WorkModel model = array.work();
  const FrameTiming timing = array.stages({.warm_up = 0, .repetitions = options.repetitions});
  std::vector<StageNeed> needs;
  for (const StageTiming& stage : timing.stages) {
    StageNeed need = need_of(stage.stage, model);
    need.bytes = std::max(need.bytes, stage.bytes);
    needs.push_back(need);
    figures.stages.push_back({.stage = stage.stage,
                              .commands = stage.commands,
                              .median_s = stage.device_s.median,
                              .bound_s = stage_floor_s(stage, need, ceilings)});
    figures.bound_s += figures.stages.back().bound_s;
  }
  figures.launches_s = floors_of(timing, needs, ceilings).launches_s;
}

constexpr std::array<SrpDomain, 2> kTrialDomains = {SrpDomain::kFrequency, SrpDomain::kTime};

}  // namespace

std::vector<CylinderFigures> try_cylinder(const ocl::Device& device, const SrpTrialOptions& options) {
  constexpr int kMicrophones = 16;
  std::vector<CylinderFigures> all;
  for (const int pixels : options.pixels) {
    for (const SrpDomain domain : kTrialDomains) {
      show_progress(fmt::format("cylinder: {} pixels, {} domain", pixels, name_of(domain)));
      const std::unique_ptr<TrialArray> array = cylinder_array(kMicrophones, pixels, domain);
      array->open(device);
      all.push_back(cylinder_figures(*array, pixels, options));
    }
  }
  return all;
}

std::vector<TimeFigures> time_cylinder(const ocl::Device& device, const ocl::Device& profiled,
                                       const SrpTrialOptions& options) {
  const Ceilings ceilings = measure_ceilings(device, !device.info().is_gpu);
  std::vector<TimeFigures> all;
  for (const int pixels : options.pixels) {
    for (const int microphones : options.microphones) {
      for (const SrpDomain domain : kTrialDomains) {
        show_progress(fmt::format("times: {} microphones, {} pixels, {} domain", microphones, pixels, name_of(domain)));
        const std::unique_ptr<TrialArray> array = cylinder_array(microphones, pixels, domain);
        TimeFigures figures = {.microphones = microphones,
                               .pixels = pixels,
                               .domain = std::string(name_of(domain)),
                               .bins = static_cast<int>(array->plan.frequencies_hz.size()),
                               .least_s = least_seconds(*array, device, options)};
        add_bounds(*array, profiled, ceilings, options, figures);
        all.push_back(std::move(figures));
      }
    }
  }
  return all;
}

}  // namespace nearfield::bench
