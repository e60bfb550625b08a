#include "files/time_data/time_data_input.hpp"

#include <algorithm>
#include <array>
#include <fstream>
#include <string_view>

#include "files/time_data/universal_records.hpp"

namespace nearfield::time_data {
namespace {

/// Values in one piece: 16 MiB.
constexpr std::uint64_t kPieceValues = std::uint64_t{1} << 22U;

/// True if the first non-blank line begins a dataset of a universal file.
bool starts_like_universal(std::string_view start) {
  for (std::size_t end = start.find('\n'); end != std::string_view::npos; end = start.find('\n')) {
    if (start.substr(0, end).find_first_not_of(" \r") != std::string_view::npos) {
      break;
    }
    start.remove_prefix(end + 1);
  }
  const std::string_view line = start.substr(0, start.find_first_of("\r\n"));
  return line.size() < start.size() && is_separator(line);
}

}  // namespace

void ChannelMajorInput::fetch(std::uint64_t first_sample) {
  const Description& file = description();
  const auto channels = static_cast<std::uint64_t>(file.channels);
  const std::uint64_t most = std::max<std::uint64_t>(1, kPieceValues / channels);
  held_ = 0;
  const std::uint64_t samples = std::min(most, file.samples - first_sample);
  piece_.resize(static_cast<std::size_t>(samples * channels));
  read_piece(first_sample, samples, piece_);
  first_ = first_sample;
  held_ = samples;
}

void ChannelMajorInput::read(std::uint64_t first_sample, std::span<float> values) {
  const auto channels = static_cast<std::size_t>(description().channels);
  while (!values.empty()) {
    if (first_sample < first_ || first_sample >= first_ + held_) {
      fetch(first_sample);
    }
    const std::uint64_t begin = first_sample - first_;
    const std::uint64_t count = std::min<std::uint64_t>(held_ - begin, values.size() / channels);
    for (std::size_t channel = 0; channel < channels; ++channel) {
      const float* const from = piece_.data() + channel * held_ + begin;
      for (std::size_t i = 0; i < count; ++i) {
        values[i * channels + channel] = from[i];
      }
    }
    values = values.subspan(static_cast<std::size_t>(count) * channels);
    first_sample += count;
  }
}

Format format_of(const std::filesystem::path& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) {
    return Format::kNone;
  }
  std::array<char, 128> bytes{};
  std::ifstream file(path, std::ios::binary);
  file.read(bytes.data(), bytes.size());
  const std::string_view start(bytes.data(), static_cast<std::size_t>(file.gcount()));
  const std::string_view riff = start.substr(0, 4);
  constexpr std::size_t kFormOffset = 8;
  if ((riff == "RIFF" || riff == "RF64" || riff == "BW64") && start.size() > kFormOffset &&
      start.substr(kFormOffset, 4) == "WAVE") {
    return Format::kWav;
  }
  if (start.starts_with("MATLAB 5.0 MAT-file")) {
    return Format::kMatlab5;
  }
  if (start.starts_with("MATLAB 7.3 MAT-file")) {
    return Format::kMatlab73;
  }
  return starts_like_universal(start) ? Format::kUniversal : Format::kNone;
}

}  // namespace nearfield::time_data
