#include "files/nfr/nfr_results.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>
#include <limits>
#include <utility>

#include "core/error.hpp"
#include "core/images.hpp"
#include "files/nfr/nfr_json.hpp"

namespace nearfield::nfr {
namespace {

/// True for versions 1 and 2, which hold the images of one processor and are no longer written.
constexpr bool is_of_images(const RecordHeader& header) { return header.version <= 2; }

/// Start of a result record of these versions. Then follow cutoff, slope, noise and, from version 2 on, error estimate
/// [frequency] each, points [plane][frequency][point], images [plane][frequency][row][column].
struct ImageFields {
  std::uint64_t epoch = 0;
  std::uint64_t frame_sequence = 0;
  std::uint64_t shed_hops = 0;
  std::uint64_t values = 0;  ///< [plane][frequency][row][column]
  std::uint32_t stream_id = 0;
  std::uint32_t window_bit_times = 0;
  std::uint32_t valid_microphones = 0;
  std::uint32_t frequencies = 0;
};

static_assert(sizeof(ImageFields) == 48);

/// Content of an epoch record's JSON.
struct ImagesEpoch {
  std::uint64_t epoch = 0;
  ResultHeader header;
};

/// Longer than any axis of an image; a product of four such lengths fits in 64 bits.
constexpr std::size_t kLongestAxis = 32768;

/// True if these versions could hold the products.
bool is_possible(const ResultHeader& header) {
  const auto fits = [&](std::string_view name) {
    const Axis* const axis = header.axis(name);
    return axis != nullptr && axis->size() > 0 && axis->size() <= kLongestAxis;
  };
  const Product* const images = images_of(header);
  if (images == nullptr || header.product("bands") != nullptr || !fits("frequency") || !fits("z") || !fits("x") ||
      !fits("y") || (header.axis("point") != nullptr && !fits("point"))) {
    return false;
  }
  ResultHeader expected;
  expected.axes = image_axes({{"frequency", header.coordinates("frequency")},
                              {"z", header.coordinates("z")},
                              {"y", header.coordinates("y")},
                              {"x", header.coordinates("x")},
                              {"point", header.coordinates("point")}});
  add_image_products(expected, images->quantity, images->unit);
  return expected.has_layout_of(header);
}

bool has_error_estimates(const RecordHeader& header) { return header.version >= 2; }

std::size_t point_values(const ResultHeader& images) {
  const Product* const points = points_of(images);
  return points == nullptr ? 0 : images.values(*points);
}

/// Size of a result; is_possible() bounds the counts.
std::uint64_t payload_bytes(const RecordHeader& header, const ResultHeader& images) {
  const std::uint64_t reports = has_error_estimates(header) ? 4 : 3;
  return sizeof(ImageFields) + images.axis("frequency")->size() * reports * sizeof(float) +
         (point_values(images) + images.values(*images_of(images))) * sizeof(std::complex<float>);
}

/// Moves the values at the start of `bytes` into those of a product.
void take(std::span<const std::byte>& bytes, const ResultHeader& images, ResultFrame& frame, std::string_view name) {
  if (const std::optional<std::size_t> index = images.index(name)) {
    const std::span<std::byte> to = frame.product(*index);
    std::copy_n(bytes.begin(), to.size(), to.begin());
    bytes = bytes.subspan(to.size());
  }
}

std::optional<ImagesEpoch> images_epoch_of(std::span<const std::byte> json) {
  const auto result = built(json, [](const Json& object) {
    const auto texts = [&](const char* key) { return object.at(key).get<std::string>(); };
    const auto numbers = [&](const char* key) { return object.at(key).get<std::vector<double>>(); };
    std::vector<double> points;
    for (const auto& [x_m, y_m] : object.value("points_xy_m", std::vector<std::pair<double, double>>())) {
      points.insert(points.end(), {x_m, y_m});
    }
    ImagesEpoch epoch{.epoch = integer_at<std::uint64_t>(object, "epoch"), .header = {}};
    epoch.header.processor = kFirstProcessor;
    epoch.header.config = texts("config");
    epoch.header.device = texts("device");
    epoch.header.front_end = texts("front_end");
    epoch.header.axes = image_axes({{"frequency", numbers("frequencies_hz")},
                                    {"z", numbers("planes_m")},
                                    {"y", numbers("y_m")},
                                    {"x", numbers("x_m")},
                                    {"point", points}});
    add_image_products(epoch.header, texts("quantity"), texts("unit"));
    return epoch;
  });
  return result && is_possible(result->header) ? result : std::nullopt;
}

std::optional<ImageFields> image_fields_of(std::span<const std::byte> payload) {
  ImageFields fields;
  if (payload.size() < sizeof(fields)) {
    return std::nullopt;
  }
  std::memcpy(&fields, payload.data(), sizeof(fields));
  return fields;
}

/// Products of a result record, without its stamp: NaN for error estimates of version 1, and the power computed from
/// the images. Nothing where the payload contradicts `images`.
std::optional<ResultFrame> image_values_of(const RecordHeader& header, std::span<const std::byte> payload,
                                           const ResultHeader& images) {
  const std::optional<ImageFields> fields = image_fields_of(payload);
  if (!fields || !is_possible(images) || fields->frequencies != images.axis("frequency")->size() ||
      fields->values != images.values(*images_of(images)) ||
      (!has_error_estimates(header) && point_values(images) > 0) || payload.size() != payload_bytes(header, images)) {
    return std::nullopt;
  }
  ResultFrame frame(images);
  payload = payload.subspan(sizeof(ImageFields));
  take(payload, images, frame, "cutoff_rad_per_m");
  take(payload, images, frame, "slope");
  take(payload, images, frame, "noise_pa");
  if (has_error_estimates(header)) {
    take(payload, images, frame, "error_estimate");
  } else {
    std::ranges::fill(frame.values<float>(images, "error_estimate"), std::numeric_limits<float>::quiet_NaN());
  }
  take(payload, images, frame, "points");
  take(payload, images, frame, "images");
  radiated_power_w(images, frame.values<std::complex<float>>(images, "images"),
                   frame.values<float>(images, "radiated_power_w"));
  return frame;
}

/// Limits of a header. They bound the time that a forged one takes; the values are bounded by the file's size.
constexpr std::size_t kMostAxes = 64;
constexpr std::size_t kMostProducts = 256;
constexpr std::size_t kMostColumns = 256;  ///< per table
constexpr std::size_t kMostAxesOfProduct = 16;

Json json_of(const Axis& axis) {
  // NaN and infinity become null.
  return {{"name", axis.name}, {"unit", axis.unit}, {"components", axis.components}, {"values", axis.values}};
}

Json json_of(const Product& product) {
  Json columns = Json::array();
  for (const Column& column : product.columns) {
    columns.push_back({{"name", column.name}, {"unit", column.unit}, {"type", name_of(column.type)}});
  }
  return {{"name", product.name},          {"quantity", product.quantity},  {"unit", product.unit},
          {"form", name_of(product.form)}, {"type", name_of(product.type)}, {"axes", product.axes},
          {"columns", std::move(columns)}, {"most_rows", product.most_rows}};
}

template <class T>
Json json_of(const std::vector<T>& list) {
  Json array = Json::array();
  for (const T& one : list) {
    array.push_back(json_of(one));
  }
  return array;
}

/// `object[key]`, an array of at most `most` entries.
const Json& array_at(const Json& object, const char* key, std::size_t most) {
  const Json& value = object.at(key);
  if (!value.is_array() || value.size() > most) {
    throw DataError(fmt::format("expected an array of at most {} entries for {}", most, key));
  }
  return value;
}

std::string text_at(const Json& object, const char* key) { return object.at(key).get<std::string>(); }

ElementType element_type_at(const Json& object, const char* key) {
  const std::optional<ElementType> type = element_type_of(text_at(object, key));
  if (!type) {
    throw DataError(fmt::format("expected a type of numbers for {}", key));
  }
  return *type;
}

Axis axis_of(const Json& object) {
  Axis axis{.name = text_at(object, "name"),
            .unit = text_at(object, "unit"),
            .values = {},
            .components = integer_at<std::size_t>(object, "components")};
  const Json& values = array_at(object, "values", std::numeric_limits<std::size_t>::max());
  axis.values.reserve(values.size());
  for (const Json& value : values) {
    axis.values.push_back(value.is_null() ? std::numeric_limits<double>::quiet_NaN() : value.get<double>());
  }
  return axis;
}

Column column_of(const Json& object) {
  return {.name = text_at(object, "name"), .unit = text_at(object, "unit"), .type = element_type_at(object, "type")};
}

Product product_of(const Json& object) {
  const std::optional<Product::Form> form = product_form_of(text_at(object, "form"));
  if (!form) {
    throw DataError("expected a form of products for form");
  }
  Product product{.name = text_at(object, "name"),
                  .quantity = text_at(object, "quantity"),
                  .unit = text_at(object, "unit"),
                  .form = *form,
                  .type = element_type_at(object, "type"),
                  .axes = {},
                  .columns = {},
                  .most_rows = integer_at<std::uint64_t>(object, "most_rows")};
  for (const Json& axis : array_at(object, "axes", kMostAxesOfProduct)) {
    product.axes.push_back(axis.get<std::string>());
  }
  for (const Json& column : array_at(object, "columns", kMostColumns)) {
    product.columns.push_back(column_of(column));
  }
  return product;
}

Epoch epoch_of_object(const Json& object) {
  Epoch result{.epoch = integer_at<std::uint64_t>(object, "epoch"),
               .processor = integer_at<std::uint32_t>(object, "processor"),
               .header = {.processor = text_at(object, "name"),
                          .kind = text_at(object, "kind"),
                          .config = text_at(object, "config"),
                          .device = text_at(object, "device"),
                          .front_end = text_at(object, "front_end"),
                          .axes = {},
                          .products = {}}};
  if (object.contains("memory_hops")) {
    result.header.memory_hops = std::max(object.at("memory_hops").get<std::int64_t>(), kUnboundedMemory);
  }
  for (const Json& axis : array_at(object, "axes", kMostAxes)) {
    result.header.axes.push_back(axis_of(axis));
  }
  for (const Json& product : array_at(object, "products", kMostProducts)) {
    result.header.products.push_back(product_of(product));
  }
  return result;
}

std::optional<Epoch> epoch_of_images(std::span<const std::byte> json) {
  const std::optional<ImagesEpoch> images = images_epoch_of(json);
  return images ? std::optional(Epoch{.epoch = images->epoch, .processor = 0, .header = images->header}) : std::nullopt;
}

ResultFields fields_of(const ImageFields& fields, const RecordHeader& header) {
  return {.fields_bytes = sizeof(ImageFields),
          .processor = 0,
          .epoch = fields.epoch,
          .frame_sequence = fields.frame_sequence,
          .shed_hops = fields.shed_hops,
          .products_bytes = header.payload_bytes - sizeof(ImageFields),
          .stream_id = fields.stream_id,
          .window_bit_times = fields.window_bit_times,
          .valid_microphones = fields.valid_microphones};
}

bool lies_inside(const ResultFields& fields, std::uint64_t payload_bytes) {
  return fields.fields_bytes >= sizeof(fields) && fields.fields_bytes % 8 == 0 &&
         fields.fields_bytes <= payload_bytes && fields.products_bytes <= payload_bytes - fields.fields_bytes;
}

}  // namespace

std::string to_json(const Epoch& epoch) {
  const ResultHeader& header = epoch.header;
  Json object = {
      {"epoch", epoch.epoch},          {"processor", epoch.processor}, {"name", header.processor},
      {"kind", header.kind},           {"config", header.config},      {"device", header.device},
      {"front_end", header.front_end}, {"axes", json_of(header.axes)}, {"products", json_of(header.products)}};
  if (header.memory_hops) {
    object["memory_hops"] = *header.memory_hops;
  }
  return text_of(object);
}

std::string flaw_of_recorded(const ResultHeader& header) {
  const auto has_too_many = [](const Product& product) {
    return product.axes.size() > kMostAxesOfProduct || product.columns.size() > kMostColumns;
  };
  if (header.axes.size() > kMostAxes || header.products.size() > kMostProducts ||
      std::any_of(header.products.begin(), header.products.end(), has_too_many)) {
    return fmt::format(
        "{} axes and {} products: expected at most {} and {}, a product of at most {} axes or {} columns",
        header.axes.size(), header.products.size(), kMostAxes, kMostProducts, kMostAxesOfProduct, kMostColumns);
  }
  return flaw_of(header);
}

std::optional<Epoch> epoch_of(const RecordHeader& record, std::span<const std::byte> json) {
  std::optional<Epoch> result = is_of_images(record) ? epoch_of_images(json) : built(json, epoch_of_object);
  return result && flaw_of_recorded(result->header).empty() ? std::move(result) : std::nullopt;
}

std::optional<ResultFields> result_fields_of(const RecordHeader& header, std::span<const std::byte> payload) {
  if (header.kind != Kind::kResult) {
    return std::nullopt;
  }
  if (is_of_images(header)) {
    const std::optional<ImageFields> fields = image_fields_of(payload);
    return fields ? std::optional(fields_of(*fields, header)) : std::nullopt;
  }
  ResultFields fields;
  if (payload.size() < sizeof(fields)) {
    return std::nullopt;
  }
  std::memcpy(&fields, payload.data(), sizeof(fields));
  return lies_inside(fields, header.payload_bytes) ? std::optional(fields) : std::nullopt;
}

FrameReader::FrameReader(const ResultHeader& header, double sample_rate_hz)
    : places_(places_of(header)), sample_rate_hz_(sample_rate_hz), header_(header) {
  for (const Product& product : header.products) {
    most_rows_.push_back(product.form == Product::Form::kTable ? product.most_rows : 0);
  }
}

std::optional<Frame> FrameReader::read(const RecordHeader& record, std::span<const std::byte> payload) {
  const std::optional<ResultFields> fields = result_fields_of(record, payload);
  if (!fields || !(is_of_images(record) ? find_images(record, payload) : find_products(*fields, payload))) {
    return std::nullopt;
  }
  const double window_ns = static_cast<double>(fields->window_bit_times) / sample_rate_hz_ * 1e9;
  Frame frame;
  frame.processor = fields->processor;
  frame.sequence = fields->frame_sequence;
  frame.stream_id = fields->stream_id;
  frame.first_bit_time = record.first_bit_time;
  frame.window_bit_times = fields->window_bit_times;
  // Unsigned: a damaged time may be smaller than the window.
  frame.timestamp_ns =
      static_cast<std::int64_t>(static_cast<std::uint64_t>(record.tai_ns) -
                                (window_ns < 9e18 ? static_cast<std::uint64_t>(std::llround(window_ns)) : 0));
  frame.capture_mono_ns = record.mono_ns;
  frame.capture_tai_ns = record.tai_ns;
  frame.flags = record.flags;
  frame.missing_bit_times = record.missing_bit_times;
  frame.shed_hops = fields->shed_hops;
  frame.valid_microphones = fields->valid_microphones;
  frame.epoch = fields->epoch;
  frame.products = products_;
  return frame;
}

bool FrameReader::find_products(const ResultFields& fields, std::span<const std::byte> payload) {
  if (fields.products_bytes != places_.bytes || payload.size() < fields.fields_bytes + fields.products_bytes) {
    return false;
  }
  const std::span<const std::byte> products = payload.subspan(fields.fields_bytes, fields.products_bytes);
  products_.clear();
  for (std::size_t i = 0; i < places_.places.size(); ++i) {
    const ProductPlaces::Place& place = places_.places[i];
    products_.push_back(products.subspan(place.offset, place.bytes));
    if (most_rows_[i] > 0 && values_of<std::uint64_t>(products_.back()).front() > most_rows_[i]) {
      return false;
    }
  }
  return true;
}

bool FrameReader::find_images(const RecordHeader& record, std::span<const std::byte> payload) {
  values_ = image_values_of(record, payload, header_);
  if (!values_) {
    return false;
  }
  products_.assign(values_->frame.products.begin(), values_->frame.products.end());
  return true;
}

}  // namespace nearfield::nfr
