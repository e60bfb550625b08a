#include <fmt/format.h>

#include <limits>
#include <optional>

#include "files/format.hpp"
#include "files/pressure_units.hpp"
#include "files/time_data/time_data_input.hpp"

namespace nearfield {
namespace {

constexpr const char* kTimeData = "/time_data";
constexpr const char* kSampleRate = "sample_freq";

int read_channels(const h5::InputFile& file, const h5::InputDataset& data) {
  const std::uint64_t channels = data.shape().back();
  if (channels > static_cast<std::uint64_t>(std::numeric_limits<int>::max())) {
    throw file.wrong(kTimeData, fmt::format("{} channels", channels), "fewer");
  }
  if (channels > data.shape().front() && channels > static_cast<std::uint64_t>(kMaxMicrophones)) {
    throw file.wrong(kTimeData, fmt::format("{} samples of {} channels", data.shape().front(), channels),
                     "[sample, channel]; the dataset seems to be transposed, [channel, sample]");
  }
  return static_cast<int>(channels);
}

/// Acoular states no unit, its values are in Pa; other programs, and xarray, add the attribute units.
std::optional<double> pascal_per_unit_in(const h5::InputFile& file) {
  for (const char* name : {"units", "unit"}) {
    if (file.has_attribute(kTimeData, name)) {
      return pascal_per_unit_named(file.text_attribute(kTimeData, name));
    }
  }
  return 1.0;
}

/// A file of Acoular's.
class AcoularFile : public time_data::Input {
 public:
  explicit AcoularFile(const std::filesystem::path& path)
      : file_(open_input(path, FileKind::kTimeData)),
        data_(file_.dataset<float>(kTimeData, {{"samples"}, {"channels"}})),
        description_{.format = "HDF5, as Acoular writes it",
                     .sample_rate_hz = file_.positive_attribute(kTimeData, kSampleRate),
                     .samples = data_.shape().front(),
                     .channels = read_channels(file_, data_),
                     .pascal_per_unit = pascal_per_unit_in(file_)} {}
  [[nodiscard]] const time_data::Description& description() const override { return description_; }
  void read(std::uint64_t first_sample, std::span<float> values) override { data_.read(first_sample, values); }

 private:
  h5::InputFile file_;
  h5::InputDataset data_;
  time_data::Description description_;
};

}  // namespace

std::unique_ptr<time_data::Input> time_data::open_acoular(const std::filesystem::path& path) {
  return std::make_unique<AcoularFile>(path);
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

TimeDataWriter::TimeDataWriter(const std::filesystem::path& path, double sample_rate_hz, const ArrayGeometry& geometry,
                               const std::string& unit)
    : state_(std::make_unique<State>(path, sample_rate_hz, geometry)) {
  if (unit != "Pa") {  // Acoular's files need not say it
    state_->file.write_attribute(kTimeData, "units", unit);
  }
}
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
