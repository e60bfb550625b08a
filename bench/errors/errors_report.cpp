#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "bench/common/files.hpp"
#include "bench/errors/errors.hpp"
#include "nearfield/frame.hpp"

namespace nearfield::bench {
namespace {

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
  nlohmann::ordered_json json = {{"variant", row.variant.name}, {"kind", row.variant.kind}};
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
  json["hologram"] = base64_of(row.image);
  return json;
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
                              {"on_bins", !takes_any_frequency(leakage.variant.kind)},
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
                                    {"peak_full_scale", scene.peak_full_scale},
                                    {"rows", scene.geometry.rows},
                                    {"columns", scene.geometry.columns},
                                    {"hologram", base64_of(scene.truth)}};
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

}  // namespace nearfield::bench
