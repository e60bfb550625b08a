#include "encode/sound_file.hpp"

#include <fmt/format.h>
#include <samplerate.h>
#include <sndfile.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>

#include "core/error.hpp"
#include "core/geometry.hpp"
#include "simulate/points/signal.hpp"

namespace nearfield {
namespace {

/// Up to this rate the converter produces an eighth of the bit rate and the interpolator the rest, in an eighth of the
/// time; the interpolator's band covers such a recording.
constexpr double kHighestRateInTwoStepsHz = 96000.0;

constexpr std::size_t kBlockSamples = 4096;

/// True for placeholder sizes that a program writes to a pipe, where it cannot go back to the header: libsndfile then
/// reads to the end.
bool is_open_size(std::uint64_t bytes) {
  constexpr std::uint64_t kNear = 4096;
  constexpr std::uint64_t kHalf = std::uint64_t{1} << 31U;
  return bytes >= 2 * kHalf - kNear || (bytes >= kHalf - kNear && bytes <= kHalf + kNear);
}

/// Bytes per sample of uncompressed formats; 0 for others.
std::uint64_t bytes_of_sample(int format) {
  switch (format & SF_FORMAT_SUBMASK) {
    case SF_FORMAT_PCM_S8:
    case SF_FORMAT_PCM_U8:
    case SF_FORMAT_ULAW:
    case SF_FORMAT_ALAW:
      return 1;
    case SF_FORMAT_PCM_16:
      return 2;
    case SF_FORMAT_PCM_24:
      return 3;
    case SF_FORMAT_PCM_32:
    case SF_FORMAT_FLOAT:
      return 4;
    case SF_FORMAT_DOUBLE:
      return 8;
    default:
      return 0;
  }
}

/// Log of libsndfile's header parsing. It continues where sizes contradict each other.
std::string log_of(SNDFILE* file) {
  constexpr int kMostBytes = 16384;
  std::string log(kMostBytes, '\0');
  const int length = sf_command(file, SFC_GET_LOG_INFO, log.data(), kMostBytes);
  log.resize(static_cast<std::size_t>(std::clamp(length, 0, kMostBytes)));
  return log;
}

/// Reads the number at the text's start, and removes it from the text.
std::optional<std::uint64_t> take_number(std::string_view& text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return error == std::errc() ? std::optional(number) : std::nullopt;
}

/// Two sizes of a chunk that contradict each other.
struct Contradiction {
  std::string_view name;
  std::uint64_t stated;
  std::uint64_t found;
};

/// Parses a line such as " SSND : 35288 (should be 21154)", with nothing else in it: other lines quote the file's
/// texts.
std::optional<Contradiction> contradiction_in(std::string_view line) {
  constexpr std::string_view kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz ";
  constexpr std::string_view kBetween = " (should be ";
  const std::string_view name = line.substr(0, line.find_first_not_of(kLetters));
  line.remove_prefix(name.size());
  if (!line.starts_with(": ")) {
    return std::nullopt;
  }
  line.remove_prefix(std::min(line.find_first_not_of(": "), line.size()));
  const std::optional<std::uint64_t> stated = take_number(line);
  if (!stated || !line.starts_with(kBetween)) {
    return std::nullopt;
  }
  line.remove_prefix(kBetween.size());
  const std::optional<std::uint64_t> found = take_number(line);
  return found && line.starts_with(')') ? std::optional(Contradiction{name, *stated, *found}) : std::nullopt;
}

/// Throws DataError if a chunk ends after the end of the file.
void require_all_there(const std::string& log, const std::filesystem::path& path) {
  std::istringstream lines(log);
  for (std::string line; std::getline(lines, line);) {
    const std::optional<Contradiction> odd = contradiction_in(line);
    if (odd && odd->stated > odd->found && !is_open_size(odd->stated)) {
      const std::size_t first = std::min(odd->name.find_first_not_of(' '), odd->name.size());
      const std::string_view name = odd->name.substr(first, odd->name.find_last_not_of(' ') + 1 - first);
      throw DataError(fmt::format("{}: chunk {}: found {} bytes, the file is truncated, expected {}", path.string(),
                                  name, odd->found, odd->stated));
    }
  }
}

/// Offset of the samples according to the header of an AU file, of either byte order.
std::uint64_t data_offset_of_au(const std::filesystem::path& path) {
  std::array<char, 8> head{};
  std::ifstream(path, std::ios::binary).read(head.data(), head.size());
  if (head[0] != '.') {
    std::reverse(head.begin() + 4, head.end());
  }
  std::uint64_t offset = 0;
  for (std::size_t i = 4; i < head.size(); ++i) {
    offset = offset << 8U | static_cast<unsigned char>(head.at(i));
  }
  return offset;
}

/// Throws DataError for samples after the stated number, which would be lost silently.
void require_all_stated(const SF_INFO& info, const std::string& log, const std::filesystem::path& path) {
  constexpr std::uint64_t kMuch = 4096;  // allowance for other chunks that libsndfile does not report
  const std::uint64_t samples = static_cast<std::uint64_t>(info.frames) * static_cast<std::uint64_t>(info.channels) *
                                bytes_of_sample(info.format);
  const std::uint64_t size = std::filesystem::file_size(path);
  const bool is_au = (info.format & SF_FORMAT_TYPEMASK) == SF_FORMAT_AU;  // AU files have nothing after the samples
  const bool is_odd = is_au || log.find("***") != std::string::npos;
  const std::uint64_t before = is_au ? data_offset_of_au(path) : 0;
  if (samples > 0 && is_odd && size > before + samples + kMuch) {
    throw DataError(
        fmt::format("{}: found {} bytes of samples by the header and {} others, so that the header's size is wrong; "
                    "expected a size "
                    "that reaches to the last sample",
                    path.string(), samples, size - samples));
  }
}

}  // namespace

struct SoundFile::State {
  struct Close {
    void operator()(SNDFILE* handle) const { sf_close(handle); }
  };
  std::filesystem::path path;
  SF_INFO info{};
  std::unique_ptr<SNDFILE, Close> file;
};

SoundFile::SoundFile(const std::filesystem::path& path) : state_(std::make_unique<State>()) {
  state_->path = path;
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(path, error);
  if (error) {
    throw NoInputError(fmt::format("{}: cannot be read: {}", path.string(), error.message()));
  }
  if (!std::filesystem::is_regular_file(status)) {
    throw NoInputError(fmt::format("{}: found {}, expected a sound file (encode takes HDF5, too)", path.string(),
                                   std::filesystem::is_directory(status) ? "a directory" : "a special file"));
  }
  state_->file.reset(sf_open(path.string().c_str(), SFM_READ, &state_->info));
  if (!state_->file) {
    throw DataError(
        fmt::format("{}: expected a sound file (encode takes HDF5, too): {}", path.string(), sf_strerror(nullptr)));
  }
  if (state_->info.frames < 1 || state_->info.channels < 1 || state_->info.samplerate < 1) {
    throw DataError(fmt::format("{}: expected samples, found {} of {} channels at {} Hz", path.string(),
                                state_->info.frames, state_->info.channels, state_->info.samplerate));
  }
  const std::string log = log_of(state_->file.get());
  require_all_there(log, path);
  require_all_stated(state_->info, log, path);
}

SoundFile::~SoundFile() = default;
SoundFile::SoundFile(SoundFile&&) noexcept = default;
SoundFile& SoundFile::operator=(SoundFile&&) noexcept = default;

double SoundFile::sample_rate_hz() const { return state_->info.samplerate; }
std::uint64_t SoundFile::samples() const { return static_cast<std::uint64_t>(state_->info.frames); }
int SoundFile::channels() const { return state_->info.channels; }

void SoundFile::read(std::uint64_t first_sample, std::span<float> values) const {
  const auto wanted = static_cast<sf_count_t>(values.size()) / state_->info.channels;
  SNDFILE* file = state_->file.get();
  const bool found = sf_seek(file, static_cast<sf_count_t>(first_sample), SEEK_SET) >= 0;
  const sf_count_t read = found ? sf_readf_float(file, values.data(), wanted) : 0;
  if (read != wanted) {
    throw DataError(
        fmt::format("{}: sample {}: expected {} samples, found {}", state_->path.string(), first_sample, wanted, read));
  }
}

namespace {

/// libsamplerate's sinc converters refuse more channels than this ("Channel count must be >= 1", they say).
constexpr std::size_t kMostChannelsOfAConverter = 128;

struct DeleteConverter {
  void operator()(SRC_STATE* handle) const { src_delete(handle); }
};

/// Neighbouring channels that share a converter.
struct ChannelGroup {
  std::size_t first_channel;
  std::size_t channels;
  std::unique_ptr<SRC_STATE, DeleteConverter> converter;
  std::vector<float> input;   ///< [sample][channel of the group]
  std::vector<float> output;  ///< one block, [sample][channel of the group]
};

ChannelGroup make_group(std::size_t first_channel, std::size_t channels) {
  int error = 0;
  ChannelGroup group{first_channel, channels, nullptr, {}, std::vector<float>(kBlockSamples * channels)};
  group.converter.reset(src_new(SRC_SINC_BEST_QUALITY, static_cast<int>(channels), &error));
  if (!group.converter) {
    throw DataError(fmt::format("{} channels can't be resampled: {}", channels, src_strerror(error)));
  }
  return group;
}

void gather(std::span<const float> input, std::size_t all_channels, ChannelGroup& group) {
  group.input.clear();
  for (std::size_t i = group.first_channel; i < input.size(); i += all_channels) {
    const auto values = input.subspan(i, group.channels);
    group.input.insert(group.input.end(), values.begin(), values.end());
  }
}

void scatter(const ChannelGroup& group, std::size_t samples, std::size_t all_channels, std::vector<float>& output) {
  for (std::size_t i = 0; i < samples; ++i) {
    std::copy_n(group.output.data() + i * group.channels, group.channels,
                output.data() + i * all_channels + group.first_channel);
  }
}

/// Samples per channel that one call consumed and produced.
struct Converted {
  std::size_t used = 0;
  std::size_t made = 0;
};

Converted convert(ChannelGroup& group, std::size_t first_sample, bool last, double ratio) {
  SRC_DATA data{};
  data.data_in = group.input.data() + first_sample * group.channels;
  data.input_frames = static_cast<long>(group.input.size() / group.channels - first_sample);
  data.data_out = group.output.data();
  data.output_frames = static_cast<long>(kBlockSamples);
  data.end_of_input = last ? 1 : 0;
  data.src_ratio = ratio;
  if (const int error = src_process(group.converter.get(), &data); error != 0) {
    throw DataError(fmt::format("resampling failed: {}", src_strerror(error)));
  }
  return {static_cast<std::size_t>(data.input_frames_used), static_cast<std::size_t>(data.output_frames_gen)};
}

}  // namespace

struct Resampler::State {
  std::size_t channels;
  double ratio;
  std::vector<ChannelGroup> groups;
  std::optional<Interpolator> interpolator;
  std::vector<float> block;
};

Resampler::Resampler(int channels, double sample_rate_hz, double clock_hz) : state_(std::make_unique<State>()) {
  state_->channels = static_cast<std::size_t>(channels);
  state_->ratio = clock_hz / sample_rate_hz;
  if (!(state_->ratio >= 1.0) || src_is_valid_ratio(state_->ratio) == 0) {
    throw DataError(fmt::format("sample rate: expected {:.6g} to {:.6g} Hz, found {:.6g} Hz", clock_hz / 256, clock_hz,
                                sample_rate_hz));
  }
  if (sample_rate_hz <= kHighestRateInTwoStepsHz * clock_hz / kBitRateHz) {
    state_->ratio /= static_cast<double>(Interpolator::kFactor);
    state_->interpolator.emplace(state_->channels);
  }
  for (std::size_t first = 0; first < state_->channels; first += kMostChannelsOfAConverter) {
    state_->groups.push_back(make_group(first, std::min(kMostChannelsOfAConverter, state_->channels - first)));
  }
  state_->block.resize(kBlockSamples * state_->channels);
}

Resampler::~Resampler() = default;
Resampler::Resampler(Resampler&&) noexcept = default;
Resampler& Resampler::operator=(Resampler&&) noexcept = default;

void Resampler::process(std::span<const float> input, bool last, std::vector<float>& output) {
  State& state = *state_;
  for (ChannelGroup& group : state.groups) {
    gather(input, state.channels, group);
  }
  std::size_t used = 0;
  Converted converted;
  do {
    // All converters consume and produce the same number, since all see the same lengths.
    for (ChannelGroup& group : state.groups) {
      converted = convert(group, used, last, state.ratio);
      scatter(group, converted.made, state.channels, state.block);
    }
    used += converted.used;
    const auto made = std::span(state.block).first(converted.made * state.channels);
    if (state.interpolator) {
      state.interpolator->process(made, output);
    } else {
      output.insert(output.end(), made.begin(), made.end());
    }
  } while (converted.made > 0 || converted.used > 0);
  if (last && state.interpolator) {
    state.interpolator->finish(output);
  }
}

std::vector<float> load_track(const std::string& path) {
  const SoundFile file(path);
  const auto channels = static_cast<std::size_t>(file.channels());
  std::vector<float> samples(static_cast<std::size_t>(file.samples()) * channels);
  file.read(0, samples);
  std::vector<float> mono;
  for (std::size_t i = 0; i < samples.size(); i += channels) {
    mono.push_back(samples[i]);
  }
  Resampler resampler(1, file.sample_rate_hz(), kBitRateHz);
  std::vector<float> result;
  resampler.process(mono, true, result);
  return result;
}

}  // namespace nearfield
