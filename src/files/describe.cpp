#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <optional>
#include <set>
#include <vector>

#include "core/images.hpp"
#include "core/text.hpp"
#include "files/facts.hpp"
#include "files/files.hpp"
#include "files/format.hpp"
#include "files/nfr/nfr_reader.hpp"
#include "files/pressure_units.hpp"
#include "files/sample_levels.hpp"

namespace nearfield {
namespace {

constexpr const char* kUnitNotStated = "not stated in Pa (array.pascal_per_unit gives it)";

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

std::vector<double> places_of(const ArrayGeometry& geometry) {
  std::vector<double> xyz_m;
  for (int channel = 0; channel < geometry.channels(); ++channel) {
    const MicrophonePosition place = geometry.position_m(channel);
    xyz_m.insert(xyz_m.end(), {place.x_m, place.y_m, place.z_m});
  }
  return xyz_m;
}

void add_geometry(Facts& facts, const ArrayGeometry& geometry) {
  if (!geometry.is_grid()) {
    facts.add("array", "{} microphones at given positions, on no regular grid", geometry.channels());
    facts.add("positions", "{}", text_of_extent(places_of(geometry)));
    facts.add("neighbours", "the nearest at most {} away", text_of_mm(geometry.pitch_x_m));
    return;
  }
  facts.add("array", "{} x {} microphones (rows x columns)", geometry.rows, geometry.columns);
  facts.add("pitch", "{} in x, {} in y", text_of_mm(geometry.pitch_x_m), text_of_mm(geometry.pitch_y_m));
  facts.add("aperture", "{} x {} (x x y, centre to centre)", text_of_mm((geometry.columns - 1) * geometry.pitch_x_m),
            text_of_mm((geometry.rows - 1) * geometry.pitch_y_m));
  if (geometry.placement) {
    const MicrophonePosition& centre = geometry.placement->centre_m;
    facts.add("positions", "given, on this grid; its centre at x {:.6g} m, y {:.6g} m, z {:.6g} m; channels {} order",
              without_rounding(centre.x_m), without_rounding(centre.y_m), without_rounding(centre.z_m),
              geometry.is_reordered() ? "in another" : "in its");
  }
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
  if (!truth->frequencies_hz.empty()) {
    facts.add("truth", "{} at {}", fields.empty() ? "no field" : fmt::format("{}", fmt::join(fields, ", ")),
              text_of_frequencies(truth->frequencies_hz));
  }
  if (truth->sources) {
    facts.add(truth->frequencies_hz.empty() ? "truth" : "", "places of {} source{} at {} times, levels in {} bands",
              truth->sources->sources(), truth->sources->sources() == 1 ? "" : "s", truth->sources->times_s.size(),
              truth->sources->band_centres_hz.size());
  }
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

/// Adds levels of at most 4 GiB of samples, and any anomalies.
void add_levels(Facts& facts, const TimeDataReader& reader, bool is_pascal) {
  constexpr std::uint64_t kMostValues = std::uint64_t{1} << 30U;
  const SampleLevels levels = levels_of(reader, kMostValues);
  facts.add("levels", "{}", text_of(levels, is_pascal));
  std::uint64_t non_finite = 0;
  std::uint64_t clipped = 0;
  std::size_t clipped_channels = 0;
  for (const ChannelLevel& channel : levels.channels) {
    non_finite += channel.non_finite;
    clipped += channel.clipped;
    clipped_channels += channel.clipped > 0 ? 1 : 0;
  }
  if (clipped > 0) {
    facts.add("", "{} samples of {} channels stay at their channel's extreme, {} or more in a row: clipped?", clipped,
              clipped_channels, kClippedRun);
  }
  if (non_finite > 0) {
    facts.add("", "{} of {} samples are not finite", non_finite, levels.samples * levels.channels.size());
  }
  const bool is_silent = levels.channels[levels.loudest()].rms == 0.0;
  if (const std::string doubt = is_pascal || is_silent ? doubt_about(levels) : ""; !doubt.empty()) {
    facts.add("", "{}", doubt);
  }
}

void describe_time_data(Facts& facts, const std::filesystem::path& path, std::optional<double> pascal_per_unit,
                        const std::vector<int>& channels) {
  TimeDataReader reader(path, channels);
  facts.add("format", "{}", reader.format());
  if (!reader.note().empty()) {
    facts.add("note", "{}", reader.note());
  }
  facts.add("channels", "{}{}", reader.channels(), channels.empty() ? "" : ", as array.channels chooses them");
  facts.add("sample rate", "{:.10g} Hz", reader.sample_rate_hz());
  facts.add("samples", "{}", reader.samples());
  facts.add("duration", "{:.6g} s", static_cast<double>(reader.samples()) / reader.sample_rate_hz());
  facts.add("unit", "{}", reader.states_pascal() ? "Pa" : kUnitNotStated);
  const StatedPositions& positions = reader.positions();
  if (!positions.flaw.empty()) {
    facts.add("array", "stated, but cannot be used: {} (the configuration must give all of it)", positions.flaw);
  } else if (positions.positions_m.empty()) {
    facts.add("array", "not stated (comes from the configuration)");
  } else {
    add_geometry(facts, geometry_of(positions.positions_m));
  }
  if (!reader.states_pascal() && pascal_per_unit) {
    reader.set_pascal_per_unit(*pascal_per_unit);
  }
  add_levels(facts, reader, reader.states_pascal() || pascal_per_unit);
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
  const char* const elements = reader.info().elements();
  facts.add(reader.info().holds_samples ? "samples" : "bits", "{} records, {} {} to {}, {:.6g} s", bits.records,
            elements, bits.first_bit_time, bits.end_bit_time,
            static_cast<double>(bits.expected()) / reader.info().sample_rate_hz);
  facts.add("", "{} {} = {} received + {} missing", bits.expected(), elements, bits.received,
            bits.expected() - bits.received);
  facts.add("gaps", "{}: {} {}", bits.gaps, elements, nfr::text_of_losses(bits));
}

void add_recorded_processor(Facts& facts, const nfr::EpochSummary& epoch, bool is_first_of_epoch) {
  const ResultHeader& header = epoch.header;
  if (is_first_of_epoch) {
    facts.add("settings", "of epoch {}: {} lines of YAML, which replay uses by default", epoch.epoch,
              std::count(header.config.begin(), header.config.end(), '\n'));
  }
  std::vector<std::string> names;
  for (const Product& product : header.products) {
    names.push_back(product.name);
  }
  facts.add("processor", "{} of epoch {}{}: {} frames of {}", header.processor, epoch.epoch,
            header.kind.empty() ? "" : fmt::format(", {}", header.kind), epoch.frames, fmt::join(names, ", "));
  if (const Product* const shown = images_or_points_of(header); shown != nullptr && epoch.frames > 0) {
    facts.add("images", "{} of epoch {}: {} in {} at {}", epoch.frames, epoch.epoch, shown->quantity, shown->unit,
              text_of_frequencies(header.coordinates("frequency")));
  }
}

void describe_recording(Facts& facts, const std::filesystem::path& path) {
  const nfr::Reader reader(path);
  const nfr::FileInfo& info = reader.info();
  const nfr::Summary& summary = reader.summary();
  add_measurement(facts, info.measurement);
  const bool has_bits = summary.bits.records > 0 && !info.holds_samples;
  if (has_bits) {
    facts.add("layout", "{}, {} words a bit-time", name_of(info.layout), reader.words_per_bit_time());
    facts.add("sensitivity", "{:.4g} dBFS at 1 Pa rms", info.measurement.sensitivity_dbfs);
  } else if (info.holds_samples) {
    facts.add("values", "float32 of {} channels", reader.words_per_bit_time());
    facts.add("unit", "{}", info.pascal_per_unit ? fmt::format("{:.10g} Pa", *info.pascal_per_unit) : kUnitNotStated);
  }
  facts.add(has_bits ? "bit rate" : "input rate", "{:.10g} Hz", info.sample_rate_hz);
  facts.add("host", "{}, boot {}", info.host, info.boot_id);
  if (!info.notes.empty()) {
    facts.add("notes", "{}", without_controls(info.notes));
  }
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
  facts.add("damage", "{} places ({} bytes, {} records lost), {} damaged payloads ({} {})", summary.damaged_places,
            summary.damaged_bytes, summary.lost_records, found.damaged_payloads, found.damaged_bit_times,
            info.elements());
  facts.add("tail", "{} bytes of an incomplete record", summary.tail_bytes);
  facts.add("end", "{}", text_of_end(summary.end));
}

/// Unit after read_spectra(), which converts pressures to pascal; a transfer function is in Pa/N.
std::string unit_of_spectra(const h5::InputFile& file) {
  for (const char* name : {"unit", "units"}) {
    if (file.has_attribute("/spectra", name)) {
      const std::string unit = file.text_attribute("/spectra", name);
      return fmt::format("Pa{}", transfer_unit_named(unit).value_or(TransferUnit()).behind_pressure);
    }
  }
  return "Pa";
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

/// Adds the levels at the frequency of the loudest microphone. `mean_squares` [frequency][channel].
void add_mean_squares(Facts& facts, const CrossSpectraInfo& info, const std::vector<double>& mean_squares) {
  const auto channels = static_cast<std::size_t>(info.geometry.channels());
  const auto order = [](double value) { return value >= 0.0 && std::isfinite(value) ? value : -1.0; };
  const auto is_softer = [&](double a, double b) { return order(a) < order(b); };
  const auto loudest = static_cast<std::size_t>(std::max_element(mean_squares.begin(), mean_squares.end(), is_softer) -
                                                mean_squares.begin());
  const auto here = mean_squares.begin() + static_cast<std::ptrdiff_t>(loudest / channels * channels);
  std::vector<double> at_frequency(here, here + static_cast<std::ptrdiff_t>(channels));
  std::sort(at_frequency.begin(), at_frequency.end(), is_softer);
  facts.add("levels", "loudest microphone {}: {:.1f} dB re 20 uPa rms at {:.7g} Hz; median {:.1f} dB re 20 uPa",
            loudest % channels, level_db(std::sqrt(mean_squares[loudest])), info.frequencies_hz[loudest / channels],
            level_db(std::sqrt(at_frequency[channels / 2])));
  const auto flawed = std::count_if(mean_squares.begin(), mean_squares.end(), [&](double v) { return order(v) < 0.0; });
  if (flawed > 0) {
    facts.add("", "{} of {} elements of the diagonals are negative or not finite, expected mean squares", flawed,
              mean_squares.size());
  }
}

void describe_cross_spectra(Facts& facts, const std::filesystem::path& path) {
  const CrossSpectraInfo info = read_cross_spectra_info(path);
  add_geometry(facts, info.geometry);
  facts.add("frequencies", "{}", text_of_frequencies(info.frequencies_hz));
  facts.add("snapshots", "{} windows of {} samples at {:.10g} Hz, {} apart", info.snapshots, info.window_samples,
            info.sample_rate_hz, info.step_samples);
  add_mean_squares(facts, info, read_mean_squares(path));
}

void add_incoherent_templates(Facts& facts, const Templates& templates) {
  std::size_t incoherent = 0;
  for (const float coherence : templates.coherence) {
    incoherent += static_cast<double>(coherence) >= kLeastTemplateCoherence ? 0 : 1;
  }
  facts.add("coherence", "{}; {} of {} below {}, which steering leaves out", text_of_range(templates.coherence, ""),
            incoherent, templates.coherence.size(), kLeastTemplateCoherence);
}

void describe_templates(Facts& facts, const std::filesystem::path& path) {
  const Templates templates = read_templates(path);
  const auto channels = static_cast<std::size_t>(templates.measurement.geometry.channels());
  add_measurement(facts, templates.measurement);
  facts.add("templates", "{} places, {} microphones each", templates.count(), channels);
  facts.add("reference", "{}",
            templates.reference_channel ? fmt::format("microphone {}", *templates.reference_channel)
                                        : "of each template its own, which the file does not name");
  if (!templates.positions_m.empty()) {
    facts.add("places", "{}", text_of_extent(templates.positions_m));
  }
  facts.add("frequencies", "{}", text_of_frequencies(templates.frequencies_hz));
  std::vector<double> norms;
  std::vector<bool> is_silent(channels, true);
  for (std::size_t first = 0; first < templates.a.size(); first += channels) {
    const std::span<const std::complex<float>> one = std::span(templates.a).subspan(first, channels);
    norms.push_back(level_of(one).rms);
    for (std::size_t m = 0; m < channels; ++m) {
      is_silent[m] = is_silent[m] && one[m] == 0.0F;
    }
  }
  facts.add("norm", "{}, rms over microphones, of 1 at the array's centre", text_of_range(norms, ""));
  facts.add("silent", "{} of {} microphones, in all templates", std::count(is_silent.begin(), is_silent.end(), true),
            channels);
  add_incoherent_templates(facts, templates);
}

}  // namespace

std::vector<FileFact> facts_of_file(const std::filesystem::path& path, std::optional<double> pascal_per_unit,
                                    const std::vector<int>& channels) {
  const FileKind kind = detect_file_kind(path);
  Facts facts;
  facts.add("file", "{} ({})", path.string(), text_of_bytes(std::filesystem::file_size(path)));
  facts.add("kind", "{}", name_of(kind));
  switch (kind) {
    case FileKind::kCapture:
      describe_capture(facts, path);
      break;
    case FileKind::kTimeData:
      describe_time_data(facts, path, pascal_per_unit, channels);
      break;
    case FileKind::kSpectra:
      describe_spectra(facts, path);
      break;
    case FileKind::kImages:
      describe_results(facts, path);
      break;
    case FileKind::kCalibration:
      describe_calibration(facts, path);
      break;
    case FileKind::kRecording:
      describe_recording(facts, path);
      break;
    case FileKind::kCrossSpectra:
      describe_cross_spectra(facts, path);
      break;
    case FileKind::kTemplates:
      describe_templates(facts, path);
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

}  // namespace nearfield
