#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <complex>

#include "core/images.hpp"
#include "core/product.hpp"
#include "core/system/clocks.hpp"
#include "files/facts.hpp"
#include "files/results_file.hpp"

namespace nearfield {
namespace {

constexpr double kPercent = 100.0;
constexpr std::string_view kNumber = "1";  ///< unit of plain numbers

std::string_view shown(std::string_view unit) { return unit == kNumber ? "" : unit; }

/// Name of a processor, followed by its kind, such as "pnah", where the file states it.
std::string name_of_processor(const ResultHeader& header) {
  return header.kind.empty() ? header.processor : fmt::format("{} ({})", header.processor, header.kind);
}

std::string text_of_frames(const ResultsReader& reader, std::size_t processor) {
  const std::uint64_t frames = reader.frames(processor);
  const std::uint64_t room = reader.room(processor);
  return frames == room ? fmt::format("{}", frames) : fmt::format("{} of {}", frames, room);
}

/// Empty if unknown.
std::string text_of_rate(const std::vector<std::int64_t>& times_ns) {
  // Unsigned: the difference of a file's times may overflow.
  const std::uint64_t duration_ns =
      static_cast<std::uint64_t>(times_ns.back()) - static_cast<std::uint64_t>(times_ns.front());
  const double duration_s = static_cast<double>(static_cast<std::int64_t>(duration_ns)) * kSecondsPerNs;
  return times_ns.size() > 1 && duration_s > 0.0
             ? fmt::format("{:.4g} Hz in the mean over {:.6g} s", static_cast<double>(times_ns.size() - 1) / duration_s,
                           duration_s)
             : "";
}

std::uint64_t most_of(const std::vector<std::uint64_t>& values) {
  return *std::max_element(values.begin(), values.end());
}

std::string text_of_share(std::ptrdiff_t count, std::size_t frames) {
  return static_cast<std::size_t>(count) == frames
             ? frames == 1 ? "the one frame" : fmt::format("all {} frames", frames)
             : fmt::format("{} of {} frames", count, frames);
}

/// "none"; or a text for each flag set on some frames, and the number of frames without any.
std::vector<std::string> texts_of_flags(const std::vector<std::uint32_t>& flags) {
  const auto clean = static_cast<std::size_t>(std::count(flags.begin(), flags.end(), 0U));
  if (clean == flags.size()) {
    return {"none"};
  }
  std::vector<std::string> texts;
  for (const FlagName& entry : flag_names()) {
    const auto carries = [&](std::uint32_t value) { return (value & entry.flag) != 0; };
    const auto count = std::count_if(flags.begin(), flags.end(), carries);
    if (count > 0) {
      texts.push_back(fmt::format("{} on {}", entry.text, text_of_share(count, flags.size())));
    }
  }
  texts.push_back(clean == 0 ? "no frame is without a flag"
                             : fmt::format("{} of {} frames have no flag", clean, flags.size()));
  return texts;
}

void add_values(ValueRange& range, ElementType type, std::span<const std::byte> bytes) {
  with_values(type, bytes, [&]<class T>(std::span<const T> values) {
    for (const T& value : values) {
      if constexpr (std::is_same_v<T, std::complex<float>>) {
        range.add(std::abs(std::complex<double>(value)));
      } else {
        range.add(static_cast<double>(value));
      }
    }
  });
}

/// Range over all frames; of magnitudes for complex values.
ValueRange range_of_array(const ResultsReader& reader, std::size_t processor, std::size_t product) {
  constexpr std::size_t kBytesAtOnce = std::size_t{1} << 22U;
  const ResultHeader& header = reader.header(processor);
  const std::uint64_t at_once =
      std::max<std::uint64_t>(1, kBytesAtOnce / std::max<std::size_t>(1, header.bytes(header.products[product])));
  ValueRange range;
  for (std::uint64_t frame = 0; frame < reader.frames(processor); frame += at_once) {
    const std::uint64_t count = std::min(at_once, reader.frames(processor) - frame);
    add_values(range, header.products[product].type, reader.read_array(processor, product, frame, count));
  }
  return range;
}

std::string text_of_array(const ResultsReader& reader, std::size_t processor, std::size_t index) {
  const Product& product = reader.header(processor).products[index];
  return fmt::format("{}: {}{}{}{}: {}", product.name, product.quantity, product.axes.empty() ? "" : " over ",
                     fmt::join(product.axes, ", "),
                     product.type == ElementType::kComplex64 ? ", complex, magnitudes" : "",
                     text_of_range(range_of_array(reader, processor, index), shown(product.unit)));
}

std::string text_of_table(const ResultsReader& reader, std::size_t processor, std::size_t index) {
  const Product& product = reader.header(processor).products[index];
  const std::vector<ProductPlaces::Place> places = column_places(product);
  ValueRange rows;
  std::vector<ValueRange> ranges(product.columns.size());
  for (std::uint64_t number = 0; number < reader.frames(processor); ++number) {
    const std::vector<std::byte> table = reader.read_table(processor, index, number);
    const std::uint64_t filled = rows_of(table);
    rows.add(static_cast<double>(filled));
    for (std::size_t column = 0; column < ranges.size(); ++column) {
      const ElementType type = product.columns[column].type;
      add_values(ranges[column], type, std::span(table).subspan(places[column].offset, filled * bytes_of(type)));
    }
  }
  std::vector<std::string> columns;
  for (std::size_t column = 0; column < ranges.size(); ++column) {
    columns.push_back(fmt::format("{} {}", product.columns[column].name,
                                  text_of_range(ranges[column], shown(product.columns[column].unit))));
  }
  return fmt::format("{}: {}, table of {} rows, at most {}: {}", product.name, product.quantity,
                     text_of_range(rows, ""), product.most_rows, fmt::join(columns, "; "));
}

std::string text_of_product(const ResultsReader& reader, std::size_t processor, std::size_t index) {
  return reader.header(processor).products[index].form == Product::Form::kTable
             ? text_of_table(reader, processor, index)
             : text_of_array(reader, processor, index);
}

std::string text_of_axis(const Axis& axis) {
  return axis.components == 1
             ? fmt::format("{}: {}", axis.name, text_of_values(axis.values, shown(axis.unit)))
             : fmt::format("{}: {}, {} numbers each, {}", axis.name, axis.size(), axis.components, axis.unit);
}

/// Describes how much a frame may depend on before its window; empty where the file does not state it.
std::string text_of_memory(const ResultHeader& header) {
  if (!header.memory_hops) {
    return "";
  }
  return *header.memory_hops == 0  ? "none: a frame depends on its window alone"
         : *header.memory_hops < 0 ? "all hops before a frame"
                                   : fmt::format("{} hops before a frame", *header.memory_hops);
}

/// Adds a line for each axis and each product of any processor.
void describe_processor(Facts& facts, const ResultsReader& reader, std::size_t processor) {
  const ResultHeader& header = reader.header(processor);
  facts.add("processor", "{}", name_of_processor(header));
  facts.add("", "front end {}, device {}", header.front_end, header.device);
  if (const std::string memory = text_of_memory(header); !memory.empty()) {
    facts.add("", "memory {}", memory);
  }
  facts.add("", "{} frames", text_of_frames(reader, processor));
  if (const std::optional<MicrophoneUse> use = reader.microphones(processor)) {
    facts.add("", "microphones {}", text_of(*use));
  }
  for (const Axis& axis : header.axes) {
    facts.add("", "{}", text_of_axis(axis));
  }
  for (std::size_t index = 0; index < header.products.size(); ++index) {
    facts.add("", "{}", text_of_product(reader, processor, index));
  }
  if (reader.frames(processor) == 0) {
    return;
  }
  const ResultStamps stamps = reader.stamps(processor);
  facts.add("", "first sample {} to {}, start {}", stamps.first_samples.front(), stamps.first_samples.back(),
            text_of_time(stamps.timestamps_ns.front()));
  if (const std::string rate = text_of_rate(stamps.timestamps_ns); !rate.empty()) {
    facts.add("", "frame rate {}", rate);
  }
  facts.add("", "flags {}", fmt::join(texts_of_flags(stamps.flags), ", "));
  facts.add("", "missing bits {} at most in a frame", most_of(stamps.missing_bits));
}

void add_positions(Facts& facts, std::string_view name, std::string_view what, const std::vector<double>& positions) {
  if (positions.size() == 1) {
    facts.add(name, "{}", text_of_mm(positions.front()));
    return;
  }
  const auto [least, most] = std::minmax_element(positions.begin(), positions.end());
  facts.add(name, "{} to {}, {} {}", text_of_mm(*least), text_of_mm(*most), positions.size(), what);
}

/// Adds a figure of images under a readable title, unless the file lacks it.
void add_figure(Facts& facts, std::string_view title, const ResultsReader& reader, std::string_view name) {
  const ResultHeader& header = reader.header(0);
  if (const Product* const product = header.product(name)) {
    const auto index = static_cast<std::size_t>(product - header.products.data());
    facts.add(title, "{}", text_of_range(range_of_array(reader, 0, index), shown(product->unit)));
  }
}

void add_error(Facts& facts, const ResultsReader& reader) {
  const ResultHeader& header = reader.header(0);
  if (const Product* const product = header.product("error_estimate")) {
    const ValueRange range = range_of_array(reader, 0, static_cast<std::size_t>(product - header.products.data()));
    const ValueRange in_percent{.least = kPercent * range.least, .most = kPercent * range.most};
    facts.add("error", "{}",
              range.is_known() ? text_of_range(in_percent, "%") + " of the image's rms, as expected" : "not known");
  }
}

void add_surface(Facts& facts, const ResultHeader& header) {
  facts.add("frequencies", "{}", text_of_frequencies(header.coordinates("frequency")));
  const std::vector<double>& planes_m = header.coordinates("z");
  if (const std::vector<double> heights_m = surface_heights_m(header); !heights_m.empty()) {
    add_positions(facts, "surface", "pixels on a surface", heights_m);
  } else {
    add_positions(facts, planes_m.size() == 1 ? "plane z" : "planes", "planes (z, 0 is the surface)", planes_m);
  }
  add_positions(facts, "x", "columns", header.coordinates("x"));
  add_positions(facts, "y", "rows", header.coordinates("y"));
}

void add_bands_and_points(Facts& facts, const ResultHeader& header) {
  const std::vector<double>& limits_hz = header.coordinates("band");
  const Product* const bands = header.product("bands");
  for (std::size_t i = 0; bands != nullptr && i + 1 < limits_hz.size(); i += 2) {
    facts.add(i == 0 ? "bands" : "", "{:.7g} to {:.7g} Hz, in {}", limits_hz[i], limits_hz[i + 1], bands->unit);
  }
  if (points_of(header) != nullptr) {
    facts.add("points", "{}{}", header.axis("point")->size(), images_of(header) != nullptr ? "" : ", and no images");
  }
}

void add_stamps(Facts& facts, const ResultStamps& stamps) {
  facts.add("first sample", "{} to {}", stamps.first_samples.front(), stamps.first_samples.back());
  facts.add("start", "{}", text_of_time(stamps.timestamps_ns.front()));
  if (const std::string rate = text_of_rate(stamps.timestamps_ns); !rate.empty()) {
    facts.add("frame rate", "{}", rate);
  }
}

void add_losses(Facts& facts, const ResultStamps& stamps) {
  const std::vector<std::string> flags = texts_of_flags(stamps.flags);
  for (std::size_t i = 0; i < flags.size(); ++i) {
    facts.add(i == 0 ? "flags" : "", "{}", flags[i]);
  }
  facts.add("missing bits", "{} at most in a frame", most_of(stamps.missing_bits));
}

/// Describes the first processor, whose results are images: `shown`, or values at points.
void describe_images(Facts& facts, const ResultsReader& reader, const Product& shown) {
  const ResultHeader& header = reader.header(0);
  if (!header.kind.empty()) {
    facts.add("processor", "{}", name_of_processor(header));
  }
  facts.add("quantity", "{} in {}", shown.quantity, shown.unit);
  facts.add("front end", "{}", header.front_end);
  facts.add("device", "{}", header.device);
  if (const std::string memory = text_of_memory(header); !memory.empty()) {
    facts.add("memory", "{}", memory);
  }
  facts.add("frames", "{}", text_of_frames(reader, 0));
  if (const std::optional<MicrophoneUse> use = reader.microphones(0)) {
    facts.add("microphones", "{}", text_of(*use));
  }
  const ResultStamps stamps = reader.stamps(0);
  add_stamps(facts, stamps);
  add_surface(facts, header);
  add_figure(facts, "cut-off", reader, "cutoff_rad_per_m");
  add_figure(facts, "slope", reader, "slope");
  add_figure(facts, "noise", reader, "noise_pa");
  add_bands_and_points(facts, header);
  add_figure(facts, "power", reader, "radiated_power_w");
  add_error(facts, reader);
  add_losses(facts, stamps);
}

/// Adds products of the first processor other than images.
void add_other_products(Facts& facts, const ResultsReader& reader, const Product& shown) {
  const ResultHeader& header = reader.header(0);
  ResultHeader of_images;
  of_images.axes = header.axes;
  add_image_products(of_images, shown.quantity, shown.unit, images_of(header) != nullptr);
  bool is_first = true;
  for (std::size_t index = 0; index < header.products.size(); ++index) {
    if (of_images.product(header.products[index].name) == nullptr) {
      facts.add(is_first ? "products" : "", "{}", text_of_product(reader, 0, index));
      is_first = false;
    }
  }
}

}  // namespace

void describe_results(Facts& facts, const std::filesystem::path& path) {
  const ResultsReader reader(path);
  const Product* const shown = images_or_points_of(reader.header(0));
  if (shown != nullptr && reader.frames(0) > 0) {
    describe_images(facts, reader, *shown);
    add_other_products(facts, reader, *shown);
  } else {
    describe_processor(facts, reader, 0);
  }
  const std::string& config = reader.header(0).config;
  facts.add("config", "{} lines of YAML in the attribute config", std::count(config.begin(), config.end(), '\n'));
  for (std::size_t processor = 1; processor < reader.processors(); ++processor) {
    describe_processor(facts, reader, processor);
  }
}

}  // namespace nearfield
