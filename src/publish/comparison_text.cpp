#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>

#include "publish/comparison.hpp"

namespace nearfield {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kColumnWidth = 11;

std::string row_name(const ComparisonRow& row) {
  return fmt::format("{:>+9.4f}  {:>9.2f}", row.plane_m, row.frequency_hz);
}

std::string cell_text(const MetricDefinition& metric, double value) {
  if (std::isnan(value)) {
    return "-";
  }
  if (std::isinf(value)) {
    return value > 0.0 ? "inf" : "-inf";
  }
  return metric.is_level_db ? fmt::format("{:.2f}", value) : fmt::format("{:.4g}", value);
}

template <typename Value>
std::string table_line(std::string_view name, std::string_view what, const ComparisonRow& row, Value value) {
  std::string line = fmt::format("{:<20}  {:<5}", name, what);
  for (std::size_t i = 0; i < row.metrics.size(); ++i) {
    line += fmt::format("{:>{}}", value(metric_definitions()[i], row.metrics[i]), kColumnWidth);
  }
  return line + "\n";
}

std::string table_rows(const std::string& name, const ComparisonRow& row, bool several) {
  const auto mean = [](const MetricDefinition& metric, const MetricSummary& summary) {
    return cell_text(metric, summary.mean);
  };
  const auto worst = [](const MetricDefinition& metric, const MetricSummary& summary) {
    return cell_text(metric, summary.worst);
  };
  const auto worst_frame = [](const MetricDefinition&, const MetricSummary& summary) {
    return std::isnan(summary.worst) ? std::string("-") : fmt::format("{}", summary.worst_frame);
  };
  std::string text = table_line(name, "mean", row, mean);
  if (several) {
    text += table_line("", "worst", row, worst);
    text += table_line("", "frame", row, worst_frame);
  }
  return text;
}

/// What the reader must know to judge the figures; only what applies.
std::string notes(const Comparison& comparison) {
  const ComparisonRow& all = comparison.overall;
  const std::uint64_t pixels = all.images * comparison.rows * comparison.columns;
  std::string text;
  const auto note = [&](std::uint64_t count, std::uint64_t of, std::string_view meaning) {
    if (count > 0) {
      text += fmt::format("{} of {} {}\n", count, of, meaning);
    }
  };
  note(all.excluded_pixels, pixels, "pixels lie below 1 % of the reference's maximum: not in RMSRE, but in RMSRE all");
  note(all.zero_reference_pixels, pixels, "pixels are zero in the reference only: RMSRE all is infinite there");
  note(all.non_finite_pixels, pixels, "pixels are not finite in one of the files: left out of every figure");
  const auto undefined = std::max_element(all.metrics.begin(), all.metrics.end(), [](const auto& a, const auto& b) {
                           return a.undefined < b.undefined;
                         })->undefined;
  note(undefined, all.images, "images lack a figure (zero everywhere, or nothing finite): not in its mean");
  note(comparison.frames_of_other_time, comparison.frames, "pairs of frames differ in first_sample");
  note(comparison.frames_of_other_flags, comparison.frames, "pairs of frames differ in flags");
  return text;
}

/// JSON has no infinities: they become the strings that Python's float() and JavaScript's Number() understand.
Json number(double value) {
  if (std::isnan(value)) {
    return nullptr;
  }
  if (std::isinf(value)) {
    return value > 0.0 ? "Infinity" : "-Infinity";
  }
  return value;
}

void add_row(Json& json, const ComparisonRow& row) {
  json["images"] = row.images;
  json["non_finite_pixels"] = row.non_finite_pixels;
  json["excluded_pixels"] = row.excluded_pixels;
  json["zero_reference_pixels"] = row.zero_reference_pixels;
  for (std::size_t i = 0; i < row.metrics.size(); ++i) {
    const MetricSummary& summary = row.metrics[i];
    Json& metric = json["metrics"][std::string(metric_definitions()[i].key)];
    metric["mean"] = number(summary.mean);
    metric["worst"] = number(summary.worst);
    metric["worst_frame"] = std::isnan(summary.worst) ? Json(nullptr) : Json(summary.worst_frame);
    metric["undefined"] = summary.undefined;
  }
}

}  // namespace

std::string to_table(const Comparison& comparison) {
  std::string text =
      fmt::format("reference  {}\ncompared   {}\n{} [{}], {} x {} pixels, {} frame{}\n\n", comparison.reference,
                  comparison.other, comparison.quantity, comparison.unit, comparison.rows, comparison.columns,
                  comparison.frames, comparison.frames == 1 ? "" : "s");
  text += fmt::format("{:>9}  {:>9}  {:<5}", "z [m]", "f [Hz]", "");
  for (const MetricDefinition& metric : metric_definitions()) {
    text += fmt::format("{:>{}}", metric.heading, kColumnWidth);
  }
  text += "\n";
  for (const ComparisonRow& row : comparison.images) {
    text += table_rows(row_name(row), row, comparison.frames > 1);
  }
  if (comparison.images.size() > 1) {
    text += table_rows("all", comparison.overall, comparison.overall.images > 1);
  }
  const std::string remarks = notes(comparison);
  return remarks.empty() ? text : text + "\n" + remarks;
}

std::string to_json(const Comparison& comparison) {
  Json json;
  json["format"] = "nearfield-comparison";
  json["version"] = 1;
  json["reference"] = comparison.reference;
  json["other"] = comparison.other;
  json["quantity"] = comparison.quantity;
  json["unit"] = comparison.unit;
  json["rows"] = comparison.rows;
  json["columns"] = comparison.columns;
  json["frames"] = comparison.frames;
  json["frames_of_other_time"] = comparison.frames_of_other_time;
  json["frames_of_other_flags"] = comparison.frames_of_other_flags;
  json["images"] = Json::array();
  for (const ComparisonRow& row : comparison.images) {
    Json& image = json["images"].emplace_back();
    image["plane_m"] = number(row.plane_m);
    image["frequency_hz"] = number(row.frequency_hz);
    add_row(image, row);
  }
  add_row(json["overall"], comparison.overall);
  // A file name need not be UTF-8: what is not becomes U+FFFD instead of an exception.
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace nearfield
