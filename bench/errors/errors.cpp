#include "bench/errors/errors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <span>

#include "bench/common/files.hpp"
#include "bench/errors/errors_bits.hpp"
#include "engine/engine.hpp"
#include "frontend/front_end.hpp"
#include "frontend/walsh_fourier/settings.hpp"
#include "imaging/shared/imager.hpp"
#include "nearfield/error.hpp"

namespace nearfield::bench {
namespace {

constexpr int kCurveCoefficients[] = {10, 20, 40, 80, 160, 320, 640, 1280, 2560, 6144, 16384, 0};

std::size_t to_size(int value) { return static_cast<std::size_t>(value); }

/// A capture in memory and what is known of it.
struct SimulatedBits {
  std::vector<std::uint32_t> words;        ///< [bit-time][word]
  std::size_t group_words = 0;             ///< of 32 bit-times
  std::vector<std::complex<float>> truth;  ///< [channel], at the window's first bit
  double peak_full_scale = 0.0;
};

std::vector<std::complex<float>> truth_at_window(const Truth& truth, double frequency_hz) {
  const auto found =
      std::min_element(truth.frequencies_hz.begin(), truth.frequencies_hz.end(),
                       [&](double a, double b) { return std::abs(a - frequency_hz) < std::abs(b - frequency_hz); });
  if (found == truth.frequencies_hz.end() || std::abs(*found - frequency_hz) > 0.01) {
    throw ConfigError(fmt::format("bench: expected a scene with a tone of {} Hz", frequency_hz));
  }
  const auto index = static_cast<std::size_t>(found - truth.frequencies_hz.begin());
  const std::size_t channels = truth.aperture_pressure.size() / truth.frequencies_hz.size();
  const std::complex<double> turn =
      std::polar(1.0, 2.0 * std::numbers::pi * *found * static_cast<double>(kFirstWord * kBitsPerWord) / kBitRateHz);
  std::vector<std::complex<float>> values;
  for (std::size_t channel = 0; channel < channels; ++channel) {
    values.emplace_back(std::complex<double>(truth.aperture_pressure[index * channels + channel]) * turn);
  }
  return values;
}

SimulatedBits simulated_bits(const Scene& scene, double frequency_hz, int window_samples) {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder.path() / "capture.h5";
  const SimulationReport report = simulate_capture(scene, path);
  const CaptureReader reader(path);
  SimulatedBits bits;
  bits.group_words = to_size(reader.info().words_per_bit_time * kBitsPerWord);
  const std::size_t groups = kFirstWord + to_size(window_samples);
  if (reader.info().bit_times < groups * kBitsPerWord) {
    throw ConfigError(fmt::format("bench: expected a scene of at least {} bit-times, found {}", groups * kBitsPerWord,
                                  reader.info().bit_times));
  }
  bits.words.resize(groups * bits.group_words);
  reader.read(0, bits.words);
  bits.truth = truth_at_window(reader.truth().value(), frequency_hz);
  bits.peak_full_scale = *std::max_element(report.overload.peaks.begin(), report.overload.peaks.end());
  return bits;
}

Settings settings_for(const Scene& scene, double frequency_hz, const DeviceSettings& device) {
  Settings settings = thesis_settings(frequency_hz);
  settings.array.geometry = scene.measurement.geometry;
  settings.array.layout = scene.layout;
  settings.array.sensitivity_dbfs = scene.measurement.sensitivity_dbfs;
  settings.medium = scene.medium;
  settings.holography.standoff_m = scene.measurement.standoff_m;
  settings.device = device;
  return settings;
}

/// Feeds filters' history and window, in that order.
template <class Feed>
void feed(const SimulatedBits& bits, bool has_history, const Feed& push) {
  const std::span<const std::uint32_t> words(bits.words);
  if (has_history) {
    push(0, words.first(kFirstWord * bits.group_words));
  }
  push(kFirstWord, words.subspan(kFirstWord * bits.group_words));
}

std::vector<std::complex<double>> widened(std::span<const std::complex<float>> values) {
  return {values.begin(), values.end()};
}

/// One front end, built once for a scene's settings, fed with the bits of several modulators.
class FrontEndUnderTest {
 public:
  FrontEndUnderTest(const ocl::Device& device, const Settings& settings)
      : device_(device),
        plan_{.settings = settings,
              .input = InputForm::kBits,
              .sample_rate_hz = kBitRateHz / kBitsPerWord,
              .spectra_hz = {}},
        engine_(make_engine(EngineKind::kOpencl, plan_)),
        front_end_(make_front_end(device, {.geometry = settings.array.geometry,
                                           .layout = settings.array.layout,
                                           .sensitivity_dbfs = settings.array.sensitivity_dbfs,
                                           .settings = settings.front_end,
                                           .dead_channels = {}})),
        spectra_(device.allocate<std::complex<float>>(to_size(settings.array.geometry.channels()), "bench/spectra")),
        status_(device.allocate<std::uint32_t>(kStatusWords, "bench/status")) {
    if (front_end_->history_words() > kFirstWord) {
      throw Error(ExitCode::kInternal, fmt::format("bench: expected a front end with a history of at most {} words, "
                                                   "found {}",
                                                   kFirstWord, front_end_->history_words()));
    }
    device.enqueue_fill(status_, std::uint32_t{0}, "bench/status");
  }

  /// Fills image, flags and spectral error.
  void run(const SimulatedBits& bits, ErrorRow& row) {
    const bool has_history = front_end_->history_words() > 0;
    feed(bits, has_history,
         [&](std::uint64_t first, std::span<const std::uint32_t> wire) { engine_->push_bits(first, wire); });
    ImageFrame frame = empty_frame(images_header(*engine_));
    engine_->image_window(kFirstWord, frame);
    row.image = frame.images;
    row.flags = frame.flags;
    feed(bits, has_history,
         [&](std::uint64_t first, std::span<const std::uint32_t> wire) { front_end_->enqueue_bits(first, wire); });
    front_end_->enqueue_spectra(kFirstWord, spectra_, status_);
    device_.wait();
    row.spectral_error = relative_error(widened(device_.download(spectra_, "bench/spectra")), widened(bits.truth));
  }

 private:
  ocl::Device device_;
  EnginePlan plan_;
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<FrontEnd> front_end_;
  ocl::Buffer<std::complex<float>> spectra_;
  ocl::Buffer<std::uint32_t> status_;
};

Image true_image(const Settings& settings, double frequency_hz, const SimulatedBits& bits) {
  const EnginePlan plan{
      .settings = settings, .input = InputForm::kSpectra, .sample_rate_hz = 0.0, .spectra_hz = {frequency_hz}};
  const std::unique_ptr<Engine> engine = make_engine(EngineKind::kOpencl, plan);
  ImageFrame frame = empty_frame(images_header(*engine));
  engine->image_spectra(bits.truth, frame);
  return frame.images;
}

/// A scene at one level, with each modulator.
class SceneBench {
 public:
  SceneBench(const ocl::Device& device, const ErrorBenchOptions& options, const ThesisScene& thesis, double level_dbfs)
      : device_(device), options_(options), thesis_(thesis), scene_(bench_scene(thesis.file, options.scenes)) {
    set_level(scene_, level_dbfs);
    settings_ = settings_for(scene_, thesis.frequency_hz, options.device);
    for (const int order : options.orders) {
      report(fmt::format("{}, order {}: simulating", thesis.label, order));
      scene_.order = order == 4 ? SigmaDeltaOrder::kFourth : SigmaDeltaOrder::kSecond;
      bits_.push_back(simulated_bits(scene_, thesis.frequency_hz, settings_.front_end.window_samples));
      results_.push_back({.scene = thesis,
                          .order = order,
                          .level_dbfs = level_dbfs,
                          .geometry = scene_.measurement.geometry,
                          .rows = {},
                          .truth = true_image(settings_, thesis.frequency_hz, bits_.back()),
                          .peak_full_scale = bits_.back().peak_full_scale});
    }
  }

  std::vector<SceneErrors> run() {
    for (const Variant& variant : error_variants(options_.with_slow)) {
      report(fmt::format("{}: {}", thesis_.label, variant.name));
      run_variant(variant);
    }
    return std::move(results_);
  }

  WalshCurve walsh_curve() {
    WalshCurve curve{.scene = std::string(thesis_.label), .coefficients = {}, .rmsre = {}, .spectral_error = {}};
    for (const int coefficients : kCurveCoefficients) {
      report(fmt::format("{}: walsh_fourier with {} coefficients", thesis_.label, coefficients));
      Settings settings = settings_;
      settings.front_end.kind = "walsh_fourier";
      settings.front_end.own.edit<WalshFourierSettings>() = {WalshVariant::kFast, coefficients, 0.0};
      ErrorRow row{.variant = {{}, "walsh_fourier"}};
      try {
        FrontEndUnderTest(device_, settings).run(bits_.front(), row);
      } catch (const ConfigError& error) {
        report(error.what());
        continue;
      }
      curve.coefficients.push_back(coefficients);
      curve.rmsre.push_back(compare_images(results_.front().truth, row.image).rmsre);
      curve.spectral_error.push_back(row.spectral_error);
    }
    return curve;
  }

 private:
  void report(const std::string& what) const {
    if (options_.progress) {
      options_.progress(what);
    }
  }
  void run_variant(const Variant& variant) {
    Settings settings = settings_;
    settings.front_end = settings_of(variant, settings.front_end);
    std::string problem;
    std::vector<ErrorRow> rows(bits_.size(), ErrorRow{.variant = variant});
    try {
      FrontEndUnderTest front_end(device_, settings);
      for (std::size_t i = 0; i < bits_.size(); ++i) {
        front_end.run(bits_[i], rows[i]);
      }
    } catch (const ConfigError& error) {
      problem = error.what();
    } catch (const DeviceError& error) {
      problem = error.what();
    }
    for (std::size_t i = 0; i < bits_.size(); ++i) {
      SceneErrors& result = results_[i];
      rows[i].problem = problem;
      if (problem.empty()) {
        const Image& nominal = result.rows.empty() ? rows[i].image : result.rows.front().image;
        rows[i].to_nominal = compare_images(nominal, rows[i].image);
        rows[i].to_truth = compare_images(result.truth, rows[i].image);
      }
      result.rows.push_back(std::move(rows[i]));
    }
  }
  const ocl::Device& device_;
  const ErrorBenchOptions& options_;
  const ThesisScene& thesis_;
  Scene scene_;
  Settings settings_;
  std::vector<SimulatedBits> bits_;   ///< [order]
  std::vector<SceneErrors> results_;  ///< [order]; rows[0] is the nominal chain
};

bool wanted(const ErrorBenchOptions& options, std::string_view name) {
  return options.only.empty() || std::any_of(options.only.begin(), options.only.end(), [&](const std::string& part) {
           return name.find(part) != std::string_view::npos;
         });
}

void bench_scenes(const ocl::Device& device, const ErrorBenchOptions& options, ErrorReport& report) {
  for (const ThesisScene& thesis : kThesisScenes) {
    if (!wanted(options, thesis.label) && !wanted(options, thesis.file)) {
      continue;
    }
    for (const double level_dbfs : options.levels_dbfs) {
      SceneBench bench(device, options, thesis, level_dbfs);
      if (options.with_curve && has_front_end("walsh_fourier") && level_dbfs == options.levels_dbfs[0]) {
        report.curves.push_back(bench.walsh_curve());
      }
      for (SceneErrors& errors : bench.run()) {
        report.scenes.push_back(std::move(errors));
      }
    }
  }
}

}  // namespace

Settings thesis_settings(double frequency_hz) {
  Settings settings;
  settings.front_end.frequencies_hz = {frequency_hz};
  settings.holography.filter.cutoff_rule = CutoffRule::kGiven;
  settings.holography.filter.cutoff_rad_per_m = {50.0};
  settings.holography.filter.slope = 0.3;
  return settings;
}

ErrorReport bench_errors(const ErrorBenchOptions& options) {
  const ocl::Device device = ocl::Device::open(options.device);
  ErrorReport report;
  report.device = device.info();
  bench_scenes(device, options, report);
  if (wanted(options, "spectra")) {
    report.spectra = spectral_errors(device, {.geometry = options.spectra_array,
                                              .orders = options.orders,
                                              .with_slow = options.with_slow,
                                              .progress = options.progress});
  }
  if (wanted(options, "offset")) {
    report.offset = offset_leakages(device, options.progress);
  }
  if (report.scenes.empty() && report.spectra.empty() && report.offset.empty()) {
    throw UsageError(fmt::format("--only: expected a part of a scene's name, \"spectra\" or \"offset\", found \"{}\"",
                                 options.only.front()));
  }
  return report;
}

ThesisErrors thesis_errors(const Variant& variant, const ThesisScene& scene) {
  if (variant.thesis == "basic averaging") {
    return {scene.averaging_rmsre, scene.averaging_nsad};
  }
  if (variant.thesis.starts_with("Walsh-Fourier")) {
    return {scene.walsh_rmsre, scene.walsh_nsad};
  }
  if (variant.thesis == "exact Walsh-Fourier") {
    return {scene.exact_rmsre, scene.exact_nsad};
  }
  return {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::quiet_NaN()};
}

}  // namespace nearfield::bench
