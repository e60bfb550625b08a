#include "core/settings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/daemon_settings.hpp"

namespace nearfield {

DaemonSection::DaemonSection() : value_(std::make_unique<DaemonSettings>()) {}
DaemonSection::DaemonSection(const DaemonSection& other) : value_(std::make_unique<DaemonSettings>(*other)) {}
DaemonSection::DaemonSection(DaemonSection&& other) noexcept = default;
DaemonSection& DaemonSection::operator=(const DaemonSection& other) {
  value_ = std::make_unique<DaemonSettings>(*other);
  return *this;
}
DaemonSection& DaemonSection::operator=(DaemonSection&& other) noexcept = default;
DaemonSection::~DaemonSection() = default;

std::string_view name_of(WindowKind kind) { return kind == WindowKind::kHann ? "hann" : "none"; }

std::string_view name_of(ImagerKind kind) {
  switch (kind) {
    case ImagerKind::kPnah:
      return "pnah";
    case ImagerKind::kSonah:
      return "sonah";
    case ImagerKind::kOperators:
      return "operators";
    case ImagerKind::kNone:
      return "none";
    case ImagerKind::kAuto:
      break;
  }
  return "auto";
}

std::string_view name_of(Quantity quantity) {
  switch (quantity) {
    case Quantity::kPressure:
      return "pressure";
    case Quantity::kNormalVelocity:
      return "normal_velocity";
    case Quantity::kDisplacement:
      return "displacement";
    case Quantity::kActiveIntensity:
      return "active_intensity";
  }
  return "?";
}

std::string_view name_of(Extrapolation method) {
  switch (method) {
    case Extrapolation::kPlpbp:
      return "plpbp";
    case Extrapolation::kLpbp:
      return "lpbp";
    case Extrapolation::kEdge:
      return "edge";
    case Extrapolation::kZero:
      return "zero";
  }
  return "?";
}

std::string_view name_of(HealthMask mask) {
  switch (mask) {
    case HealthMask::kAll:
      return "all";
    case HealthMask::kNone:
      return "none";
    case HealthMask::kCertain:
      break;
  }
  return "certain";
}

std::string_view name_of(Incremental incremental) {
  switch (incremental) {
    case Incremental::kAuto:
      return "auto";
    case Incremental::kAlways:
      return "always";
    case Incremental::kNever:
      return "never";
  }
  return "?";
}

std::string_view name_of(FilterKind kind) {
  switch (kind) {
    case FilterKind::kCos:
      return "cos";
    case FilterKind::kTikhonov:
      return "tikhonov";
    case FilterKind::kNone:
      return "none";
  }
  return "?";
}

std::string_view name_of(Behind behind) {
  switch (behind) {
    case Behind::kAuto:
      return "auto";
    case Behind::kSeparate:
      return "separate";
    case Behind::kIgnore:
      return "ignore";
  }
  return "?";
}

std::string_view name_of(FieldPrior prior) {
  switch (prior) {
    case FieldPrior::kAuto:
      return "auto";
    case FieldPrior::kLayer:
      return "layer";
    case FieldPrior::kDeepLayer:
      return "deep_layer";
    case FieldPrior::kPatches:
      return "patches";
    case FieldPrior::kBendingWaves:
      return "bending_waves";
    case FieldPrior::kShortBendingWaves:
      return "short_bending_waves";
  }
  return "?";
}

BinRange bins_of(const Band& band, const FrontEndSettings& front_end, double sample_rate_hz) {
  constexpr double kRounding = 1e-9;  // a bin at the limit of a band belongs to it, despite rounding
  const double bin_hz = sample_rate_hz / front_end.window_samples;
  const auto bin_from = [&](double frequency_hz) {
    const double most = std::floor((front_end.window_samples + 1.0) / 2.0);
    return static_cast<std::size_t>(std::clamp(std::ceil(frequency_hz / bin_hz * (1.0 - kRounding)), 1.0, most));
  };
  return {.first = bin_from(band.low_hz), .end = bin_from(band.high_hz)};
}

bool predicts(Extrapolation method) { return method == Extrapolation::kPlpbp || method == Extrapolation::kLpbp; }

std::string_view unit_of(Quantity quantity) {
  switch (quantity) {
    case Quantity::kPressure:
      return "Pa";
    case Quantity::kNormalVelocity:
      return "m/s";
    case Quantity::kDisplacement:
      return "m";
    case Quantity::kActiveIntensity:
      return "W/m^2";
  }
  return "?";
}

std::string flaw_of_valid(const ArraySettings& array, int valid) {
  const int microphones = array.geometry.channels();
  const int fewest = static_cast<int>(std::ceil(array.fewest_valid_share * microphones));
  return valid >= fewest ? ""
                         : fmt::format(
                               "expected at least {} of {} microphones that can be used "
                               "(array.fewest_valid_share: {}), found {}",
                               fewest, microphones, array.fewest_valid_share, valid);
}

}  // namespace nearfield
