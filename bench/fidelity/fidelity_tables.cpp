#include "bench/fidelity/fidelity_tables.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <functional>

namespace nearfield::bench {
namespace {

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

}  // namespace

std::string Case::name() const {
  return fmt::format("{}, {:.0f} Hz", result->field.name, result->field.frequencies_hz[frequency]);
}

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

std::vector<double> ratios_of(const FidelityReport& report, std::string_view part) {
  return distinct(report, part, [](const FieldResult& result) { return result.snr_db; });
}

std::vector<double> standoffs_of(const FidelityReport& report, std::string_view part) {
  return distinct(report, part, [](const FieldResult& result) { return result.field.standoff_m; });
}

Summary summary_of(const std::vector<Case>& cases, const FidelityRow& row) {
  Summary sum;
  double power = 0.0;
  for (const Case& one : cases) {
    const FidelityRow& found = *one.result->row(row.extrapolation, row.filter);
    const FidelityRow* own = one.result->row(row.extrapolation, kBestCutoff);
    const FidelityRow* best = own != nullptr ? own : one.result->row(main_extrapolation(), kBestCutoff);
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

const FidelityRow& chosen_row(const FieldResult& result) {
  const FidelityRow* automatic = result.row(kNoExtrapolation, kAutomaticImager);
  return automatic == nullptr ? result.rows.front() : *automatic;
}

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

std::string cutoff_table(const std::vector<Case>& cases) {
  const std::string& extrapolation = main_extrapolation();
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

}  // namespace nearfield::bench
