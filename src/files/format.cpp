#include "files/format.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <utility>

#include "core/settings.hpp"
#include "files/nfr/nfr_reader.hpp"
#include "files/time_data/time_data_input.hpp"

namespace nearfield {
namespace {

constexpr std::int64_t kVersion = 1;
constexpr const char* kGeometry = "/geometry";
constexpr const char* kCorrectable = "correctable";
constexpr const char* kPositions = "/geometry/positions_m";

struct Format {
  FileKind kind;
  std::string_view name;
};

constexpr std::array<Format, 6> kFormats{{{FileKind::kCapture, "nearfield-capture"},
                                          {FileKind::kSpectra, "nearfield-spectra"},
                                          {FileKind::kImages, "nearfield-images"},
                                          {FileKind::kCalibration, "nearfield-calibration"},
                                          {FileKind::kCrossSpectra, "nearfield-cross-spectra"},
                                          {FileKind::kTemplates, "nearfield-templates"}}};

std::string_view format_of(FileKind kind) {
  for (const Format& format : kFormats) {
    if (format.kind == kind) {
      return format.name;
    }
  }
  return "";
}

/// Spectra and calibrations may come from scripts and need not state a version.
bool needs_version(FileKind kind) {
  return kind == FileKind::kCapture || kind == FileKind::kImages || kind == FileKind::kTemplates;
}

void require_version(const h5::InputFile& file, FileKind kind) {
  const bool stated = kind != FileKind::kTimeData && file.has_attribute("/", "version");
  if (stated || needs_version(kind)) {
    (void)file.integer_attribute("/", "version", kVersion, kVersion);
  }
}

}  // namespace

std::string_view name_of(FileKind kind) {
  switch (kind) {
    case FileKind::kCapture:
      return "capture";
    case FileKind::kTimeData:
      return "time data";
    case FileKind::kSpectra:
      return "spectra";
    case FileKind::kImages:
      return "images";
    case FileKind::kCalibration:
      return "calibration";
    case FileKind::kRecording:
      return "recording";
    case FileKind::kCrossSpectra:
      return "cross-spectra";
    case FileKind::kTemplates:
      return "templates";
  }
  return "?";
}

FileKind kind_of(const h5::InputFile& file) {
  if (!file.has_attribute("/", "format")) {
    if (file.has("/time_data")) {
      return FileKind::kTimeData;
    }
    throw file.wrong("/", "neither an attribute format nor a dataset /time_data",
                     "one of Nearfield's files or Acoular's time data");
  }
  const std::string found = file.text_attribute("/", "format");
  for (const Format& format : kFormats) {
    if (format.name == found) {
      return format.kind;
    }
  }
  throw file.wrong_attribute("/", "format", fmt::format("\"{}\"", found),
                             "nearfield-capture, nearfield-spectra, nearfield-images or nearfield-calibration");
}

bool is_time_data_of_others(const std::filesystem::path& path) {
  return time_data::format_of(path) != time_data::Format::kNone;
}

bool is_wav_of_other_samples(const std::filesystem::path& path) {
  return time_data::format_of(path) == time_data::Format::kWav && time_data::has_unknown_samples(path);
}

FileKind detect_file_kind(const std::filesystem::path& path) {
  if (is_time_data_of_others(path)) {
    return FileKind::kTimeData;
  }
  return nfr::is_recording(path) ? FileKind::kRecording : kind_of(h5::InputFile(path));
}

std::vector<MicrophonePosition> kept_positions_m(const ArrayGeometry& geometry) {
  std::vector<MicrophonePosition> positions_m = geometry.placement->positions_m;
  if (!geometry.is_grid()) {
    for (std::size_t i = 0; i < positions_m.size(); ++i) {
      positions_m[i] = geometry.position_m(static_cast<int>(i));
    }
  }
  return positions_m;
}

ArrayGeometry geometry_of_kept(const std::vector<MicrophonePosition>& positions_m) {
  ArrayGeometry found = geometry_of(positions_m);
  return found.is_grid() ? found : irregular_geometry_of(positions_m);
}

h5::InputFile open_input(const std::filesystem::path& path, FileKind kind) {
  h5::InputFile file(path);
  const FileKind found = kind_of(file);
  if (found != kind) {
    throw DataError(fmt::format("{}: found {}, expected {}", path.string(), name_of(found), name_of(kind)));
  }
  require_version(file, kind);
  return file;
}

void write_format(h5::OutputFile& file, FileKind kind) {
  file.write_attribute("/", "format", format_of(kind));
  file.write_attribute("/", "version", kVersion);
}

namespace {

ArrayGeometry read_placed_geometry(const h5::InputFile& file) {
  const h5::InputDataset data = file.dataset<double>(kPositions, {{"microphones"}, {"x, y and z", 3}});
  if (data.shape().front() > static_cast<std::uint64_t>(kMaxMicrophones)) {
    throw file.wrong(kPositions, fmt::format("{} microphones", data.shape().front()),
                     fmt::format("at most {}", kMaxMicrophones));
  }
  const std::vector<double> values = data.read_all<double>();
  std::vector<MicrophonePosition> positions_m;
  for (std::size_t i = 0; i < values.size(); i += 3) {
    positions_m.push_back({values[i], values[i + 1], values[i + 2]});
  }
  if (const std::string flaw = flaw_of_positions(positions_m); !flaw.empty()) {
    throw file.wrong(kPositions, flaw, "the positions of an array");
  }
  return geometry_of_kept(positions_m);
}

void write_positions(h5::OutputFile& file, const ArrayGeometry& geometry) {
  std::vector<double> values;
  for (const MicrophonePosition& position : kept_positions_m(geometry)) {
    values.insert(values.end(), {position.x_m, position.y_m, position.z_m});
  }
  const h5::Shape shape = {values.size() / 3, 3};
  file.write(kPositions, shape, values);
  write_words(file, kPositions, "m", "x, y and z of the microphone");
  name_axes(file, kPositions, shape, {"/geometry/microphone", "/geometry/component"});
}

double read_pitch(const h5::InputFile& file, const std::string& name) {
  const double pitch_m = file.positive_attribute(kGeometry, name);
  if (pitch_m < kShortestLengthM || pitch_m > kLongestLengthM) {
    throw file.wrong_attribute(kGeometry, name, fmt::format("{}", pitch_m),
                               fmt::format("a length from {} to {} m", kShortestLengthM, kLongestLengthM));
  }
  return pitch_m;
}

}  // namespace

ArrayGeometry read_geometry(const h5::InputFile& file) {
  if (file.has(kPositions)) {
    return read_placed_geometry(file);
  }
  ArrayGeometry geometry;
  geometry.rows = static_cast<int>(file.integer_attribute(kGeometry, "rows", 1, kMaxSide));
  geometry.columns = static_cast<int>(file.integer_attribute(kGeometry, "columns", 1, kMaxSide));
  geometry.pitch_x_m = read_pitch(file, "pitch_x_m");
  geometry.pitch_y_m = read_pitch(file, "pitch_y_m");
  return geometry;
}

ArrayGeometry read_geometry_in_order(const h5::InputFile& file) {
  ArrayGeometry geometry = read_geometry(file);
  if (geometry.is_reordered()) {
    throw file.wrong(kPositions, "another order", "microphones in the order of rows and columns");
  }
  return geometry.in_channel_order();
}

MeasurementGeometry read_measurement(const h5::InputFile& file, bool is_in_order) {
  MeasurementGeometry measurement;
  measurement.geometry = is_in_order ? read_geometry_in_order(file) : read_geometry(file);
  measurement.standoff_m = file.real_attribute(kGeometry, "standoff_m");
  if (!(measurement.standoff_m > 0.0)) {
    throw file.wrong_attribute(kGeometry, "standoff_m", fmt::format("{}", measurement.standoff_m),
                               "a length of at least 0 m");
  }
  measurement.correctable =
      file.has_attribute(kGeometry, kCorrectable) && file.integer_attribute(kGeometry, kCorrectable, 0, 1) == 1;
  return measurement;
}

void write_geometry(h5::OutputFile& file, const ArrayGeometry& geometry) {
  file.create_group(kGeometry);
  file.write_attribute(kGeometry, "rows", std::int64_t{geometry.rows});
  file.write_attribute(kGeometry, "columns", std::int64_t{geometry.columns});
  file.write_attribute(kGeometry, "pitch_x_m", geometry.pitch_x_m);
  file.write_attribute(kGeometry, "pitch_y_m", geometry.pitch_y_m);
  if (geometry.placement) {
    write_positions(file, geometry);
  }
}

void write_measurement(h5::OutputFile& file, const MeasurementGeometry& measurement) {
  write_geometry(file, measurement.geometry);
  file.write_attribute(kGeometry, "standoff_m", measurement.standoff_m);
  if (measurement.correctable) {
    file.write_attribute(kGeometry, kCorrectable, std::int64_t{1});
  }
}

std::vector<double> read_frequencies(const h5::InputFile& file, const std::string& name, Lowest lowest) {
  std::vector<double> frequencies = file.values<double>(name, {{"frequencies"}});
  for (std::size_t index = 0; index < frequencies.size(); ++index) {
    const bool is_0 = frequencies[index] == 0.0 && lowest == Lowest::k0;
    if (!std::isfinite(frequencies[index]) || (frequencies[index] <= 0.0 && !is_0)) {
      throw file.wrong(fmt::format("{}[{}]", name, index), fmt::format("{}", frequencies[index]),
                       lowest == Lowest::k0 ? "a finite frequency from 0 Hz on" : "a finite frequency above 0 Hz");
    }
  }
  return frequencies;
}

void write_list(h5::OutputFile& file, const std::string& name, const std::vector<double>& values) {
  file.write(name, {values.size()}, values);
  write_words(file, name, "Hz", "frequency");
  file.make_scale(name);
}

void write_words(h5::OutputFile& file, const std::string& place, std::string_view unit, std::string_view words) {
  file.write_attribute(place, "units", unit);
  file.write_attribute(place, "long_name", words);
}

void name_axes(h5::OutputFile& file, const std::string& place, const h5::Shape& shape,
               const std::vector<std::string>& scales) {
  for (std::size_t axis = 0; axis < scales.size(); ++axis) {
    if (!file.has(scales[axis])) {
      file.create_dimension(scales[axis], shape[axis]);
    }
  }
  file.attach_scales(place, scales);
}

std::vector<std::string> write_grid(h5::OutputFile& file, const std::string& group, const ArrayGeometry& geometry) {
  if (geometry.placement) {
    return {group + "/row", group + "/column"};
  }
  return write_pixels(file, group, image_grid(geometry));
}

std::vector<std::string> write_pixels(h5::OutputFile& file, const std::string& group, const ImageGrid& grid) {
  const auto write_scale = [&](const std::string& place, std::string_view words, int count, const auto& position_m) {
    std::vector<double> values;
    for (int i = 0; i < count; ++i) {
      values.push_back(position_m(i));
    }
    file.write(place, {values.size()}, values);
    write_words(file, place, "m", words);
    file.make_scale(place);
    return place;
  };
  return {write_scale(group + "/y_m", "y", grid.rows(), [&](int row) { return grid.y_m(row); }),
          write_scale(group + "/x_m", "x", grid.columns(), [&](int column) { return grid.x_m(column); })};
}

void require_values(std::string_view what, std::size_t found, std::size_t expected) {
  if (found != expected) {
    throw Error(ExitCode::kInternal, fmt::format("{}: found {} values, expected {}", what, found, expected));
  }
}

namespace {

struct KnownStart {
  std::string_view bytes;
  std::string_view hint;
};

constexpr std::string_view kByPython = "nearfield.write_time_data of the Python package writes HDF5 of arrays";

constexpr std::array<KnownStart, 6> kStarts{
    {{"MDF ", "it is MDF: nearfield.read_mdf4 of the Python package reads it"},
     {"UnFinMF ", "it is MDF that was not finished: finish it with the program that wrote it"},
     {"\x93NUMPY", "it is an array of NumPy: nearfield.write_time_data of the Python package writes HDF5 of it"},
     {"TDSm", "it is TDMS: npTDMS reads it, and nearfield.write_time_data of the Python package writes HDF5 of it"},
     {"PK\x03\x04", "it is a ZIP archive, such as .npz or .xlsx: unpack it first"},
     {"\x1f\x8b", "it is packed by gzip: unpack it first"}}};

/// WAV, AIFF, FLAC, Ogg and Core Audio, by their first four bytes.
bool starts_like_sound(std::string_view start) {
  constexpr std::array<std::string_view, 9> kSound = {"RIFF", "RIFX", "RF64", "FORM", "fLaC",
                                                      "OggS", "caff", "riff", ".snd"};
  return std::find(kSound.begin(), kSound.end(), start.substr(0, 4)) != kSound.end();
}

/// Level 4 has no head: a type of decimal digits MOPT, rows, columns, a flag of complex numbers, and a name's length.
bool starts_like_matlab4(std::string_view start) {
  std::array<std::int32_t, 5> head{};
  if (start.size() < sizeof head) {
    return false;
  }
  std::memcpy(head.data(), start.data(), sizeof head);
  const auto [type, rows, columns, is_complex, name_bytes] = head;
  return type >= 0 && type < 100 && type % 10 <= 2 && type / 10 <= 5 && rows > 0 && columns > 0 &&
         (is_complex == 0 || is_complex == 1) && name_bytes > 1 && name_bytes <= 64;
}

bool is_text(std::string_view start) {
  return !start.empty() && std::all_of(start.begin(), start.end(),
                                       [](unsigned char c) { return c >= ' ' || c == '\t' || c == '\r' || c == '\n'; });
}

std::string hint_on(std::string_view start, const std::string& path) {
  for (const KnownStart& known : kStarts) {
    if (start.starts_with(known.bytes)) {
      return std::string(known.hint);
    }
  }
  if (starts_like_sound(start)) {
    return fmt::format("it is a sound file: \"nearfield encode {} -o CAPTURE.h5\" makes a capture of it", path);
  }
  if (starts_like_matlab4(start)) {
    return "it seems to be a MATLAB file of level 4: save it with -v6, -v7 or -v7.3";
  }
  if (is_text(start)) {
    return fmt::format("it is text, such as CSV: {}", kByPython);
  }
  return start.empty() ? "it is empty" : std::string(kByPython);
}

}  // namespace

std::string hint_on_unknown_format(const std::filesystem::path& path) {
  std::array<char, 128> bytes{};
  std::ifstream file(path, std::ios::binary);
  file.read(bytes.data(), bytes.size());
  return hint_on({bytes.data(), static_cast<std::size_t>(file.gcount())}, path.string());
}

}  // namespace nearfield
