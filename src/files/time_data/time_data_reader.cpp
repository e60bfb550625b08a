#include <fmt/format.h>

#include "files/files.hpp"
#include "files/time_data/time_data_input.hpp"
#include "nearfield/error.hpp"

namespace nearfield {
namespace {

std::unique_ptr<time_data::Input> open_time_data(const std::filesystem::path& path) {
  switch (time_data::format_of(path)) {
    case time_data::Format::kWav:
      return time_data::open_wav(path);
    case time_data::Format::kUniversal:
      return time_data::open_universal(path);
    case time_data::Format::kMatlab5:
      return time_data::open_matlab5(path);
    case time_data::Format::kMatlab73:
      return time_data::open_matlab73(path);
    case time_data::Format::kNone:
      break;
  }
  return time_data::open_acoular(path);
}

}  // namespace

struct TimeDataReader::State {
  std::filesystem::path path;
  std::unique_ptr<time_data::Input> file;
  double pascal_per_unit;
  StatedPositions positions = {};
};

TimeDataReader::TimeDataReader(const std::filesystem::path& path)
    : state_(std::make_unique<State>(State{path, open_time_data(path), 1.0})) {
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
int TimeDataReader::channels() const { return state_->file->description().channels; }
bool TimeDataReader::states_pascal() const { return state_->file->description().pascal_per_unit.has_value(); }
const StatedPositions& TimeDataReader::positions() const { return state_->positions; }
void TimeDataReader::set_pascal_per_unit(double pascal_per_unit) { state_->pascal_per_unit = pascal_per_unit; }

void TimeDataReader::read(std::uint64_t first_sample, std::span<float> values) const {
  const auto channels_there = static_cast<std::uint64_t>(channels());
  const std::uint64_t wanted = values.size() / channels_there;
  if (first_sample > samples() || wanted > samples() - first_sample || values.size() % channels_there != 0) {
    throw DataError(fmt::format("{}: {} values from sample {} were requested, the file has {} samples of {} channels",
                                state_->path.string(), values.size(), first_sample, samples(), channels_there));
  }
  state_->file->read(first_sample, values);
  if (state_->pascal_per_unit != 1.0) {
    for (float& value : values) {
      value = static_cast<float>(static_cast<double>(value) * state_->pascal_per_unit);
    }
  }
}

}  // namespace nearfield
