#include "nearfield/settings.hpp"

#include <algorithm>
#include <cmath>

namespace nearfield {

std::string_view name_of(FrontEndKind kind) {
  switch (kind) {
    case FrontEndKind::kDecimatedFft:
      return "decimated_fft";
    case FrontEndKind::kDotProduct:
      return "dot_product";
    case FrontEndKind::kPopcount:
      return "popcount";
    case FrontEndKind::kWalshFourier:
      return "walsh_fourier";
  }
  return "?";
}

std::string_view name_of(DotKernel kernel) {
  switch (kernel) {
    case DotKernel::kAuto:
      return "auto";
    case DotKernel::kPlain:
      return "plain";
    case DotKernel::kMirrored:
      return "mirrored";
    case DotKernel::kFourOutput:
      return "four_output";
    case DotKernel::kTiled:
      return "tiled";
    case DotKernel::kGemm:
      return "gemm";
  }
  return "?";
}

std::string_view name_of(WordTransform transform) { return transform == WordTransform::kDot ? "dot" : "fft"; }

std::string_view name_of(WalshVariant variant) {
  switch (variant) {
    case WalshVariant::kPrecomputed:
      return "precomputed";
    case WalshVariant::kComputed:
      return "computed";
    case WalshVariant::kFast:
      return "fast";
  }
  return "?";
}

std::string_view name_of(WindowKind kind) { return kind == WindowKind::kHann ? "hann" : "none"; }

std::string_view name_of(ImagerKind kind) {
  switch (kind) {
    case ImagerKind::kPnah:
      return "pnah";
    case ImagerKind::kSonah:
      return "sonah";
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

bool takes_samples(FrontEndKind kind) {
  return kind == FrontEndKind::kDecimatedFft || kind == FrontEndKind::kDotProduct;
}

bool is_on_bins(const FrontEndSettings& front_end) {
  return front_end.kind == FrontEndKind::kDecimatedFft || front_end.kind == FrontEndKind::kWalshFourier ||
         (front_end.kind == FrontEndKind::kPopcount && front_end.popcount.transform == WordTransform::kFft);
}

Settings settings_of(const Settings& settings, const ProcessorSettings& processor) {
  Settings own = settings;
  const FrontEndOverrides& other = processor.front_end;
  if (other.any()) {
    FrontEndSettings& front_end = own.front_end;
    front_end.kind = other.kind.value_or(front_end.kind);
    front_end.window = other.window.value_or(front_end.window);
    front_end.window_samples = other.window_samples.value_or(front_end.window_samples);
    front_end.frequencies_hz = other.frequencies_hz.value_or(front_end.frequencies_hz);
    front_end.popcount.order = other.popcount_order.value_or(front_end.popcount.order);
    front_end.bands_hz.clear();
  }
  return own;
}

std::string section_of_longest_window(const Settings& settings) {
  const int longest = longest_window_samples(settings);
  for (const ProcessorSettings& processor : settings.processors) {
    if (longest > settings.front_end.window_samples &&
        settings_of(settings, processor).front_end.window_samples == longest) {
      return "processors." + processor.name + ".front_end";
    }
  }
  return "front_end";
}

int longest_window_samples(const Settings& settings) {
  int longest = settings.front_end.window_samples;
  for (const ProcessorSettings& processor : settings.processors) {
    longest = std::max(longest, settings_of(settings, processor).front_end.window_samples);
  }
  return longest;
}

BinRange bins_of(const Band& band, const FrontEndSettings& front_end, double sample_rate_hz) {
  constexpr double kRounding = 1e-9;  // a bin that a band was cut at belongs to it, however it was written
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

}  // namespace nearfield
