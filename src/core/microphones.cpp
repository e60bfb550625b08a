#include "core/microphones.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "core/error.hpp"
#include "core/numerics.hpp"
#include "core/text.hpp"

namespace nearfield {
namespace {

constexpr int kSubArraySide = 8;
constexpr int kSubArraysPerSide = 4;
constexpr int kSoramaSide = kSubArraySide * kSubArraysPerSide;
constexpr int kSoramaWords = 2 * kSubArraysPerSide * kSubArraysPerSide;

void require_fit(WireLayout layout, const ArrayGeometry& geometry) {
  const int most_columns = geometry.is_grid() ? kMaxSide : kMaxMicrophones;
  if (geometry.rows < 1 || geometry.columns < 1 || geometry.rows > kMaxSide || geometry.columns > most_columns) {
    throw ConfigError(fmt::format("array.rows, array.columns: expected 1 to {} each, found {} x {}", kMaxSide,
                                  geometry.rows, geometry.columns));
  }
  const bool sorama_size = geometry.rows == kSoramaSide && geometry.columns == kSoramaSide;
  if (layout == WireLayout::kSoramaCam && !sorama_size) {
    throw ConfigError(fmt::format("array.layout: sorama-cam expects 32 x 32 microphones, found {}; use row-major",
                                  text_of_size(geometry)));
  }
}

/// Sub-arrays are ordered column by column, left to right, and within a column from the bottom to the top; each holds
/// its 64 microphones row-wise from its top left, the upper four rows in its first word (thesis, appendix B).
int sorama_channel(int wire_bit) {
  const int sub_array = wire_bit / (kSubArraySide * kSubArraySide);
  const int microphone = wire_bit % (kSubArraySide * kSubArraySide);
  const int sub_column = sub_array / kSubArraysPerSide;
  const int sub_row = kSubArraysPerSide - 1 - sub_array % kSubArraysPerSide;
  const int row = sub_row * kSubArraySide + microphone / kSubArraySide;
  const int column = sub_column * kSubArraySide + microphone % kSubArraySide;
  return row * kSoramaSide + column;
}

}  // namespace

std::string_view name_of(WireLayout layout) { return layout == WireLayout::kSoramaCam ? "sorama-cam" : "row-major"; }

WireLayout wire_layout_of(std::string_view name) {
  for (const WireLayout layout : {WireLayout::kSoramaCam, WireLayout::kRowMajor}) {
    if (name == name_of(layout)) {
      return layout;
    }
  }
  throw ConfigError(fmt::format("array.layout: expected sorama-cam or row-major, found \"{}\"", name));
}

int words_per_bit_time(WireLayout layout, const ArrayGeometry& geometry) {
  require_fit(layout, geometry);
  return layout == WireLayout::kSoramaCam ? kSoramaWords : (geometry.channels() + kBitsPerWord - 1) / kBitsPerWord;
}

std::vector<int> channel_of_wire_bit(WireLayout layout, const ArrayGeometry& geometry) {
  const int bits = words_per_bit_time(layout, geometry) * kBitsPerWord;
  std::vector<int> channels(static_cast<std::size_t>(bits), kSpareBit);
  for (int bit = 0; bit < bits; ++bit) {
    const int channel = layout == WireLayout::kSoramaCam ? sorama_channel(bit) : bit;
    if (channel < geometry.channels()) {
      channels[static_cast<std::size_t>(bit)] =
          geometry.placement ? geometry.placement->channel_of_input[static_cast<std::size_t>(channel)] : channel;
    }
  }
  return channels;
}

std::vector<int> wire_bit_of_channel(WireLayout layout, const ArrayGeometry& geometry) {
  const std::vector<int> channels = channel_of_wire_bit(layout, geometry);
  std::vector<int> bits(static_cast<std::size_t>(geometry.channels()), kSpareBit);
  for (std::size_t bit = 0; bit < channels.size(); ++bit) {
    if (channels[bit] != kSpareBit) {
      bits[static_cast<std::size_t>(channels[bit])] = static_cast<int>(bit);
    }
  }
  return bits;
}

namespace {

std::string text_of_masked(const std::vector<int>& masked) {
  constexpr std::size_t kMostShown = 16;
  const std::size_t shown = std::min(masked.size(), kMostShown);
  const std::string more = masked.size() > shown ? fmt::format(" and {} more", masked.size() - shown) : "";
  return fmt::format("{} masked ({}{})", masked.size(), fmt::join(std::span(masked).first(shown), ", "), more);
}

}  // namespace

std::string text_of(const MicrophoneUse& use) {
  std::string text = use.fewest_used == use.most_used
                         ? fmt::format("{} of {} used", use.most_used, use.microphones)
                         : fmt::format("{} to {} of {} used", use.fewest_used, use.most_used, use.microphones);
  std::vector<std::string> lacks;
  if (!use.masked.empty()) {
    lacks.push_back(text_of_masked(use.masked));
  }
  if (const std::size_t known = use.fewest_used + use.masked.size(); known < use.microphones) {
    lacks.push_back(fmt::format("{} not finite", use.microphones - known));
  }
  if (use.missing_information > 0.0F) {
    lacks.push_back(
        fmt::format("{} of the information missing", text_of_percent(static_cast<double>(use.missing_information))));
  }
  return lacks.empty() ? text : fmt::format("{}; {}", text, fmt::join(lacks, ", "));
}

std::string flaw_of_gains(const Calibration& calibration) {
  const auto channels = static_cast<std::size_t>(calibration.geometry.channels());
  for (std::size_t i = 0; i < calibration.gains.size(); ++i) {
    const std::complex<double> gain(calibration.gains[i]);
    const double magnitude = std::abs(gain);
    if (is_finite(gain) && !(magnitude >= 1.0 / kLargestGain && magnitude <= kLargestGain)) {
      return fmt::format(
          "gain of microphone {} at {:.6g} Hz: found a magnitude of {:.4g}, expected {} to {} (40 dB), or NaN for a "
          "microphone without a gain",
          i % channels, calibration.frequencies_hz[i / channels], magnitude, 1.0 / kLargestGain, kLargestGain);
    }
  }
  return "";
}

SurfaceData ArrayFiles::surface(const std::filesystem::path& path, const std::string& key) const {
  throw ConfigError(fmt::format("{}: expected a CSV file where no HDF5 files are read, found {}", key, path.string()));
}

}  // namespace nearfield
