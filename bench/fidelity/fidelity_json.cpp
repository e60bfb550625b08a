#include <algorithm>
#include <cmath>
#include <numeric>

#include "bench/common/files.hpp"
#include "bench/fidelity/fidelity.hpp"
#include "nearfield/metrics.hpp"
#include "simulate/fields.hpp"

namespace nearfield::bench {
namespace {

using Json = nlohmann::ordered_json;

bool has_pictures(const FidelityReport& report, const FieldResult& result) {
  const bool is_first_ratio = result.snr_db == report.results.front().snr_db;
  return result.part == kDataPart || (result.part == kCasesPart && is_first_ratio);
}

/// The frequencies of a result that get a picture; of a file, the one whose image is neither good nor bad.
std::vector<std::size_t> pictured_frequencies(const FidelityReport& report, const FieldResult& result) {
  if (!has_pictures(report, result)) {
    return {};
  }
  std::vector<std::size_t> frequencies(result.field.frequencies_hz.size());
  std::iota(frequencies.begin(), frequencies.end(), 0);
  if (result.part != kDataPart) {
    return frequencies;
  }
  const FidelityRow& row = result.rows.front();
  std::sort(frequencies.begin(), frequencies.end(),
            [&](std::size_t a, std::size_t b) { return row.figures[a].mean.ncc < row.figures[b].mean.ncc; });
  return {frequencies[frequencies.size() / 2]};
}

/// Whether pictures show the row: those of the default extrapolation, but for `tikhonov`.
bool is_shown(const FidelityRow& row) {
  return row.is_main() && (row.knows_truth ? row.filter == kBestCutoff : row.filter != "tikhonov");
}

/// The row that the marks are for: the default, or auto where there is one and the default needs a given range.
const FidelityRow& chosen_row(const FieldResult& result) {
  const FidelityRow* automatic = result.row(kNoExtrapolation, kAutomaticImager);
  return automatic == nullptr ? result.rows.front() : *automatic;
}

/// What a frequency suffers from: NCC of the magnitudes alone, and with the conjugate of the truth.
Json phases_json(const FieldResult& result, std::size_t frequency) {
  Values truth = known_truth(result.field, frequency);
  Values found = where_true(result.field, chosen_row(result).first_image[frequency]);
  Values conjugate = truth;
  for (std::complex<float>& value : conjugate) {
    value = std::conj(value);
  }
  const double of_conjugate = compare_images(conjugate, found).ncc;
  for (std::size_t i = 0; i < truth.size(); ++i) {
    truth[i] = std::abs(truth[i]);
    found[i] = std::abs(found[i]);
  }
  return {{"ncc_of_magnitudes", finite_or_null(compare_images(truth, found).ncc)},
          {"ncc_with_conjugate", finite_or_null(of_conjugate)}};
}

/// `images`: the frequencies whose image of the first draw is written, too.
Json row_json(const FidelityRow& row, const std::vector<std::size_t>& images) {
  Json json = {{"extrapolation", row.extrapolation},
               {"filter", row.filter},
               {"is_default", row.is_default},
               {"knows_truth", row.knows_truth}};
  for (std::size_t f = 0; f < row.figures.size(); ++f) {
    const MeanFigures& figures = row.figures[f];
    Json entry = {{"relative_l2", finite_or_null(figures.mean.relative_l2)},
                  {"inner_l2", finite_or_null(figures.mean.inner_l2)},
                  {"worst_l2", finite_or_null(figures.worst_l2)},
                  {"nmse_db", finite_or_null(figures.mean.nmse_db)},
                  {"ncc", finite_or_null(figures.mean.ncc)},
                  {"peak_off_m", finite_or_null(figures.mean.peak_off_m)},
                  {"cutoff_rad_per_m", finite_or_null(row.cutoff_rad_per_m[f])},
                  {"slope", finite_or_null(row.slope[f])}};
    if (!row.lambda.empty()) {
      entry["lambda"] = row.lambda[f];
    }
    if (is_shown(row) && std::find(images.begin(), images.end(), f) != images.end()) {
      entry["image"] = base64_of(row.first_image[f]);
    }
    json["frequencies"].push_back(std::move(entry));
  }
  return json;
}

/// A string of 0 and 1 for each row; none where all pixels have a truth.
Json valid_json(const TrueField& field) {
  Json json = Json::array();
  const auto columns = static_cast<std::size_t>(field.geometry.columns);
  for (std::size_t i = 0; i < field.valid.size(); i += columns) {
    std::string row;
    for (std::size_t column = 0; column < columns; ++column) {
      row += field.valid[i + column] != 0 ? '1' : '0';
    }
    json.push_back(std::move(row));
  }
  return json;
}

Json field_json(const TrueField& field) {
  const ArrayGeometry& geometry = field.geometry;
  Json json = {{"field", field.name},
               {"quantity", name_of(field.quantity)},
               {"standoff_m", field.standoff_m},
               {"frequencies_hz", field.frequencies_hz},
               {"wavenumbers_rad_per_m", Json::array()},
               {"array",
                {{"rows", geometry.rows},
                 {"columns", geometry.columns},
                 {"pitch_x_m", geometry.pitch_x_m},
                 {"pitch_y_m", geometry.pitch_y_m}}},
               {"points_xy_m", Json::array()},
               {"valid", valid_json(field)}};
  for (const double frequency_hz : field.frequencies_hz) {
    json["wavenumbers_rad_per_m"].push_back(Tonal{frequency_hz, field.medium}.wavenumber_rad_per_m());
  }
  for (const Place& place : field.points) {
    json["points_xy_m"].push_back({place.x_m, place.y_m});
  }
  return json;
}

/// The truth at the frequencies that have images, null at the others.
Json truth_json(const TrueField& field, const std::vector<std::size_t>& images) {
  Json json(std::vector<Json>(field.frequencies_hz.size()));
  for (const std::size_t frequency : images) {
    json[frequency] = base64_of(field.truth_of(frequency));
  }
  return json;
}

Json result_json(const FidelityReport& report, const FieldResult& result) {
  const std::vector<std::size_t> pictured = pictured_frequencies(report, result);
  std::vector<std::size_t> images = pictured;
  if (!result.field.points.empty()) {  // one picture of all frequencies
    images.resize(result.field.frequencies_hz.size());
    std::iota(images.begin(), images.end(), 0);
  }
  Json json = {{"part", result.part}};
  json.update(field_json(result.field));
  json["snr_db"] = finite_or_null(result.snr_db);
  json["pictured"] = pictured;
  json["truth"] = truth_json(result.field, images);
  for (std::size_t f = 0; f < result.field.frequencies_hz.size() && !result.field.points.empty(); ++f) {
    json["phases"].push_back(phases_json(result, f));
  }
  json["scan"] = {{"slope", result.scan.slope},
                  {"cutoff_rad_per_m", result.scan.cutoff_rad_per_m},
                  {"distance", result.scan.distance}};
  for (const FidelityRow& row : result.rows) {
    json["rows"].push_back(row_json(row, images));
  }
  return json;
}

Json kind_json(const KindResult& kind) {
  Json json = {{"kind", kind.name},     {"is_fitted", kind.is_fitted},           {"standoff_m", kind.standoff_m},
               {"snr_db", kind.snr_db}, {"frequencies_hz", kind.frequencies_hz}, {"rows", Json::array()}};
  for (const KindRow& row : kind.rows) {
    Json entry = {{"quantity", name_of(row.quantity)},
                  {"filter", row.filter},
                  {"knows_truth", row.knows_truth},
                  {"relative_l2", Json::array()},
                  {"error_estimate", Json::array()}};
    for (std::size_t i = 0; i < row.relative_l2.size(); ++i) {
      entry["relative_l2"].push_back(finite_or_null(row.relative_l2[i]));
      entry["error_estimate"].push_back(finite_or_null(row.error_estimate[i]));
    }
    json["rows"].push_back(std::move(entry));
  }
  return json;
}

}  // namespace

std::string to_json_text(const FidelityReport& report) {
  Json json = report_head("fidelity", report.device);
  json["draws"] = report.draws;
  json["bit_draws"] = report.bit_draws;
  json["scenes"] = report.scenes;
  json["main_extrapolation"] = main_extrapolation();
  json["defaults"] = {{"dynamic_range_db", FilterSettings{}.dynamic_range_db},
                      {"tikhonov_lambda", FilterSettings{}.tikhonov_lambda}};
  json["left_out"] = report.left_out;
  json["results"] = Json::array();
  for (const FieldResult& result : report.results) {
    json["results"].push_back(result_json(report, result));
  }
  json["kinds"] = Json::array();
  for (const KindResult& kind : report.kinds) {
    json["kinds"].push_back(kind_json(kind));
  }
  return json.dump(1) + "\n";
}

}  // namespace nearfield::bench
