#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "bench/common/files.hpp"
#include "bench/fidelity/fidelity.hpp"
#include "publish/canvas.hpp"
#include "publish/colours.hpp"
#include "publish/plot.hpp"

namespace nearfield::bench {
namespace {

constexpr int kGap = 20;
constexpr int kTitle = 40;
constexpr int kCaption = 46;
constexpr int kScale = 34;
constexpr double kFloor_db = -40.0;  ///< of errors, re the truth's highest
constexpr double kPointRadius = 3.5;
constexpr Rgb8 kNoTruth = {205, 205, 205};

double largest(std::span<const std::complex<float>> values) {
  double maximum = 0.0;
  for (const std::complex<float>& value : values) {
    maximum = std::max(maximum, std::abs(std::complex<double>(value)));
  }
  return maximum;
}

/// Pixels of a microphone along x and y; both directions share the scale by and large.
struct Cell {
  int width;
  int height;
};

Cell cell_of(const ArrayGeometry& geometry) {
  const int width = geometry.columns <= 8 ? 9 : (geometry.columns <= 32 ? 6 : 4);
  return {width, std::max(1, static_cast<int>(std::lround(width * geometry.pitch_y_m / geometry.pitch_x_m)))};
}

/// The complex factor that brings an image closest to the truth: files have levels of their own.
std::complex<double> closest_factor(const Values& truth, const Values& image) {
  std::complex<double> product = 0.0;
  double power = 0.0;
  for (std::size_t i = 0; i < truth.size(); ++i) {
    product += std::conj(std::complex<double>(image[i])) * std::complex<double>(truth[i]);
    power += std::norm(std::complex<double>(image[i]));
  }
  return power > 0.0 ? product / power : 1.0;
}

/// What one panel shows: 0 to 1 for each pixel, NaN where there is no truth.
using Shares = std::vector<double>;

Shares shares_of(const TrueField& field, std::span<const std::complex<float>> image, std::complex<double> factor,
                 double top) {
  Shares shares;
  for (std::size_t i = 0; i < image.size(); ++i) {
    const bool known = field.valid.empty() || field.valid[i] != 0;
    shares.push_back(known ? std::abs(factor * std::complex<double>(image[i])) / top : std::nan(""));
  }
  return shares;
}

/// Errors as levels from kFloor_db to 0 dB.
Shares error_shares(const TrueField& field, std::size_t frequency, const Values& image, std::complex<double> factor) {
  const std::span<const std::complex<float>> truth = field.truth_of(frequency);
  const double top = largest(known_truth(field, frequency));
  Shares shares;
  for (std::size_t i = 0; i < image.size(); ++i) {
    const double error = std::abs(factor * std::complex<double>(image[i]) - std::complex<double>(truth[i]));
    const bool known = field.valid.empty() || field.valid[i] != 0;
    shares.push_back(known ? 1.0 - 20.0 * std::log10(std::max(error / top, 1e-9)) / kFloor_db : std::nan(""));
  }
  return shares;
}

void paint(Canvas& canvas, int x, int y, const ArrayGeometry& geometry, const Shares& shares) {
  const Cell cell = cell_of(geometry);
  const int width = geometry.columns * cell.width;
  const int height = geometry.rows * cell.height;
  canvas.paint(x, y, width, height, [&](int column, int row) {
    const double share = shares[static_cast<std::size_t>(row / cell.height * geometry.columns + column / cell.width)];
    return std::isnan(share) ? kNoTruth : magnitude_colour(share);
  });
  canvas.frame(x, y, width, height);
}

/// Values measured at points, on an empty panel.
void paint_points(Canvas& canvas, int x, int y, const TrueField& field, std::size_t frequency) {
  const ArrayGeometry& geometry = field.geometry;
  paint(canvas, x, y, geometry, Shares(field.channels(), std::nan("")));
  const Cell cell = cell_of(geometry);
  const std::span<const std::complex<float>> truth = field.truth_of(frequency);
  const double top = largest(truth);
  for (std::size_t i = 0; i < field.points.size(); ++i) {
    const double column = field.points[i].x_m / geometry.pitch_x_m + geometry.columns / 2.0;
    const double row = field.points[i].y_m / geometry.pitch_y_m + geometry.rows / 2.0;
    canvas.disc({x + column * cell.width, y + row * cell.height}, kPointRadius,
                magnitude_colour(std::abs(std::complex<double>(truth[i])) / top));
  }
}

/// A bar of the colours with what its ends stand for.
int draw_bar(Canvas& canvas, int x, int y, const std::string& low, const std::string& high) {
  constexpr int kLength = 120;
  constexpr int kThickness = 10;
  const TextStyle style{.size = 11.0};
  canvas.text(x, y, low, style);
  const int bar = x + static_cast<int>(canvas.text_width(low, style)) + 8;
  canvas.paint(bar, y - kThickness / 2, kLength, kThickness,
               [](int column, int /*row*/) { return magnitude_colour(static_cast<double>(column) / kLength); });
  canvas.frame(bar, y - kThickness / 2, kLength, kThickness);
  canvas.text(bar + kLength + 8.0, y, high, style);
  return bar + kLength + 8 + static_cast<int>(canvas.text_width(high, style));
}

/// Rows of the default extrapolation whose images are shown, in the table's order, but for `tikhonov`.
std::vector<const FidelityRow*> shown_rows(const FieldResult& result) {
  std::vector<const FidelityRow*> rows;
  for (const FidelityRow& row : result.rows) {
    const bool is_shown = row.knows_truth ? row.filter == kBestCutoff : row.filter != "tikhonov";
    if (is_shown && row.is_main()) {
      rows.push_back(&row);
    }
  }
  return rows;
}

std::vector<std::string> caption_of(const FieldResult& result, const FidelityRow& row, std::size_t frequency) {
  const Figures figures = figures_of(result.field, frequency, row.first_image[frequency]);
  const double cutoff = row.cutoff_rad_per_m[frequency];
  return {row.filter,
          std::isfinite(cutoff) ? fmt::format("{:.0f} rad/m, slope {:.2f}", cutoff, row.slope[frequency]) : "",
          result.part == kDataPart ? fmt::format("NCC {:.3f}", figures.ncc)
                                   : fmt::format("error {:.1f} %", 100.0 * figures.relative_l2)};
}

void draw_caption(Canvas& canvas, int x, int y, const std::vector<std::string>& lines) {
  for (std::size_t i = 0; i < lines.size(); ++i) {
    canvas.text(x, y + 10.0 + 14.0 * static_cast<double>(i), lines[i], {.size = 11.0, .bold = i == 0});
  }
}

std::string title_of(const FieldResult& result, std::size_t frequency) {
  std::string title = fmt::format("{}, {:.0f} Hz, {:.0f} mm", result.field.name, result.field.frequencies_hz[frequency],
                                  1e3 * result.field.standoff_m);
  return std::isfinite(result.snr_db) ? title + fmt::format(", {:.0f} dB", result.snr_db) : title;
}

/// Truth and images above, errors below.
void draw_case(const FieldResult& result, std::size_t frequency, const std::filesystem::path& path) {
  const TrueField& field = result.field;
  const std::vector<const FidelityRow*> rows = shown_rows(result);
  const Cell cell = cell_of(field.geometry);
  const int step_x = std::max(field.geometry.columns * cell.width, 150) + kGap;
  const int height = field.geometry.rows * cell.height;
  constexpr int kLegend = 720;
  Canvas canvas(std::max(kGap + step_x * static_cast<int>(rows.size() + 1), kLegend),
                kTitle + 2 * (height + kGap) + kCaption + kScale);
  canvas.text(kGap, 20.0, title_of(result, frequency), {.size = 14.0, .bold = true});
  const Values truth = known_truth(field, frequency);
  paint(canvas, kGap, kTitle, field.geometry, shares_of(field, field.truth_of(frequency), 1.0, largest(truth)));
  canvas.text(kGap, kTitle + height + 12.0, "truth, magnitude", {.size = 11.0, .bold = true});
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const int x = kGap + step_x * static_cast<int>(i + 1);
    const Values& image = rows[i]->first_image[frequency];
    const std::complex<double> factor =
        result.part == kDataPart ? closest_factor(truth, where_true(field, image)) : 1.0;
    paint(canvas, x, kTitle, field.geometry, shares_of(field, image, factor, largest(truth)));
    paint(canvas, x, kTitle + height + kGap, field.geometry, error_shares(field, frequency, image, factor));
    draw_caption(canvas, x, kTitle + 2 * height + kGap, caption_of(result, *rows[i], frequency));
  }
  const int y = kTitle + 2 * (height + kGap) + kCaption + kScale / 2;
  const int end = draw_bar(canvas, kGap, y, "above: 0", "highest of the truth");
  draw_bar(canvas, end + 2 * kGap, y, fmt::format("below: error re that, {:.0f} dB", kFloor_db), "0 dB");
  canvas.write_png(path);
}

/// All frequencies of a truth that was measured at points: the truth above, images below.
void draw_points(const FieldResult& result, const std::filesystem::path& path) {
  const TrueField& field = result.field;
  const std::vector<const FidelityRow*> rows = shown_rows(result);
  const Cell cell = cell_of(field.geometry);
  const int step_x = field.geometry.columns * cell.width + 10;
  const int step_y = field.geometry.rows * cell.height + 34;
  constexpr int kLabels = 150;
  Canvas canvas(kLabels + step_x * static_cast<int>(field.frequencies_hz.size()),
                kTitle + 20 + step_y * static_cast<int>(rows.size() + 1));
  canvas.text(kGap, 16.0, field.name + ": magnitude, each over its own highest; below images, their NCC",
              {.size = 14.0, .bold = true});
  for (std::size_t i = 0; i <= rows.size(); ++i) {
    canvas.text(8.0, kTitle + 20 + step_y * (static_cast<double>(i) + 0.4),
                i == 0 ? "truth, points" : rows[i - 1]->filter, {.size = 11.0, .bold = true});
  }
  for (std::size_t f = 0; f < field.frequencies_hz.size(); ++f) {
    const int x = kLabels + step_x * static_cast<int>(f);
    canvas.text(x, kTitle + 6.0, fmt::format("{:.1f} Hz", field.frequencies_hz[f]), {.size = 11.0});
    paint_points(canvas, x, kTitle + 20, field, f);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const int y = kTitle + 20 + step_y * static_cast<int>(i + 1);
      const Values& image = rows[i]->first_image[f];
      paint(canvas, x, y, field.geometry, shares_of(field, image, 1.0, largest(image)));
      canvas.text(x, y + field.geometry.rows * cell.height + 11.0, fmt::format("{:.2f}", rows[i]->figures[f].mean.ncc),
                  {.size = 11.0});
    }
  }
  canvas.write_png(path);
}

/// Marks of the rows that choose by themselves, one series a filter.
void add_marks(const std::vector<const FieldResult*>& results, Plot& plot) {
  for (const NamedSettings& filter : filters()) {
    PlotSeries marks{.name = filter.name, .x = {}, .y = {}, .lines = false};
    for (const FieldResult* result : results) {
      const FidelityRow* row = result->row(main_extrapolation(), filter.name);
      for (std::size_t f = 0; row != nullptr && f < row->figures.size(); ++f) {
        if (std::isfinite(row->cutoff_rad_per_m[f])) {
          marks.x.push_back(row->cutoff_rad_per_m[f]);
          marks.y.push_back(100.0 * row->figures[f].mean.relative_l2);
        }
      }
    }
    if (!marks.x.empty()) {
      plot.series.push_back(std::move(marks));
    }
  }
}

/// Errors over cut-offs of one source, all its ratios and frequencies.
Plot plot_errors(const std::vector<const FieldResult*>& results) {
  const FieldResult& first = *results.front();
  Plot plot{
      .title = fmt::format("{}, {:.0f} mm: error over the cut-off", first.field.name, 1e3 * first.field.standoff_m),
      .x = {.label = "cut-off [rad/m]", .logarithmic = true},
      .y = {.label = "mean relative L2 [%]", .logarithmic = true, .low = 0.5, .high = 200.0},
      .notes = {fmt::format("{}, slope {:.1f}; marks: what filters chose (means) and their error", main_extrapolation(),
                            first.scan.slope)},
      .height = 460};
  for (const FieldResult* result : results) {
    for (std::size_t f = 0; f < result->field.frequencies_hz.size(); ++f) {
      PlotSeries curve{.name = fmt::format("{:.0f} Hz, {:.0f} dB", result->field.frequencies_hz[f], result->snr_db),
                       .x = result->scan.cutoff_rad_per_m,
                       .y = result->scan.distance[f],
                       .markers = false};
      for (double& y : curve.y) {
        y *= 100.0;
      }
      plot.series.push_back(std::move(curve));
    }
  }
  add_marks(results, plot);
  return plot;
}

/// Median NCC of a file over one cut-off for all its frequencies.
Plot plot_ncc(const FieldResult& result) {
  Plot plot{.title = result.field.name + ": median NCC over one cut-off for all",
            .x = {.label = "cut-off [rad/m]", .logarithmic = true},
            .y = {.label = "median NCC", .low = 0.0, .high = 1.0},
            .notes = {fmt::format("{}, slope {:.1f}; marks: what filters chose (median) and their median NCC",
                                  main_extrapolation(), result.scan.slope)},
            .height = 400};
  PlotSeries curve{.name = "one for all", .x = result.scan.cutoff_rad_per_m, .y = {}, .markers = false};
  for (std::size_t i = 0; i < curve.x.size(); ++i) {
    std::vector<double> ncc;
    for (const std::vector<double>& distances : result.scan.distance) {
      ncc.push_back(1.0 - distances[i]);
    }
    curve.y.push_back(median(ncc));
  }
  plot.series.push_back(std::move(curve));
  for (const FidelityRow* row : shown_rows(result)) {
    if (std::isfinite(row->cutoff_rad_per_m.front())) {
      plot.series.push_back(
          {.name = row->filter, .x = {median(row->cutoff_rad_per_m)}, .y = {median_ncc(*row)}, .lines = false});
    }
  }
  return plot;
}

bool has_pictures(const FidelityReport& report, const FieldResult& result) {
  const bool is_first_ratio = result.snr_db == report.results.front().snr_db;
  return result.part == kDataPart || (result.part == kCasesPart && is_first_ratio);
}

std::string file_name(std::string name) {
  std::replace(name.begin(), name.end(), ' ', '_');
  return name;
}

}  // namespace

std::string picture_of(const FieldResult& result, std::size_t frequency) {
  if (!result.field.points.empty()) {
    return result.field.name + ".png";
  }
  return file_name(fmt::format("{}_{:.0f}hz.png", result.field.name, result.field.frequencies_hz[frequency]));
}

std::string plot_of(const FieldResult& result) { return file_name(fmt::format("cutoff_{}.png", result.field.name)); }

std::vector<std::size_t> pictured_frequencies(const FidelityReport& report, const FieldResult& result) {
  std::vector<std::size_t> frequencies(result.field.frequencies_hz.size());
  std::iota(frequencies.begin(), frequencies.end(), 0);
  if (!has_pictures(report, result)) {
    return {};
  }
  if (result.part != kDataPart) {
    return frequencies;
  }
  // Of a file, the mode in the middle: neither the best nor the worst.
  const FidelityRow& row = result.rows.front();
  std::sort(frequencies.begin(), frequencies.end(),
            [&](std::size_t a, std::size_t b) { return row.figures[a].mean.ncc < row.figures[b].mean.ncc; });
  return {frequencies[frequencies.size() / 2]};
}

std::vector<std::string> write_pictures(const FidelityReport& report, const std::filesystem::path& folder) {
  make_folder(folder);
  std::vector<std::string> names;
  for (const FieldResult& result : report.results) {
    for (const std::size_t frequency : pictured_frequencies(report, result)) {
      names.push_back(picture_of(result, frequency));
      if (result.field.points.empty()) {
        draw_case(result, frequency, folder / names.back());
      } else {
        draw_points(result, folder / names.back());
      }
    }
    if (!has_pictures(report, result)) {
      continue;
    }
    names.push_back(plot_of(result));
    std::vector<const FieldResult*> alike;
    for (const FieldResult& other : report.results) {
      if (other.part == result.part && other.field.name == result.field.name) {
        alike.push_back(&other);
      }
    }
    write_plot(folder / names.back(), result.part == kDataPart ? plot_ncc(result) : plot_errors(alike));
  }
  return names;
}

}  // namespace nearfield::bench
