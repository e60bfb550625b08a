#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <optional>
#include <set>
#include <vector>

#include "capture/format.hpp"
#include "capture/nfr_reader.hpp"

namespace nearfield {
namespace {

class Facts {
 public:
  template <typename... Arguments>
  void add(std::string_view name, fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    facts_.push_back({std::string(name), fmt::format(format, std::forward<Arguments>(arguments)...)});
  }
  [[nodiscard]] std::vector<FileFact> take() { return std::move(facts_); }

 private:
  std::vector<FileFact> facts_;
};

std::string text_of_bytes(std::uint64_t bytes) {
  constexpr std::array<std::string_view, 4> kUnits{"kB", "MB", "GB", "TB"};
  if (bytes < 1000) {
    return fmt::format("{} bytes", bytes);
  }
  double size = static_cast<double>(bytes) / 1000.0;
  std::size_t unit = 0;
  while (size >= 1000.0 && unit + 1 < kUnits.size()) {
    size /= 1000.0;
    ++unit;
  }
  return fmt::format("{:.4g} {}", size, kUnits[unit]);
}

std::string text_of_mm(double length_m) { return fmt::format("{:.4g} mm", 1000.0 * length_m); }

std::string text_of_frequencies(const std::vector<double>& frequencies_hz) {
  constexpr std::size_t kMostListed = 12;
  std::vector<std::string> texts;
  for (const double frequency_hz : frequencies_hz) {
    texts.push_back(fmt::format("{:.7g}", frequency_hz));
  }
  if (texts.size() <= kMostListed) {
    return fmt::format("{} Hz ({})", fmt::join(texts, ", "), texts.size());
  }
  const auto [lowest, highest] = std::minmax_element(frequencies_hz.begin(), frequencies_hz.end());
  return fmt::format("{:.7g} to {:.7g} Hz ({})", *lowest, *highest, texts.size());
}

/// "not stated" for 0, else date and time to the nanosecond. The files count seconds in TAI.
std::string text_of_time(std::int64_t time_ns) {
  constexpr std::int64_t kNsPerSecond = 1'000'000'000;
  if (time_ns == 0) {
    return "not stated";
  }
  const std::int64_t remainder = time_ns % kNsPerSecond;
  const std::int64_t nanoseconds = remainder < 0 ? remainder + kNsPerSecond : remainder;
  const std::time_t seconds = static_cast<std::time_t>((time_ns - nanoseconds) / kNsPerSecond);
  return fmt::format("{:%Y-%m-%d %H:%M:%S}.{:09} TAI", fmt::gmtime(seconds), nanoseconds);
}

template <typename T>
std::string text_of_range(const std::vector<T>& values, std::string_view unit) {
  std::vector<double> known;
  for (const T value : values) {
    if (std::isfinite(value)) {
      known.push_back(static_cast<double>(value));
    }
  }
  if (known.empty()) {
    return "none";
  }
  const auto [least, most] = std::minmax_element(known.begin(), known.end());
  const std::string_view space = unit.empty() ? "" : " ";
  return *least == *most ? fmt::format("{:.4g}{}{}", *least, space, unit)
                         : fmt::format("{:.4g} to {:.4g}{}{}", *least, *most, space, unit);
}

struct Level {
  double rms = 0.0;
  double largest = 0.0;
  std::size_t non_finite = 0;
};

Level level_of(std::span<const std::complex<float>> values) {
  Level level;
  double sum = 0.0;
  for (const std::complex<float>& value : values) {
    const double magnitude = std::abs(std::complex<double>(value));
    if (!std::isfinite(magnitude)) {
      ++level.non_finite;
      continue;
    }
    sum += magnitude * magnitude;
    level.largest = std::max(level.largest, magnitude);
  }
  const std::size_t finite = values.size() - level.non_finite;
  level.rms = finite == 0 ? 0.0 : std::sqrt(sum / static_cast<double>(finite));
  return level;
}

void add_geometry(Facts& facts, const ArrayGeometry& geometry) {
  facts.add("array", "{} x {} microphones (rows x columns)", geometry.rows, geometry.columns);
  facts.add("pitch", "{} in x, {} in y", text_of_mm(geometry.pitch_x_m), text_of_mm(geometry.pitch_y_m));
  facts.add("aperture", "{} x {} (x x y, centre to centre)", text_of_mm((geometry.columns - 1) * geometry.pitch_x_m),
            text_of_mm((geometry.rows - 1) * geometry.pitch_y_m));
}

void add_measurement(Facts& facts, const MeasurementGeometry& measurement) {
  add_geometry(facts, measurement.geometry);
  facts.add("standoff", "{}", text_of_mm(measurement.standoff_m));
}

void add_truth(Facts& facts, const std::optional<Truth>& truth) {
  if (!truth) {
    facts.add("truth", "none");
    return;
  }
  std::vector<std::string_view> fields;
  for (const auto& [name, field] :
       {std::pair<std::string_view, const std::vector<std::complex<float>>&>{"pressure", truth->pressure},
        {"normal velocity", truth->normal_velocity},
        {"aperture pressure", truth->aperture_pressure}}) {
    if (!field.empty()) {
      fields.push_back(name);
    }
  }
  facts.add("truth", "{} at {}", fields.empty() ? "no field" : fmt::format("{}", fmt::join(fields, ", ")),
            text_of_frequencies(truth->frequencies_hz));
}

void add_segments(Facts& facts, const std::optional<Segments>& segments) {
  if (!segments) {
    facts.add("segments", "none");
    return;
  }
  const auto [shortest, longest] = std::minmax_element(segments->bit_times.begin(), segments->bit_times.end());
  facts.add("segments", "{} of {} to {} bit-times, {}", segments->bit_times.size(), *shortest, *longest,
            text_of_frequencies(segments->frequencies_hz));
}

void describe_capture(Facts& facts, const std::filesystem::path& path) {
  const CaptureReader reader(path);
  const CaptureInfo& info = reader.info();
  add_measurement(facts, info.measurement);
  facts.add("layout", "{}, {} words a bit-time", name_of(info.layout), info.words_per_bit_time);
  facts.add("sensitivity", "{:.4g} dBFS at 1 Pa rms (full scale {:.4g} Pa peak)", info.measurement.sensitivity_dbfs,
            full_scale_pa(info.measurement.sensitivity_dbfs));
  facts.add("bit rate", "{:.10g} Hz", info.sample_rate_hz);
  facts.add("bit-times", "{}", info.bit_times);
  facts.add("duration", "{:.6g} s", static_cast<double>(info.bit_times) / info.sample_rate_hz);
  facts.add("start", "{}", text_of_time(info.start_time_ns));
  add_segments(facts, reader.segments());
  add_truth(facts, reader.truth());
}

void describe_time_data(Facts& facts, const std::filesystem::path& path) {
  const TimeDataReader reader(path);
  facts.add("channels", "{}", reader.channels());
  facts.add("sample rate", "{:.10g} Hz", reader.sample_rate_hz());
  facts.add("samples", "{}", reader.samples());
  facts.add("duration", "{:.6g} s", static_cast<double>(reader.samples()) / reader.sample_rate_hz());
  facts.add("array", "not stated (comes from the configuration)");
}

std::string text_of_end(const std::optional<nfr::EndInfo>& end) {
  if (!end) {
    return "not stated: the recorder is still writing, or was killed";
  }
  return fmt::format("{} ({} bit-times and {} images dropped in all)", end->reason, end->dropped_bit_times,
                     end->dropped_images);
}

void add_recorded_bits(Facts& facts, const nfr::Reader& reader) {
  const nfr::BitsSummary& bits = reader.summary().bits;
  facts.add("bits", "{} records, bit-times {} to {}, {:.6g} s", bits.records, bits.first_bit_time, bits.end_bit_time,
            static_cast<double>(bits.expected()) / reader.info().sample_rate_hz);
  facts.add("", "{} bit-times = {} received + {} missing", bits.expected(), bits.received,
            bits.expected() - bits.received);
  facts.add("gaps", "{}: bit-times {}", bits.gaps, nfr::text_of_losses(bits));
}

void add_recorded_processor(Facts& facts, const nfr::EpochSummary& epoch, bool is_first_of_epoch) {
  const ResultHeader& header = epoch.header;
  if (is_first_of_epoch) {
    facts.add("settings", "of epoch {}: {} lines of YAML, which replay uses unless told otherwise", epoch.epoch,
              std::count(header.config.begin(), header.config.end(), '\n'));
  }
  std::vector<std::string> names;
  for (const Product& product : header.products) {
    names.push_back(product.name);
  }
  facts.add("processor", "{} of epoch {}{}: {} frames of {}", header.processor, epoch.epoch,
            header.kind.empty() ? "" : fmt::format(", {}", header.kind), epoch.frames, fmt::join(names, ", "));
  if (const std::optional<ImagesHeader> images = images_header_of(header); images && epoch.frames > 0) {
    facts.add("images", "{} of epoch {}: {} in {} at {}", epoch.frames, epoch.epoch, images->quantity, images->unit,
              text_of_frequencies(images->frequencies_hz));
  }
}

void describe_recording(Facts& facts, const std::filesystem::path& path) {
  const nfr::Reader reader(path);
  const nfr::FileInfo& info = reader.info();
  const nfr::Summary& summary = reader.summary();
  add_measurement(facts, info.measurement);
  facts.add("layout", "{}, {} words a bit-time", name_of(info.layout), reader.words_per_bit_time());
  facts.add("sensitivity", "{:.4g} dBFS at 1 Pa rms", info.measurement.sensitivity_dbfs);
  facts.add("bit rate", "{:.10g} Hz", info.sample_rate_hz);
  facts.add("host", "{}, boot {}", info.host, info.boot_id);
  facts.add("records", "{}", summary.records);
  facts.add("time", "{} to {}", text_of_time(summary.first_tai_ns), text_of_time(summary.last_tai_ns));
  if (summary.bits.records > 0) {
    add_recorded_bits(facts, reader);
  }
  std::set<std::uint64_t> epochs;
  for (const nfr::EpochSummary& epoch : reader.epochs()) {
    add_recorded_processor(facts, epoch, epochs.insert(epoch.epoch).second);
  }
  const nfr::Verification found = nfr::verify(reader);
  facts.add("damage", "{} places ({} bytes, {} records lost), {} damaged payloads ({} bit-times)",
            summary.damaged_places, summary.damaged_bytes, summary.lost_records, found.damaged_payloads,
            found.damaged_bit_times);
  facts.add("tail", "{} bytes of an incomplete record", summary.tail_bytes);
  facts.add("end", "{}", text_of_end(summary.end));
}

/// What a spectra file says of its own values, pascal when it says nothing: a transfer function's are Pa/N.
std::string unit_of_spectra(const h5::InputFile& file) {
  return file.has_attribute("/spectra", "unit") ? file.text_attribute("/spectra", "unit") : "Pa";
}

void describe_spectra(Facts& facts, const std::filesystem::path& path) {
  const SpectraFile file = read_spectra(path);
  const Level level = level_of(file.spectra);
  add_measurement(facts, file.measurement);
  facts.add("frames", "{}", file.frames);
  facts.add("frequencies", "{}", text_of_frequencies(file.frequencies_hz));
  const h5::InputFile input(path);
  const std::string unit = unit_of_spectra(input);
  facts.add("pressure", "{:.4g} {} rms over all values, largest {:.4g} {} (peak amplitudes)", level.rms, unit,
            level.largest, unit);
  facts.add("not finite", "{} of {} values", level.non_finite, file.spectra.size());
  facts.add("truth", "{}", input.has("/truth") ? "present" : "none");
}

void describe_calibration(Facts& facts, const std::filesystem::path& path) {
  const Calibration calibration = read_calibration(path);
  std::vector<double> gains_db;
  std::vector<double> phases_deg;
  for (const std::complex<float>& gain : calibration.gains) {
    gains_db.push_back(20.0 * std::log10(std::abs(std::complex<double>(gain))));
    phases_deg.push_back(std::arg(std::complex<double>(gain)) * 180.0 / std::numbers::pi);
  }
  add_geometry(facts, calibration.geometry);
  facts.add("frequencies", "{}", text_of_frequencies(calibration.frequencies_hz));
  facts.add("gain", "{}", text_of_range(gains_db, "dB"));
  facts.add("phase", "{}", text_of_range(phases_deg, "degrees"));
  facts.add("not finite", "{} of {} values", level_of(calibration.gains).non_finite, calibration.gains.size());
}

/// The first `frames` indices of a dataset [frame] or [frame][frequency].
template <typename T>
std::vector<T> first_frames(const h5::InputFile& file, const std::string& name, const std::vector<h5::Axis>& axes,
                            std::uint64_t frames) {
  const h5::InputDataset data = file.dataset<T>(name, axes);
  std::vector<T> values(data.values() / data.shape().front() * frames);
  data.read(0, std::span<T>(values));
  return values;
}

void add_flags(Facts& facts, const std::vector<std::uint32_t>& flags) {
  const auto clean = std::count(flags.begin(), flags.end(), 0U);
  facts.add("flags", "none on {} of {} frames", clean, flags.size());
  for (const FlagName& entry : flag_names()) {
    const auto carries = [&](std::uint32_t value) { return (value & entry.flag) != 0; };
    const auto count = std::count_if(flags.begin(), flags.end(), carries);
    if (count > 0) {
      facts.add("", "{} on {} of {} frames", entry.text, count, flags.size());
    }
  }
}

void add_frame_times(Facts& facts, const h5::InputFile& file, std::uint64_t frames) {
  constexpr double kSecondsPerNs = 1e-9;
  const auto samples = first_frames<std::uint64_t>(file, "/first_sample", {{"frames"}}, frames);
  const auto times_ns = first_frames<std::int64_t>(file, "/timestamp_ns", {{"frames"}}, frames);
  facts.add("first sample", "{} to {}", samples.front(), samples.back());
  facts.add("start", "{}", text_of_time(times_ns.front()));
  // Unsigned, since times from a file may lie so far apart that their difference overflows.
  const std::uint64_t duration_ns =
      static_cast<std::uint64_t>(times_ns.back()) - static_cast<std::uint64_t>(times_ns.front());
  const double duration_s = static_cast<double>(static_cast<std::int64_t>(duration_ns)) * kSecondsPerNs;
  if (frames > 1 && duration_s > 0.0) {
    facts.add("frame rate", "{:.4g} Hz in the mean over {:.6g} s", static_cast<double>(frames - 1) / duration_s,
              duration_s);
  }
}

void add_positions(Facts& facts, std::string_view name, std::string_view what, const std::vector<double>& positions) {
  const auto [least, most] = std::minmax_element(positions.begin(), positions.end());
  facts.add(name, "{} to {}, {} {}", text_of_mm(*least), text_of_mm(*most), positions.size(), what);
}

void describe_images(Facts& facts, const std::filesystem::path& path) {
  const ImagesReader reader(path);
  const ImagesHeader& header = reader.header();
  const std::uint64_t frames = reader.frames();
  const h5::InputFile file(path);
  const std::vector<h5::Axis> per_frequency{{"frames"}, {"frequencies", header.frequencies_hz.size()}};
  const std::uint64_t room = file.dataset<std::uint32_t>("/flags", {{"frames"}}).shape().front();

  facts.add("quantity", "{} in {}", header.quantity, header.unit);
  facts.add("front end", "{}", header.front_end);
  facts.add("device", "{}", header.device);
  facts.add("frames", "{}", frames == room ? fmt::format("{}", frames) : fmt::format("{} of {}", frames, room));
  add_frame_times(facts, file, frames);
  facts.add("frequencies", "{}", text_of_frequencies(header.frequencies_hz));
  add_positions(facts, "planes", "planes (z, 0 is the surface)", header.planes_m);
  add_positions(facts, "x", "columns", header.x_m);
  add_positions(facts, "y", "rows", header.y_m);
  facts.add("cut-off", "{}",
            text_of_range(first_frames<float>(file, "/cutoff_rad_per_m", per_frequency, frames), "rad/m"));
  facts.add("slope", "{}", text_of_range(first_frames<float>(file, "/slope", per_frequency, frames), ""));
  facts.add("noise", "{}", text_of_range(first_frames<float>(file, "/noise_pa", per_frequency, frames), "Pa"));
  for (const Band& band : header.bands_hz) {
    facts.add(&band == header.bands_hz.data() ? "bands" : "", "{:.7g} to {:.7g} Hz, in {}", band.low_hz, band.high_hz,
              unit_of_bands(header));
  }
  if (!header.points.empty()) {
    facts.add("points", "{}{}", header.points.size(), header.holds_images ? "" : ", and no images");
  }
  if (file.has("/radiated_power_w")) {
    const std::vector<h5::Axis> axes{{"frames"}, {"planes", header.planes_m.size()}, per_frequency[1]};
    facts.add("power", "{}", text_of_range(first_frames<float>(file, "/radiated_power_w", axes, frames), "W"));
  }
  if (file.has("/error_estimate")) {
    const auto errors = first_frames<float>(file, "/error_estimate", per_frequency, frames);
    const bool is_known = std::any_of(errors.begin(), errors.end(), [](float error) { return std::isfinite(error); });
    facts.add("error", "{}", is_known ? text_of_range(errors, "") + " (estimate)" : "not known");
  }
  add_flags(facts, first_frames<std::uint32_t>(file, "/flags", {{"frames"}}, frames));
  const auto missing = first_frames<std::uint64_t>(file, "/missing_bits", {{"frames"}}, frames);
  facts.add("missing bits", "{} at most in a frame", *std::max_element(missing.begin(), missing.end()));
  facts.add("config", "{} lines of YAML in the attribute config",
            std::count(header.config.begin(), header.config.end(), '\n'));
}

}  // namespace

std::vector<FileFact> facts_of_file(const std::filesystem::path& path) {
  const FileKind kind = detect_file_kind(path);
  Facts facts;
  facts.add("file", "{} ({})", path.string(), text_of_bytes(std::filesystem::file_size(path)));
  facts.add("kind", "{}", name_of(kind));
  switch (kind) {
    case FileKind::kCapture:
      describe_capture(facts, path);
      break;
    case FileKind::kTimeData:
      describe_time_data(facts, path);
      break;
    case FileKind::kSpectra:
      describe_spectra(facts, path);
      break;
    case FileKind::kImages:
      describe_images(facts, path);
      break;
    case FileKind::kCalibration:
      describe_calibration(facts, path);
      break;
    case FileKind::kRecording:
      describe_recording(facts, path);
      break;
  }
  return facts.take();
}

std::string text_of(const std::vector<FileFact>& facts) {
  constexpr std::size_t kNameWidth = 14;
  std::string text;
  for (const FileFact& fact : facts) {
    text += fmt::format("{:<{}}{}\n", fact.name, kNameWidth, fact.text);
  }
  return text;
}

std::string describe_file(const std::filesystem::path& path) { return text_of(facts_of_file(path)); }

}  // namespace nearfield
