#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "capture/format.hpp"
#include "nearfield/settings.hpp"

namespace nearfield {
namespace {

using Complex = std::complex<float>;

constexpr const char* kFramesWritten = "/frames_written";
constexpr const char* kRadiatedPower = "/radiated_power_w";
constexpr const char* kPoints = "/points";
constexpr const char* kPointPlaces = "/points_xy_m";
constexpr const char* kBands = "/bands";
constexpr const char* kBandLimits = "/bands_hz";

std::vector<double> read_positions(const h5::InputFile& file, const std::string& name, std::string_view axis) {
  std::vector<double> positions = file.values<double>(name, {{axis}});
  for (std::size_t index = 0; index < positions.size(); ++index) {
    if (!std::isfinite(positions[index])) {
      throw file.wrong(fmt::format("{}[{}]", name, index), fmt::format("{}", positions[index]), "a finite length");
    }
  }
  return positions;
}

/// A list of pairs, [index][2]; empty when it is not there.
template <typename Pair>
std::vector<Pair> read_pairs(const h5::InputFile& file, const std::string& name) {
  std::vector<Pair> pairs;
  if (file.has(name)) {
    const auto values = file.values<double>(name, {{"pairs"}, {"numbers of a pair", 2}});
    for (std::size_t i = 0; i < values.size(); i += 2) {
      pairs.push_back({values[i], values[i + 1]});
    }
  }
  return pairs;
}

template <typename Pair>
void write_pairs(h5::OutputFile& file, const std::string& name, const std::vector<Pair>& pairs) {
  std::vector<double> values;
  for (const auto& [first, second] : pairs) {
    values.insert(values.end(), {first, second});
  }
  if (!pairs.empty()) {
    file.write(name, {pairs.size(), 2}, values);
  }
}

std::string read_quantity(const h5::InputFile& file) {
  std::string quantity = file.text_attribute("/", "quantity");
  std::vector<std::string_view> known;
  for (const Quantity one : kQuantities) {
    known.push_back(name_of(one));
  }
  if (std::find(known.begin(), known.end(), quantity) == known.end()) {
    throw file.wrong_attribute("/", "quantity", fmt::format("\"{}\"", quantity),
                               fmt::format("one of {}", fmt::join(known, ", ")));
  }
  return quantity;
}

ImagesHeader read_header(const h5::InputFile& file) {
  ImagesHeader header;
  header.quantity = read_quantity(file);
  header.unit = file.text_attribute("/", "unit");
  header.config = file.text_attribute("/", "config");
  header.device = file.text_attribute("/", "device");
  header.front_end = file.text_attribute("/", "front_end");
  header.frequencies_hz = read_frequencies(file);
  header.planes_m = read_positions(file, "/planes_m", "planes");
  header.x_m = read_positions(file, "/x_m", "columns");
  header.y_m = read_positions(file, "/y_m", "rows");
  header.points = read_pairs<PlanePoint>(file, kPointPlaces);
  header.holds_images = header.points.empty() || file.has("/images");
  if (header.holds_images) {
    header.bands_hz = read_pairs<Band>(file, kBandLimits);
  }
  return header;
}

void write_header(h5::OutputFile& file, const ImagesHeader& header) {
  write_format(file, FileKind::kImages);
  file.write_attribute("/", "quantity", header.quantity);
  file.write_attribute("/", "unit", header.unit);
  file.write_attribute("/", "config", header.config);
  file.write_attribute("/", "device", header.device);
  file.write_attribute("/", "front_end", header.front_end);
  write_list(file, "/frequencies_hz", header.frequencies_hz);
  write_list(file, "/planes_m", header.planes_m);
  write_list(file, "/x_m", header.x_m);
  write_list(file, "/y_m", header.y_m);
  write_pairs(file, kPointPlaces, header.points);
  if (header.holds_images) {
    write_pairs(file, kBandLimits, header.bands_hz);
  }
}

/// The datasets that hold one index a frame. One list serves both directions.
template <typename Data>
struct PerFrame {
  Data first_sample, timestamp_ns, flags, missing_bits, cutoff_rad_per_m, slope, noise_pa;
  std::optional<Data> images;            ///< none in a file of points alone
  std::optional<Data> radiated_power_w;  ///< of active intensity
  std::optional<Data> points;
  std::optional<Data> bands;
  std::optional<Data> error_estimate;  ///< files before it was published have none
};

bool is_intensity(const ImagesHeader& header) { return header.quantity == name_of(Quantity::kActiveIntensity); }

PerFrame<h5::InputDataset> open_frames(const h5::InputFile& file, const ImagesHeader& header) {
  const h5::Axis frequencies{"frequencies", header.frequencies_hz.size()};
  PerFrame<h5::InputDataset> data;
  const h5::Axis planes{"planes", header.planes_m.size()};
  h5::Axis frames{"frames"};
  if (header.holds_images) {
    data.images = file.dataset<Complex>(
        "/images", {frames, planes, frequencies, {"rows", header.y_m.size()}, {"columns", header.x_m.size()}});
    frames.length = data.images->shape().front();
  }
  data.first_sample = file.dataset<std::uint64_t>("/first_sample", {frames});
  frames.length = data.first_sample.shape().front();
  data.timestamp_ns = file.dataset<std::int64_t>("/timestamp_ns", {frames});
  data.flags = file.dataset<std::uint32_t>("/flags", {frames});
  data.missing_bits = file.dataset<std::uint64_t>("/missing_bits", {frames});
  data.cutoff_rad_per_m = file.dataset<float>("/cutoff_rad_per_m", {frames, frequencies});
  data.slope = file.dataset<float>("/slope", {frames, frequencies});
  data.noise_pa = file.dataset<float>("/noise_pa", {frames, frequencies});
  if (file.has(kRadiatedPower)) {
    data.radiated_power_w = file.dataset<float>(kRadiatedPower, {frames, planes, frequencies});
  }
  if (!header.points.empty()) {
    data.points = file.dataset<Complex>(kPoints, {frames, planes, frequencies, {"points", header.points.size()}});
  }
  if (!header.bands_hz.empty()) {
    const h5::Axis bands{"bands", header.bands_hz.size()};
    data.bands = file.dataset<float>(
        kBands, {frames, planes, bands, {"rows", header.y_m.size()}, {"columns", header.x_m.size()}});
  }
  if (file.has("/error_estimate")) {
    data.error_estimate = file.dataset<float>("/error_estimate", {frames, frequencies});
  }
  return data;
}

PerFrame<h5::OutputDataset> create_frames(h5::OutputFile& file, const ImagesHeader& header, std::uint64_t frames) {
  constexpr h5::Storage kInPlace = h5::Storage::kInPlace;
  const hsize_t frequencies = header.frequencies_hz.size();
  PerFrame<h5::OutputDataset> data;
  const hsize_t planes = header.planes_m.size();
  if (header.holds_images) {
    data.images =
        file.create<Complex>("/images", {frames, planes, frequencies, header.y_m.size(), header.x_m.size()}, kInPlace);
  }
  if (!header.points.empty()) {
    data.points = file.create<Complex>(kPoints, {frames, planes, frequencies, header.points.size()}, kInPlace);
  }
  data.first_sample = file.create<std::uint64_t>("/first_sample", {frames}, kInPlace);
  data.timestamp_ns = file.create<std::int64_t>("/timestamp_ns", {frames}, kInPlace);
  data.flags = file.create<std::uint32_t>("/flags", {frames}, kInPlace);
  data.missing_bits = file.create<std::uint64_t>("/missing_bits", {frames}, kInPlace);
  data.cutoff_rad_per_m = file.create<float>("/cutoff_rad_per_m", {frames, frequencies}, kInPlace);
  data.slope = file.create<float>("/slope", {frames, frequencies}, kInPlace);
  data.noise_pa = file.create<float>("/noise_pa", {frames, frequencies}, kInPlace);
  if (header.holds_images && !header.bands_hz.empty()) {
    data.bands = file.create<float>(
        kBands, {frames, planes, header.bands_hz.size(), header.y_m.size(), header.x_m.size()}, kInPlace);
    file.write_attribute(kBands, "unit", unit_of_bands(header));
  }
  if (is_intensity(header)) {
    data.radiated_power_w = file.create<float>(kRadiatedPower, {frames, planes, frequencies}, kInPlace);
  }
  data.error_estimate = file.create<float>("/error_estimate", {frames, frequencies}, kInPlace);
  return data;
}

/// A file without /frames_written comes from elsewhere and is taken as whole.
std::uint64_t read_frames_written(const h5::InputFile& file, std::uint64_t room) {
  if (!file.has(kFramesWritten)) {
    return room;
  }
  const std::uint64_t written = file.values<std::uint64_t>(kFramesWritten, {}).front();
  if (written == 0) {
    throw file.wrong(kFramesWritten, fmt::format("0 of {}", room), "at least one frame");
  }
  return std::min(written, room);
}

template <typename T>
void write_one(h5::OutputDataset& data, std::uint64_t frame, const T& value) {
  data.write(frame, std::span<const T>(&value, 1));
}

template <typename T>
void write_all(h5::OutputDataset& data, std::uint64_t frame, const std::vector<T>& values) {
  data.write(frame, std::span<const T>(values));
}

template <typename T>
void read_one(const h5::InputDataset& data, std::uint64_t frame, T& value) {
  data.read(frame, std::span<T>(&value, 1));
}

template <typename T>
void read_all(const h5::InputDataset& data, std::uint64_t frame, std::vector<T>& values) {
  values.resize(data.values() / data.shape().front());
  data.read(frame, std::span<T>(values));
}

void require_shape(const ImageFrame& frame, const ImagesHeader& header) {
  const std::size_t frequencies = header.frequencies_hz.size();
  if (header.holds_images) {
    require_values("images", frame.images.size(), header.values_per_frame());
    require_values("bands", frame.bands.size(), header.planes_m.size() * header.bands_hz.size() * header.pixels());
  }
  require_values("points", frame.points.size(), header.planes_m.size() * frequencies * header.points.size());
  require_values("cutoff_rad_per_m", frame.cutoff_rad_per_m.size(), frequencies);
  require_values("slope", frame.slope.size(), frequencies);
  require_values("noise_pa", frame.noise_pa.size(), frequencies);
  require_values("radiated_power_w", frame.radiated_power_w.size(),
                 is_intensity(header) ? header.planes_m.size() * frequencies : 0);
  require_values("error_estimate", frame.error_estimate.size(), frequencies);
}

}  // namespace

struct ImagesWriter::State {
  ImagesHeader header;
  std::uint64_t room;
  std::uint64_t written = 0;
  h5::OutputFile file;
  PerFrame<h5::OutputDataset> data;
  h5::OutputDataset frames_written;

  State(const std::filesystem::path& path, const ImagesHeader& images_header, std::uint64_t frames)
      : header(images_header), room(frames), file(path) {
    write_header(file, header);
    data = create_frames(file, header, frames);
    frames_written = file.create<std::uint64_t>(kFramesWritten, {}, h5::Storage::kInPlace);
    write_one(frames_written, 0, written);
    // From here on only raw data is written, to its place: nothing of the file's structure is ever outstanding.
    file.flush();
  }
};

ImagesWriter::ImagesWriter(const std::filesystem::path& path, const ImagesHeader& header, std::uint64_t frames)
    : state_(std::make_unique<State>(path, header, frames)) {}
ImagesWriter::~ImagesWriter() = default;

void ImagesWriter::write(const ImageFrame& frame) {
  State& state = *state_;
  require_shape(frame, state.header);
  if (state.written == state.room) {
    throw Error(ExitCode::kInternal, fmt::format("images: no room for a frame beyond {}", state.room));
  }
  if (state.data.images) {
    write_all(*state.data.images, state.written, frame.images);
  }
  if (state.data.bands) {
    write_all(*state.data.bands, state.written, frame.bands);
  }
  if (state.data.points) {
    write_all(*state.data.points, state.written, frame.points);
  }
  write_one(state.data.first_sample, state.written, frame.first_sample);
  write_one(state.data.timestamp_ns, state.written, frame.timestamp_ns);
  write_one(state.data.flags, state.written, frame.flags);
  write_one(state.data.missing_bits, state.written, frame.missing_bits);
  write_all(state.data.cutoff_rad_per_m, state.written, frame.cutoff_rad_per_m);
  write_all(state.data.slope, state.written, frame.slope);
  write_all(state.data.noise_pa, state.written, frame.noise_pa);
  if (state.data.radiated_power_w) {
    write_all(*state.data.radiated_power_w, state.written, frame.radiated_power_w);
  }
  write_all(*state.data.error_estimate, state.written, frame.error_estimate);
  // The counter comes last, so that it never counts a frame that is not there.
  write_one(state.frames_written, 0, state.written + 1);
  ++state.written;
  state.file.keep_partial();
}

void ImagesWriter::finish() {
  if (state_->written == 0) {
    throw DataError("the images hold no frames; nothing was written");
  }
  state_->file.finish();
}

struct ImagesReader::State {
  h5::InputFile file;
  ImagesHeader header;
  PerFrame<h5::InputDataset> data;
  std::uint64_t frames;

  explicit State(const std::filesystem::path& path)
      : file(open_input(path, FileKind::kImages)),
        header(read_header(file)),
        data(open_frames(file, header)),
        frames(read_frames_written(file, data.first_sample.shape().front())) {}
};

ImagesReader::ImagesReader(const std::filesystem::path& path) : state_(std::make_unique<State>(path)) {}
ImagesReader::~ImagesReader() = default;
ImagesReader::ImagesReader(ImagesReader&&) noexcept = default;
ImagesReader& ImagesReader::operator=(ImagesReader&&) noexcept = default;

const ImagesHeader& ImagesReader::header() const { return state_->header; }
std::uint64_t ImagesReader::frames() const { return state_->frames; }

ImageFrame ImagesReader::read(std::uint64_t frame) const {
  if (frame >= state_->frames) {
    throw state_->file.wrong("/images", fmt::format("{} frames", state_->frames), fmt::format("a frame {}", frame));
  }
  const PerFrame<h5::InputDataset>& data = state_->data;
  ImageFrame result;
  if (data.images) {
    read_all(*data.images, frame, result.images);
  }
  if (data.bands) {
    read_all(*data.bands, frame, result.bands);
  }
  if (data.points) {
    read_all(*data.points, frame, result.points);
  }
  read_one(data.first_sample, frame, result.first_sample);
  read_one(data.timestamp_ns, frame, result.timestamp_ns);
  read_one(data.flags, frame, result.flags);
  read_one(data.missing_bits, frame, result.missing_bits);
  read_all(data.cutoff_rad_per_m, frame, result.cutoff_rad_per_m);
  read_all(data.slope, frame, result.slope);
  read_all(data.noise_pa, frame, result.noise_pa);
  if (data.radiated_power_w) {
    read_all(*data.radiated_power_w, frame, result.radiated_power_w);
  }
  if (data.error_estimate) {
    read_all(*data.error_estimate, frame, result.error_estimate);
  } else {
    result.error_estimate.assign(result.noise_pa.size(), std::numeric_limits<float>::quiet_NaN());
  }
  return result;
}

}  // namespace nearfield
