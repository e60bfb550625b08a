#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "bench/fidelity/fidelity.hpp"

/// Parts of the page of `bench fidelity`.
namespace nearfield::bench {

using Line = std::vector<std::string>;

/// A Markdown table with an empty line behind it.
std::string table(const Line& head, const std::vector<Line>& lines);
/// "-" where there is none.
std::string number(double value, int decimals);
/// Without its sign: a decimal below 100.
std::string percent(double value);
std::string bold_if(bool is_bold, const std::string& text);

/// One frequency of a result.
struct Case {
  const FieldResult* result;
  std::size_t frequency;

  /// "pattern, 500 Hz"
  [[nodiscard]] std::string name() const;
};

/// All frequencies of a part's results at one ratio and standoff.
std::vector<Case> cases_of(const FidelityReport& report, std::string_view part, double snr_db, double standoff_m);
/// Ratios and standoffs of a part's results, each once.
std::vector<double> ratios_of(const FidelityReport& report, std::string_view part);
std::vector<double> standoffs_of(const FidelityReport& report, std::string_view part);

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

Summary summary_of(const std::vector<Case>& cases, const FidelityRow& row);

/// The row that the marks are for: the default, or auto where there is one and the default needs to be told a range.
const FidelityRow& chosen_row(const FieldResult& result);

/// Relative L2 of every case, a line for each row.
std::string error_table(const std::vector<Case>& cases);
/// Every figure, means over the cases.
std::string summary_table(const std::vector<Case>& cases);
/// Cut-offs and errors of the default extrapolation beside the best.
std::string cutoff_table(const std::vector<Case>& cases);

/// Sections of the page, each with its heading; empty where the part was not measured.
std::string cases_section(const FidelityReport& report);
std::string standoffs_section(const FidelityReport& report);
std::string scenes_section(const FidelityReport& report);
std::string bits_section(const FidelityReport& report);
std::string data_section(const FidelityReport& report);

}  // namespace nearfield::bench
