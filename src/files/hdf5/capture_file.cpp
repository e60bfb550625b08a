#include <fmt/format.h>

#include "files/format.hpp"

namespace nearfield {
namespace {

constexpr const char* kBitstream = "/bitstream";
constexpr const char* kMissing = "/missing";

std::uint64_t unsigned_of(int value) { return static_cast<std::uint64_t>(value); }

WireLayout read_layout(const h5::InputFile& file) {
  const std::string found = file.text_attribute(kBitstream, "layout");
  try {
    return wire_layout_of(found);
  } catch (const ConfigError&) {
    throw file.wrong_attribute(kBitstream, "layout", fmt::format("\"{}\"", found), "sorama-cam or row-major");
  }
}

int read_words_per_bit_time(const h5::InputFile& file, WireLayout layout, const ArrayGeometry& geometry) {
  try {
    return words_per_bit_time(layout, geometry);
  } catch (const ConfigError&) {
    throw file.wrong_attribute(kBitstream, "layout",
                               fmt::format("{} for {} microphones", name_of(layout), text_of_size(geometry)),
                               "a layout that fits /geometry");
  }
}

CaptureInfo read_info(const h5::InputFile& file) {
  CaptureInfo info;
  info.measurement = read_measurement(file, false);
  info.measurement.sensitivity_dbfs = file.real_attribute("/geometry", "sensitivity_dbfs");
  if (!file.has(kBitstream)) {
    throw file.wrong(kBitstream, "nothing", "a dataset [bit-times, words] of uint32");
  }
  info.layout = read_layout(file);
  info.sample_rate_hz = file.positive_attribute(kBitstream, "sample_rate_hz");
  info.start_time_ns = file.integer_attribute(kBitstream, "start_time_ns");
  info.words_per_bit_time = read_words_per_bit_time(file, info.layout, info.measurement.geometry);
  if (file.has_attribute(kBitstream, "first_bit_time")) {
    info.first_bit_time = static_cast<std::uint64_t>(file.integer_attribute(kBitstream, "first_bit_time", 0));
  }
  return info;
}

using Field = std::vector<std::complex<float>>;

Field read_field(const h5::InputFile& file, const std::string& name, std::size_t frequencies, int rows, int columns) {
  if (!file.has(name)) {
    return {};
  }
  return file.values<std::complex<float>>(
      name, {{"frequencies", frequencies}, {"rows", unsigned_of(rows)}, {"columns", unsigned_of(columns)}});
}

/// Axes of true fields: frequencies, rows, columns.
struct FieldAxes {
  h5::Shape shape;
  std::vector<std::string> scales;
};

void write_field(h5::OutputFile& file, const std::string& name, const Field& field, const FieldAxes& axes,
                 std::string_view unit, std::string_view words) {
  if (field.empty()) {
    return;
  }
  require_values(name, field.size(), axes.shape[0] * axes.shape[1] * axes.shape[2]);
  file.write(name, axes.shape, field);
  write_words(file, name, unit, words);
  name_axes(file, name, axes.shape, axes.scales);
}

constexpr const char* kTracks = "/truth/tracks";
constexpr const char* kSource = "/truth/source";
constexpr const char* kTrackTimes = "/truth/track_times_s";
constexpr const char* kBandCentres = "/truth/band_centres_hz";
constexpr const char* kBandPower = "/truth/band_mean_square_at_1m";

std::optional<SourceTruth> read_source_truth(const h5::InputFile& file) {
  if (!file.has(kTracks)) {
    return std::nullopt;
  }
  SourceTruth truth;
  truth.times_s = file.values<double>(kTrackTimes, {{"times"}});
  truth.band_centres_hz = read_frequencies(file, kBandCentres);
  const h5::InputDataset tracks =
      file.dataset<double>(kTracks, {{"times", truth.times_s.size()}, {"sources"}, {"x, y, z", 3}});
  truth.positions_m = tracks.read_all<double>();
  truth.band_mean_square_pa2 =
      file.values<double>(kBandPower, {{"sources", tracks.shape()[1]}, {"bands", truth.band_centres_hz.size()}});
  truth.names = file.text_attribute(kTracks, "sources");
  return truth;
}

void write_source_truth(h5::OutputFile& file, const SourceTruth& truth) {
  constexpr std::size_t kMostNames = 30000;  // an attribute has at most 32 KiB
  const std::size_t sources = truth.sources();
  require_values(kTracks, truth.positions_m.size(), truth.times_s.size() * sources * 3);
  file.write(kTrackTimes, {truth.times_s.size()}, truth.times_s);
  write_words(file, kTrackTimes, "s", "time from bit-time 0 on");
  file.make_scale(kTrackTimes);
  const h5::Shape tracks = {truth.times_s.size(), sources, 3};
  file.write(kTracks, tracks, truth.positions_m);
  write_words(file, kTracks, "m", "x, y and z of the source");
  name_axes(file, kTracks, tracks, {kTrackTimes, kSource, "/truth/component"});
  file.write_attribute(kTracks, "sources", std::string_view(truth.names).substr(0, kMostNames));
  write_list(file, kBandCentres, truth.band_centres_hz);
  const h5::Shape powers = {sources, truth.band_centres_hz.size()};
  file.write(kBandPower, powers, truth.band_mean_square_pa2);
  write_words(file, kBandPower, "Pa^2", "mean square pressure of the source alone at 1 m");
  name_axes(file, kBandPower, powers, {kSource, kBandCentres});
}

void require_inside(const h5::InputFile& file, const Segments& segments, std::uint64_t bit_times) {
  for (std::size_t index = 0; index < segments.bit_times.size(); ++index) {
    const std::uint64_t first = segments.first_bit_time[index];
    const std::uint64_t length = segments.bit_times[index];
    if (length == 0 || first > bit_times || length > bit_times - first) {
      throw file.wrong(fmt::format("/segments[{}]", index), fmt::format("{} bit-times from {}", length, first),
                       fmt::format("at least one, within the capture's {} bit-times", bit_times));
    }
  }
}

}  // namespace

void write_truth(h5::OutputFile& file, const Truth& truth, const ArrayGeometry& geometry) {
  const std::size_t count = truth.frequencies_hz.size();
  file.create_group("/truth");
  if (truth.sources) {
    write_source_truth(file, *truth.sources);
  }
  if (count == 0) {
    return;
  }
  write_list(file, "/truth/frequencies_hz", truth.frequencies_hz);
  const auto axes_of = [&](int rows, int columns, const std::vector<std::string>& grid) {
    return FieldAxes{.shape = {count, unsigned_of(rows), unsigned_of(columns)},
                     .scales = {"/truth/frequencies_hz", grid[0], grid[1]}};
  };
  const ImageGrid grid = image_grid(geometry);
  const FieldAxes microphones = axes_of(geometry.rows, geometry.columns, write_grid(file, "/truth", geometry));
  const FieldAxes pixels =
      geometry.is_grid() ? microphones : axes_of(grid.rows(), grid.columns(), write_pixels(file, "/truth", grid));
  write_field(file, "/truth/pressure", truth.pressure, pixels, "Pa", "pressure at z = 0");
  write_field(file, "/truth/normal_velocity", truth.normal_velocity, pixels, "m/s", "normal velocity at z = 0");
  write_field(file, "/truth/aperture_pressure", truth.aperture_pressure, microphones, "Pa",
              "pressure at the microphones");
}

std::optional<Truth> read_truth(const h5::InputFile& file, const ArrayGeometry& geometry,
                                const std::vector<double>& frequencies_hz) {
  constexpr const char* kFrequencies = "/truth/frequencies_hz";
  if (!file.has("/truth")) {
    return std::nullopt;
  }
  Truth truth;
  truth.sources = read_source_truth(file);
  const bool are_stated = file.has(kFrequencies);
  if (truth.sources && !are_stated) {
    return truth;
  }
  truth.frequencies_hz = are_stated || frequencies_hz.empty() ? read_frequencies(file, kFrequencies) : frequencies_hz;
  const std::size_t count = truth.frequencies_hz.size();
  const ImageGrid grid = image_grid(geometry);
  truth.pressure = read_field(file, "/truth/pressure", count, grid.rows(), grid.columns());
  truth.normal_velocity = read_field(file, "/truth/normal_velocity", count, grid.rows(), grid.columns());
  truth.aperture_pressure = read_field(file, "/truth/aperture_pressure", count, geometry.rows, geometry.columns);
  return truth;
}

struct CaptureReader::State {
  h5::InputFile file;
  CaptureInfo info;
  h5::InputDataset bits;

  explicit State(const std::filesystem::path& path)
      : file(open_input(path, FileKind::kCapture)),
        info(read_info(file)),
        bits(
            file.dataset<std::uint32_t>(kBitstream, {{"bit-times"}, {"words", unsigned_of(info.words_per_bit_time)}})) {
    info.bit_times = bits.shape().front();
  }
};

CaptureReader::CaptureReader(const std::filesystem::path& path) : state_(std::make_unique<State>(path)) {}
CaptureReader::~CaptureReader() = default;
CaptureReader::CaptureReader(CaptureReader&&) noexcept = default;
CaptureReader& CaptureReader::operator=(CaptureReader&&) noexcept = default;

const CaptureInfo& CaptureReader::info() const { return state_->info; }

void CaptureReader::read(std::uint64_t first_bit_time, std::span<std::uint32_t> words) const {
  state_->bits.read(first_bit_time, words);
}

std::optional<Truth> CaptureReader::truth() const {
  return read_truth(state_->file, state_->info.measurement.geometry, {});
}

std::optional<Segments> CaptureReader::segments() const {
  const h5::InputFile& file = state_->file;
  if (!file.has("/segments")) {
    return std::nullopt;
  }
  Segments segments;
  segments.frequencies_hz = read_frequencies(file, "/segments/frequencies_hz");
  const std::vector<h5::Axis> axes{{"segments", segments.frequencies_hz.size()}};
  segments.first_bit_time = file.values<std::uint64_t>("/segments/first_bit_time", axes);
  segments.bit_times = file.values<std::uint64_t>("/segments/bit_times", axes);
  require_inside(file, segments, state_->info.bit_times);
  return segments;
}

std::vector<MissingRun> CaptureReader::missing() const {
  const h5::InputFile& file = state_->file;
  if (!file.has(kMissing)) {
    return {};
  }
  const auto values = file.values<std::uint64_t>(kMissing, {{"runs"}, {"first and count", 2}});
  std::vector<MissingRun> runs;
  std::uint64_t end = 0;
  for (std::size_t i = 0; i < values.size(); i += 2) {
    runs.push_back({.first_bit_time = values[i], .bit_times = values[i + 1]});
    if (values[i] < end || values[i] > state_->info.bit_times || values[i + 1] > state_->info.bit_times - values[i]) {
      throw file.wrong(fmt::format("{}[{}]", kMissing, i / 2), fmt::format("{} from {}", values[i + 1], values[i]),
                       fmt::format("ascending runs within the capture's {} bit-times", state_->info.bit_times));
    }
    end = values[i] + values[i + 1];
  }
  return runs;
}

struct CaptureWriter::State {
  ArrayGeometry geometry;
  std::uint64_t words_per_bit_time = 0;
  std::uint64_t bit_times = 0;
  h5::OutputFile file;
  h5::OutputDataset bits;

  State(const std::filesystem::path& path, const CaptureInfo& info)
      : geometry(info.measurement.geometry),
        words_per_bit_time(unsigned_of(nearfield::words_per_bit_time(info.layout, geometry))),
        file(path) {
    write_format(file, FileKind::kCapture);
    write_measurement(file, info.measurement);
    file.write_attribute("/geometry", "sensitivity_dbfs", info.measurement.sensitivity_dbfs);
    bits = file.create<std::uint32_t>(kBitstream, {0, words_per_bit_time}, h5::Storage::kGrowing);
    file.write_attribute(kBitstream, "sample_rate_hz", info.sample_rate_hz);
    file.write_attribute(kBitstream, "layout", name_of(info.layout));
    file.write_attribute(kBitstream, "start_time_ns", info.start_time_ns);
    if (info.first_bit_time > 0) {
      file.write_attribute(kBitstream, "first_bit_time", static_cast<std::int64_t>(info.first_bit_time));
    }
  }
};

CaptureWriter::CaptureWriter(const std::filesystem::path& path, const CaptureInfo& info)
    : state_(std::make_unique<State>(path, info)) {}
CaptureWriter::~CaptureWriter() = default;

void CaptureWriter::append(std::span<const std::uint32_t> words) {
  state_->bits.write(state_->bit_times, words);
  state_->bit_times += words.size() / state_->words_per_bit_time;
}

void CaptureWriter::write_truth(const Truth& truth) { nearfield::write_truth(state_->file, truth, state_->geometry); }

void CaptureWriter::write_segments(const Segments& segments) {
  h5::OutputFile& file = state_->file;
  const std::size_t count = segments.frequencies_hz.size();
  require_values("segments.first_bit_time", segments.first_bit_time.size(), count);
  require_values("segments.bit_times", segments.bit_times.size(), count);
  file.create_group("/segments");
  file.write("/segments/first_bit_time", {count}, segments.first_bit_time);
  file.write("/segments/bit_times", {count}, segments.bit_times);
  write_list(file, "/segments/frequencies_hz", segments.frequencies_hz);
  for (const char* name : {"/segments/first_bit_time", "/segments/bit_times"}) {
    name_axes(file, name, {count}, {"/segments/frequencies_hz"});
  }
}

void CaptureWriter::write_missing(std::span<const MissingRun> runs) {
  if (runs.empty()) {
    return;
  }
  std::vector<std::uint64_t> values;
  for (const MissingRun& run : runs) {
    values.insert(values.end(), {run.first_bit_time, run.bit_times});
  }
  state_->file.write(kMissing, {runs.size(), 2}, values);
  write_words(state_->file, kMissing, "1", "first and number of bit-times that never came");
  name_axes(state_->file, kMissing, {runs.size(), 2}, {"/run", "/first_and_count"});
}

void CaptureWriter::finish() {
  if (state_->bit_times == 0) {
    throw DataError("the capture holds no bit-times; nothing was appended");
  }
  write_words(state_->file, kBitstream, "1", "bits of the microphones");
  name_axes(state_->file, kBitstream, {state_->bit_times, state_->words_per_bit_time}, {"/bit_time", "/word"});
  state_->file.finish();
}

}  // namespace nearfield
