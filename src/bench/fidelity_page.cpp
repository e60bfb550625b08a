#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "bench/fidelity.hpp"
#include "nearfield/error.hpp"
#include "nearfield/settings.hpp"

namespace nearfield::bench {
namespace {

using Line = std::vector<std::string>;

std::string table(const Line& head, const std::vector<Line>& lines) {
  std::string text = fmt::format("| {} |\n|{}\n", fmt::join(head, " | "), [&] {
    std::string rule;
    for (std::size_t i = 0; i < head.size(); ++i) {
      rule += "---|";
    }
    return rule;
  }());
  for (const Line& line : lines) {
    text += fmt::format("| {} |\n", fmt::join(line, " | "));
  }
  return text + "\n";
}

std::string number(double value, int decimals) {
  return std::isfinite(value) ? fmt::format("{:.{}f}", value, decimals) : std::string("-");
}

std::string percent(double value) { return number(100.0 * value, 100.0 * value < 100.0 ? 1 : 0); }

std::string bold_if(bool is_bold, const std::string& text) { return is_bold ? "**" + text + "**" : text; }

/// One frequency of a result.
struct Case {
  const FieldResult* result;
  std::size_t frequency;

  [[nodiscard]] std::string name() const {
    return fmt::format("{}, {:.0f} Hz", result->field.name, result->field.frequencies_hz[frequency]);
  }
};

/// All frequencies of a part's results at one ratio and standoff.
std::vector<Case> cases_of(const FidelityReport& report, std::string_view part, double snr_db, double standoff_m) {
  std::vector<Case> cases;
  for (const FieldResult& result : report.results) {
    if (result.part == part && result.snr_db == snr_db && result.field.standoff_m == standoff_m) {
      for (std::size_t f = 0; f < result.field.frequencies_hz.size(); ++f) {
        cases.push_back({&result, f});
      }
    }
  }
  return cases;
}

std::vector<double> distinct(const FidelityReport& report, std::string_view part,
                             const std::function<double(const FieldResult&)>& value_of) {
  std::vector<double> values;
  for (const FieldResult& result : report.results) {
    if (result.part == part && std::find(values.begin(), values.end(), value_of(result)) == values.end()) {
      values.push_back(value_of(result));
    }
  }
  return values;
}

std::vector<double> ratios_of(const FidelityReport& report, std::string_view part) {
  return distinct(report, part, [](const FieldResult& result) { return result.snr_db; });
}

std::vector<double> standoffs_of(const FidelityReport& report, std::string_view part) {
  return distinct(report, part, [](const FieldResult& result) { return result.field.standoff_m; });
}

/// What one row has over several cases.
struct Summary {
  double relative_l2 = 0.0;
  double inner_l2 = 0.0;
  double nmse_db = 0.0;
  double ncc = 0.0;
  double peak_off_m = 0.0;
  double ratio = 0.0;  ///< to the best fixed cut-off's error, mean
  double largest_ratio = 0.0;
  double worst_l2 = 0.0;  ///< of any draw
};

Summary summary_of(const std::vector<Case>& cases, const FidelityRow& row) {
  Summary sum;
  double power = 0.0;
  for (const Case& one : cases) {
    const FidelityRow& found = *one.result->row(row.extrapolation, row.filter);
    const FidelityRow* best = one.result->row(row.extrapolation, kBestCutoff);
    const Figures& figures = found.figures[one.frequency].mean;
    sum.relative_l2 += figures.relative_l2;
    sum.inner_l2 += figures.inner_l2;
    sum.ncc += figures.ncc;
    sum.peak_off_m += figures.peak_off_m;
    power += std::pow(10.0, figures.nmse_db / 10.0);
    const double ratio = figures.relative_l2 / best->figures[one.frequency].mean.relative_l2;
    sum.ratio += ratio;
    sum.largest_ratio = std::max(sum.largest_ratio, ratio);
    sum.worst_l2 = std::max(sum.worst_l2, found.figures[one.frequency].worst_l2);
  }
  const auto count = static_cast<double>(cases.size());
  for (double* value : {&sum.relative_l2, &sum.inner_l2, &sum.ncc, &sum.peak_off_m, &sum.ratio}) {
    *value /= count;
  }
  sum.nmse_db = 10.0 * std::log10(power / count);
  return sum;
}

/// Relative L2 of every case, a line for each row.
std::string error_table(const std::vector<Case>& cases) {
  Line head = {"extrapolation", "filter"};
  for (const Case& one : cases) {
    head.push_back(one.name());
  }
  head.emplace_back("mean");
  std::vector<Line> lines;
  for (const FidelityRow& row : cases.front().result->rows) {
    Line line = {row.extrapolation, bold_if(row.is_default, row.filter)};
    for (const Case& one : cases) {
      line.push_back(percent(one.result->row(row.extrapolation, row.filter)->figures[one.frequency].mean.relative_l2));
    }
    line.push_back(bold_if(row.is_default, percent(summary_of(cases, row).relative_l2)));
    lines.push_back(std::move(line));
  }
  return table(head, lines);
}

/// Every figure, means over the cases.
std::string summary_table(const std::vector<Case>& cases) {
  std::vector<Line> lines;
  for (const FidelityRow& row : cases.front().result->rows) {
    const Summary sum = summary_of(cases, row);
    lines.push_back({row.extrapolation, bold_if(row.is_default, row.filter), percent(sum.relative_l2),
                     percent(sum.inner_l2), number(sum.nmse_db, 1), number(sum.ncc, 4), number(1e3 * sum.peak_off_m, 1),
                     percent(sum.worst_l2), number(sum.ratio, 2), number(sum.largest_ratio, 2)});
  }
  return table({"extrapolation", "filter", "rel. L2 [%]", "inner 24 x 24 [%]", "NMSE [dB]", "NCC", "peak off [mm]",
                "worst draw [%]", "ratio to best fixed, mean", "largest"},
               lines);
}

/// Cut-offs and errors of the default extrapolation beside the best.
std::string cutoff_table(const std::vector<Case>& cases) {
  const std::string& extrapolation = extrapolations().front().name;
  Line head = {"case"};
  std::vector<const FidelityRow*> rows;
  for (const FidelityRow& row : cases.front().result->rows) {
    if (row.extrapolation == extrapolation && std::isfinite(row.cutoff_rad_per_m.front())) {
      rows.push_back(&row);
      head.push_back(row.filter);
    }
  }
  std::vector<Line> lines;
  for (const Case& one : cases) {
    Line line = {one.name()};
    const FidelityRow& best = *one.result->row(extrapolation, kBestCutoff);
    for (const FidelityRow* row : rows) {
      const FidelityRow& found = *one.result->row(extrapolation, row->filter);
      const double error = found.figures[one.frequency].mean.relative_l2;
      line.push_back(fmt::format("{:.0f} / {:.2g}, {} ({:.2f})", found.cutoff_rad_per_m[one.frequency],
                                 found.slope[one.frequency], percent(error),
                                 error / best.figures[one.frequency].mean.relative_l2));
    }
    lines.push_back(std::move(line));
  }
  return table(head, lines);
}

/// What is used when nothing is set, in words.
std::string default_in_words() {
  for (const NamedSettings& filter : filters()) {
    try {
      if (is_default(settings_of(extrapolations().front(), filter))) {
        return fmt::format("`{}` with `{}`", extrapolations().front().name, filter.name);
      }
    } catch (const ConfigError&) {  // not in this version: not the default either
    }
  }
  return "none of these";
}

/// The row that chooses by itself: auto where there is one, else the default.
const FidelityRow& chosen_row(const FieldResult& result) {
  const FidelityRow* automatic = result.row(extrapolations().front().name, "cos, auto");
  return automatic != nullptr ? *automatic : result.rows.front();
}

/// One line of the marks' table.
struct Mark {
  std::string what;
  double mark = 0.0;
  double found = 0.0;
  bool at_most = true;
  bool is_percent = false;
  int decimals = 2;
};

Line line_of(const Mark& mark) {
  const auto shown = [&](double value) {
    return mark.is_percent ? fmt::format("{:.1f} %", 100.0 * value) : number(value, mark.decimals);
  };
  const bool holds = mark.at_most ? mark.found <= mark.mark : mark.found >= mark.mark;
  return {mark.what, (mark.at_most ? "≤ " : "≥ ") + shown(mark.mark), shown(mark.found), holds ? "yes" : "**no**"};
}

void add_case_marks(const FidelityReport& report, std::vector<Mark>& marks) {
  for (const double snr_db : ratios_of(report, kCasesPart)) {
    const std::vector<Case> cases = cases_of(report, kCasesPart, snr_db, 0.03);
    const Summary sum = summary_of(cases, chosen_row(*cases.front().result));
    const bool is_quiet = snr_db >= 40.0;
    const std::string where = fmt::format("eight cases, {:.0f} dB", snr_db);
    marks.push_back({where + ", mean error", is_quiet ? 0.055 : 0.082, sum.relative_l2, true, true});
    marks.push_back({where + ", mean error, then", is_quiet ? 0.05 : 0.075, sum.relative_l2, true, true});
    marks.push_back({where + ", over the best fixed cut-off, mean", 1.2, sum.ratio});
    marks.push_back({where + ", over the best fixed cut-off, in any case", 1.5, sum.largest_ratio});
    for (const Case& one : cases) {
      const double error = chosen_row(*one.result).figures[one.frequency].mean.relative_l2;
      const double frequency_hz = one.result->field.frequencies_hz[one.frequency];
      if (is_quiet && one.result->field.name == "centred monopole" && frequency_hz < 3000.0) {
        marks.push_back({one.name(), frequency_hz < 1000.0 ? 0.06 : 0.08, error, true, true});
      }
      if (is_quiet && one.result->field.name == "pattern") {
        marks.push_back({one.name(), 0.02, error, true, true});
      }
    }
  }
}

void add_bits_marks(const FidelityReport& report, std::vector<Mark>& marks) {
  for (const double snr_db : ratios_of(report, kBitsPart)) {
    const std::vector<Case> bits = cases_of(report, kBitsPart, snr_db, 0.03);
    const std::vector<Case> spectra = cases_of(report, kCasesPart, snr_db, 0.03);
    double largest = 0.0;
    for (std::size_t i = 0; i < bits.size(); ++i) {
      const auto error = [](const Case& one) {
        return chosen_row(*one.result).figures[one.frequency].mean.relative_l2;
      };
      largest = std::max(largest, error(bits[i]) / error(spectra[i]));
    }
    marks.push_back({fmt::format("from bits over from spectra, {:.0f} dB, in any case", snr_db), 1.2, largest});
  }
}

void add_data_marks(const FidelityReport& report, std::vector<Mark>& marks) {
  for (const FieldResult& result : report.results) {
    if (result.part == kDataPart) {
      const double ncc = median_ncc(chosen_row(result));
      const bool is_shell = result.field.name.starts_with("violin_shell");
      const double mark = result.field.points.empty() ? 0.86 : 0.60;
      marks.push_back({result.field.name + (result.field.frequencies_hz.size() > 1 ? ", median NCC" : ", NCC"), mark,
                       ncc, false, false, 3});
      if (is_shell) {
        marks.push_back({result.field.name + ", median NCC, then", 0.88, ncc, false, false, 3});
      }
    }
  }
}

std::string marks_section(const FidelityReport& report) {
  std::vector<Mark> marks;
  add_case_marks(report, marks);
  add_bits_marks(report, marks);
  add_data_marks(report, marks);
  std::vector<Line> lines;
  std::transform(marks.begin(), marks.end(), std::back_inserter(lines), line_of);
  const FidelityRow& row = chosen_row(report.results.front());
  return fmt::format(
             "## Marks\n\nWhat the images have to reach without a hand on the knobs, and what `{}` with `{}` "
             "reaches.\n\n",
             row.extrapolation, row.filter) +
         table({"what", "mark", "found", "holds"}, lines);
}

std::string head_section(const FidelityReport& report) {
  std::string text = fmt::format(
      "# How close the images come\n\n"
      "Made by `./dev fidelity` on {} ({}, driver {}); nothing here is written by hand, and the same command makes the "
      "same "
      "page on the\nsame device. Images are made from spectra by the engine that `replay` uses, on that device. Bold: "
      "what is used when nothing is set,\n{}.\n\n",
      report.device.name, report.device.platform, report.device.driver, default_in_words());
  text +=
      "- **Relative L2**: |image - truth| / |truth|, complex, over all microphones; *inner* without 4 microphones at "
      "each "
      "side.\n"
      "- **NMSE**: 10 lg of the squared error, each image over its own maximum. **NCC**: |<image, truth>|, both over "
      "their norms.\n"
      "- **Peak off**: from the image's highest point to the truth's, to parts of a pitch; of several alike, the "
      "nearest.\n"
      "- **Best**: what a fixed cut-off could reach that was chosen with the truth in hand: the best of 40 from pi/10 "
      "to "
      "pi over the pitch,\n  for each frequency (the mean over the draws is minimised), slope 0.1; *and slope*: of "
      "0.05, "
      "0.1 and 0.2, too.\n\n";
  if (!report.left_out.empty()) {
    text += "**Left out:**\n";
    for (const std::string& what : report.left_out) {
      text += "- " + what + "\n";
    }
    text += "\n";
  }
  return text;
}

std::string picture_line(const std::string& title, const std::string& name) {
  return fmt::format("![{}](pictures/fidelity/{})\n", title, name);
}

std::string cases_section(const FidelityReport& report) {
  std::string text = fmt::format(
      "## Eight cases, 3 cm\n\n"
      "32 x 32 microphones 2 cm apart, 3 cm before the surface: a monopole 3 cm behind it at (0.013, -0.021) m, one at "
      "(0.26, 0.19) m,\nand a pattern sin(2 pi x / 0.27 m + 0.7) sin(2 pi y / 0.35 m + 0.4) without end; pressure, "
      "e^{{+jwt}}. "
      "White complex noise, the ratio over\nthe mean power of the aperture; means over {} draws, the same for every "
      "row. "
      "Relative L2 in per cent.\n\n",
      report.draws);
  for (const double snr_db : ratios_of(report, kCasesPart)) {
    const std::vector<Case> cases = cases_of(report, kCasesPart, snr_db, 0.03);
    text += fmt::format("### {:.0f} dB\n\n", snr_db) + error_table(cases);
    text += "Means over these cases:\n\n" + summary_table(cases);
    text += fmt::format("Cut-off [rad/m] / slope, error [%] (ratio to the best fixed cut-off), `{}`:\n\n",
                        extrapolations().front().name);
    text += cutoff_table(cases);
  }
  return text;
}

std::string pictures_section(const FidelityReport& report, std::string_view part) {
  std::string plots;
  std::string pictures;
  for (const FieldResult& result : report.results) {
    if (result.part != part) {
      continue;
    }
    const std::vector<std::size_t> frequencies = pictured_frequencies(report, result);
    for (const std::size_t f : frequencies) {
      pictures += picture_line(fmt::format("{}: truth, images, errors", result.field.name), picture_of(result, f));
    }
    if (!frequencies.empty()) {
      plots += picture_line(fmt::format("{}: over the cut-off", result.field.name), plot_of(result));
    }
  }
  return plots + "\n" + pictures + "\n";
}

std::string standoffs_section(const FidelityReport& report) {
  std::string text =
      fmt::format("## The same at other standoffs\n\nRelative L2 in per cent, the default extrapolation, {} draws.\n\n",
                  report.draws);
  for (const double standoff_m : standoffs_of(report, kStandoffsPart)) {
    for (const double snr_db : ratios_of(report, kStandoffsPart)) {
      text += fmt::format("### {:.0f} cm, {:.0f} dB\n\n", 100.0 * standoff_m, snr_db) +
              error_table(cases_of(report, kStandoffsPart, snr_db, standoff_m));
    }
  }
  return text;
}

std::string scenes_section(const FidelityReport& report) {
  std::string text = fmt::format(
      "## Pistons and plates\n\n"
      "The scenes of `config/scenes` with their exact fields on the surface: Schoch's line integral for pistons, "
      "Rayleigh's "
      "integral for plates,\nto 1e-9. Exact pressure at the microphones with noise, {} draws, the default "
      "extrapolation. "
      "Relative L2 in per cent / NCC. A piston's velocity\njumps at its rim, and one of 1 to 1.25 cm lies between "
      "microphones "
      "2 cm apart: no image with a cut-off below pi over the pitch can show it.\n\n",
      report.draws);
  for (const double snr_db : ratios_of(report, kScenesPart)) {
    std::vector<Line> lines;
    Line head = {"scene", "quantity"};
    for (const FieldResult& result : report.results) {
      if (result.part != kScenesPart || result.snr_db != snr_db) {
        continue;
      }
      for (std::size_t f = 0; f < result.field.frequencies_hz.size(); ++f) {
        Line line = {Case{&result, f}.name(), std::string(name_of(result.field.quantity))};
        for (const FidelityRow& row : result.rows) {
          const Figures& figures = row.figures[f].mean;
          line.push_back(
              bold_if(row.is_default, fmt::format("{} / {:.3f}", percent(figures.relative_l2), figures.ncc)));
          if (lines.empty()) {
            head.push_back(row.filter);
          }
        }
        lines.push_back(std::move(line));
      }
    }
    text += fmt::format("### {:.0f} dB\n\n", snr_db) + table(head, lines);
  }
  return text;
}

std::string bits_section(const FidelityReport& report) {
  std::string text = fmt::format(
      "## From bits\n\n"
      "The eight cases through fourth-order modulators, all frequencies of a source at once, each at -32 dBFS rms over "
      "the "
      "aperture, microphone\nnoise that gives the ratio in a spectrum; `popcount` of order 1, one hann window of 1024 "
      "words; "
      "{} draws. Relative L2 in per cent from bits / from\nspectra ({} draws), and their ratio.\n\n",
      report.bit_draws, report.draws);
  for (const double snr_db : ratios_of(report, kBitsPart)) {
    const std::vector<Case> bits = cases_of(report, kBitsPart, snr_db, 0.03);
    const std::vector<Case> spectra = cases_of(report, kCasesPart, snr_db, 0.03);
    Line head = {"filter"};
    std::vector<Line> lines;
    for (const Case& one : bits) {
      head.push_back(one.name());
    }
    for (const FidelityRow& row : bits.front().result->rows) {
      Line line = {bold_if(row.is_default, row.filter)};
      for (std::size_t i = 0; i < bits.size(); ++i) {
        const auto error = [&](const Case& one) {
          return one.result->row(row.extrapolation, row.filter)->figures[one.frequency].mean.relative_l2;
        };
        line.push_back(fmt::format("{} / {}, {:.2f}", percent(error(bits[i])), percent(error(spectra[i])),
                                   error(bits[i]) / error(spectra[i])));
      }
      lines.push_back(std::move(line));
    }
    text += fmt::format("### {:.0f} dB\n\n", snr_db) + table(head, lines);
  }
  return text;
}

/// NCC of every frequency, the default extrapolation.
std::string ncc_table(const FieldResult& result) {
  Line head = {"Hz"};
  std::vector<const FidelityRow*> rows;
  for (const FidelityRow& row : result.rows) {
    if (row.extrapolation == extrapolations().front().name) {
      rows.push_back(&row);
      head.push_back(bold_if(row.is_default, row.filter));
    }
  }
  std::vector<Line> lines;
  for (std::size_t f = 0; f < result.field.frequencies_hz.size(); ++f) {
    Line line = {fmt::format("{:.1f}", result.field.frequencies_hz[f])};
    for (const FidelityRow* row : rows) {
      const std::string ncc = number(row->figures[f].mean.ncc, 3);
      line.push_back(std::isfinite(row->cutoff_rad_per_m[f])
                         ? fmt::format("{} ({:.0f} / {:.2g})", ncc, row->cutoff_rad_per_m[f], row->slope[f])
                         : ncc);
    }
    lines.push_back(std::move(line));
  }
  return table(head, lines);
}

std::string file_section(const FieldResult& result) {
  const ArrayGeometry& geometry = result.field.geometry;
  std::vector<Line> lines;
  for (const FidelityRow& row : result.rows) {
    std::vector<double> ncc;
    std::vector<double> nmse_db;
    for (const MeanFigures& figures : row.figures) {
      ncc.push_back(figures.mean.ncc);
      nmse_db.push_back(figures.mean.nmse_db);
    }
    const double lowest = *std::min_element(ncc.begin(), ncc.end());
    lines.push_back({row.extrapolation, bold_if(row.is_default, row.filter), number(median(ncc), 3), number(lowest, 3),
                     number(median(nmse_db), 1), number(median(row.cutoff_rad_per_m), 0)});
  }
  std::string text =
      fmt::format("### {}\n\n{} x {} microphones, {:.1f} x {:.1f} mm apart, {:.1f} mm before the surface, {} {}.\n\n",
                  result.field.name, geometry.rows, geometry.columns, 1e3 * geometry.pitch_x_m,
                  1e3 * geometry.pitch_y_m, 1e3 * result.field.standoff_m, result.field.frequencies_hz.size(),
                  result.field.frequencies_hz.size() > 1 ? "frequencies" : "frequency");
  text += table({"extrapolation", "filter", "NCC, median", "lowest", "NMSE [dB], median", "cut-off [rad/m], median"},
                lines);
  if (!result.field.points.empty()) {
    text += fmt::format("NCC by frequency over {} points (cut-off / slope):\n\n", result.field.points.size()) +
            ncc_table(result);
  }
  return text;
}

std::string data_section(const FidelityReport& report) {
  std::string text =
      "## Files with a truth\n\n"
      "Normal velocity against the one that was computed or measured on the surface, as the files come: no noise is "
      "added. "
      "NCC over the\npixels that lie on the body, or over the measured points (images bilinear between pixels). *Best "
      "one for "
      "all*: the cut-off with the best\nmedian, of the default extrapolation also the slope.\n\n";
  for (const FieldResult& result : report.results) {
    text += result.part == kDataPart ? file_section(result) : "";
  }
  return text;
}

bool has_part(const FidelityReport& report, std::string_view part) {
  return std::any_of(report.results.begin(), report.results.end(),
                     [&](const FieldResult& result) { return result.part == part; });
}

}  // namespace

std::string to_page(const FidelityReport& report) {
  std::string text = head_section(report) + marks_section(report);
  if (has_part(report, kCasesPart)) {
    text += cases_section(report) + pictures_section(report, kCasesPart);
  }
  text += has_part(report, kStandoffsPart) ? standoffs_section(report) : "";
  text += has_part(report, kScenesPart) ? scenes_section(report) : "";
  text += has_part(report, kBitsPart) ? bits_section(report) : "";
  if (has_part(report, kDataPart)) {
    text += data_section(report) + pictures_section(report, kDataPart);
  }
  while (text.ends_with("\n\n")) {
    text.pop_back();
  }
  return text;
}

}  // namespace nearfield::bench
