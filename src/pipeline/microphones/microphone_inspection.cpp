#include "pipeline/microphones/microphone_inspection.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <numbers>
#include <numeric>

#include "core/error.hpp"
#include "engine/microphone_watch.hpp"
#include "health/bit_statistics.hpp"
#include "imaging/priors/make_mask.hpp"
#include "pipeline/recording.hpp"

namespace nearfield {
namespace {

/// Short, so that a short recording suffices: 5.5 ms of bits, bins 183 Hz apart.
constexpr int kWindowSamples = 256;
/// In short recordings windows overlap by half: Hann windows then share a sixth of their power.
constexpr int kLeastHopSamples = kWindowSamples / 2;
constexpr std::uint64_t kMostWindows = 32;
/// Decisions that make a microphone bad: few, because findings here mask nothing.
constexpr int kDecisionsToEnter = 2;
constexpr std::uint64_t kFewestWindows = kDecisionsToEnter * health::Monitor::kStep;
constexpr std::uint64_t kBlockBits = 512;
constexpr std::uint64_t kFewestBlockBits = 256;

constexpr int kLowestBin = 2;
constexpr int kMostBins = 100;
/// Share of the array's Nyquist wavenumber up to which neighbours predict each other.
constexpr double kWavenumberShare = 0.7;
/// Spacing of the bins: those within one Hann window's main lobe carry the same information.
constexpr std::size_t kBinsApart = 3;
/// Frequencies this far below the loudest one are not used: 40 dB.
constexpr double kLeastPower = 1e-4;

using Spectra = std::vector<std::complex<float>>;  ///< [frequency][channel]

/// Frequencies, windows and hops at which the monitor gets spectra.
struct Listening {
  std::vector<double> frequencies_hz;
  int window_samples = kWindowSamples;
  int hop_samples = kLeastHopSamples;
};

/// Frequencies that the user gave, for bands the middle; empty where none were given.
std::vector<double> given_frequencies_hz(const Settings& settings) {
  const FrontEndSettings& front_end = settings.front_end;
  if (const std::vector<Band> bands = bands_of(front_end); !bands.empty()) {
    std::vector<double> middles_hz;
    std::transform(bands.begin(), bands.end(), std::back_inserter(middles_hz),
                   [](const Band& band) { return std::sqrt(band.low_hz * band.high_hz); });
    return middles_hz;
  }
  const bool are_given = settings.explicit_keys.contains("front_end.frequencies_hz");
  return are_given ? front_end.frequencies_hz : std::vector<double>();
}

/// Settings for the monitor's windows. Nothing is imaged, so that settings of planes, points and predictors cannot
/// prevent opening the file.
Settings settings_to(const Listening& listening, Settings settings) {
  settings.array.health.enabled = true;
  settings.device.batch = 1;
  settings.front_end.window = WindowKind::kHann;
  settings.front_end.decimation = kBitsPerWord;
  settings.front_end.window_samples = listening.window_samples;
  settings.front_end.hop_samples = listening.hop_samples;
  settings.front_end.frequencies_hz = listening.frequencies_hz;
  settings.front_end.incremental = Incremental::kNever;
  clear_bands(settings.front_end);
  settings.processors.clear();
  settings.holography.imager = ImagerKind::kNone;
  settings.holography.planes_m = {0.0};
  settings.holography.points.clear();
  settings.holography.extrapolation.method = Extrapolation::kZero;
  return settings;
}

/// All bins that the array resolves.
std::vector<double> bins_hz(const EnginePlan& plan) {
  const ArrayGeometry& geometry = plan.settings.array.geometry;
  const double pitch_m = std::max(geometry.pitch_x_m, geometry.pitch_y_m);
  const double most_hz =
      std::min(kWavenumberShare * plan.settings.medium.sound_speed_m_s / (2.0 * pitch_m), 0.3 * plan.sample_rate_hz);
  const double bin_hz = plan.sample_rate_hz / kWindowSamples;
  std::vector<double> frequencies_hz;
  for (int bin = kLowestBin; bin < kLowestBin + kMostBins && bin * bin_hz <= most_hz; ++bin) {
    frequencies_hz.push_back(bin * bin_hz);
  }
  return frequencies_hz;
}

/// The run's window, or its largest half, quarter and so on that fits the input often enough.
int window_of_run(const Settings& settings, const Recording& recording) {
  const bool is_bits = recording.plan().input == InputForm::kBits;
  const int decimation = is_bits ? settings.front_end.decimation : kBitsPerWord;
  int window = std::max(settings.front_end.window_samples * decimation / kBitsPerWord, kWindowSamples);
  const std::uint64_t samples = recording.info().samples;
  while (window > kWindowSamples && samples < static_cast<std::uint64_t>(window) * (kFewestWindows + 1) / 2) {
    window = std::max(window / 2, kWindowSamples);
  }
  return window;
}

/// Frequencies at which the array's calibration is defined; if none, the calibration's own that the array resolves.
std::vector<double> calibrated_hz(std::vector<double> frequencies_hz, const EnginePlan& plan, double most_hz) {
  const std::string& path = plan.settings.array.calibration_path;
  if (path.empty() || plan.files == nullptr) {
    return frequencies_hz;
  }
  std::vector<double> known_hz = plan.files->calibration(path).frequencies_hz;
  std::erase_if(frequencies_hz, [&](double frequency_hz) {
    return known_hz.empty() || frequency_hz < known_hz.front() || frequency_hz > known_hz.back();
  });
  if (frequencies_hz.empty()) {
    std::erase_if(known_hz, [&](double frequency_hz) { return frequency_hz > most_hz; });
    return known_hz;
  }
  return frequencies_hz;
}

std::unique_ptr<Recording> open_to_listen(const std::filesystem::path& path, const Settings& settings) {
  Listening listening{.frequencies_hz = Settings().front_end.frequencies_hz};
  auto recording = open_recording(path, settings_to(listening, settings));
  if (recording->plan().input == InputForm::kSpectra) {
    return recording;
  }
  const std::vector<double> bins = bins_hz(recording->plan());
  listening.frequencies_hz = given_frequencies_hz(settings);
  if (listening.frequencies_hz.empty()) {
    listening.frequencies_hz = bins;
  } else {
    listening.window_samples = window_of_run(settings, *recording);
    listening.hop_samples = listening.window_samples / 2;
  }
  if (listening.frequencies_hz.empty()) {
    throw DataError(fmt::format("{}: the microphones are too far apart for windows of {} samples",
                                recording->info().name, kWindowSamples));
  }
  listening.frequencies_hz =
      calibrated_hz(std::move(listening.frequencies_hz), recording->plan(), bins.empty() ? 0.0 : bins.back());
  if (listening.frequencies_hz.empty()) {
    throw DataError(fmt::format("{}: array.calibration is defined at no frequency that the array resolves",
                                recording->info().name));
  }
  return open_recording(path, settings_to(listening, settings));
}

/// Microphones in use, less the masked ones and those found `bad`, with the information lost at these frequencies.
MicrophoneUse use_at(const Engine& engine, const std::vector<double>& frequencies_hz, const std::vector<int>& bad) {
  MicrophoneUse use = microphone_use(engine);
  use.masked.insert(use.masked.end(), bad.begin(), bad.end());  // the monitor omits microphones that the settings mask
  std::sort(use.masked.begin(), use.masked.end());
  use.fewest_used = use.most_used = use.microphones - static_cast<std::uint32_t>(use.masked.size());
  ArrayPlan plan = engine.array_plan();
  plan.frequencies_hz = frequencies_hz;
  plan.imaged = Quantity::kPressure;
  const std::vector<std::int32_t> masked(use.masked.begin(), use.masked.end());
  use.missing_information = missing_information(plan, masked).largest();
  return use;
}

/// Data taken from one window.
struct Window {
  Spectra spectra;
  health::BitStatistics bits;  ///< bit_times is 0 if there are none
};

class Listener {
 public:
  explicit Listener(Recording& recording) : recording_(recording), plan_(recording.plan()) {
    plan_.has_processor = false;
    engine_ = make_engine(EngineKind::kOpencl, plan_);
    if (plan_.input == InputForm::kBits) {
      counter_.emplace(plan_.settings.array.layout, plan_.settings.array.geometry);
    }
  }
  [[nodiscard]] const Engine& engine() const { return *engine_; }

  /// Whole windows, spread over the recording.
  std::vector<Window> listen() {
    const bool is_spectra = plan_.input == InputForm::kSpectra;
    const FrontEndSettings& front_end = plan_.settings.front_end;
    const std::uint64_t window = is_spectra ? 1 : static_cast<std::uint64_t>(front_end.window_samples);
    const std::uint64_t hop = is_spectra ? 1 : static_cast<std::uint64_t>(front_end.hop_samples);
    const std::uint64_t samples = recording_.info().samples;
    const std::uint64_t there = samples < window ? 0 : (samples - window) / hop + 1;
    const std::uint64_t count = std::min(there, kMostWindows);
    std::vector<Window> windows;
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::uint64_t first = i * there / count * hop;
      const FinishedBatch batch = recording_.compute(first, 1, *engine_);
      if (batch.statuses().front().missing_bits == 0) {
        windows.push_back(take(batch, first));
      }
    }
    if (windows.size() < kFewestWindows) {
      throw DataError(fmt::format("{}: expected at least {} whole {}, found {}", recording_.info().name, kFewestWindows,
                                  is_spectra ? "frames" : fmt::format("windows of {} samples", window),
                                  windows.size()));
    }
    return windows;
  }

 private:
  Window take(const FinishedBatch& batch, std::uint64_t first_sample) {
    Window window;
    window.spectra.resize(engine_->frequencies_hz().size() *
                          static_cast<std::size_t>(plan_.settings.array.geometry.channels()));
    engine_->read_spectra(batch, 0, window.spectra);
    if (counter_) {
      words_.resize(kBlockBits * counter_->words_per_bit_time());
      recording_.read_bits(first_sample, words_);
      counter_->count(words_, window.bits);
    }
    return window;
  }

  Recording& recording_;
  EnginePlan plan_;
  std::unique_ptr<Engine> engine_;
  std::optional<health::BitCounter> counter_;
  std::vector<std::uint32_t> words_;
};

/// Mean over windows of the median over channels of |spectra|^2.
double power_at(const std::vector<Window>& windows, std::size_t frequency, std::size_t channels) {
  double sum = 0.0;
  std::vector<double> powers(channels);
  for (const Window& window : windows) {
    for (std::size_t i = 0; i < channels; ++i) {
      const double power = static_cast<double>(std::norm(window.spectra[frequency * channels + i]));
      powers[i] = std::isfinite(power) ? power : 0.0;
    }
    const auto middle = powers.begin() + static_cast<std::ptrdiff_t>(channels / 2);
    std::nth_element(powers.begin(), middle, powers.end());
    sum += *middle;
  }
  return sum / static_cast<double>(windows.size());
}

/// Indices of the loudest frequencies, as many as a monitor uses, ascending and `apart` from each other.
std::vector<std::size_t> loudest(const std::vector<double>& powers, std::size_t apart) {
  std::vector<std::size_t> order(powers.size());
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return powers[a] > powers[b]; });
  std::vector<std::size_t> chosen;
  for (const std::size_t f : order) {
    const bool is_own = std::all_of(chosen.begin(), chosen.end(),
                                    [&](std::size_t other) { return (f > other ? f - other : other - f) >= apart; });
    if (is_own && chosen.size() < health::Monitor::kMostFrequencies && powers[f] >= kLeastPower * powers[order[0]]) {
      chosen.push_back(f);
    }
  }
  std::sort(chosen.begin(), chosen.end());
  return chosen;
}

/// Selects the chosen frequencies of values [frequency][channel].
Spectra part_of(const Spectra& values, const std::vector<std::size_t>& chosen, std::size_t channels) {
  Spectra part;
  for (const std::size_t f : chosen) {
    const auto first = values.begin() + static_cast<std::ptrdiff_t>(f * channels);
    part.insert(part.end(), first, first + static_cast<std::ptrdiff_t>(channels));
  }
  return part;
}

}  // namespace

ArrayGeometry geometry_of_recording(const std::filesystem::path& path, const Settings& settings) {
  const Listening listening{.frequencies_hz = Settings().front_end.frequencies_hz};
  return open_recording(path, settings_to(listening, settings))->plan().settings.array.geometry;
}

MicrophoneInspection inspect_microphones(const std::filesystem::path& path, const Settings& settings) {
  const std::unique_ptr<Recording> recording = open_to_listen(path, settings);
  (void)silent_microphones(*recording, recording->levels());
  Listener listener(*recording);
  std::optional<health::MonitorPlan> plan = monitor_plan(listener.engine(), recording->plan().settings);
  if (!recording->plan().settings.array.geometry.is_grid()) {
    throw DataError(fmt::format("{}: microphones on no regular grid are not compared with neighbours", path.string()));
  }
  if (!plan) {
    throw DataError(fmt::format("{}: too few microphones a side to be compared with neighbours", path.string()));
  }
  const std::vector<Window> windows = listener.listen();
  const auto channels = static_cast<std::size_t>(plan->geometry.channels());
  std::vector<double> powers;
  for (std::size_t f = 0; f < plan->frequencies_hz.size(); ++f) {
    powers.push_back(power_at(windows, f, channels));
  }
  const bool are_given = recording->plan().input == InputForm::kSpectra || !given_frequencies_hz(settings).empty();
  const auto chosen = loudest(powers, are_given ? 1 : kBinsApart);
  const std::vector<double> all_hz = std::move(plan->frequencies_hz);
  plan->frequencies_hz.clear();
  for (const std::size_t f : chosen) {
    plan->frequencies_hz.push_back(all_hz[f]);
  }
  plan->gains = plan->gains.empty() ? Spectra() : part_of(plan->gains, chosen, channels);

  plan->decisions_to_enter = kDecisionsToEnter;
  health::Monitor monitor(*plan);
  std::map<int, health::Change> bad;
  for (const Window& window : windows) {
    if (window.bits.bit_times >= kFewestBlockBits) {
      monitor.add_bits(window.bits);
    }
    if (monitor.add_spectra(part_of(window.spectra, chosen, channels))) {
      for (const health::Change& change : monitor.changes()) {
        if (health::is_bad(change.now)) {
          bad[change.channel] = change;
        }
      }
    }
  }
  const HealthSettings& health = settings.array.health;
  const std::vector<int> to_mask = monitor.to_mask(health.enabled ? health.mask : HealthMask::kNone);
  MicrophoneInspection result{.geometry = plan->geometry,
                              .use = use_at(listener.engine(), plan->frequencies_hz, maskable(to_mask, plan->geometry)),
                              .windows = windows.size(),
                              .frequencies_hz = plan->frequencies_hz,
                              .bad = {}};
  for (const auto& [channel, change] : bad) {
    result.bad.push_back(
        {.channel = channel, .before = health::Condition::kOk, .now = change.now, .is_certain = change.is_certain});
  }
  return result;
}

}  // namespace nearfield
