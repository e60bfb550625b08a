#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "bench/common/figures.hpp"
#include "bench/common/variants.hpp"
#include "bench/frames/frames.hpp"
#include "config/schema/front_end_kinds.hpp"
#include "core/error.hpp"
#include "imaging/shared/image_plan.hpp"

namespace nearfield::bench {
namespace {

/// Sizes that the thesis's figures hold for.
constexpr int kThesisSide = 32;
constexpr int kThesisPadded = 96;
constexpr int kThesisWindow = 1024;
constexpr int kThesisMostCount = 5;
constexpr int kTransformCounts[] = {1, 5, 10, 20, 50, 100};

bool has_own_frequencies(const Settings& settings) {
  return settings.explicit_keys.contains("front_end.frequencies_hz");
}

Settings base_settings(Settings settings) {
  if (!has_own_frequencies(settings)) {
    settings.front_end.frequencies_hz = bin_frequencies(kBaseCount, settings.front_end.window_samples, kSampleRate_hz);
  }
  return settings;
}

/// Makes the configuration's check of device.batch. Throws UsageError.
void require_batch(const Settings& settings) {
  const FrontEndSettings& front_end = settings.front_end;
  const int most = front_end.window_samples / front_end.hop_samples + 1;
  if (settings.device.batch > most) {
    throw UsageError(fmt::format("device.batch: expected at most {}, whose frames span one window, found {}", most,
                                 settings.device.batch));
  }
}

/// Collects cases; one whose settings cannot be carries the reason.
class CaseList {
 public:
  explicit CaseList(const FrameBenchOptions& options) : base_(base_settings(options.settings)) {
    cases_.push_back({.sweep = "base", .label = "configuration", .settings = base_});
  }
  template <class Change>
  void add(const std::string& sweep, const std::string& label, double value, const Change& change) {
    FrameCase added{.sweep = sweep, .label = label, .value = value, .settings = base_};
    try {
      change(added);
      require_batch(added.settings);
    } catch (const UsageError& error) {
      added.problem = error.what();
    }
    cases_.push_back(std::move(added));
  }
  [[nodiscard]] const Settings& base() const { return base_; }
  std::vector<FrameCase> take() { return std::move(cases_); }

 private:
  Settings base_;
  std::vector<FrameCase> cases_;
};

/// Throws UsageError when there are fewer bins.
void set_count(Settings& settings, int count) {
  settings.front_end.frequencies_hz = bin_frequencies(count, settings.front_end.window_samples, kSampleRate_hz);
}

void add_counts(CaseList& list, const FrameSweeps& sweeps) {
  for (const int count : sweeps.counts) {
    list.add("n", fmt::format("n = {}", count), count, [&](FrameCase& c) { set_count(c.settings, count); });
  }
}

void add_front_ends(CaseList& list, const FrameSweeps& sweeps) {
  const std::span<const schema::FrontEndKind> kinds = schema::front_end_kinds();
  for (const std::string& kind : sweeps.front_ends) {
    const auto place = std::find_if(kinds.begin(), kinds.end(), [&](const auto& one) { return one.name == kind; });
    list.add("front end", kind, static_cast<double>(place - kinds.begin()),
             [&](FrameCase& c) { c.settings.front_end.kind = kind; });
  }
}

void add_planes(CaseList& list, const FrameSweeps& sweeps) {
  for (const int count : sweeps.planes) {
    list.add("planes", fmt::format("{} planes", count), count, [&](FrameCase& c) {
      std::vector<double>& planes_m = c.settings.holography.planes_m;
      while (planes_m.size() < to_size(count)) {
        planes_m.push_back(planes_m.back() + kPlaneStep_m);
      }
      planes_m.resize(to_size(count));
    });
  }
}

void add_hops(CaseList& list, const FrameSweeps& sweeps) {
  for (const int hop : sweeps.hops) {
    list.add("hop", fmt::format("hop {}", hop), hop, [&](FrameCase& c) { c.settings.front_end.hop_samples = hop; });
  }
}

void add_batches(CaseList& list, const FrameSweeps& sweeps) {
  for (const int batch : sweeps.batches) {
    list.add("batch", fmt::format("batch {}", batch), batch, [&](FrameCase& c) { c.settings.device.batch = batch; });
  }
}

void add_windows(CaseList& list, const FrameSweeps& sweeps) {
  for (const int window : sweeps.windows) {
    list.add("window", fmt::format("window {}", window), window, [&](FrameCase& c) {
      const auto count = static_cast<int>(c.settings.front_end.frequencies_hz.size());
      c.settings.front_end.window_samples = window;
      if (!has_own_frequencies(c.settings)) {
        set_count(c.settings, count);
      }
    });
  }
}

/// The array with another number of rows or columns, sent row by row: other layouts are those of one size. Throws
/// UsageError where each microphone's place is given.
void set_side(Settings& settings, int ArrayGeometry::*side, int count) {
  if (settings.array.geometry.placement) {
    throw UsageError("array.positions: expected rows and columns, found the positions of microphones");
  }
  settings.array.geometry.*side = count;
  settings.array.layout = WireLayout::kRowMajor;
}

void add_microphones(CaseList& list, const FrameSweeps& sweeps) {
  for (const int rows : sweeps.rows) {
    list.add("rows", fmt::format("{} rows", rows), rows,
             [&](FrameCase& c) { set_side(c.settings, &ArrayGeometry::rows, rows); });
  }
  for (const int columns : sweeps.columns) {
    list.add("columns", fmt::format("{} columns", columns), columns,
             [&](FrameCase& c) { set_side(c.settings, &ArrayGeometry::columns, columns); });
  }
}

void add_crossed(CaseList& list, const FrameSweeps& sweeps) {
  for (const int batch : sweeps.batches) {
    for (const int count : sweeps.counts) {
      list.add("n x batch", fmt::format("n = {}, batch {}", count, batch), count, [&](FrameCase& c) {
        set_count(c.settings, count);
        c.settings.device.batch = batch;
      });
    }
  }
}

/// Sizes of the thesis's figures; others would not mean the same.
bool has_thesis_sizes(const Settings& settings) {
  const ArrayGeometry& geometry = settings.array.geometry;
  const double factor = settings.holography.extrapolation.factor;
  return geometry.rows == kThesisSide && geometry.columns == kThesisSide &&
         settings.front_end.window_samples == kThesisWindow && settings.holography.planes_m.size() == 1 &&
         pad_axis(geometry.rows, factor, geometry.pitch_y_m).padded == kThesisPadded;
}

void add_thesis(CaseList& list) {
  for (const Variant& variant : variants()) {
    if (variant.thesis != "nominal" && variant.thesis != "n dot products" && variant.thesis != "basic averaging") {
      continue;
    }
    for (int count = 1; count <= kThesisMostCount; ++count) {
      list.add(kThesisSweep, fmt::format("{}, n = {}", variant.thesis, count), count, [&](FrameCase& c) {
        set_count(c.settings, count);
        c.settings.holography.imager = ImagerKind::kPnah;
        c.settings.front_end = settings_of(variant, c.settings.front_end);
        c.settings.device.batch = 1;
      });
    }
  }
  for (const int count : kTransformCounts) {
    list.add(kTransformSweep, fmt::format("clFFT, n = {}", count), count, [&](FrameCase& c) {
      set_count(c.settings, count);
      c.settings.holography.imager = ImagerKind::kPnah;
      c.settings.device.fft = "clfft";
      c.settings.device.batch = 1;
    });
  }
}

}  // namespace

std::vector<FrameCase> frame_cases(const FrameBenchOptions& options) {
  const FrameSweeps& sweeps = options.sweeps;
  CaseList list(options);
  add_counts(list, sweeps);
  add_front_ends(list, sweeps);
  add_planes(list, sweeps);
  add_hops(list, sweeps);
  add_batches(list, sweeps);
  add_windows(list, sweeps);
  add_microphones(list, sweeps);
  if (sweeps.crossed) {
    add_crossed(list, sweeps);
  }
  if (sweeps.thesis && has_thesis_sizes(list.base())) {
    add_thesis(list);
  }
  return list.take();
}

}  // namespace nearfield::bench
