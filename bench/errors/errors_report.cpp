#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "bench/common/files.hpp"
#include "bench/errors/errors.hpp"
#include "nearfield/frame.hpp"
#include "publish/canvas.hpp"
#include "publish/colours.hpp"
#include "publish/plot.hpp"

namespace nearfield::bench {
namespace {

constexpr int kCell = 6;  ///< pixels a microphone
constexpr int kGap = 24;
constexpr int kCaption = 58;
constexpr int kColumns = 5;
constexpr int kTitle = 64;
constexpr int kCaptionWidth = 184;
constexpr double kFloor_db = -90.0;  ///< of deviations
constexpr double kTop_db = -20.0;
constexpr Rgb8 kMissing = {160, 160, 160};
constexpr int kWholeCurve = 32768;  ///< where "all coefficients" lies on the curve's axis

std::string percent_or_dash(double value, int decimals) {
  return std::isfinite(value) ? fmt::format("{:.{}f}", value, decimals) : std::string("-");
}

std::string scene_title(const SceneErrors& s) {
  return fmt::format("{}: {:.2f} Hz (thesis {:.0f} Hz), modulators of order {}, {:.0f} dBFS rms", s.scene.label,
                     s.scene.frequency_hz, s.scene.thesis_frequency_hz, s.order, s.level_dbfs);
}

std::string row_line(const ErrorRow& row, const ThesisScene& scene) {
  if (!row.problem.empty()) {
    return fmt::format("{:<27}  {}\n", row.variant.name, row.problem.substr(0, row.problem.find('\n')));
  }
  const ThesisErrors thesis = thesis_errors(row.variant, scene);
  const ImageMetrics& n = row.to_nominal;
  const ImageMetrics& t = row.to_truth;
  return fmt::format("{:<27}{:>9.3f}{:>9.3f}{:>9.3f}{:>10}{:>8} |{:>9.3f}{:>9.3f}{:>9.3f}{:>10.4f}{}\n",
                     row.variant.name, 100.0 * n.rmsre, 100.0 * n.rmsre_all, 100.0 * n.nsad_signed,
                     percent_or_dash(thesis.rmsre, 1), percent_or_dash(thesis.nsad, 3), 100.0 * t.rmsre,
                     100.0 * t.rmsre_all, 100.0 * t.nsad_signed, 100.0 * row.spectral_error,
                     row.flags == 0 ? "" : "  " + flags_in_words(row.flags));
}

nlohmann::ordered_json metrics_json(const ImageMetrics& m) {
  return {{"rmsre", finite_or_null(m.rmsre)},
          {"rmsre_excluded", m.rmsre_excluded},
          {"rmsre_all", finite_or_null(m.rmsre_all)},
          {"nsad", finite_or_null(m.nsad)},
          {"nsad_signed", finite_or_null(m.nsad_signed)},
          {"relative_l2", finite_or_null(m.relative_l2)},
          {"ncc", finite_or_null(m.ncc)}};
}

nlohmann::ordered_json row_json(const ErrorRow& row, const ThesisScene& scene) {
  nlohmann::ordered_json json = {{"variant", row.variant.name}, {"kind", name_of(row.variant.kind)}};
  if (!row.problem.empty()) {
    json["problem"] = row.problem;
    return json;
  }
  const ThesisErrors thesis = thesis_errors(row.variant, scene);
  json["spectral_error"] = finite_or_null(row.spectral_error);
  json["flags"] = row.flags;
  json["to_nominal"] = metrics_json(row.to_nominal);
  json["to_truth"] = metrics_json(row.to_truth);
  json["thesis"] = {{"rmsre", finite_or_null(thesis.rmsre / 100.0)}, {"nsad", finite_or_null(thesis.nsad / 100.0)}};
  return json;
}

double largest(const Image& image) {
  double maximum = 0.0;
  for (const std::complex<float>& value : image) {
    maximum = std::max(maximum, static_cast<double>(std::abs(value)));
  }
  return maximum;
}

/// A hologram's magnitude over its maximum, 0 to 1.
std::vector<double> magnitudes(const Image& image) {
  const double maximum = largest(image);
  std::vector<double> shares;
  for (const std::complex<float>& value : image) {
    shares.push_back(static_cast<double>(std::abs(value)) / maximum);
  }
  return shares;
}

/// How far a hologram is from the true one, as a level re that one's maximum; 0 to 1 from kFloor_db to kTop_db.
std::vector<double> deviations(const Image& image, const Image& truth) {
  const double maximum = largest(truth);
  std::vector<double> shares;
  for (std::size_t i = 0; i < truth.size(); ++i) {
    const double level_db = 20.0 * std::log10(static_cast<double>(std::abs(image[i] - truth[i])) / maximum);
    shares.push_back(std::isnan(level_db) ? level_db
                                          : std::clamp((level_db - kFloor_db) / (kTop_db - kFloor_db), 0.0, 1.0));
  }
  return shares;
}

struct Panel {
  std::vector<double> shares;  ///< [row][column], 0 to 1
  std::vector<std::string> lines;
};

void draw_panel(Canvas& canvas, int x, int y, const ArrayGeometry& geometry, const Panel& panel) {
  const int width = geometry.columns * kCell;
  const int height = geometry.rows * kCell;
  canvas.paint(x, y, width, height, [&](int column, int row) {
    const double share = panel.shares[static_cast<std::size_t>(row / kCell * geometry.columns + column / kCell)];
    return std::isfinite(share) ? magnitude_colour(share) : kMissing;
  });
  canvas.frame(x, y, width, height);
  for (std::size_t i = 0; i < panel.lines.size(); ++i) {
    canvas.text(x, y + height + 12.0 + 16.0 * static_cast<double>(i), panel.lines[i], {.size = 11.0, .bold = i == 0});
  }
}

/// The colours of the deviations, below the title.
void draw_scale(Canvas& canvas, int y) {
  constexpr int kLength = 160;
  constexpr int kThickness = 10;
  const std::string before =
      fmt::format("deviation from the true field's hologram, re its maximum: {:.0f} dB", kFloor_db);
  const TextStyle style{.size = 11.0};
  canvas.text(kGap, y, before, style);
  const int x = kGap + static_cast<int>(canvas.text_width(before, style)) + 8;
  canvas.paint(x, y - kThickness / 2, kLength, kThickness,
               [](int column, int /*row*/) { return magnitude_colour(static_cast<double>(column) / kLength); });
  canvas.frame(x, y - kThickness / 2, kLength, kThickness);
  canvas.text(x + kLength + 8.0, y, fmt::format("{:.0f} dB; below each: RMSRE, NSAD", kTop_db), style);
}

std::string in_caption(const ImageMetrics& metrics) {
  // + 0.0: no minus sign before nothing.
  return fmt::format("{:.2f} %, {:.3f} %", 100.0 * metrics.rmsre, std::round(1e5 * metrics.nsad_signed) / 1e3 + 0.0);
}

std::vector<Panel> panels_of(const SceneErrors& scene) {
  std::vector<Panel> panels = {{magnitudes(scene.truth), {"true field", "exact spectra, same imager", "magnitude"}}};
  for (const ErrorRow& row : scene.rows) {
    if (row.problem.empty()) {
      panels.push_back({deviations(row.image, scene.truth),
                        {std::string(row.variant.name), "to nominal: " + in_caption(row.to_nominal),
                         "to true: " + in_caption(row.to_truth)}});
    }
  }
  return panels;
}

void draw_scene(const SceneErrors& scene, const std::filesystem::path& path) {
  const std::vector<Panel> panels = panels_of(scene);
  const int count = static_cast<int>(panels.size());
  const int columns = std::min(count, kColumns);
  const int step_x = std::max(scene.geometry.columns * kCell, kCaptionWidth) + kGap;
  const int step_y = scene.geometry.rows * kCell + kCaption + 12;
  const int lines = (count + columns - 1) / columns;
  Canvas canvas(std::max(columns * step_x + kGap, 640), lines * step_y + kTitle);
  canvas.text(kGap, 20.0, scene_title(scene), {.size = 14.0, .bold = true});
  draw_scale(canvas, 44);
  for (int i = 0; i < count; ++i) {
    draw_panel(canvas, kGap + i % columns * step_x, kTitle + i / columns * step_y, scene.geometry,
               panels[static_cast<std::size_t>(i)]);
  }
  canvas.write_png(path);
}

Plot curve_plot(const std::vector<WalshCurve>& curves) {
  Plot plot{.title = "walsh_fourier fast: coefficients against error",
            .x = {.label = "coefficients a frequency (the last: all)", .logarithmic = true},
            .y = {.label = "error to the true field [%]", .logarithmic = true},
            .notes = {"RMSRE of holograms, relative L2 of spectra; the thesis keeps 40, the default is 6144"}};
  for (const WalshCurve& curve : curves) {
    PlotSeries images{.name = curve.scene + ", RMSRE", .x = {}, .y = {}};
    PlotSeries spectra{.name = curve.scene + ", spectra", .x = {}, .y = {}};
    for (std::size_t i = 0; i < curve.coefficients.size(); ++i) {
      const double x = curve.coefficients[i] == 0 ? kWholeCurve : curve.coefficients[i];
      images.x.push_back(x);
      images.y.push_back(100.0 * curve.rmsre[i]);
      spectra.x.push_back(x);
      spectra.y.push_back(100.0 * curve.spectral_error[i]);
    }
    plot.series.push_back(images);
    plot.series.push_back(spectra);
  }
  return plot;
}

std::string curve_lines(const std::vector<WalshCurve>& curves) {
  std::string text;
  for (const WalshCurve& curve : curves) {
    text += fmt::format("\n{}: walsh_fourier fast, coefficients: RMSRE to the true field, spectral error [%]\n",
                        curve.scene);
    for (std::size_t i = 0; i < curve.coefficients.size(); ++i) {
      text += fmt::format("{:>8}{:>10.3f}{:>10.4f}\n",
                          curve.coefficients[i] == 0 ? "all" : fmt::format("{}", curve.coefficients[i]),
                          100.0 * curve.rmsre[i], 100.0 * curve.spectral_error[i]);
    }
  }
  return text;
}

/// Spectra and offsets, which have no holograms.
void add_parts(nlohmann::ordered_json& json, const ErrorReport& report) {
  for (const SpectralError& error : report.spectra) {
    json["spectra"].push_back({{"variant", error.variant.name},
                               {"modulator_order", error.order},
                               {"level_dbfs", error.level_dbfs},
                               {"frequency_hz", error.frequency_hz},
                               {"spectral_error", finite_or_null(error.error)}});
    if (!error.problem.empty()) {
      json["spectra"].back()["problem"] = error.problem;
    }
  }
  for (const OffsetLeakage& leakage : report.offset) {
    json["offset"].push_back({{"variant", leakage.variant.name},
                              {"remove_dc", leakage.remove_dc},
                              {"frequencies_hz", leakage.frequencies_hz},
                              {"leakage", leakage.leakage},
                              {"tone_frequency_hz", leakage.tone_frequency_hz},
                              {"tone_error", finite_or_null(leakage.tone_error)}});
    if (!leakage.problem.empty()) {
      json["offset"].back()["problem"] = leakage.problem;
    }
  }
}

/// One line of the CSV; empty cells where a part has no order or level.
struct CsvPlace {
  std::string part;
  std::string order;
  std::string level_dbfs;
  std::string variant;
};

std::string csv_line(const CsvPlace& place, double frequency_hz, std::string_view quantity, double value) {
  return fmt::format("{},{},{},{:.10g},\"{}\",{},{:.9g}\n", place.part, place.order, place.level_dbfs, frequency_hz,
                     place.variant, quantity, value);
}

std::string csv_lines(const SceneErrors& scene, const ErrorRow& row) {
  const CsvPlace place{std::string(scene.scene.label), fmt::format("{}", scene.order),
                       fmt::format("{:g}", scene.level_dbfs), std::string(row.variant.name)};
  const double hz = scene.scene.frequency_hz;
  std::string text = csv_line(place, hz, "spectral_error", row.spectral_error);
  for (const auto& [name, metrics] : {std::pair{"nominal", &row.to_nominal}, std::pair{"truth", &row.to_truth}}) {
    text += csv_line(place, hz, fmt::format("rmsre_to_{}", name), metrics->rmsre);
    text += csv_line(place, hz, fmt::format("rmsre_all_to_{}", name), metrics->rmsre_all);
    text += csv_line(place, hz, fmt::format("nsad_signed_to_{}", name), metrics->nsad_signed);
    text += csv_line(place, hz, fmt::format("nsad_to_{}", name), metrics->nsad);
  }
  return text;
}

std::string csv_lines(const OffsetLeakage& leakage) {
  const CsvPlace place{leakage.remove_dc ? "offset removed" : "offset", "2", "", std::string(leakage.variant.name)};
  std::string text;
  for (std::size_t i = 0; i < leakage.frequencies_hz.size(); ++i) {
    text += csv_line(place, leakage.frequencies_hz[i], "leakage", leakage.leakage[i]);
  }
  return text + csv_line(place, leakage.tone_frequency_hz, "tone_error", leakage.tone_error);
}

}  // namespace

std::string to_csv(const ErrorReport& report) {
  std::string text = "part,modulator_order,level_dbfs,frequency_hz,variant,quantity,value\n";
  for (const SceneErrors& scene : report.scenes) {
    for (const ErrorRow& row : scene.rows) {
      text += row.problem.empty() ? csv_lines(scene, row) : "";
    }
  }
  for (const SpectralError& error : report.spectra) {
    if (error.problem.empty()) {
      text += csv_line({"spectra", fmt::format("{}", error.order), fmt::format("{:g}", error.level_dbfs),
                        std::string(error.variant.name)},
                       error.frequency_hz, "spectral_error", error.error);
    }
  }
  for (const OffsetLeakage& leakage : report.offset) {
    text += leakage.problem.empty() ? csv_lines(leakage) : "";
  }
  return text;
}

std::string to_table(const ErrorReport& report) {
  std::string text = fmt::format(
      "{} ({}, driver {})\nErrors in percent; RMSRE over the pixels of at least 1 % of the maximum, and over all, as "
      "the "
      "thesis has it; NSAD with its sign; filter 50 rad/m, slope 0.3\n",
      report.device.name, report.device.platform, report.device.driver);
  for (const SceneErrors& scene : report.scenes) {
    text +=
        fmt::format("\n{}, highest input {:.2f} of full scale\n{:<27}{:>36}{:>9} |{:>28}{:>10}\n", scene_title(scene),
                    scene.peak_full_scale, "", "to the nominal chain's hologram", "", "to the true field's", "spectra");
    text += fmt::format("{:<27}{:>9}{:>9}{:>9}{:>10}{:>8} |{:>9}{:>9}{:>9}{:>10}\n", "", "RMSRE", "all", "NSAD",
                        "thesis R", "N", "RMSRE", "all", "NSAD", "rel. L2");
    for (const ErrorRow& row : scene.rows) {
      text += row_line(row, scene.scene);
    }
  }
  return text + curve_lines(report.curves) + to_table(report.spectra) + to_table(report.offset);
}

std::string to_json_text(const ErrorReport& report) {
  nlohmann::ordered_json json = report_head("errors", report.device);
  json["filter"] = {{"kind", "cos"}, {"cutoff_rad_per_m", 50.0}, {"slope", 0.3}};
  json["thesis_source"] =
      "Oznaya Angeles 2014, captions of fig. 7.6 to 7.8; RMSRE over all pixels, to the nominal chain";
  json["scenes"] = nlohmann::ordered_json::array();
  for (const SceneErrors& scene : report.scenes) {
    nlohmann::ordered_json entry = {{"scene", scene.scene.label},
                                    {"file", scene.scene.file},
                                    {"frequency_hz", scene.scene.frequency_hz},
                                    {"thesis_frequency_hz", scene.scene.thesis_frequency_hz},
                                    {"modulator_order", scene.order},
                                    {"level_dbfs", scene.level_dbfs},
                                    {"peak_full_scale", scene.peak_full_scale}};
    for (const ErrorRow& row : scene.rows) {
      entry["front_ends"].push_back(row_json(row, scene.scene));
    }
    json["scenes"].push_back(entry);
  }
  for (const WalshCurve& curve : report.curves) {
    json["walsh_curves"].push_back({{"scene", curve.scene},
                                    {"coefficients", curve.coefficients},
                                    {"rmsre_to_truth", curve.rmsre},
                                    {"spectral_error", curve.spectral_error}});
  }
  add_parts(json, report);
  return json.dump(1) + "\n";
}

std::vector<std::string> write_pictures(const ErrorReport& report, const std::filesystem::path& folder) {
  make_folder(folder);
  std::vector<std::string> names;
  for (const SceneErrors& scene : report.scenes) {
    const std::string stem(scene.scene.file.substr(0, scene.scene.file.find('.')));
    names.push_back(fmt::format("{}_order{}_{:.0f}dbfs.png", stem, scene.order, scene.level_dbfs));
    draw_scene(scene, folder / names.back());
  }
  if (!report.curves.empty()) {
    names.emplace_back("walsh_curve.png");
    write_plot(folder / names.back(), curve_plot(report.curves));
  }
  if (!report.offset.empty()) {
    names.emplace_back("offset_leakage.png");
    write_plot(folder / names.back(), offset_plot(report.offset));
  }
  return names;
}

}  // namespace nearfield::bench
