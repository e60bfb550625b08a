#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <set>

#include "bench/common/files.hpp"
#include "bench/common/roofline.hpp"
#include "bench/front_ends/front_ends.hpp"
#include "bench/front_ends/walsh_counts.hpp"
#include "publish/plot.hpp"

namespace nearfield::bench {
namespace {

/// A processor's times are milliseconds, a GPU's microseconds.
struct TimeUnit {
  double per_s;
  const char* label;
};
TimeUnit unit_of(const FrontEndReport& report) {
  return report.device.is_gpu ? TimeUnit{1e6, "time [\u00b5s]"} : TimeUnit{1e3, "time [ms]"};
}

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

double spectra_s(const FrontEndRun& run) { return run.timing.phase_device_s.at(kSpectraPhase).median; }

/// Every count of the report at which the variant was measured.
template <class Value>
PlotSeries series_of(const FrontEndReport& report, const Variant& variant, const Value& value) {
  PlotSeries series;
  series.name = variant.name;
  for (const FrontEndRun& run : report.runs) {
    if (run.variant.name == variant.name && run.problem.empty()) {
      series.x.push_back(run.frequencies);
      series.y.push_back(value(run));
    }
  }
  return series;
}

std::string device_note(const FrontEndReport& report) {
  return fmt::format("{}, driver {}", report.device.name, report.device.driver);
}

/// Leaves out what costs the same as another series: single kernels, and variants that only lack the window.
Plot stage_times(const FrontEndReport& report) {
  const TimeUnit unit = unit_of(report);
  Plot plot{.title = "From a hop's bits to spectra, device time",
            .x = {.label = "frequencies n"},
            .y = {.label = unit.label, .logarithmic = true},
            .notes = {device_note(report)}};
  for (const Variant& variant : variants()) {
    if (variant.use != VariantUse::kKernels && !variant.name.ends_with(", no window")) {
      plot.series.push_back(
          series_of(report, variant, [&](const FrontEndRun& run) { return run.timing.device_s.median * unit.per_s; }));
    }
  }
  std::erase_if(plot.series, [](const PlotSeries& series) { return series.x.empty(); });
  PlotSeries thesis{.name = "thesis, nominal (table 7.1)", .x = {}, .y = {}, .markers = false};
  for (const FrontEndRun& run : report.runs) {
    if (run.variant.thesis == "nominal") {
      thesis.x.push_back(run.frequencies);
      thesis.y.push_back(thesis_time_s(run.variant, run.frequencies) * unit.per_s);
    }
  }
  plot.series.push_back(thesis);
  return plot;
}

/// Figure 7.2.
Plot against_gemm(const FrontEndReport& report) {
  const TimeUnit unit = unit_of(report);
  Plot plot{.title = "Dot products by kernel, samples to spectra, device time (fig. 7.2)",
            .x = {.label = "frequencies n"},
            .y = {.label = unit.label, .logarithmic = true},
            .notes = {device_note(report), "the thesis: its kernels beat cBLAS for n < 44, tenfold at n = 1"}};
  for (const Variant& variant : variants()) {
    if (variant.kind == FrontEndKind::kDotProduct) {
      plot.series.push_back(
          series_of(report, variant, [&](const FrontEndRun& run) { return spectra_s(run) * unit.per_s; }));
    }
  }
  return plot;
}

/// Figure 7.4: over the time of clFFT's commands in the nominal chain, at the same n.
Plot against_clfft(const FrontEndReport& report) {
  Plot plot{.title = "Dot products over clFFT, device time (fig. 7.4)",
            .x = {.label = "frequencies n"},
            .y = {.label = "time over clFFT's", .logarithmic = true},
            .notes = {device_note(report), "the thesis: below 1 for n <= 5"}};
  for (const Variant& variant : variants()) {
    if (variant.kind != FrontEndKind::kDotProduct) {
      continue;
    }
    plot.series.push_back(series_of(report, variant, [&](const FrontEndRun& run) {
      const FrontEndRun* nominal = find_run(report, "decimated_fft", run.frequencies);
      double fft_s = kUnknown;
      for (std::size_t i = 0; nominal != nullptr && i < nominal->timing.stages.size(); ++i) {
        const StageTiming& stage = nominal->timing.stages[i];
        fft_s = stage.stage.ends_with("/clfft") ? stage.device_s.median : fft_s;
      }
      return spectra_s(run) / fft_s;
    }));
  }
  return plot;
}

/// Points of one stage at every n.
PlotSeries roofline_series(const FrontEndReport& report, std::string_view variant, const std::string& name,
                           std::initializer_list<std::string_view> endings) {
  PlotSeries series{.name = name, .x = {}, .y = {}};
  for (const FrontEndRun& run : report.runs) {
    for (std::size_t i = 0; run.variant.name == variant && i < run.timing.stages.size(); ++i) {
      const StageTiming& stage = run.timing.stages[i];
      if (std::any_of(endings.begin(), endings.end(), [&](std::string_view e) { return stage.stage.ends_with(e); })) {
        add_point(series, run.needs[i], stage.device_s.median);
      }
    }
  }
  return series;
}

/// Figures 7.3 and 7.5.
Plot dot_roofline(const FrontEndReport& report) {
  std::vector<PlotSeries> series;
  for (const Variant& variant : variants()) {
    if (variant.use == VariantUse::kKernels) {
      series.push_back(roofline_series(report, variant.name, std::string(variant.name),
                                       {"/dot_reduce", "/dot_tiled", "/dot_product/gemm"}));
    }
  }
  series.push_back(roofline_series(report, "decimated_fft", "clFFT", {"/decimated_fft/clfft"}));
  return roofline("Roofline of dot products and clFFT (fig. 7.3, 7.5)", report.device, report.ceilings, series);
}

/// Figure 5.4.
Plot walsh_coefficients(const FrontEndReport& report) {
  Plot plot{.title = fmt::format("Walsh coefficients above {} per Fourier bin (fig. 5.4)", kWalshThreshold),
            .x = {.label = "frequency [Hz]"},
            .y = {.label = "coefficients", .low = 0.0}};
  PlotSeries counts{.name = "counted", .x = {}, .y = {}, .markers = false};
  const double bin_hz = kBitRateHz / kBitsPerWord / report.settings.front_end.window_samples;
  for (std::size_t i = 0; i < report.walsh_counts.size(); ++i) {
    counts.x.push_back(static_cast<double>(i + 1) * bin_hz);
    counts.y.push_back(report.walsh_counts[i]);
  }
  PlotSeries thesis{.name = "thesis, in words", .x = {}, .y = {}, .lines = false};
  for (const int bin : kThesisTenCoefficientBins) {
    thesis.x.push_back(bin * bin_hz);
    thesis.y.push_back(kThesisFewestCoefficients);
  }
  plot.series = {counts, thesis};
  return plot;
}

}  // namespace

std::vector<std::string> write_plots(const FrontEndReport& report, const std::filesystem::path& folder) {
  make_folder(folder);
  std::vector<std::string> names = {"stage_times.png"};
  write_plot(folder / names.back(), stage_times(report));
  if (!report.walsh_counts.empty()) {
    names.emplace_back("walsh_coefficients.png");
    write_plot(folder / names.back(), walsh_coefficients(report));
  }
  if (has_front_end(FrontEndKind::kDotProduct)) {
    names.emplace_back("dot_product_against_gemm.png");
    write_plot(folder / names.back(), against_gemm(report));
    names.emplace_back("dot_product_against_clfft.png");
    write_plot(folder / names.back(), against_clfft(report));
    names.emplace_back("dot_product_roofline.png");
    write_plot(folder / names.back(), dot_roofline(report));
  }
  return names;
}

}  // namespace nearfield::bench
