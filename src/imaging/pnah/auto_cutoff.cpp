#include "imaging/pnah/auto_cutoff.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <numbers>
#include <string>

#include "imaging/pnah/staged_pnah.hpp"
#include "imaging/shared/short_dft.hpp"

namespace nearfield {
namespace {

using ComplexF = std::complex<float>;

constexpr double kPi = std::numbers::pi;
constexpr std::string_view kAutoCutoffStage = "imaging/auto_cutoff";
/// Inner edge of the noise shell over the largest wavenumber; bins beyond it hold noise alone.
constexpr double kShell = 1.05;
/// Words of a record before the rings, RECORD_RINGS: cut-off, noise, level, edge and its power, three logarithms, and
/// the power that the window hides.
constexpr std::size_t kRecordHead = 12;
/// Words of each of a frequency's two memories: MEMORY_WORDS.
constexpr std::size_t kMemoryWords = 6;
constexpr std::size_t kRingItems = 8;
constexpr std::size_t kRingsAtOnce = 4;

std::string error_macro(Quantity quantity) {
  switch (quantity) {
    case Quantity::kPressure:
      return "PRESSURE_ERROR";
    case Quantity::kNormalVelocity:
    case Quantity::kDisplacement:
      return "VELOCITY_ERROR";
    case Quantity::kActiveIntensity:
      return "INTENSITY_ERROR";
  }
  return "PRESSURE_ERROR";
}

int signed_bin(int index, int size) { return index < (size + 1) / 2 ? index : index - size; }

}  // namespace

SpectrumTables::Axis SpectrumTables::axis_of(int microphones, int line) {
  const int length = spectrum_length(microphones);
  int second = 1;
  for (int factor = 2; factor * factor <= length; ++factor) {
    second = length % factor == 0 ? factor : second;
  }
  return {.length = length, .first = length / second, .second = second, .line = line};
}

SpectrumTables::SpectrumTables(const ImagePlan& plan, const SpectrumCut& cut)
    : cut_(cut),
      x_(axis_of(plan.geometry.columns, plan.geometry.columns)),
      y_(axis_of(plan.geometry.rows,
                 cut.lanes == 1 ? plan.geometry.rows + 1 - plan.geometry.rows % 2
                                : static_cast<int>(ocl::round_up(to_size(plan.geometry.rows), to_size(cut.lanes))))) {
  const ArrayGeometry& geometry = plan.geometry;
  const double nyquist_x = kPi / geometry.pitch_x_m;
  const double nyquist_y = kPi / geometry.pitch_y_m;
  ring_width_ = std::max(2.0 * nyquist_x / x_.length, 2.0 * nyquist_y / y_.length);
  const int column_step = static_cast<int>(ocl::round_up(to_size(x_.length), to_size(cut.lanes)));
  struct Bin {
    double rings;
    std::int32_t place;
  };
  std::vector<Bin> bins;
  for (int row = 0; row < y_.length; ++row) {
    for (int column = 0; column < x_.length; ++column) {
      const double y = 2.0 * signed_bin(row, y_.length) / y_.length;
      const double x = 2.0 * signed_bin(column, x_.length) / x_.length;
      const int place = cut.fit_group == 1 ? position(row, y_) * column_step + position(column, x_)
                                           : position(column, x_) * y_.line + position(row, y_);
      bins.push_back({std::hypot(y * nyquist_y, x * nyquist_x) / ring_width_, place});
      if (std::hypot(y, x) > kShell) {
        shell_places_.push_back(place);
      }
    }
  }
  std::stable_sort(bins.begin(), bins.end(), [](const Bin& a, const Bin& b) { return a.rings < b.rings; });
  const int rings = static_cast<int>(
      ocl::round_up(static_cast<std::size_t>(std::hypot(nyquist_x, nyquist_y) / ring_width_) + 2, kRingsAtOnce));
  last_ring_ = std::min(static_cast<int>(std::ceil(std::min(nyquist_x, nyquist_y) / ring_width_ - 1e-6)), rings - 1);
  ring_bins_.assign(to_size(rings), 0.0F);
  for (const Bin& bin : bins) {
    bin_places_.push_back(bin.place);
    bin_rings_.push_back(static_cast<float>(bin.rings));
    for (int ring = 0; ring < rings; ++ring) {
      ring_bins_[to_size(ring)] += static_cast<float>(std::max(1.0 - std::abs(bin.rings - ring), 0.0));
    }
  }
  for (int ring = 0; ring <= rings; ++ring) {
    ring_starts_.push_back(static_cast<std::int32_t>(std::count_if(
        bins.begin(), bins.end(), [&](const Bin& bin) { return bin.rings < static_cast<double>(ring); })));
  }
}

std::vector<float> SpectrumTables::hann(const Axis& axis) {
  std::vector<double> window(to_size(axis.line), 0.0);
  double energy = 0.0;
  for (int i = 0; i < axis.length; ++i) {
    window[to_size(i)] = std::pow(std::sin(kPi * (i + 0.5) / axis.length), 2);
    energy += std::pow(window[to_size(i)], 2);
  }
  for (double& value : window) {
    value /= std::sqrt(energy);
  }
  return {window.begin(), window.end()};
}

void SpectrumTables::reserve(ocl::Arena& arena, const ImagePlan& plan) const {
  arena.reserve<float>("HANN_X", to_size(x_.line));
  arena.reserve<float>("HANN_Y", to_size(y_.line));
  arena.reserve<std::int32_t>("BIN_PLACES", bin_places_.size());
  arena.reserve<float>("BIN_RINGS", bin_rings_.size());
  arena.reserve<std::int32_t>("RING_STARTS", ring_starts_.size());
  arena.reserve<float>("RING_BINS", ring_bins_.size());
  arena.reserve<std::int32_t>("SHELL_PLACES", shell_places_.size());
  arena.reserve<ComplexF>("LIMITS", plan.frequencies_hz.size());
  arena.reserve<float>("SPECTRA", plan.holograms() * (kRecordHead + ring_bins_.size()));
  arena.reserve<std::int32_t>("STATE", 2 * kMemoryWords * plan.frequencies_hz.size());
  arena.reserve<float>("FIGURES", 4 * plan.holograms());
}

void SpectrumTables::fill(const ocl::Device& device, const ocl::Arena& arena, const ImagePlan& plan) const {
  std::vector<ComplexF> limits;
  for (std::size_t f = 0; f < plan.frequencies_hz.size(); ++f) {
    limits.emplace_back(static_cast<float>(plan.wavenumber(f)), static_cast<float>(plan.cutoff_rad_per_m[f]));
  }
  (void)arena.part<float>(device, "HANN_X", hann(x_));
  (void)arena.part<float>(device, "HANN_Y", hann(y_));
  (void)arena.part<std::int32_t>(device, "BIN_PLACES", bin_places_);
  (void)arena.part<float>(device, "BIN_RINGS", bin_rings_);
  (void)arena.part<std::int32_t>(device, "RING_STARTS", ring_starts_);
  (void)arena.part<float>(device, "RING_BINS", ring_bins_);
  (void)arena.part<std::int32_t>(device, "SHELL_PLACES", shell_places_);
  (void)arena.part<ComplexF>(device, "LIMITS", limits);
  device.enqueue_fill(arena.part<float>(device, "SPECTRA"), 0.0F, kAutoCutoffStage);
  forget(device, arena);
  device.wait();
}

void SpectrumTables::forget(const ocl::Device& device, const ocl::Arena& arena) {
  device.enqueue_fill(arena.part<std::int32_t>(device, "STATE"), std::int32_t{0}, kAutoCutoffStage);
}

ocl::Defines SpectrumTables::record_defines(const ImagePlan& plan) const {
  return {{"MEASURES_CUTOFF", "1"},
          {"RINGS", std::to_string(ring_bins_.size())},
          {"RING_WIDTH", float_define(ring_width_)},
          {"SLOPE", float_define(plan.holography.filter.slope)},
          {"DISTANCE", float_define(plan.largest_distance_m())},
          {"HALF", std::to_string(kMemoryHalf)},
          {"ERROR_OF", error_macro(plan.holography.quantity)},
          {"STANDOFF", float_define(plan.standoff_m)},
          {"SIDE_RAD_PER_M", float_define(2.0 * kPi /
                                          std::sqrt(plan.geometry.rows * plan.geometry.pitch_y_m *
                                                    plan.geometry.columns * plan.geometry.pitch_x_m))},
          {"CALIBRATION", float_define(plan.error_calibration())}};
}

ocl::Defines SpectrumTables::defines(const ImagePlan& plan) const {
  ocl::Defines defines = record_defines(plan);
  defines["SPECTRUM_ROWS"] = std::to_string(y_.length);
  defines["SPECTRUM_COLUMNS"] = std::to_string(x_.length);
  defines["X_FIRST"] = std::to_string(x_.first);
  defines["X_SECOND"] = std::to_string(x_.second);
  defines["Y_FIRST"] = std::to_string(y_.first);
  defines["Y_SECOND"] = std::to_string(y_.second);
  defines["X_ROOTS"] = root_list(x_.length);
  defines["Y_ROOTS"] = root_list(y_.length);
  defines["SHELL"] = std::to_string(shell_places_.size());
  defines["LAST_RING"] = std::to_string(last_ring_);
  return defines;
}

std::size_t SpectrumTables::local_bytes() const {
  const std::size_t rings = ring_bins_.size();
  std::size_t floats = rings * kRingItems + to_size(cut_.fit_group) + shell_places_.size() + rings + 4;
  if (cut_.fit_group == 1) {
    floats += 2 * to_size(x_.line * y_.line) +
              2 * to_size(y_.length) * ocl::round_up(to_size(x_.length), to_size(cut_.lanes));
  }
  return floats * sizeof(float);
}

}  // namespace nearfield
