#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nearfield_ring.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <numbers>
#include <optional>
#include <string_view>
#include <vector>

#include "cli/command.hpp"
#include "cli/commands/tap_outputs.hpp"
#include "cli/commands/tap_products.hpp"
#include "core/daemon_settings.hpp"
#include "core/error.hpp"
#include "core/frame.hpp"
#include "core/microphones.hpp"

namespace nearfield::cli {
namespace {

constexpr std::int64_t kTurnNs = 100'000'000;  ///< timeout of a wait for a frame, after which Ctrl-C is checked
constexpr std::string_view kIntensity = "active_intensity";
constexpr std::size_t kMostPointLines = 40;
constexpr std::size_t kMostAges = std::size_t{1} << 24U;

struct TapOptions {
  std::string socket = DaemonSettings::Ring{}.socket;
  std::string processor;    ///< empty: the first one
  double wait_s = 0.0;      ///< longest wait for a daemon that is still starting
  std::uint64_t count = 0;  ///< 0: no end
  double duration_s = 0.0;  ///< 0: no end
  bool json = false;
  std::string log;     ///< file for one line per frame; empty: none
  std::string points;  ///< file for the values at points; empty: none
  bool points_only = false;
  bool sources = false;  ///< prints lines of the table of sources
  std::string wav;       ///< folder for sound files; empty: none
  double wav_gain_db = 0.0;
};

struct CloseRing {
  void operator()(nf_ring* ring) const { nf_ring_close(ring); }
};
using RingHandle = std::unique_ptr<nf_ring, CloseRing>;

struct Tally {
  std::uint64_t frames = 0, skipped = 0, shed_hops = 0, missing_bit_times = 0, rings = 1;
  std::uint32_t flags = 0;  ///< flags of all frames
  std::int64_t first_ns = 0, last_ns = 0;
  nf_frame newest{};
  bool has_newest = false;  ///< it is still in the handle, with its layout
  std::vector<std::int64_t> ages_ns;
  bool writer_gone = false;

  void add(const nf_frame& frame, std::uint64_t skipped_before) {
    first_ns = frames == 0 ? frame.read_mono_ns : first_ns;
    last_ns = frame.read_mono_ns;
    ++frames;
    skipped += skipped_before;
    shed_hops += frame.shed_hops;
    missing_bit_times = std::max(missing_bit_times, frame.missing_bit_times);
    flags |= frame.flags;
    newest = frame;
    has_newest = true;
    if (ages_ns.size() < kMostAges) {
      ages_ns.push_back(frame.age_ns);
    }
  }
  [[nodiscard]] double rate_hz() const {
    return frames < 2 ? 0.0 : static_cast<double>(frames - 1) * 1e9 / static_cast<double>(last_ns - first_ns);
  }
  /// Ages at fractions of the sorted frames, ms.
  [[nodiscard]] std::vector<double> ages_ms(std::initializer_list<double> shares) const {
    std::vector<std::int64_t> sorted = ages_ns;
    std::sort(sorted.begin(), sorted.end());
    std::vector<double> result;
    for (const double share : shares) {
      const double place = share * static_cast<double>(sorted.empty() ? 0 : sorted.size() - 1);
      result.push_back(sorted.empty()
                           ? std::nan("")
                           : 1e-6 * static_cast<double>(sorted[static_cast<std::size_t>(std::lround(place))]));
    }
    return result;
  }
};

/// Reason that a ring cannot be read, in words.
std::string problem_of(nf_ring_status status, const std::string& socket) {
  if (status == NF_RING_SYSTEM) {
    return fmt::format("{}: {}", nf_ring_status_text(status), std::strerror(errno));
  }
  const std::uint32_t format = status == NF_RING_BAD ? nf_ring_format_at(socket.c_str()) : 0;
  if (format != 0 && format != NF_RING_VERSION) {
    return fmt::format("found format {}, this program reads format {}", format, NF_RING_VERSION);
  }
  return nf_ring_status_text(status);
}

RingHandle open(const TapOptions& options, std::string& socket) {
  nf_ring* ring = nullptr;
  nf_ring_status status = NF_RING_NO_SOCKET;
  const char* const processor = options.processor.empty() ? nullptr : options.processor.c_str();
  wait_for(options.wait_s, [&] {
    socket = socket_to_connect(options.socket, DaemonSettings::Ring::kFile);
    status = nf_ring_open_processor(socket.c_str(), processor, &ring);
    return status != NF_RING_NO_SOCKET && status != NF_RING_NOT_READY && status != NF_RING_GONE;
  });
  if (status == NF_RING_OK) {
    return RingHandle(ring);
  }
  if (status == NF_RING_NO_SOCKET && processor != nullptr && nf_ring_format_at(socket.c_str()) != 0) {
    throw NoInputError(
        fmt::format("{}: expected a processor {}, found none of this name (docs/reference/processors.md)", socket,
                    options.processor));
  }
  const std::string expected = status == NF_RING_SYSTEM ? ""
                               : processor == nullptr
                                   ? "expected a ring of nearfieldd: "
                                   : fmt::format("expected a ring of nearfieldd's processor {}: ", processor);
  throw NoInputError(fmt::format("{}: {}{}", socket, expected, problem_of(status, socket)));
}

/// True if the frame has the products of a processor of images: it is shown by frequencies, points and power then,
/// otherwise product by product.
bool is_of_images(const nf_ring_layout& layout, const nf_frame& frame) {
  return layout.quantity[0] != '\0' && frame.cutoff_rad_per_m != nullptr && frame.slope != nullptr &&
         frame.noise_pa != nullptr && frame.error_estimate != nullptr;
}

void print_layout(const nf_ring_layout& layout) {
  const char* const reference = layout.phase_reference == NF_PHASE_OF_STREAM ? "bit-time 0" : "the window's first bit";
  if (layout.quantity[0] == '\0') {
    fmt::print("{}: {} products, phases refer to {}\n", layout.processor, layout.product_count, reference);
    print_descriptions(layout);
    return;
  }
  fmt::print("{}, {}: {} planes x {} frequencies x {} rows x {} columns, {} points, phases refer to {}\n",
             layout.quantity, layout.unit, layout.planes, layout.frequencies, layout.rows, layout.columns,
             layout.points, reference);
}

/// Microphones of the frame that was read last; empty if the daemon does not report them.
std::string text_of_microphones(const nf_ring* ring, const nf_frame& frame) {
  MicrophoneUse use;
  use.fewest_used = use.most_used = frame.valid_microphones;
  nf_ring_microphones(ring, &use.microphones, &use.missing_information);
  return use.microphones == 0 ? "" : "microphones: " + text_of(use);
}

/// True if standard output is for lines of frames, and gets no summary.
bool writes_to_stdout(const TapOptions& options) { return options.log == "-" || options.points == "-"; }

/// Reads until an end condition; false if the writer has ended.
bool read_all(nf_ring* ring, const TapOptions& options, Tally& tally, FrameLog& log, PointLog& points,
              TapSound& sound) {
  TapLiveLine line(!options.json && !options.sources && !writes_to_stdout(options));
  const std::int64_t start_ns = nf_ring_now_ns();
  const auto is_over = [&] {
    const double passed_s = 1e-9 * static_cast<double>(nf_ring_now_ns() - start_ns);
    return StopSignal::raised() || (options.count > 0 && tally.frames >= options.count) ||
           (options.duration_s > 0.0 && passed_s >= options.duration_s);
  };
  while (!is_over()) {
    if (line.is_due()) {
      line.print({.frames = tally.frames,
                  .skipped = tally.skipped,
                  .shed_hops = tally.shed_hops,
                  .missing_bit_times = tally.missing_bit_times},
                 tally.ages_ns, tally.has_newest ? level_of_images(*nf_ring_get_layout(ring), tally.newest) : "");
    }
    nf_frame frame;
    std::uint64_t skipped = 0;
    const nf_ring_status status = nf_ring_read_next(ring, kTurnNs, &frame, &skipped);
    if (status == NF_RING_OK) {
      tally.add(frame, skipped);
      const std::string microphones = text_of_microphones(ring, frame);
      if (tally.frames == 1 && !options.json && !options.sources && !writes_to_stdout(options) &&
          !microphones.empty()) {
        fmt::print("{}\n", microphones);
      }
      log.add(frame, skipped);
      points.add(*nf_ring_get_layout(ring), frame);
      sound.add(ring, frame);
      if (options.sources) {
        print_sources(ring, frame, options.json);
      }
    } else if (status == NF_RING_RETIRED && nf_ring_reopen(ring) == NF_RING_OK) {
      ++tally.rings;
      tally.has_newest = false;
    } else if (status == NF_RING_TORN) {
      tally.has_newest = false;  // a partial read overwrites its memory
    } else if (status != NF_RING_TIMEOUT) {
      return false;
    }
  }
  return true;
}

/// Reports on the newest frame; NaN, for a missing value, becomes null.
nlohmann::json reports_json(const nf_ring_layout& layout, const nf_frame& frame) {
  nlohmann::json reports = nlohmann::json::array();
  for (std::uint32_t f = 0; f < layout.frequencies; ++f) {
    reports.push_back({{"frequency_hz", layout.frequencies_hz[f]},
                       {"cutoff_rad_per_m", frame.cutoff_rad_per_m[f]},
                       {"slope", frame.slope[f]},
                       {"noise_pa", frame.noise_pa[f]},
                       {"error_estimate", frame.error_estimate[f]}});
  }
  return reports;
}

void print_reports(const nf_ring_layout& layout, const nf_frame& frame) {
  fmt::print("newest frame:\n{:>12} {:>14} {:>10} {:>11} {:>16}\n", "frequency Hz", "cut-off rad/m", "slope",
             "noise Pa", "error, estimated");
  for (std::uint32_t f = 0; f < layout.frequencies; ++f) {
    const float error = frame.error_estimate[f];
    fmt::print("{:>12.2f} {:>14.4g} {:>10.4g} {:>11.4g} {:>16}\n", layout.frequencies_hz[f], frame.cutoff_rad_per_m[f],
               frame.slope[f], frame.noise_pa[f], std::isnan(error) ? "not known" : fmt::format("{:.4g}", error));
  }
}

/// Calls `take` with plane, frequency, point and value of each value at a point.
template <typename Take>
void for_each_point_value(const nf_ring_layout& layout, const nf_frame& frame, const Take& take) {
  for (std::uint32_t plane = 0; plane < layout.planes && frame.points != nullptr; ++plane) {
    for (std::uint32_t f = 0; f < layout.frequencies; ++f) {
      const nf_complex* values = nf_ring_points(&layout, &frame, plane, f);
      for (std::uint32_t point = 0; point < layout.points; ++point) {
        take(plane, f, point, std::complex<double>(std::complex<float>(values[point].re, values[point].im)));
      }
    }
  }
}

nlohmann::json points_json(const nf_ring_layout& layout, const nf_frame& frame) {
  nlohmann::json points = nlohmann::json::array();
  for_each_point_value(layout, frame, [&](auto plane, auto f, auto point, std::complex<double> value) {
    points.push_back({{"plane_m", layout.planes_m[plane]},
                      {"frequency_hz", layout.frequencies_hz[f]},
                      {"x_m", layout.points_xy_m[2 * point]},
                      {"y_m", layout.points_xy_m[2 * point + 1]},
                      {"re", value.real()},
                      {"im", value.imag()}});
  });
  return points;
}

/// Prints the first values at points; files get all.
void print_points(const nf_ring_layout& layout, const nf_frame& frame) {
  std::size_t number = 0;
  for_each_point_value(layout, frame, [&](auto plane, auto f, auto point, std::complex<double> value) {
    if (++number > kMostPointLines) {
      return;
    }
    fmt::print("at ({:.4g}, {:.4g}, {:.4g}) m, {:.2f} Hz: {:.4g} {}, {:.1f} degrees\n", layout.points_xy_m[2 * point],
               layout.points_xy_m[2 * point + 1], layout.planes_m[plane], layout.frequencies_hz[f], std::abs(value),
               layout.unit, std::arg(value) * 180.0 / std::numbers::pi);
  });
  if (number > kMostPointLines) {
    fmt::print("and {} values at points more: --json, --points FILE\n", number - kMostPointLines);
  }
}

/// Radiated power in the newest frame, [plane][frequency]; empty if its images are not intensities, or were not read.
std::vector<std::vector<double>> radiated_power_w(const nf_ring_layout& layout, const nf_frame& frame) {
  std::vector<std::vector<double>> power_w;
  const bool has_power = layout.quantity == kIntensity && frame.images != nullptr;
  for (std::uint32_t plane = 0; plane < layout.planes && has_power; ++plane) {
    power_w.emplace_back();
    for (std::uint32_t frequency = 0; frequency < layout.frequencies; ++frequency) {
      power_w.back().push_back(nf_ring_radiated_power_w(&layout, &frame, plane, frequency));
    }
  }
  return power_w;
}

void print_json(const nf_ring* ring, const Tally& tally) {
  const nf_ring_layout& layout = *nf_ring_get_layout(ring);
  const auto ages_ms = tally.ages_ms({0.5, 0.99, 0.999, 1.0});
  nlohmann::json summary = {
      {"frames", tally.frames},
      {"rate_hz", tally.rate_hz()},
      {"skipped", tally.skipped},
      {"shed_hops", tally.shed_hops},
      {"most_missing_bit_times", tally.missing_bit_times},
      {"flags", tally.flags},
      {"rings", tally.rings},
      {"writer_gone", tally.writer_gone},
      {"age_ms", {{"median", ages_ms[0]}, {"p99", ages_ms[1]}, {"p999", ages_ms[2]}, {"max", ages_ms[3]}}}};
  if (tally.has_newest) {
    MicrophoneUse use;
    nf_ring_microphones(ring, &use.microphones, &use.missing_information);
    summary["newest"] = {{"sequence", tally.newest.sequence},
                         {"first_bit_time", tally.newest.first_bit_time},
                         {"stream_id", tally.newest.stream_id},
                         {"epoch", tally.newest.epoch},
                         {"valid_microphones", tally.newest.valid_microphones},
                         {"microphones", use.microphones},
                         {"missing_information", use.missing_information},
                         {"group_delay_ms", 1e-6 * static_cast<double>(tally.newest.group_delay_ns)}};
    if (is_of_images(layout, tally.newest)) {
      summary["newest"]["frequencies"] = reports_json(layout, tally.newest);
    } else {
      summary["processor"] = layout.processor;
      summary["newest"]["products"] = products_json(ring, tally.newest);
    }
    if (tally.newest.points != nullptr) {
      summary["newest"]["points"] = points_json(layout, tally.newest);
    }
    if (const auto power_w = radiated_power_w(layout, tally.newest); !power_w.empty()) {
      summary["newest"]["radiated_power_w"] = power_w;
    }
  }
  fmt::print("{}\n", summary.dump(2));
}

void print_text(const nf_ring* ring, const Tally& tally) {
  const nf_ring_layout& layout = *nf_ring_get_layout(ring);
  fmt::print("{} frames, {:.1f} a second; skipped by this reader {}, shed by the daemon {}\n", tally.frames,
             tally.rate_hz(), tally.skipped, tally.shed_hops);
  if (tally.frames == 0) {
    return;
  }
  const auto ages_ms = tally.ages_ms({0.5, 0.99, 0.999, 1.0});
  fmt::print("age (last bit in memory to read): median {:.3f} ms, p99 {:.3f} ms, p99.9 {:.3f} ms, max {:.3f} ms\n",
             ages_ms[0], ages_ms[1], ages_ms[2], ages_ms[3]);
  fmt::print("window {} bit-times, group delay {:.3f} ms; epoch {}; {} microphones valid\n",
             tally.newest.window_bit_times, 1e-6 * static_cast<double>(tally.newest.group_delay_ns), tally.newest.epoch,
             tally.newest.valid_microphones);
  fmt::print("flags: {}\n", tally.flags == 0 ? "none" : flags_in_words(tally.flags));
  if (!tally.has_newest) {
    return;
  }
  if (!is_of_images(layout, tally.newest)) {
    print_products(ring, tally.newest);
    return;
  }
  print_reports(layout, tally.newest);
  print_points(layout, tally.newest);
  const std::vector<std::vector<double>> power_w = radiated_power_w(layout, tally.newest);
  for (std::size_t plane = 0; plane < power_w.size(); ++plane) {
    fmt::print("radiated power through z = {:.4g} m, newest frame: {:.4g} W\n", layout.planes_m[plane],
               fmt::join(power_w[plane], ", "));
  }
}

void tap(const TapOptions& options) {
  const bool has_summary = !writes_to_stdout(options);
  if (!has_summary && (options.json || options.sources || options.log == options.points)) {
    throw UsageError("--log, --points: expected at most one output on standard output, found several");
  }
  StopSignal::watch();
  std::string socket;
  const RingHandle ring = open(options, socket);
  if (!options.json && has_summary) {
    print_layout(*nf_ring_get_layout(ring.get()));
    std::fflush(stdout);
  }
  if (options.sources && !select_sources(ring.get())) {
    throw NoInputError(
        fmt::format("{}: expected a processor with a table of sources, found {}; --processor names "
                    "another one",
                    socket, nf_ring_get_layout(ring.get())->processor));
  }
  Tally tally;
  FrameLog log(options.log);
  PointLog points(options.points);
  TapSound sound(options.wav, options.wav_gain_db, ring.get());
  if (options.points_only) {
    nf_ring_points_only(ring.get(), 1);
  }
  tally.writer_gone = !read_all(ring.get(), options, tally, log, points, sound);
  log.finish();
  points.finish();
  const SoundReport heard = sound.finish();
  if (options.json && !options.sources) {
    print_json(ring.get(), tally);
  } else if (!options.json && has_summary) {
    print_text(ring.get(), tally);
    for (const std::string& line : heard.files) {
      fmt::print("{}\n", line);
    }
  }
  for (const std::string& warning : heard.warnings) {
    fmt::print(stderr, "{}\n", warning);
  }
  if (tally.writer_gone) {
    throw IoError(fmt::format("{}: the writer went away", socket));
  }
}

}  // namespace

void add_tap(CLI::App& app) {
  auto options = std::make_shared<TapOptions>();
  CLI::App* command =
      app.add_subcommand("tap", "Read the holograms of a running nearfieldd; print rate, age and skips");
  command->add_option("--socket", options->socket, "where the daemon hands over its ring")->capture_default_str();
  command->add_option("--processor", options->processor, "whose ring, by its name; else the first one's");
  add_wait(*command, options->wait_s);
  command->add_option("--frames,--count", options->count, "N, the first N frames: end after them");
  command->add_option("--duration", options->duration_s, "end after so many seconds")->check(CLI::NonNegativeNumber);
  command->add_flag("--json", options->json, "print the summary as JSON");
  command->add_option(
      "--log", options->log,
      "file for a line a frame: times, losses, epoch, comma-separated; - is standard output, without a summary then");
  command->add_option(
      "--points", options->points,
      "file for a line for each plane, frequency and point of a frame (holography.points); - is standard output, "
      "without a summary then");
  command->add_flag(
      "--sources", options->sources,
      "print a line for each source of a frame, from its table of sources; with --json a line of JSON a frame");
  command->add_flag("--points-only", options->points_only, "leave the images unread")->excludes("--sources");
  command
      ->add_option("--wav", options->wav,
                   "folder for a sound file of every beam, 32-bit floats in Pa (docs/use/listen.md)")
      ->excludes("--sources")
      ->excludes("--points-only");
  command->add_option("--wav-gain-db", options->wav_gain_db, "gain of the sound files")
      ->check(CLI::Range(-200.0, 200.0))
      ->needs("--wav");
  command->callback([options] { tap(*options); });
}

}  // namespace nearfield::cli
