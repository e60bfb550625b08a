#include "bench/common/files.hpp"
#include "bench/fidelity/fidelity.hpp"

namespace nearfield::bench {
namespace {

nlohmann::ordered_json row_json(const FidelityRow& row) {
  nlohmann::ordered_json json = {{"extrapolation", row.extrapolation},
                                 {"filter", row.filter},
                                 {"is_default", row.is_default},
                                 {"knows_truth", row.knows_truth}};
  for (std::size_t f = 0; f < row.figures.size(); ++f) {
    const MeanFigures& figures = row.figures[f];
    json["frequencies"].push_back({{"relative_l2", finite_or_null(figures.mean.relative_l2)},
                                   {"inner_l2", finite_or_null(figures.mean.inner_l2)},
                                   {"worst_l2", finite_or_null(figures.worst_l2)},
                                   {"nmse_db", finite_or_null(figures.mean.nmse_db)},
                                   {"ncc", finite_or_null(figures.mean.ncc)},
                                   {"peak_off_m", finite_or_null(figures.mean.peak_off_m)},
                                   {"cutoff_rad_per_m", finite_or_null(row.cutoff_rad_per_m[f])},
                                   {"slope", finite_or_null(row.slope[f])}});
  }
  return json;
}

}  // namespace

std::string to_json_text(const FidelityReport& report) {
  nlohmann::ordered_json json = report_head("fidelity", report.device);
  json["draws"] = report.draws;
  json["bit_draws"] = report.bit_draws;
  json["left_out"] = report.left_out;
  json["results"] = nlohmann::ordered_json::array();
  for (const FieldResult& result : report.results) {
    nlohmann::ordered_json entry = {{"part", result.part},
                                    {"field", result.field.name},
                                    {"quantity", name_of(result.field.quantity)},
                                    {"standoff_m", result.field.standoff_m},
                                    {"snr_db", finite_or_null(result.snr_db)},
                                    {"frequencies_hz", result.field.frequencies_hz}};
    for (const FidelityRow& row : result.rows) {
      entry["rows"].push_back(row_json(row));
    }
    json["results"].push_back(std::move(entry));
  }
  return json.dump(2) + "\n";
}

}  // namespace nearfield::bench
