#include <fmt/format.h>

#include <limits>

#include "files/format.hpp"

namespace nearfield {
namespace {

constexpr const char* kTimeData = "/time_data";
constexpr const char* kSampleRate = "sample_freq";

int read_channels(const h5::InputFile& file, const h5::InputDataset& data) {
  const std::uint64_t channels = data.shape().back();
  if (channels > static_cast<std::uint64_t>(std::numeric_limits<int>::max())) {
    throw file.wrong(kTimeData, fmt::format("{} channels", channels), "fewer");
  }
  return static_cast<int>(channels);
}

}  // namespace

struct TimeDataReader::State {
  h5::InputFile file;
  h5::InputDataset data;
  double sample_rate_hz;
  int channels;

  explicit State(const std::filesystem::path& path)
      : file(open_input(path, FileKind::kTimeData)),
        data(file.dataset<float>(kTimeData, {{"samples"}, {"channels"}})),
        sample_rate_hz(file.positive_attribute(kTimeData, kSampleRate)),
        channels(read_channels(file, data)) {}
};

TimeDataReader::TimeDataReader(const std::filesystem::path& path) : state_(std::make_unique<State>(path)) {}
TimeDataReader::~TimeDataReader() = default;
TimeDataReader::TimeDataReader(TimeDataReader&&) noexcept = default;
TimeDataReader& TimeDataReader::operator=(TimeDataReader&&) noexcept = default;

double TimeDataReader::sample_rate_hz() const { return state_->sample_rate_hz; }
std::uint64_t TimeDataReader::samples() const { return state_->data.shape().front(); }
int TimeDataReader::channels() const { return state_->channels; }

void TimeDataReader::read(std::uint64_t first_sample, std::span<float> values) const {
  state_->data.read(first_sample, values);
}

struct TimeDataWriter::State {
  ArrayGeometry geometry;
  std::uint64_t samples = 0;
  h5::OutputFile file;
  h5::OutputDataset data;

  State(const std::filesystem::path& path, double sample_rate_hz, const ArrayGeometry& of) : geometry(of), file(path) {
    data = file.create<float>(kTimeData, {0, static_cast<hsize_t>(geometry.channels())}, h5::Storage::kGrowing);
    file.write_attribute(kTimeData, kSampleRate, sample_rate_hz);
  }
};

TimeDataWriter::TimeDataWriter(const std::filesystem::path& path, double sample_rate_hz, const ArrayGeometry& geometry)
    : state_(std::make_unique<State>(path, sample_rate_hz, geometry)) {}
TimeDataWriter::~TimeDataWriter() = default;

void TimeDataWriter::append(std::span<const float> values) {
  state_->data.write(state_->samples, values);
  state_->samples += values.size() / static_cast<std::size_t>(state_->geometry.channels());
}

void TimeDataWriter::write_truth(const Truth& truth) { nearfield::write_truth(state_->file, truth, state_->geometry); }

void TimeDataWriter::finish() {
  if (state_->samples == 0) {
    throw DataError("time data: expected at least one sample, found none");
  }
  state_->file.finish();
}

void write_time_data(const std::filesystem::path& path, double sample_rate_hz, int channels,
                     std::span<const float> values) {
  const std::size_t columns = channels > 0 ? static_cast<std::size_t>(channels) : 1;
  const std::size_t samples = values.size() / columns;
  require_values("time data", values.size(), samples * columns);
  h5::OutputFile file(path);
  file.write(kTimeData, {samples, columns}, values);
  file.write_attribute(kTimeData, kSampleRate, sample_rate_hz);
  file.finish();
}

}  // namespace nearfield
