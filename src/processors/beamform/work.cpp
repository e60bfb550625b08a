#include "processors/beamform/work.hpp"

#include <cmath>
#include <numeric>

#include "processors/far_field/subset.hpp"

namespace nearfield::das {

WorkSizes::WorkSizes(const BeamformSettings& settings, std::size_t channels, std::size_t frequency_count,
                     double window_count)
    : pixels(settings.estimated_pixels(channels)),
      microphones(static_cast<double>(channels)),
      frequencies(static_cast<double>(frequency_count)),
      windows(window_count),
      fields(settings.removes_diagonal() ? 2.0 : 1.0) {}

StageWork direct_work(const WorkSizes& sizes) {
  constexpr double kOfDistance = 12.0;
  constexpr double kOfPhase = 4.0;
  const double values = sizes.windows * sizes.frequencies;
  return {.stage = "processors/beamform/das_direct",
          .bytes = values * (sizes.pixels + sizes.microphones) * work::kComplex,
          .operations = sizes.windows * sizes.pixels * sizes.microphones *
                        (kOfDistance + sizes.frequencies * (kOfPhase + work::kMultiplyAdd))};
}

StageWork measured_work(const WorkSizes& sizes) {
  constexpr double kOfNorms = 12.0;
  const double values = sizes.windows * sizes.frequencies * sizes.pixels * sizes.microphones;
  return {.stage = "processors/beamform/das_measured",
          .bytes = (values + sizes.windows * sizes.frequencies * (sizes.pixels + sizes.microphones)) * work::kComplex,
          .operations = values * (kOfNorms + work::kMultiplyAdd)};
}

WorkModel convolve_work(const WorkSizes& sizes, const Lattice& lattice) {
  const double x = lattice.x.transform()->length();
  const double y = lattice.y.transform()->length();
  const double pixel_rows = lattice.y.pixels;
  const double planes = sizes.pixels / (pixel_rows * lattice.x.pixels);
  const double images = sizes.windows * sizes.frequencies * sizes.fields;
  const double slices = images * planes * x * pixel_rows;
  const double along_columns = x * work::transform_operations(y);
  return {{.stage = "processors/beamform/das_columns",
           .bytes = (images * sizes.microphones + slices + planes * sizes.frequencies * x * y) * work::kComplex,
           .operations = images * (lattice.y.microphones * work::transform_operations(x) + along_columns +
                                   planes * (x * y * work::kComplexMultiply + along_columns))},
          {.stage = "processors/beamform/das_rows",
           .bytes = (slices + images * sizes.pixels) * work::kComplex,
           .operations = images * planes * pixel_rows * work::transform_operations(x)}};
}

StageWork separable_work(const WorkSizes& sizes, const ArrayGeometry& geometry, const far_field::GridCounts& counts) {
  const double images = sizes.windows * sizes.frequencies;
  const double tables = sizes.frequencies * (geometry.columns * counts.columns + geometry.rows * counts.rows);
  return {
      .stage = "processors/beamform/das_separable",
      .bytes = (images * (sizes.microphones + sizes.pixels) + tables) * work::kComplex,
      .operations = images * counts.columns * geometry.rows * (geometry.columns + counts.rows) * work::kMultiplyAdd};
}

WorkModel common_work(const WorkSizes& sizes, double value_bytes) {
  const double pressures = sizes.windows * sizes.frequencies * sizes.microphones;
  const double values = sizes.windows * sizes.frequencies * sizes.pixels;
  return {{.stage = "processors/beamform/beamform_microphones",
           .bytes = 2.0 * pressures * work::kComplex,
           .operations = pressures * work::kComplexMultiply},
          {.stage = "processors/beamform/das_finish",
           .bytes = values * (work::kComplex + value_bytes),
           .operations = values * work::kComplexMultiply}};
}

WorkModel reduction_work(const WorkSizes& sizes, const BeamformSettings& settings) {
  const double planes = far_field::counts_of(settings.grid).planes;
  const double maps = sizes.windows * sizes.frequencies;
  WorkModel model;
  if (settings.focus == Focus::kMax) {
    const double of_planes = maps * sizes.pixels;
    model.push_back(
        {.stage = "processors/beamform/beamform_focus",
         .bytes = of_planes * settings.value_bytes() + of_planes / planes * (settings.value_bytes() + sizeof(float)),
         .operations = of_planes});
  }
  double in_sectors = 0.0;
  for (const SectorSettings& sector : settings.sectors) {
    in_sectors += planes * static_cast<double>(rows_of(sector, settings.grid).count) *
                  static_cast<double>(columns_of(sector, settings.grid).count);
  }
  if (in_sectors > 0.0) {
    model.push_back({.stage = "processors/beamform/beamform_sectors",
                     .bytes = maps * in_sectors * settings.value_bytes(),
                     .operations = maps * in_sectors});
  }
  return model;
}

double operations(const WorkModel& model) {
  return std::accumulate(model.begin(), model.end(), 0.0,
                         [](double sum, const StageWork& stage) { return sum + stage.operations; });
}

WorkModel history_work(const WorkSizes& sizes, const BeamformSettings& settings) {
  const double snapshots = settings.average.snapshots;
  const double beams = sizes.frequencies * sizes.pixels * snapshots;
  if (settings.method == Method::kCleanSc) {
    return {{.stage = "processors/beamform/clean_remove",
             .bytes = beams * work::kComplex,
             .operations = settings.clean.iterations * beams * work::kMultiplyAdd}};
  }
  const double products = sizes.frequencies * sizes.microphones * snapshots;
  const bool is_orthogonal = settings.method == Method::kOrthogonal;
  const double modes = is_orthogonal || settings.method == Method::kMusic ? settings.sources : snapshots;
  return {{.stage = "processors/beamform/history_products",
           .bytes = products * work::kComplex,
           .operations = products * work::kMultiplyAdd},
          {.stage = is_orthogonal ? "processors/beamform/history_peaks" : "processors/beamform/history_map",
           .bytes = beams * work::kComplex,
           .operations = beams * modes * work::kMultiplyAdd}};
}

WorkModel work_of(const ProcessorPlan& plan) {
  const auto& own = dynamic_cast<const BeamformSettings&>(*plan.own);
  const far_field::PlanOfSubset of(plan, own.steering.subset);
  const ArrayGeometry& geometry = of.plan.array.geometry;
  // Snapshots are computed individually.
  const bool has_snapshots = own.average.kind != AverageKind::kNone || own.method != Method::kDas;
  const double windows = has_snapshots ? 1.0 : plan.batch;
  const WorkSizes sizes(own, static_cast<std::size_t>(geometry.channels()), plan.frequencies_hz.size(), windows);
  WorkModel model = common_work(sizes, own.value_bytes());
  if (own.steering.model == far_field::Model::kMeasured) {
    model.push_back(measured_work(sizes));
    return model;
  }
  model.push_back(direct_work(sizes));
  if (own.method != Method::kDas) {
    const WorkModel of_history = history_work(sizes, own);
    model.insert(model.end(), of_history.begin(), of_history.end());
  }
  const WorkModel reductions = reduction_work(sizes, own);
  model.insert(model.end(), reductions.begin(), reductions.end());
  const far_field::GridKind kind = own.grid.kind;
  if (kind == far_field::GridKind::kPlane || kind == far_field::GridKind::kVolume) {
    if (const auto lattice = lattice_of(own.grid, geometry)) {
      const WorkModel convolved = convolve_work(sizes, *lattice);
      model.insert(model.end(), convolved.begin(), convolved.end());
    }
  } else if (kind == far_field::GridKind::kAngles && geometry.is_grid()) {
    model.push_back(separable_work(sizes, geometry, counts_of(own.grid)));
  }
  return model;
}

}  // namespace nearfield::das
