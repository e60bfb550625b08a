#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/error.hpp"
#include "files/files.hpp"
#include "files/nfr/nfr_reader.hpp"
#include "files/time_data/time_data_input.hpp"

namespace nearfield {
namespace {

std::unique_ptr<time_data::Input> open_time_data(const std::filesystem::path& path, const std::vector<int>& channels) {
  switch (time_data::format_of(path)) {
    case time_data::Format::kWav:
      return time_data::open_wav(path);
    case time_data::Format::kUniversal:
      return time_data::open_universal(path, channels);
    case time_data::Format::kMatlab5:
      return time_data::open_matlab5(path);
    case time_data::Format::kMatlab73:
      return time_data::open_matlab73(path);
    case time_data::Format::kNone:
      break;
  }
  return nfr::is_recording(path) ? time_data::open_recorded(path) : time_data::open_acoular(path);
}

/// Limit of values of all channels held at a time.
constexpr std::size_t kGatheredValues = std::size_t{1} << 20U;

}  // namespace

ChannelChoice::ChannelChoice(std::vector<int> channels, int there, const std::string& name)
    : channels_(std::move(channels)), there_(there) {
  std::vector<bool> is_named(static_cast<std::size_t>(there));
  for (const int channel : channels_) {
    const bool is_there = channel >= 0 && channel < there;
    if (!is_there || is_named[static_cast<std::size_t>(channel)]) {
      throw ConfigError(fmt::format("array.channels: expected channels from 0 to {} of {}, each once, found {}{}",
                                    there - 1, name, channel, is_there ? " twice" : ""));
    }
    is_named[static_cast<std::size_t>(channel)] = true;
  }
}

void ChannelChoice::read(std::uint64_t first_sample, std::span<float> values, const ReadAll& read_all) const {
  if (channels_.empty()) {
    read_all(first_sample, values);
    return;
  }
  const auto there = static_cast<std::size_t>(there_);
  const std::size_t samples = values.size() / channels_.size();
  const std::size_t at_once = std::max<std::size_t>(1, kGatheredValues / there);
  std::vector<float> all;
  for (std::size_t first = 0; first < samples; first += at_once) {
    all.resize(std::min(at_once, samples - first) * there);
    read_all(first_sample + first, all);
    float* target = values.data() + first * channels_.size();
    for (std::size_t at = 0; at < all.size(); at += there) {
      for (const int channel : channels_) {
        *target++ = all[at + static_cast<std::size_t>(channel)];
      }
    }
  }
}

struct TimeDataReader::State {
  std::filesystem::path path;
  std::unique_ptr<time_data::Input> file;
  ChannelChoice choice;
  std::vector<int> chosen;
  double pascal_per_unit;
  StatedPositions positions = {};
};

TimeDataReader::TimeDataReader(const std::filesystem::path& path, const std::vector<int>& channels) {
  // A recording holds the channels that its source chose.
  const bool has_chosen = time_data::format_of(path) == time_data::Format::kUniversal || nfr::is_recording(path);
  std::unique_ptr<time_data::Input> file = open_time_data(path, channels);
  ChannelChoice choice(has_chosen ? std::vector<int>() : channels, file->description().channels, path.string());
  state_ = std::make_unique<State>(State{path, std::move(file), std::move(choice), channels, 1.0});
  const time_data::Description& description = state_->file->description();
  state_->pascal_per_unit = description.pascal_per_unit.value_or(1.0);
  StatedPositions& stated = state_->positions;
  stated.flaw = description.positions_flaw;
  if (stated.flaw.empty() && !description.positions_m.empty()) {
    stated.flaw = flaw_of_positions(description.positions_m);
  }
  if (stated.flaw.empty()) {
    stated.positions_m = description.positions_m;
  }
}
TimeDataReader::~TimeDataReader() = default;
TimeDataReader::TimeDataReader(TimeDataReader&&) noexcept = default;
TimeDataReader& TimeDataReader::operator=(TimeDataReader&&) noexcept = default;

std::string TimeDataReader::format() const { return state_->file->description().format; }
const std::string& TimeDataReader::note() const { return state_->file->description().note; }
double TimeDataReader::sample_rate_hz() const { return state_->file->description().sample_rate_hz; }
std::uint64_t TimeDataReader::samples() const { return state_->file->description().samples; }
int TimeDataReader::channels() const { return state_->choice.count(); }
int TimeDataReader::channel_of_file(int channel) const {
  return state_->chosen.empty() ? channel : state_->chosen.at(static_cast<std::size_t>(channel));
}
bool TimeDataReader::states_pascal() const { return state_->file->description().pascal_per_unit.has_value(); }
const StatedPositions& TimeDataReader::positions() const { return state_->positions; }
void TimeDataReader::set_pascal_per_unit(double pascal_per_unit) { state_->pascal_per_unit = pascal_per_unit; }
std::optional<double> TimeDataReader::full_scale() const {
  return state_->file->description().are_integers ? std::optional(state_->pascal_per_unit) : std::nullopt;
}

void TimeDataReader::read(std::uint64_t first_sample, std::span<float> values) const {
  const auto channels_there = static_cast<std::uint64_t>(channels());
  const std::uint64_t wanted = values.size() / channels_there;
  if (first_sample > samples() || wanted > samples() - first_sample || values.size() % channels_there != 0) {
    throw DataError(fmt::format("{}: {} values from sample {} were requested, the file has {} samples of {} channels",
                                state_->path.string(), values.size(), first_sample, samples(), channels_there));
  }
  state_->choice.read(first_sample, values,
                      [&](std::uint64_t first, std::span<float> all) { state_->file->read(first, all); });
  if (state_->pascal_per_unit != 1.0) {
    for (float& value : values) {
      value = static_cast<float>(static_cast<double>(value) * state_->pascal_per_unit);
    }
  }
}

}  // namespace nearfield
