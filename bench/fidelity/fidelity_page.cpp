#include <fmt/format.h>

#include <algorithm>

#include "bench/fidelity/fidelity_tables.hpp"

namespace nearfield::bench {
namespace {

/// What is used when nothing is set, in words.
std::string default_in_words(const FidelityReport& report) {
  for (const FieldResult& result : report.results) {
    for (const FidelityRow& row : result.rows) {
      if (row.is_default) {
        return row.extrapolation == kNoExtrapolation ? fmt::format("`{}`", row.filter)
                                                     : fmt::format("`{}` with `{}`", row.extrapolation, row.filter);
      }
    }
  }
  return "which is none of these";
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
    const auto error = [](const Case& one) { return chosen_row(*one.result).figures[one.frequency].mean.relative_l2; };
    double largest = 0.0;
    double from_bits = 0.0;
    double from_spectra = 0.0;
    for (std::size_t i = 0; i < bits.size(); ++i) {
      from_bits += error(bits[i]);
      from_spectra += error(spectra[i]);
      largest = std::max(largest, error(bits[i]) / error(spectra[i]));
    }
    const std::string what = fmt::format("from bits over from spectra, {:.0f} dB, ", snr_db);
    marks.push_back({what + "of the mean errors", 1.2, from_bits / from_spectra});
    marks.push_back({what + "in any case", 1.2, largest});
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
  if (report.results.empty()) {
    return "";
  }
  std::vector<Mark> marks;
  add_case_marks(report, marks);
  add_bits_marks(report, marks);
  add_data_marks(report, marks);
  std::vector<Line> lines;
  std::transform(marks.begin(), marks.end(), std::back_inserter(lines), line_of);
  return "## Marks\n\nWhat the images have to reach with `holography.imager: auto` and nothing else set: `sonah` where "
         "no "
         "pitch is above the\nstandoff, else `pnah` with the measured cut-off. The default imager is `pnah`; its rows, "
         "bold "
         "below, do not reach every mark.\n\n" +
         table({"what", "mark", "found", "holds"}, lines);
}

std::string head_section(const FidelityReport& report) {
  std::string text = fmt::format(
      "# How close the images come\n\n"
      "Made by `./dev fidelity`, which runs `nearfield bench fidelity`; nothing here is written by hand, and the same\n"
      "device gives the same page again. Device: {} ({}, driver {}).\n\n"
      "Images are made on that device, from spectra, by the engine that `replay` uses. Bold: what is used when nothing "
      "is set, {}.\nFilters: `cos` with its cut-off by the rule named, slope 0.1 unless the rule chooses it too "
      "(`dynamic_range` at its default of {:.0f} dB);\n`tikhonov` with its default lambda of {:.0e}.\n\n",
      report.device.name, report.device.platform, report.device.driver, default_in_words(report),
      FilterSettings{}.dynamic_range_db, FilterSettings{}.tikhonov_lambda);
  text +=
      "- **Relative L2**: |image - truth| / |truth|, complex, over all microphones; *inner*: without 4 microphones at "
      "each side.\n"
      "- **NMSE**: 10 lg of the mean squared error, each image over its own maximum. **NCC**: |<image, truth>| over "
      "both "
      "norms.\n"
      "- **Peak off**: from the image's highest point to the truth's, to parts of a pitch; of several alike, to the "
      "nearest.\n"
      "- **Best**: what a fixed setting reaches that was chosen with the truth in hand, for each frequency; the mean "
      "over "
      "the draws is\n  minimised. *Cut-off*: of 40, as logarithms evenly from pi/10 to pi over the larger pitch, slope "
      "0.1; *and slope*: of 0.05, 0.1\n  and 0.2, too; *lambda*: of 9 from 1e-5 to 0.1.\n";
  text +=
      "- **Search**: cut-off and slope found anew in each draw (docs/pnah.md). `sonah` looks for plane waves in "
      "each.\n\n";
  if (!report.left_out.empty()) {
    text += "**Left out:**\n\n";
    for (const std::string& what : report.left_out) {
      text += "- " + what + "\n";
    }
    text += "\n";
  }
  return text;
}

}  // namespace

std::string to_page(const FidelityReport& report) {
  std::string text = head_section(report) + marks_section(report) + cases_section(report) + standoffs_section(report) +
                     scenes_section(report) + bits_section(report) + data_section(report);
  while (text.ends_with("\n\n")) {
    text.pop_back();
  }
  return text;
}

}  // namespace nearfield::bench
