#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <optional>
#include <set>

#include "core/error.hpp"
#include "core/images.hpp"
#include "core/product.hpp"
#include "core/settings.hpp"
#include "files/format.hpp"
#include "files/hdf5/results_layout.hpp"
#include "files/results_file.hpp"

namespace nearfield {
namespace {

using namespace results;

/// Figures that were added later: older files lack them.
constexpr std::array<std::string_view, 2> kLaterFigures = {"error_estimate", "radiated_power_w"};

/// A processor whose frames are read.
struct Read {
  ResultHeader header;
  std::string group;
  std::string first_place;  ///< array with the most axes, which gives the number of frames
  std::vector<ProductDatasets<h5::InputDataset>> products;
  Stamps<h5::InputDataset> stamps;
  bool has_use = false;  ///< true if valid_microphones and missing_information exist
  std::uint64_t room = 0;
  std::uint64_t frames = 0;
};

std::string read_quantity(const h5::InputFile& file) {
  std::string quantity = file.text_attribute(kRoot, "quantity");
  std::vector<std::string_view> known;
  for (const Quantity one : kQuantities) {
    known.push_back(name_of(one));
  }
  if (std::find(known.begin(), known.end(), quantity) == known.end()) {
    throw file.wrong_attribute(kRoot, "quantity", fmt::format("\"{}\"", quantity),
                               fmt::format("one of {}", fmt::join(known, ", ")));
  }
  return quantity;
}

std::vector<double> read_root_axis(const h5::InputFile& file, std::string_view dataset) {
  return read_axis_values(file, place_in("", dataset), *axis_named_by(dataset));
}

/// Reads pairs; empty if they do not exist.
std::vector<double> read_pairs(const h5::InputFile& file, std::string_view dataset) {
  return file.has(place_in("", dataset)) ? read_root_axis(file, dataset) : std::vector<double>();
}

/// Reads [entry][x, y, z] of an axis of the root that some files lack.
std::vector<double> read_places(const h5::InputFile& file, const std::string& name) {
  const std::string place = place_in("", name);
  return file.has(place) ? file.values<double>(place, {{"entries"}, {"numbers of an entry", 3}})
                         : std::vector<double>();
}

/// Both attributes of masked microphones, combined and ascending.
std::vector<int> read_masked(const h5::InputFile& file, const std::string& object) {
  std::set<int> masked;
  for (const char* const name : {kMaskedMicrophones, kFoundMicrophones}) {
    const std::string text = file.has_attribute(object, name) ? file.text_attribute(object, name) : "";
    for (const std::string& channel : separated(text)) {
      int number = -1;
      const auto [end, error] = std::from_chars(channel.data(), channel.data() + channel.size(), number);
      if (error != std::errc() || end != channel.data() + channel.size() || number < 0 || number >= kMaxMicrophones) {
        throw file.wrong_attribute(object, name, fmt::format("\"{}\"", channel), "a microphone's number");
      }
      masked.insert(number);
    }
  }
  return {masked.begin(), masked.end()};
}

/// ResultHeader::memory_hops of a group, if stated.
std::optional<std::int64_t> read_memory(const h5::InputFile& file, const std::string& group) {
  constexpr const char* kName = "memory_hops";
  return file.has_attribute(group, kName) ? std::optional(file.integer_attribute(group, kName, kUnboundedMemory))
                                          : std::nullopt;
}

/// Header of images from the root, by the names that its attributes and axes have always had.
ResultHeader read_images_header(const h5::InputFile& file) {
  ResultHeader header;
  const std::string quantity = read_quantity(file);
  const std::string unit = file.text_attribute(kRoot, "unit");
  header.config = file.text_attribute(kRoot, "config");
  header.device = file.text_attribute(kRoot, "device");
  header.front_end = file.text_attribute(kRoot, "front_end");
  std::vector<double> frequencies_hz = read_root_axis(file, "frequencies_hz");
  std::vector<double> planes_m = read_root_axis(file, "planes_m");
  std::vector<double> x_m = read_root_axis(file, "x_m");
  std::vector<double> y_m = read_root_axis(file, "y_m");
  std::vector<double> points = read_pairs(file, "points_xy_m");
  const bool has_images = points.empty() || file.has("/images");
  header.axes = image_axes({{"frequency", std::move(frequencies_hz)},
                            {"z", std::move(planes_m)},
                            {"y", std::move(y_m)},
                            {"x", std::move(x_m)},
                            {"point", std::move(points)},
                            {"band", has_images ? read_pairs(file, "bands_hz") : std::vector<double>()},
                            {"surface", read_places(file, "surface_m")},
                            {"normal", read_places(file, "normal")}});
  add_image_products(header, quantity, unit, has_images);
  return header;
}

/// Removes figures that a file without descriptions lacks.
void remove_lacking(const h5::InputFile& file, ResultHeader& header) {
  std::erase_if(header.products, [&](const Product& product) {
    return std::find(kLaterFigures.begin(), kLaterFigures.end(), product.name) != kLaterFigures.end() &&
           !file.has(place_in("", product.name));
  });
}

std::string text_or(const h5::InputFile& file, const std::string& object, const std::string& name,
                    const std::string& otherwise) {
  return file.has_attribute(object, name) ? file.text_attribute(object, name) : otherwise;
}

ElementType type_in(const h5::InputFile& file, const std::string& place) {
  const h5::Element found = file.element_in(place);
  for (const ElementType type : {ElementType::kComplex64, ElementType::kFloat32, ElementType::kFloat64,
                                 ElementType::kUint32, ElementType::kUint64}) {
    if (element_of(type) == found) {
      return type;
    }
  }
  throw file.wrong(place, "int64", "complex, float32, float64, uint32 or uint64");
}

/// Reads an axis from its attributes, else by its dataset's name.
Axis read_axis(const h5::InputFile& file, const std::string& group, const std::string& dataset) {
  const std::string place = place_in(group, dataset);
  Axis axis;
  if (const Axis* const known = axis_named_by(dataset); known != nullptr && !file.has_attribute(place, "axis")) {
    axis = *known;
  } else {
    axis.name = file.text_attribute(place, "axis");
    axis.unit = file.text_attribute(place, "unit");
    constexpr std::int64_t kMostComponents = 1024;
    axis.components = file.has_attribute(place, "components")
                          ? static_cast<std::size_t>(file.integer_attribute(place, "components", 1, kMostComponents))
                          : 1;
  }
  axis.values = read_axis_values(file, place, axis);
  return axis;
}

std::vector<Column> read_columns(const h5::InputFile& file, const std::string& place) {
  std::vector<Column> columns;
  for (const std::string& name : separated(file.text_attribute(place, "columns"))) {
    const std::string dataset = place_in(place, name);
    columns.push_back({.name = name, .unit = file.text_attribute(dataset, "unit"), .type = type_in(file, dataset)});
  }
  return columns;
}

/// Reads a product from the attributes of its dataset or group.
Product read_product(const h5::InputFile& file, const std::string& place, const std::string& name) {
  const std::string form = file.text_attribute(place, "form");
  if (!product_form_of(form)) {
    throw file.wrong_attribute(place, "form", fmt::format("\"{}\"", form), "array, figure or table");
  }
  Product product{.name = name,
                  .quantity = file.text_attribute(place, "quantity"),
                  .unit = file.text_attribute(place, "unit"),
                  .form = *product_form_of(form)};
  if (product.form == Product::Form::kTable) {
    product.columns = read_columns(file, place);
    if (product.columns.empty()) {
      throw file.wrong_attribute(place, "columns", "none", "at least one");
    }
    const h5::Element element = element_of(product.columns.front().type);
    const std::string column = place_in(place, product.columns.front().name);
    product.most_rows = file.open_dataset(column, element, {{"frames"}, {"rows"}}).shape()[1];
  } else {
    product.axes = separated(file.text_attribute(place, "axes"));
    product.type = type_in(file, place);
  }
  return product;
}

/// `known` has the images in the root, and replaces missing descriptions.
void read_description(const h5::InputFile& file, const std::string& group, const ResultHeader& known,
                      ResultHeader& header) {
  const std::string object = object_of(group);
  for (const std::string& dataset : separated(file.text_attribute(object, "axis_datasets"))) {
    header.axes.push_back(read_axis(file, group, dataset));
  }
  for (const std::string& name : separated(file.text_attribute(object, "products"))) {
    const std::string place = place_in(group, name);
    const Product* const other = known.product(name);
    const bool is_described = other == nullptr || file.has_attribute(place, "form");
    header.products.push_back(is_described ? read_product(file, place, name) : *other);
    for (const std::string& axis : header.products.back().axes) {
      if (header.axis(axis) == nullptr) {
        throw file.wrong_attribute(place, "axes", fmt::format("\"{}\"", axis), "one of the processor's axes");
      }
    }
  }
}

/// Throws unless the header's products agree with those of images.
void require_images(const h5::InputFile& file, const ResultHeader& header, const std::vector<Product>& images) {
  for (const Product& expected : images) {
    const Product* const found = header.product(expected.name);
    if (found != nullptr && (found->axes != expected.axes || found->type != expected.type)) {
      throw file.wrong(place_in("", expected.name),
                       fmt::format("{} over [{}]", name_of(found->type), fmt::join(found->axes, ", ")),
                       fmt::format("{} over [{}]", name_of(expected.type), fmt::join(expected.axes, ", ")));
    }
  }
}

Read read_first(const h5::InputFile& file) {
  Read first;
  const bool is_described = file.has_attribute(kRoot, "products");
  std::vector<Product> images;
  if (!is_described || file.has_attribute(kRoot, "quantity")) {
    first.header = read_images_header(file);
    first.header.processor = text_or(file, kRoot, "processor", std::string(kFirstProcessor));
    first.header.kind = text_or(file, kRoot, "kind", "");
    images = first.header.products;
    remove_lacking(file, first.header);
  }
  if (is_described) {
    const ResultHeader known = std::move(first.header);
    first.header = {};
    first.header.processor = file.text_attribute(kRoot, "processor");
    first.header.kind = file.text_attribute(kRoot, "kind");
    first.header.config = file.text_attribute(kRoot, "config");
    first.header.device = file.text_attribute(kRoot, "device");
    first.header.front_end = file.text_attribute(kRoot, "front_end");
    first.header.memory_hops = read_memory(file, kRoot);
    read_description(file, "", known, first.header);
  }
  require_images(file, first.header, images);
  return first;
}

Read read_further(const h5::InputFile& file, const std::string& name) {
  Read further;
  further.group = place_in("", name);
  further.header.processor = file.text_attribute(further.group, "processor");
  further.header.kind = file.text_attribute(further.group, "kind");
  further.header.config = file.text_attribute(further.group, "config");
  further.header.device = file.text_attribute(further.group, "device");
  further.header.front_end = file.text_attribute(further.group, "front_end");
  further.header.memory_hops = read_memory(file, further.group);
  read_description(file, further.group, {}, further.header);
  return further;
}

h5::InputDataset open_array(const h5::InputFile& file, const Read& read, const Product& product, h5::Axis frames) {
  std::vector<h5::Axis> axes = {frames};
  for (const std::string& name : product.axes) {
    const Axis& axis = *read.header.axis(name);
    axes.push_back({entries_of(axis), axis.size()});
  }
  return file.open_dataset(place_in(read.group, product.name), element_of(product.type), axes);
}

ProductDatasets<h5::InputDataset> open_table(const h5::InputFile& file, const std::string& place,
                                             const Product& product, h5::Axis frames) {
  ProductDatasets<h5::InputDataset> data;
  data.rows = file.dataset<std::uint64_t>(place_in(place, kRows), {frames});
  for (const Column& column : product.columns) {
    data.columns.push_back(file.open_dataset(place_in(place, column.name), element_of(column.type),
                                             {frames, {"rows", product.most_rows}}));
  }
  return data;
}

/// First product with the most axes, such as images; null if there are only tables.
const Product* largest_array(const ResultHeader& header) {
  const Product* largest = nullptr;
  for (const Product& product : header.products) {
    if (product.form != Product::Form::kTable && (largest == nullptr || product.axes.size() > largest->axes.size())) {
      largest = &product;
    }
  }
  return largest;
}

void open_datasets(const h5::InputFile& file, Read& read) {
  h5::Axis frames{"frames"};
  read.first_place = place_in(read.group, kStampNames.first_sample);
  if (const Product* const largest = largest_array(read.header)) {
    read.first_place = place_in(read.group, largest->name);
    frames.length = open_array(file, read, *largest, frames).shape().front();
  }
  read.stamps.first_sample = file.dataset<std::uint64_t>(place_in(read.group, kStampNames.first_sample), {frames});
  frames.length = read.stamps.first_sample.shape().front();
  read.room = frames.length;
  read.stamps.timestamp_ns = file.dataset<std::int64_t>(place_in(read.group, kStampNames.timestamp_ns), {frames});
  read.stamps.flags = file.dataset<std::uint32_t>(place_in(read.group, kStampNames.flags), {frames});
  read.stamps.missing_bits = file.dataset<std::uint64_t>(place_in(read.group, kStampNames.missing_bits), {frames});
  read.has_use = file.has(place_in(read.group, kStampNames.missing_information));
  if (read.has_use) {
    read.stamps.valid_microphones =
        file.dataset<std::uint32_t>(place_in(read.group, kStampNames.valid_microphones), {frames});
    read.stamps.missing_information =
        file.dataset<float>(place_in(read.group, kStampNames.missing_information), {frames});
  }
  for (const Product& product : read.header.products) {
    if (product.form == Product::Form::kTable) {
      read.products.push_back(open_table(file, place_in(read.group, product.name), product, frames));
    } else {
      read.products.push_back({.array = open_array(file, read, product, frames), .rows = {}, .columns = {}});
    }
  }
}

/// A file without the counter comes from another program and is taken as complete.
std::uint64_t frames_written(const h5::InputFile& file, const Read& read) {
  const std::string place = place_in(read.group, kFramesWritten);
  return file.has(place) ? std::min(file.values<std::uint64_t>(place, {}).front(), read.room) : read.room;
}

std::vector<std::string> further_processors(const h5::InputFile& file) {
  if (!file.has_attribute(kRoot, "processors")) {
    return {};
  }
  std::vector<std::string> names = separated(file.text_attribute(kRoot, "processors"));
  if (std::set<std::string>(names.begin(), names.end()).size() != names.size() || names.empty()) {
    throw file.wrong_attribute(kRoot, "processors", fmt::format("\"{}\"", joined(names)), "different names");
  }
  names.erase(names.begin());
  return names;
}

template <typename T>
T read_one(const h5::InputDataset& data, std::uint64_t frame) {
  T value{};
  data.read(frame, std::span<T>(&value, 1));
  return value;
}

template <typename T>
std::vector<T> read_many(const h5::InputDataset& data, std::uint64_t frames) {
  std::vector<T> values(frames);
  data.read(0, std::span<T>(values));
  return values;
}

void read_rows(const h5::InputFile& file, const Read& read, std::size_t index, std::uint64_t frame,
               std::span<std::byte> bytes) {
  const Product& product = read.header.products[index];
  const ProductDatasets<h5::InputDataset>& data = read.products[index];
  const auto rows = read_one<std::uint64_t>(data.rows, frame);
  if (rows > product.most_rows) {
    throw file.wrong(fmt::format("{}/{}[{}]", place_in(read.group, product.name), kRows, frame),
                     fmt::format("{}", rows), fmt::format("at most {}", product.most_rows));
  }
  std::memcpy(bytes.data(), &rows, sizeof rows);
  const std::vector<ProductPlaces::Place> places = column_places(product);
  for (std::size_t column = 0; column < places.size(); ++column) {
    data.columns[column].read_bytes(element_of(product.columns[column].type), frame,
                                    bytes.data() + places[column].offset, product.most_rows);
  }
}

}  // namespace

struct ResultsReader::State {
  h5::InputFile file;
  std::vector<Read> processors;

  explicit State(const std::filesystem::path& path) : file(open_input(path, FileKind::kImages)) {
    add(read_first(file));
    for (const std::string& name : further_processors(file)) {
      add(read_further(file, name));
    }
    const auto holds_none = [](const Read& read) { return read.frames == 0; };
    if (std::all_of(processors.begin(), processors.end(), holds_none)) {
      throw file.wrong(place_in("", kFramesWritten), fmt::format("0 of {}", processors.front().room),
                       "at least one frame");
    }
  }

  void add(Read read) {
    open_datasets(file, read);
    read.frames = frames_written(file, read);
    if (const std::string flaw = flaw_of(read.header); !flaw.empty()) {
      throw file.wrong(object_of(read.group), fmt::format("results that cannot be ({})", flaw), "a processor's");
    }
    processors.push_back(std::move(read));
  }
};

ResultsReader::ResultsReader(const std::filesystem::path& path) : state_(std::make_unique<State>(path)) {}
ResultsReader::~ResultsReader() = default;
ResultsReader::ResultsReader(ResultsReader&&) noexcept = default;
ResultsReader& ResultsReader::operator=(ResultsReader&&) noexcept = default;

std::size_t ResultsReader::processors() const { return state_->processors.size(); }
const ResultHeader& ResultsReader::header(std::size_t processor) const {
  return state_->processors.at(processor).header;
}
std::uint64_t ResultsReader::frames(std::size_t processor) const { return state_->processors.at(processor).frames; }
std::uint64_t ResultsReader::room(std::size_t processor) const { return state_->processors.at(processor).room; }

ResultFrame ResultsReader::read(std::size_t processor, std::uint64_t frame) const {
  const Read& read = state_->processors.at(processor);
  if (frame >= read.frames) {
    throw state_->file.wrong(read.first_place, fmt::format("{} frames", read.frames), fmt::format("a frame {}", frame));
  }
  ResultFrame result(read.header);
  result.frame.processor = processor;
  result.frame.sequence = frame;
  result.frame.epoch = 1;
  result.frame.first_bit_time = read_one<std::uint64_t>(read.stamps.first_sample, frame);
  result.frame.timestamp_ns = read_one<std::int64_t>(read.stamps.timestamp_ns, frame);
  result.frame.flags = read_one<std::uint32_t>(read.stamps.flags, frame);
  result.frame.missing_bit_times = read_one<std::uint64_t>(read.stamps.missing_bits, frame);
  if (read.has_use) {
    result.frame.valid_microphones = read_one<std::uint32_t>(read.stamps.valid_microphones, frame);
    result.frame.missing_information = read_one<float>(read.stamps.missing_information, frame);
  }
  for (std::size_t i = 0; i < read.header.products.size(); ++i) {
    const Product& product = read.header.products[i];
    const std::span<std::byte> bytes = result.product(i);
    if (product.form == Product::Form::kTable) {
      read_rows(state_->file, read, i, frame, bytes);
    } else {
      read.products[i].array.read_bytes(element_of(product.type), frame, bytes.data(),
                                        bytes.size() / bytes_of(product.type));
    }
  }
  return result;
}

ResultStamps ResultsReader::stamps(std::size_t processor) const {
  const Read& read = state_->processors.at(processor);
  return {.first_samples = read_many<std::uint64_t>(read.stamps.first_sample, read.frames),
          .timestamps_ns = read_many<std::int64_t>(read.stamps.timestamp_ns, read.frames),
          .flags = read_many<std::uint32_t>(read.stamps.flags, read.frames),
          .missing_bits = read_many<std::uint64_t>(read.stamps.missing_bits, read.frames),
          .valid_microphones = read.has_use ? read_many<std::uint32_t>(read.stamps.valid_microphones, read.frames)
                                            : std::vector<std::uint32_t>(),
          .missing_information =
              read.has_use ? read_many<float>(read.stamps.missing_information, read.frames) : std::vector<float>()};
}

std::optional<MicrophoneUse> ResultsReader::microphones(std::size_t processor) const {
  const Read& read = state_->processors.at(processor);
  const std::string object = object_of(read.group);
  if (!read.has_use || read.frames == 0 || !state_->file.has_attribute(object, kMicrophones)) {
    return std::nullopt;
  }
  const ResultStamps of_frames = stamps(processor);
  const auto [fewest, most] =
      std::minmax_element(of_frames.valid_microphones.begin(), of_frames.valid_microphones.end());
  return MicrophoneUse{.fewest_used = *fewest,
                       .most_used = *most,
                       .microphones = static_cast<std::uint32_t>(
                           state_->file.integer_attribute(object, kMicrophones, 1, kMaxMicrophones)),
                       .masked = read_masked(state_->file, object),
                       .missing_information = *std::max_element(of_frames.missing_information.begin(),
                                                                of_frames.missing_information.end())};
}

std::vector<std::byte> ResultsReader::read_array(std::size_t processor, std::size_t product, std::uint64_t first,
                                                 std::uint64_t count) const {
  const Read& read = state_->processors.at(processor);
  const Product& array = read.header.products.at(product);
  std::vector<std::byte> bytes(count * read.header.bytes(array));
  read.products[product].array.read_bytes(element_of(array.type), first, bytes.data(),
                                          bytes.size() / bytes_of(array.type));
  return bytes;
}

std::vector<std::byte> ResultsReader::read_table(std::size_t processor, std::size_t product,
                                                 std::uint64_t frame) const {
  const Read& read = state_->processors.at(processor);
  std::vector<std::byte> bytes(read.header.bytes(read.header.products.at(product)));
  read_rows(state_->file, read, product, frame, bytes);
  return bytes;
}

ResultsReader open_images(const std::filesystem::path& path) {
  ResultsReader reader(path);
  if (images_or_points_of(reader.header(0)) == nullptr) {
    throw DataError(fmt::format("{}: /: found results of \"{}\", expected images or points", path.string(),
                                reader.header(0).processor));
  }
  for (const double frequency_hz : reader.header(0).coordinates("frequency")) {
    if (!(frequency_hz > 0.0)) {
      throw DataError(
          fmt::format("{}: /: found images at {} Hz, expected frequencies above 0", path.string(), frequency_hz));
    }
  }
  return reader;
}

}  // namespace nearfield
