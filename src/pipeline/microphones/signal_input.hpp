#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>

#include "core/settings.hpp"
#include "files/sample_levels.hpp"

namespace nearfield {

/// Unit of a recording's samples.
enum class SignalUnit {
  kPascal,
  kFullScale,  ///< integers whose unit is not stated
  kOwn,        ///< floats whose unit is not stated
};

/// Samples of a file, with the properties of their scale.
struct SignalInput {
  SampledChannels channels;
  double sample_rate_hz = 0.0;
  SignalUnit unit = SignalUnit::kPascal;
  bool is_bits = false;
  std::optional<ArrayGeometry> geometry = {};
  /// Number of samples read so far that were not received, and are NaN.
  std::function<std::uint64_t()> missing = [] { return std::uint64_t{0}; };
};

/// Opens the signals of a recording of bits, which a device decimates, or of samples over time; no channels for other
/// files. Throws as the readers of files.hpp, DeviceError, and DataError where bits are shorter than the decimator.
SignalInput open_signals(const std::filesystem::path& path, const Settings& settings);

}  // namespace nearfield
