#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <limits>
#include <map>
#include <optional>
#include <set>

#include "core/images.hpp"
#include "core/product.hpp"
#include "core/system/clocks.hpp"
#include "files/format.hpp"
#include "files/hdf5/results_layout.hpp"
#include "files/results_file.hpp"

namespace nearfield {
namespace {

using namespace results;

constexpr h5::Storage kInPlace = h5::Storage::kInPlace;
constexpr h5::Storage kPieces = h5::Storage::kPieces;

/// A processor whose frames are written.
struct Written {
  ResultHeader header;
  std::uint64_t room = 0;
  std::uint64_t frames = 0;
  std::vector<ProductDatasets<h5::OutputDataset>> products;
  Stamps<h5::OutputDataset> stamps;
  std::vector<h5::OutputDataset> times;  ///< one for the processor and one for each table
  h5::OutputDataset time_zero;
  std::optional<std::int64_t> zero_ns;
  h5::OutputDataset counter;
  std::string object;         ///< object with its attributes
  std::set<int> found_masks;  ///< microphones masked in some frame because they were found bad
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

/// Names bits by CF's convention (flag_meanings): each meaning is one word of letters, digits, '_' and '-'.
std::string flag_meanings() {
  std::string meanings;
  for (const FlagName& flag : flag_names()) {
    meanings += meanings.empty() ? "" : " ";
    for (const char character : flag.text) {
      constexpr char kFirstByteOfPi = '\xCF';
      const bool stays = (std::isalnum(static_cast<unsigned char>(character)) != 0) || character == '-';
      const std::string_view other = character == ' '              ? "_"
                                     : character == '/'            ? "_over_"
                                     : character == kFirstByteOfPi ? "pi"
                                                                   : "";
      meanings += stays ? std::string(1, character) : std::string(other);
    }
  }
  return meanings;
}

std::vector<std::uint32_t> flag_masks() {
  std::vector<std::uint32_t> masks;
  for (const FlagName& flag : flag_names()) {
    masks.push_back(flag.flag);
  }
  return masks;
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
  std::set<std::string> places;               ///< all datasets and groups
  std::optional<std::int64_t> zero_ns;        ///< the first frame's time, for processors that began without a zero
  bool holds_frames = false;

  explicit State(const std::filesystem::path& path) : file(path) { places.insert(h5::kComplexType); }

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
    if (header.memory_hops) {
      file.write_attribute(object, "memory_hops", *header.memory_hops);
    }
  }

  /// Writes nothing if `channels` is empty.
  void write_channels(const std::string& object, const char* name, const std::vector<int>& channels) {
    if (!channels.empty()) {
      file.write_attribute(object, name, std::string_view(fmt::format("{}", fmt::join(channels, ","))));
    }
  }

  /// Writes datasets expected by readers from before processors had names.
  void write_root(const ResultHeader& header) {
    write_format(file, FileKind::kImages);
    if (const Product* const shown = images_or_points_of(header)) {
      file.write_attribute(kRoot, "quantity", shown->quantity);
      file.write_attribute(kRoot, "unit", shown->unit);
    }
  }

  void write_words(const std::string& place, std::string_view unit, std::string_view words) {
    nearfield::write_words(file, place, unit, words);
  }

  /// Take the place: another processor of that name would conflict.
  void create_dimension(const ResultHeader& header, const std::string& place, std::uint64_t length) {
    take(place, header);
    file.create_dimension(place, length);
  }

  void write_scales(const ResultHeader& header, const std::string& group, const Axis& axis) {
    const std::string place = place_in(group, dataset_of(axis));
    if (axis.components == 1) {
      file.make_scale(place);
      return;
    }
    const AxisScales scales = scales_of(axis);
    create_dimension(header, place_in(group, scales.entries), axis.size());
    create_dimension(header, place_in(group, scales.components), axis.components);
    file.attach_scales(place, {place_in(group, scales.entries), place_in(group, scales.components)});
  }

  /// Creates the scale `time` of frames, s; NaN where no frame was written.
  void create_time(Written& written, const std::string& group) {
    const std::string place = place_in(group, kTime);
    h5::OutputDataset& time = written.times.emplace_back(create_beside<double>(written, group, kTime, {written.room}));
    write_words(place, "s", fmt::format("time of the window's begin, from {} on", kTimeZero));
    file.make_scale(place);
    constexpr std::uint64_t kAtOnce = 65536;
    const std::vector<double> unknown(std::min(written.room, kAtOnce), std::numeric_limits<double>::quiet_NaN());
    for (std::uint64_t first = 0; first < written.room; first += kAtOnce) {
      time.write(first, std::span(unknown).first(std::min(kAtOnce, written.room - first)));
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
      write_words(place, axis.unit, words_of(axis));
      write_scales(header, group, axis);
    }
    file.write_attribute(object_of(group), "axis_datasets", joined(datasets));
  }

  void write_description(const Product& product, const std::string& place) {
    file.write_attribute(place, "form", name_of(product.form));
    file.write_attribute(place, "quantity", product.quantity);
    file.write_attribute(place, "unit", product.unit);
    file.write_attribute(place, "long_name", std::string_view(spaced(product.quantity)));
  }

  template <typename T>
  h5::OutputDataset create_beside(const Written& written, const std::string& group, const char* name,
                                  const h5::Shape& shape) {
    const std::string place = place_in(group, name);
    take(place, written.header);
    return file.create<T>(place, shape, shape.empty() ? kInPlace : kPieces);
  }

  ProductDatasets<h5::OutputDataset> create_table(Written& written, const Product& product, const std::string& place) {
    ProductDatasets<h5::OutputDataset> data;
    file.create_group(place);
    write_description(product, place);
    file.write_attribute(place, "columns", joined(names_of(product.columns)));
    create_time(written, place);
    create_dimension(written.header, place_in(place, kRow), product.most_rows);
    data.rows = create_beside<std::uint64_t>(written, place, kRows, {written.room});
    write_words(place_in(place, kRows), "1", "rows that the frame has");
    file.attach_scales(place_in(place, kRows), {place_in(place, kTime)});
    for (const Column& column : product.columns) {
      const std::string name = place_in(place, column.name);
      take(name, written.header);
      data.columns.push_back(
          file.create_dataset(name, element_of(column.type), {written.room, product.most_rows}, kPieces));
      file.write_attribute(name, "unit", column.unit);
      write_words(name, column.unit, spaced(column.name));
      file.attach_scales(name, {place_in(place, kTime), place_in(place, kRow)});
    }
    return data;
  }

  ProductDatasets<h5::OutputDataset> create_array(const Written& written, const Product& product,
                                                  const std::string& group) {
    const std::string place = place_in(group, product.name);
    h5::Shape shape = {written.room};
    std::vector<std::string> scales = {place_in(group, kTime)};
    std::string coordinates = fmt::format("{} {}", kStampNames.first_sample, kStampNames.timestamp_ns);
    for (const std::string& name : product.axes) {
      const Axis& axis = *written.header.axis(name);
      shape.push_back(axis.size());
      scales.push_back(place_in(group, scales_of(axis).entries));
      coordinates += axis.components == 1 ? "" : " " + dataset_of(axis);
    }
    ProductDatasets<h5::OutputDataset> data;
    data.array = file.create_dataset(place, element_of(product.type), shape, kPieces);
    write_description(product, place);
    file.write_attribute(place, "axes", joined(product.axes));
    file.write_attribute(place, "units", product.unit);
    file.write_attribute(place, "coordinates", std::string_view(coordinates));
    file.attach_scales(place, scales);
    return data;
  }

  void create_products(Written& written, const std::string& group) {
    std::vector<std::string> names;
    for (const Product& product : written.header.products) {
      const std::string place = place_in(group, names.emplace_back(product.name));
      take(place, written.header);
      written.products.push_back(product.form == Product::Form::kTable ? create_table(written, product, place)
                                                                       : create_array(written, product, group));
    }
    file.write_attribute(object_of(group), "products", joined(names));
  }

  void create_stamps(Written& written, const std::string& group) {
    const h5::Shape shape = {written.room};
    written.stamps = {
        .first_sample = create_beside<std::uint64_t>(written, group, kStampNames.first_sample, shape),
        .timestamp_ns = create_beside<std::int64_t>(written, group, kStampNames.timestamp_ns, shape),
        .flags = create_beside<std::uint32_t>(written, group, kStampNames.flags, shape),
        .missing_bits = create_beside<std::uint64_t>(written, group, kStampNames.missing_bits, shape),
        .valid_microphones = create_beside<std::uint32_t>(written, group, kStampNames.valid_microphones, shape),
        .missing_information = create_beside<float>(written, group, kStampNames.missing_information, shape)};
    const auto describe = [&](const char* name, std::string_view unit, const std::string& words) {
      write_words(place_in(group, name), unit, words);
      file.attach_scales(place_in(group, name), {place_in(group, kTime)});
    };
    describe(kStampNames.first_sample, "1", "bit-time, sample or frame at which the window begins");
    describe(kStampNames.timestamp_ns, "ns", "time of first_sample since 1970, TAI");
    describe(kStampNames.flags, "1", "what may be said of the frame, a bit each");
    describe(kStampNames.missing_bits, "1",
             "bit-times of the window that never came; of an average, of the one that lacks most");
    describe(kStampNames.valid_microphones, "1", "microphones whose own values were used");
    describe(kStampNames.missing_information, "1", "share of an image's information that the others take along");
    file.write_attribute(place_in(group, kStampNames.flags), "flag_masks",
                         std::span<const std::uint32_t>(flag_masks()));
    file.write_attribute(place_in(group, kStampNames.flags), "flag_meanings", std::string_view(flag_meanings()));
    written.time_zero = create_beside<std::int64_t>(written, group, kTimeZero, {});
    write_words(place_in(group, kTimeZero), "ns", fmt::format("{} at which {} is 0", kStampNames.timestamp_ns, kTime));
    write_one(written.time_zero, 0, written.zero_ns.value_or(0));
    written.counter = create_beside<std::uint64_t>(written, group, kFramesWritten, {});
    write_words(place_in(group, kFramesWritten), "1", "frames that hold results");
    write_one(written.counter, 0, std::uint64_t{0});
  }

  void write_time(Written& written, std::int64_t timestamp_ns) {
    if (!zero_ns) {
      zero_ns = timestamp_ns;
    }
    if (!written.zero_ns) {
      written.zero_ns = *zero_ns;
      write_one(written.time_zero, 0, *written.zero_ns);
    }
    // Unsigned: a damaged recording's times may overflow.
    const std::int64_t ns = static_cast<std::int64_t>(static_cast<std::uint64_t>(timestamp_ns) -
                                                      static_cast<std::uint64_t>(*written.zero_ns));
    for (h5::OutputDataset& time : written.times) {
      write_one(time, written.frames, static_cast<double>(ns) * kSecondsPerNs);
    }
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
  const std::string place = place_name(header, beginning);
  const std::string group = place.empty() ? "" : place_in("", place);
  if (group.empty()) {
    state.write_root(header);
  } else {
    state.take(group, header);
    state.file.create_group(group);
  }
  Written written{.header = header,
                  .room = beginning.frames,
                  .products = {},
                  .stamps = {},
                  .times = {},
                  .time_zero = {},
                  .zero_ns = beginning.time_zero_ns,
                  .counter = {},
                  .object = object_of(group),
                  .found_masks = {}};
  state.write_texts(header, object_of(group));
  if (beginning.microphones > 0) {
    state.file.write_attribute(written.object, kMicrophones, std::int64_t{beginning.microphones});
    state.write_channels(written.object, kMaskedMicrophones, beginning.masked);
  }
  state.create_time(written, group);
  state.write_axes(header, group);
  state.create_products(written, group);
  state.create_stamps(written, group);
  state.processors.emplace(beginning.processor, std::move(written));
  state.list_processors();
  // After the last processor only raw data is written, in place: none of the file's structure is outstanding.
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
  write_one(written.stamps.valid_microphones, written.frames, frame.valid_microphones);
  write_one(written.stamps.missing_information, written.frames, frame.missing_information);
  state_->write_time(written, frame.timestamp_ns);
  // Write the counter last, so that it never counts an unwritten frame.
  write_one(written.counter, 0, written.frames + 1);
  ++written.frames;
  state_->holds_frames = true;
  state_->file.keep_partial();
}

void ResultsWriter::finish() {
  if (!state_->holds_frames) {
    throw DataError("the images hold no frames; nothing was written");
  }
  finish_plan();
}

void ResultsWriter::mask(const MaskChange& change) {
  for (auto& [index, written] : state_->processors) {
    written.found_masks.insert(change.channels.begin(), change.channels.end());
  }
}

void ResultsWriter::finish_plan() {
  for (const auto& [index, written] : state_->processors) {
    state_->write_channels(written.object, kFoundMicrophones, {written.found_masks.begin(), written.found_masks.end()});
  }
  state_->file.finish();
}

}  // namespace nearfield
