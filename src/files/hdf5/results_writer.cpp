#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "core/product_values.hpp"
#include "files/format.hpp"
#include "files/hdf5/results_layout.hpp"
#include "files/results_file.hpp"

namespace nearfield {
namespace {

using namespace results;

constexpr h5::Storage kInPlace = h5::Storage::kInPlace;

/// A processor whose frames are written.
struct Written {
  ResultHeader header;
  std::uint64_t room = 0;
  std::uint64_t frames = 0;
  std::vector<ProductDatasets<h5::OutputDataset>> products;
  Stamps<h5::OutputDataset> stamps;
  h5::OutputDataset counter;
};

template <typename T>
void write_one(h5::OutputDataset& data, std::uint64_t frame, const T& value) {
  data.write(frame, std::span<const T>(&value, 1));
}

void write_values(h5::OutputDataset& data, ElementType type, std::uint64_t frame, std::span<const std::byte> bytes) {
  data.write_bytes(element_of(type), frame, bytes.data(), bytes.size() / bytes_of(type));
}

std::vector<std::string> names_of(const std::vector<Column>& columns) {
  std::vector<std::string> names;
  for (const Column& column : columns) {
    names.push_back(column.name);
  }
  return names;
}

bool is_group_name(const std::string& name) {
  return !name.empty() && name != "." && name != ".." && name.find_first_of("/,") == std::string::npos;
}

void require_size(const ResultHeader& header, const Product& product, std::span<const std::byte> bytes) {
  if (product.form == Product::Form::kTable) {
    require_values(fmt::format("bytes of {}", product.name), bytes.size(), header.bytes(product));
    require_values(fmt::format("rows of {}, at most", product.name), std::min(rows_of(bytes), product.most_rows),
                   rows_of(bytes));
  } else {
    const std::size_t whole = bytes.size() / bytes_of(product.type);
    require_values(product.name, whole, header.values(product));
  }
}

}  // namespace

struct ResultsWriter::State {
  h5::OutputFile file;
  std::map<std::size_t, Written> processors;  ///< by Frame::processor
  std::set<std::string> places;               ///< of all datasets and groups
  bool holds_frames = false;

  explicit State(const std::filesystem::path& path) : file(path) {}

  void take(const std::string& place, const ResultHeader& header) {
    if (!places.insert(place).second) {
      throw ConfigError(
          fmt::format("processor \"{}\": its results would lie in {} of the images file, which is taken; expected "
                      "another name",
                      header.processor, place));
    }
  }

  void write_texts(const ResultHeader& header, const std::string& object) {
    file.write_attribute(object, "config", header.config);
    file.write_attribute(object, "device", header.device);
    file.write_attribute(object, "front_end", header.front_end);
    file.write_attribute(object, "processor", header.processor);
    file.write_attribute(object, "kind", header.kind);
  }

  /// Datasets that older readers, from before processors had names, expect.
  void write_root(const ResultHeader& header) {
    write_format(file, FileKind::kImages);
    if (const std::optional<ImagesHeader> images = images_header_of(header)) {
      file.write_attribute(kRoot, "quantity", images->quantity);
      file.write_attribute(kRoot, "unit", images->unit);
    }
  }

  void write_axes(const ResultHeader& header, const std::string& group) {
    std::vector<std::string> datasets;
    for (const Axis& axis : header.axes) {
      const std::string place = place_in(group, datasets.emplace_back(dataset_of(axis)));
      take(place, header);
      file.write(place, axis.components == 1 ? h5::Shape{axis.size()} : h5::Shape{axis.size(), axis.components},
                 axis.values);
      file.write_attribute(place, "axis", axis.name);
      file.write_attribute(place, "unit", axis.unit);
      if (axis.components > 1) {
        file.write_attribute(place, "components", static_cast<std::int64_t>(axis.components));
      }
    }
    file.write_attribute(object_of(group), "axis_datasets", joined(datasets));
  }

  void write_description(const Product& product, const std::string& place) {
    file.write_attribute(place, "form", name_of(product.form));
    file.write_attribute(place, "quantity", product.quantity);
    file.write_attribute(place, "unit", product.unit);
  }

  template <typename T>
  h5::OutputDataset create_beside(const Written& written, const std::string& group, const char* name,
                                  const h5::Shape& shape) {
    const std::string place = place_in(group, name);
    take(place, written.header);
    return file.create<T>(place, shape, kInPlace);
  }

  ProductDatasets<h5::OutputDataset> create_table(const Written& written, const Product& product,
                                                  const std::string& place) {
    ProductDatasets<h5::OutputDataset> data;
    file.create_group(place);
    write_description(product, place);
    file.write_attribute(place, "columns", joined(names_of(product.columns)));
    data.rows = create_beside<std::uint64_t>(written, place, kRows, {written.room});
    for (const Column& column : product.columns) {
      const std::string name = place_in(place, column.name);
      take(name, written.header);
      data.columns.push_back(
          file.create_dataset(name, element_of(column.type), {written.room, product.most_rows}, kInPlace));
      file.write_attribute(name, "unit", column.unit);
    }
    return data;
  }

  ProductDatasets<h5::OutputDataset> create_array(const ResultHeader& header, const Product& product,
                                                  const std::string& place, std::uint64_t frames) {
    h5::Shape shape = {frames};
    for (const std::string& axis : product.axes) {
      shape.push_back(header.axis(axis)->size());
    }
    ProductDatasets<h5::OutputDataset> data;
    data.array = file.create_dataset(place, element_of(product.type), shape, kInPlace);
    write_description(product, place);
    file.write_attribute(place, "axes", joined(product.axes));
    return data;
  }

  void create_products(Written& written, const std::string& group) {
    std::vector<std::string> names;
    for (const Product& product : written.header.products) {
      const std::string place = place_in(group, names.emplace_back(product.name));
      take(place, written.header);
      written.products.push_back(product.form == Product::Form::kTable
                                     ? create_table(written, product, place)
                                     : create_array(written.header, product, place, written.room));
    }
    file.write_attribute(object_of(group), "products", joined(names));
  }

  void create_stamps(Written& written, const std::string& group) {
    const h5::Shape shape = {written.room};
    written.stamps = {.first_sample = create_beside<std::uint64_t>(written, group, kStampNames.first_sample, shape),
                      .timestamp_ns = create_beside<std::int64_t>(written, group, kStampNames.timestamp_ns, shape),
                      .flags = create_beside<std::uint32_t>(written, group, kStampNames.flags, shape),
                      .missing_bits = create_beside<std::uint64_t>(written, group, kStampNames.missing_bits, shape)};
    written.counter = create_beside<std::uint64_t>(written, group, kFramesWritten, {});
    write_one(written.counter, 0, std::uint64_t{0});
  }

  void list_processors() {
    std::vector<std::string> names;
    for (const auto& [index, written] : processors) {
      names.push_back(written.header.processor);
    }
    file.write_attribute(kRoot, "processors", joined(names));
  }
};

ResultsWriter::ResultsWriter(const std::filesystem::path& path) : state_(std::make_unique<State>(path)) {}
ResultsWriter::~ResultsWriter() = default;

void ResultsWriter::begin(const ResultHeader& header, const Beginning& beginning) {
  State& state = *state_;
  if (const std::string flaw = flaw_of(header); !flaw.empty()) {
    throw Error(ExitCode::kInternal, fmt::format("results of {}: {}", header.processor, flaw));
  }
  if (state.holds_frames || state.processors.count(beginning.processor) != 0) {
    throw Error(ExitCode::kInternal, fmt::format("results of {}: processor {} begins twice, or late", header.processor,
                                                 beginning.processor));
  }
  if (!is_group_name(header.processor)) {
    throw ConfigError(fmt::format("processor \"{}\": expected a name without '/' and ','", header.processor));
  }
  const std::string group = beginning.processor == 0 ? "" : place_in("", header.processor);
  if (group.empty()) {
    state.write_root(header);
  } else {
    state.take(group, header);
    state.file.create_group(group);
  }
  Written written{.header = header, .room = beginning.frames, .products = {}, .stamps = {}, .counter = {}};
  state.write_texts(header, object_of(group));
  state.write_axes(header, group);
  state.create_products(written, group);
  state.create_stamps(written, group);
  state.processors.emplace(beginning.processor, std::move(written));
  state.list_processors();
  // After the last processor only raw data is written, to its place: nothing of the file's structure is outstanding.
  state.file.flush();
}

void ResultsWriter::write(const Frame& frame) {
  Written& written = state_->processors.at(frame.processor);
  const std::vector<Product>& products = written.header.products;
  require_values("products", frame.products.size(), products.size());
  for (std::size_t i = 0; i < products.size(); ++i) {
    require_size(written.header, products[i], frame.products[i]);
  }
  if (written.frames == written.room) {
    throw Error(ExitCode::kInternal,
                fmt::format("{}: no room for a frame beyond {}", written.header.processor, written.room));
  }
  for (std::size_t i = 0; i < products.size(); ++i) {
    if (products[i].form != Product::Form::kTable) {
      write_values(written.products[i].array, products[i].type, written.frames, frame.products[i]);
      continue;
    }
    write_one(written.products[i].rows, written.frames, rows_of(frame.products[i]));
    const std::vector<ProductPlaces::Place> places = column_places(products[i]);
    for (std::size_t column = 0; column < places.size(); ++column) {
      write_values(written.products[i].columns[column], products[i].columns[column].type, written.frames,
                   frame.products[i].subspan(places[column].offset, places[column].bytes));
    }
  }
  write_one(written.stamps.first_sample, written.frames, frame.first_bit_time);
  write_one(written.stamps.timestamp_ns, written.frames, frame.timestamp_ns);
  write_one(written.stamps.flags, written.frames, frame.flags);
  write_one(written.stamps.missing_bits, written.frames, frame.missing_bit_times);
  // The counter comes last, so that it never counts a frame that is not there.
  write_one(written.counter, 0, written.frames + 1);
  ++written.frames;
  state_->holds_frames = true;
  state_->file.keep_partial();
}

void ResultsWriter::finish() {
  if (!state_->holds_frames) {
    throw DataError("the images hold no frames; nothing was written");
  }
  state_->file.finish();
}

}  // namespace nearfield
