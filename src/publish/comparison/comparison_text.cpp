#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>

#include "core/error.hpp"
#include "core/images.hpp"
#include "publish/comparison/comparison.hpp"

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

/// Notes that the reader needs to judge the figures, as far as they apply.
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

std::string figure_text(double value) { return std::isnan(value) ? "-" : fmt::format("{:.4g}", value); }

/// One line per product, after the images of the first processor.
std::string processor_lines(const ProcessorDifference& processor) {
  std::string text = fmt::format("\nprocessor {}, {} frame{}\n", processor.processor, processor.frames,
                                 processor.frames == 1 ? "" : "s");
  if (!processor.products.empty()) {
    text += fmt::format("{:<28}{:>11}{:>14}{:>8}\n", "product", "rel. L2", "largest |a-b|", "frame");
  }
  for (const ProductDifference& product : processor.products) {
    const std::string name =
        product.unit.empty() || product.unit == "1" ? product.name : fmt::format("{} [{}]", product.name, product.unit);
    text += fmt::format("{:<28}{:>11}{:>14}{:>8}\n", name, figure_text(product.relative_l2),
                        figure_text(product.largest), product.largest_frame);
    if (product.non_finite > 0) {
      text += fmt::format("  {} of {} values are not finite in one of the files: left out\n", product.non_finite,
                          product.values);
    }
    if (product.other_rows_frames > 0) {
      text += fmt::format("  {} of {} pairs of frames differ in their number of rows: left out\n",
                          product.other_rows_frames, processor.frames);
    }
  }
  for (const auto& [count, what] : {std::pair{processor.frames_of_other_time, "first_sample"},
                                    std::pair{processor.frames_of_other_flags, "flags"}}) {
    if (count > 0) {
      text += fmt::format("{} of {} pairs of frames differ in {}\n", count, processor.frames, what);
    }
  }
  for (const std::string& left_out : processor.left_out) {
    text += fmt::format("not compared: {}\n", left_out);
  }
  return text;
}

std::string further_lines(const Comparison& comparison) {
  std::string text;
  for (const ProcessorDifference& processor : comparison.processors) {
    text += processor_lines(processor);
  }
  for (const std::string& unpaired : comparison.unpaired_processors) {
    text += fmt::format("\nnot compared: processor {}\n", unpaired);
  }
  return text;
}

/// JSON has no infinities: they become strings that Python's float() and JavaScript's Number() understand.
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

Json json_of(const ProcessorDifference& processor) {
  Json json;
  json["processor"] = processor.processor;
  json["frames"] = processor.frames;
  json["frames_of_other_time"] = processor.frames_of_other_time;
  json["frames_of_other_flags"] = processor.frames_of_other_flags;
  json["products"] = Json::array();
  for (const ProductDifference& product : processor.products) {
    Json& one = json["products"].emplace_back();
    one["product"] = product.name;
    one["unit"] = product.unit;
    one["relative_l2"] = number(product.relative_l2);
    one["largest_difference"] = number(product.largest);
    one["largest_frame"] = product.largest_frame;
    one["values"] = product.values;
    one["non_finite"] = product.non_finite;
    one["frames_of_other_rows"] = product.other_rows_frames;
  }
  json["not_compared"] = processor.left_out;
  return json;
}

std::string table_of_images(const Comparison& comparison) {
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

}  // namespace

std::string to_table(const Comparison& comparison) {
  const std::string images = comparison.images.empty()
                                 ? fmt::format("reference  {}\ncompared   {}\n", comparison.reference, comparison.other)
                                 : table_of_images(comparison);
  return images + further_lines(comparison);
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
  for (const ProcessorDifference& processor : comparison.processors) {
    json["processors"].push_back(json_of(processor));
  }
  if (!comparison.unpaired_processors.empty()) {
    json["unpaired_processors"] = comparison.unpaired_processors;
  }
  // A file name need not be UTF-8: invalid bytes become U+FFFD instead of an exception.
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

namespace {

struct Files {
  const ResultsReader& reference;
  const ResultsReader& other;
  std::string reference_name;
  std::string other_name;
};

std::optional<std::size_t> processor_named(const ResultsReader& reader, const std::string& name) {
  for (std::size_t processor = 0; processor < reader.processors(); ++processor) {
    if (reader.header(processor).processor == name) {
      return processor;
    }
  }
  return std::nullopt;
}

Comparison compare_images(const std::filesystem::path& reference, const std::filesystem::path& other) {
  const ResultsReader reader_a = open_images(reference);
  const ResultsReader reader_b = open_images(other);
  FrameComparer comparer(reference.string(), reader_a.header(0), other.string(), reader_b.header(0));
  const std::uint64_t frames = reader_a.frames(0);
  if (frames == 0) {
    throw DataError(fmt::format("{}: expected at least one frame, found none", reference.string()));
  }
  if (frames != reader_b.frames(0)) {
    throw DataError(fmt::format("{}: expected {} frames as in {}, found {}", other.string(), frames, reference.string(),
                                reader_b.frames(0)));
  }
  for (std::uint64_t frame = 0; frame < frames; ++frame) {
    comparer.add(reader_a.read(0, frame).frame, reader_b.read(0, frame).frame);
  }
  return comparer.result();
}

/// Adds processors from `first` on, matched by their names.
void add_processors(Comparison& comparison, const Files& files, std::size_t first) {
  for (std::size_t processor = first; processor < files.reference.processors(); ++processor) {
    const std::string& name = files.reference.header(processor).processor;
    if (const std::optional<std::size_t> other = processor_named(files.other, name)) {
      comparison.processors.push_back(compare_processors(files.reference, processor, files.other, *other));
    } else {
      comparison.unpaired_processors.push_back(fmt::format("{}: only in {}", name, files.reference_name));
    }
  }
  for (std::size_t processor = first; processor < files.other.processors(); ++processor) {
    const std::string& name = files.other.header(processor).processor;
    if (!processor_named(files.reference, name)) {
      comparison.unpaired_processors.push_back(fmt::format("{}: only in {}", name, files.other_name));
    }
  }
}

}  // namespace

Comparison compare_image_files(const std::filesystem::path& reference, const std::filesystem::path& other) {
  const ResultsReader reader_a(reference);
  const ResultsReader reader_b(other);
  const Files files{reader_a, reader_b, reference.string(), other.string()};
  const bool are_images =
      images_or_points_of(reader_a.header(0)) != nullptr || images_or_points_of(reader_b.header(0)) != nullptr;
  Comparison comparison;
  if (are_images) {
    comparison = compare_images(reference, other);
  } else {
    comparison.reference = files.reference_name;
    comparison.other = files.other_name;
  }
  add_processors(comparison, files, are_images ? 1 : 0);
  return comparison;
}

}  // namespace nearfield
