#include "bench/health/health.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <complex>
#include <fstream>
#include <memory>
#include <numbers>

#include "bench/commands.hpp"
#include "bench/common/figures.hpp"
#include "bench/common/outputs.hpp"
#include "config/config.hpp"
#include "core/numerics.hpp"
#include "health/bit_statistics.hpp"
#include "health/monitor.hpp"

namespace nearfield::bench {
namespace {

/// Rates and sizes of the daemon's own monitor (src/daemon/background/health_task.cpp,
/// src/engine/microphone_watch.cpp).
constexpr double kWindows_hz = 32.0;
constexpr double kBlocks_hz = kWindows_hz / 4.0;
constexpr std::size_t kBlockBits = 512;

constexpr double kLowest_hz = 500.0;
constexpr double kHighest_hz = 4000.0;
constexpr double kStandoff_m = 0.03;
constexpr double kSoundSpeed = 343.0;
constexpr double kBadGain = 0.25;
constexpr int kBadShare = 20;
constexpr int kHealthyDecisions = 3;  ///< before those that count

using Spectra = std::vector<std::complex<float>>;

double seconds_of(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) {
      return line.substr(colon + 2);
    }
  }
  return "unknown";
}

std::vector<double> frequencies_hz(int count) {
  std::vector<double> result;
  for (int i = 0; i < count; ++i) {
    result.push_back(count == 1 ? 2000.0 : kLowest_hz * std::pow(kHighest_hz / kLowest_hz, i / (count - 1.0)));
  }
  return result;
}

/// Windows before a monopole 3 cm behind the surface, elsewhere in each, with noise 40 dB below; some microphones weak.
class Array {
 public:
  Array(const ArrayGeometry& geometry, std::vector<double> frequencies_hz, int bad)
      : geometry_(geometry), frequencies_hz_(std::move(frequencies_hz)), gains_(channels(), 1.0) {
    for (int i = 0; i < bad; ++i) {
      gains_[random_.next() % channels()] = kBadGain;
    }
  }
  [[nodiscard]] int bad() const { return static_cast<int>(std::count(gains_.begin(), gains_.end(), kBadGain)); }
  [[nodiscard]] health::MonitorPlan plan() const {
    return {.geometry = geometry_,
            .standoff_m = kStandoff_m,
            .sound_speed_m_s = kSoundSpeed,
            .frequencies_hz = frequencies_hz_,
            .gains = {},
            .excluded = {},
            .trusted = {}};
  }
  Spectra window() {
    const double x_m = geometry_.x_m(0) * random_.uniform();
    const double y_m = geometry_.y_m(0) * random_.uniform();
    Spectra spectra;
    for (const double frequency_hz : frequencies_hz_) {
      const double k = 2.0 * std::numbers::pi * frequency_hz / kSoundSpeed;
      for (std::size_t i = 0; i < channels(); ++i) {
        const int row = static_cast<int>(i) / geometry_.columns;
        const int column = static_cast<int>(i) % geometry_.columns;
        const double distance_m = std::hypot(geometry_.x_m(column) - x_m, geometry_.y_m(row) - y_m, 2.0 * kStandoff_m);
        const std::complex<double> noise(random_.uniform(), random_.uniform());
        spectra.emplace_back(gains_[i] * std::polar(1.0 / distance_m, -k * distance_m) + kNoise * noise / kStandoff_m);
      }
    }
    return spectra;
  }

 private:
  [[nodiscard]] std::size_t channels() const { return static_cast<std::size_t>(geometry_.channels()); }
  ArrayGeometry geometry_;
  std::vector<double> frequencies_hz_;
  RandomStream random_{1, 0};
  std::vector<double> gains_;
};

/// The windows that decide, and the others apart.
void add_decisions(const HealthBenchOptions& options, int frequencies, int bad, HealthReport& report) {
  Array array(options.geometry, frequencies_hz(frequencies), bad);
  health::Monitor monitor(array.plan());
  std::vector<double> deciding_s;
  std::vector<double> other_s;
  const auto wanted = static_cast<std::size_t>(std::max(options.repetitions, kLeastRepetitions));
  while (deciding_s.size() < wanted) {
    const Spectra spectra = array.window();
    bool decided = false;
    const double time_s = seconds_of([&] { decided = monitor.add_spectra(spectra); });
    if (monitor.decisions() > kHealthyDecisions) {
      (decided ? deciding_s : other_s).push_back(time_s);
    }
  }
  const double decisions_hz = kWindows_hz / static_cast<double>(health::Monitor::kStep);
  report.runs.push_back({.what = "decision",
                         .frequencies = frequencies,
                         .bad_microphones = array.bad(),
                         .per_second = decisions_hz,
                         .time_s = distribution(std::move(deciding_s))});
  if (bad == 0) {
    report.runs.push_back({.what = "a window's spectra",
                           .frequencies = frequencies,
                           .bad_microphones = 0,
                           .per_second = kWindows_hz - decisions_hz,
                           .time_s = distribution(std::move(other_s))});
  }
}

void add_bits(const HealthBenchOptions& options, HealthReport& report) {
  const health::BitCounter counter(options.layout, options.geometry);
  RandomStream random(1, 1);
  std::vector<std::uint32_t> words(kBlockBits * counter.words_per_bit_time());
  std::vector<double> times_s;
  health::BitStatistics bits;
  for (int i = 0; i < std::max(options.repetitions, kLeastRepetitions) + 1; ++i) {
    std::generate(words.begin(), words.end(), [&] { return static_cast<std::uint32_t>(random.next()); });
    times_s.push_back(seconds_of([&] { counter.count(words, bits); }));
  }
  times_s.erase(times_s.begin());  // the first one allocates
  report.runs.push_back({.what = fmt::format("bits of a block ({})", kBlockBits),
                         .per_second = kBlocks_hz,
                         .time_s = distribution(std::move(times_s))});
}

}  // namespace

HealthReport bench_health(const HealthBenchOptions& options) {
  HealthReport report{.geometry = options.geometry, .processor = processor_name(), .runs = {}};
  for (const int count : options.counts) {
    for (const int bad : {0, options.geometry.channels() / kBadShare}) {
      add_decisions(options, count, bad, report);
    }
  }
  add_bits(options, report);
  return report;
}

std::string to_table(const HealthReport& report) {
  constexpr double kMilli = 1e3;
  constexpr double kPercent = 100.0;
  std::string text =
      fmt::format("{}, one core; {} x {} microphones; ms\n\n{:<24}{:>4}{:>6}{:>10}{:>10}{:>10}{:>11}{:>12}\n",
                  report.processor, report.geometry.rows, report.geometry.columns, "what", "n", "bad", "minimum",
                  "median", "p99", "a second", "of a core");
  for (const HealthRun& run : report.runs) {
    text += fmt::format("{:<24}{:>4}{:>6}{:>10.3f}{:>10.3f}{:>10.3f}{:>11.3g}{:>10.2f} %\n", run.what,
                        run.frequencies == 0 ? "" : std::to_string(run.frequencies), run.bad_microphones,
                        run.time_s.minimum * kMilli, run.time_s.median * kMilli, run.time_s.p99 * kMilli,
                        run.per_second, kPercent * run.share());
  }
  return text;
}

std::string to_json_text(const HealthReport& report) {
  ocl::DeviceInfo host;
  host.name = report.processor;
  host.platform = "host";
  nlohmann::ordered_json json = report_head("health", host);
  json["rows"] = report.geometry.rows;
  json["columns"] = report.geometry.columns;
  json["runs"] = nlohmann::ordered_json::array();
  for (const HealthRun& run : report.runs) {
    json["runs"].push_back({{"what", run.what},
                            {"frequencies", run.frequencies},
                            {"bad_microphones", run.bad_microphones},
                            {"per_second", run.per_second},
                            {"share_of_a_core", run.share()},
                            {"time_s", to_json(run.time_s)}});
  }
  return json.dump(2) + "\n";
}

namespace {

struct HealthArguments {
  std::string json;
  std::string config;
  std::vector<std::string> overrides;
  HealthBenchOptions options;
};

void run_health(const HealthArguments& arguments) {
  HealthBenchOptions options = arguments.options;
  const Settings settings = load_settings(arguments.config, arguments.overrides);
  options.geometry = settings.array.geometry;
  options.layout = settings.array.layout;
  const HealthReport report = bench_health(options);
  if (arguments.json != kStandardOutput) {
    fmt::print("{}", to_table(report));
  }
  write_json(arguments.json, arguments.json.empty() ? "" : to_json_text(report));
}

}  // namespace

void add_health(CLI::App& bench) {
  auto arguments = std::make_shared<HealthArguments>();
  HealthBenchOptions& options = arguments->options;
  CLI::App* command = bench.add_subcommand("health", "What watching the microphones takes of this processor");
  add_json(*command, arguments->json);
  command->add_option("-c,--config", arguments->config, "settings, YAML (- is standard input): array");
  command->add_option("--set", arguments->overrides, "one setting, KEY=VALUE; may be repeated")
      ->allow_extra_args(false)
      ->take_all();
  command->add_option("--n", options.counts, "numbers of frequencies, 1 to 4, such as 1,4")
      ->delimiter(',')
      ->check(CLI::Range(1, 4));
  command->add_option("--repetitions", options.repetitions, "decisions, and blocks of bits, that count")
      ->check(CLI::Range(5, 1000000));
  command->callback([arguments] { run_health(*arguments); });
}

}  // namespace nearfield::bench
