#include "capture/nfr_format.hpp"

#include <fmt/format.h>
#include <isa-l/crc.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "nearfield/error.hpp"

namespace nearfield::nfr {
namespace {

using Json = nlohmann::json;

/// No axis of an image is longer; products of four stay in 64 bits.
constexpr std::size_t kLongestAxis = 32768;

/// Text from outside, such as a configuration's comments, may not be UTF-8.
std::string text_of(const Json& json) { return json.dump(1, ' ', false, Json::error_handler_t::replace); }

Json parsed(std::span<const std::byte> json) {
  const std::string_view text(reinterpret_cast<const char*>(json.data()), json.size());
  return Json::parse(text, nullptr, false);
}

/// `build` of the JSON, nothing when a key is missing or of another type.
template <class Build>
auto built(std::span<const std::byte> json, const Build& build) -> std::optional<decltype(build(Json()))> {
  const Json object = parsed(json);
  if (!object.is_object()) {
    return std::nullopt;
  }
  try {
    return build(object);
  } catch (const Json::exception&) {
    return std::nullopt;
  } catch (const ConfigError&) {  // an unknown layout
    return std::nullopt;
  } catch (const DataError&) {
    return std::nullopt;
  }
}

/// `object[key]` where it is an integer of this type. Json::get() would convert any number, and a conversion from a
/// floating-point number that is out of range is undefined.
template <class Integer>
Integer integer_at(const Json& object, const char* key) {
  const Json& value = object.at(key);
  const bool fits = value.is_number_unsigned()
                        ? std::in_range<Integer>(value.get<std::uint64_t>())
                        : value.is_number_integer() && std::in_range<Integer>(value.get<std::int64_t>());
  if (!fits) {
    throw DataError(fmt::format("expected an integer for {}", key));
  }
  return value.get<Integer>();
}

bool is_length(double value_m) { return std::isfinite(value_m) && value_m > 0.0; }

bool is_possible(const FileInfo& info) {
  const ArrayGeometry& geometry = info.measurement.geometry;
  const bool sides =
      geometry.rows >= 1 && geometry.rows <= kMaxSide && geometry.columns >= 1 && geometry.columns <= kMaxSide;
  if (!sides || !is_length(geometry.pitch_x_m) || !is_length(geometry.pitch_y_m) ||
      !is_length(info.measurement.standoff_m) || !std::isfinite(info.measurement.sensitivity_dbfs) ||
      !is_length(info.sample_rate_hz)) {
    return false;
  }
  try {
    return words_per_bit_time(info.layout, geometry) > 0;
  } catch (const ConfigError&) {  // the layout does not fit
    return false;
  }
}

bool is_possible(const ImagesHeader& header) {
  const auto fits = [](const std::vector<double>& axis) { return !axis.empty() && axis.size() <= kLongestAxis; };
  return header.points.size() <= kLongestAxis && fits(header.frequencies_hz) && fits(header.planes_m) &&
         fits(header.x_m) && fits(header.y_m);
}

template <class T>
void take(std::span<const std::byte>& bytes, std::span<T> values) {
  if (!values.empty()) {  // memcpy() takes no null pointer
    std::memcpy(values.data(), bytes.data(), values.size_bytes());
  }
  bytes = bytes.subspan(values.size_bytes());
}

bool is_first_version(const RecordHeader& header) { return header.version == 1; }

std::size_t point_values(const ImagesHeader& images) {
  return images.planes_m.size() * images.frequencies_hz.size() * images.points.size();
}

/// Bytes of an image's payload, points among its values; both counts are bounded before.
std::uint64_t image_bytes(const RecordHeader& header, std::uint64_t frequencies, std::uint64_t values) {
  const std::uint64_t reports = is_first_version(header) ? 3 : 4;
  return sizeof(ImageFields) + frequencies * reports * sizeof(float) + values * sizeof(std::complex<float>);
}

}  // namespace

std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t before) {
  constexpr std::size_t kMostAtOnce = std::size_t{1} << 30U;
  std::uint32_t crc = ~before;
  while (!bytes.empty()) {
    const std::size_t count = std::min(bytes.size(), kMostAtOnce);
    // The library only reads what it takes as not const.
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-const-cast)
    auto* data = const_cast<unsigned char*>(reinterpret_cast<const unsigned char*>(bytes.data()));
    crc = ::crc32_iscsi(data, static_cast<int>(count), crc);
    bytes = bytes.subspan(count);
  }
  return ~crc;
}

std::uint32_t header_crc(const RecordHeader& header) {
  return crc32c(std::as_bytes(std::span(&header, 1)).first(offsetof(RecordHeader, header_crc)));
}

bool is_sound(const RecordHeader& header) {
  return header.magic == kMagic && header.version >= kOldestVersion && header.version <= kVersion &&
         header.header_crc == header_crc(header) &&
         header.bit_times <= std::numeric_limits<std::uint64_t>::max() - header.first_bit_time &&
         header.missing_bit_times <= header.bit_times;
}

void BitCounts::add(const RecordHeader& header) {
  received += header.bit_times - header.missing_bit_times;
  if ((header.flags & kDropped) != 0) {
    dropped += header.missing_bit_times;
  } else if ((header.flags & kPaused) != 0) {
    paused += header.missing_bit_times;
  } else if ((header.flags & kOverrun) != 0) {
    overrun += header.missing_bit_times;
  } else {
    not_sent += header.missing_bit_times;
  }
}

void BitCounts::add(const BitCounts& more) {
  received += more.received;
  not_sent += more.not_sent;
  paused += more.paused;
  overrun += more.overrun;
  dropped += more.dropped;
}

std::string to_json(const FileInfo& info) {
  const ArrayGeometry& geometry = info.measurement.geometry;
  return text_of({{"rows", geometry.rows},
                  {"columns", geometry.columns},
                  {"pitch_x_m", geometry.pitch_x_m},
                  {"pitch_y_m", geometry.pitch_y_m},
                  {"standoff_m", info.measurement.standoff_m},
                  {"sensitivity_dbfs", info.measurement.sensitivity_dbfs},
                  {"layout", name_of(info.layout)},
                  {"sample_rate_hz", info.sample_rate_hz},
                  {"host", info.host},
                  {"boot_id", info.boot_id}});
}

std::optional<FileInfo> file_info_of(std::span<const std::byte> json) {
  const auto info = built(json, [](const Json& object) {
    FileInfo result;
    result.measurement.geometry = {.rows = integer_at<int>(object, "rows"),
                                   .columns = integer_at<int>(object, "columns"),
                                   .pitch_x_m = object.at("pitch_x_m").get<double>(),
                                   .pitch_y_m = object.at("pitch_y_m").get<double>()};
    result.measurement.standoff_m = object.at("standoff_m").get<double>();
    result.measurement.sensitivity_dbfs = object.at("sensitivity_dbfs").get<double>();
    result.layout = wire_layout_of(object.at("layout").get<std::string>());
    result.sample_rate_hz = object.at("sample_rate_hz").get<double>();
    result.host = object.at("host").get<std::string>();
    result.boot_id = object.at("boot_id").get<std::string>();
    return result;
  });
  return info && is_possible(*info) ? info : std::nullopt;
}

std::string to_json(const ImagesHeader& header, std::uint64_t epoch) {
  Json points = Json::array();
  for (const PlanePoint& point : header.points) {
    points.push_back({point.x_m, point.y_m});
  }
  return text_of({{"epoch", epoch},
                  {"quantity", header.quantity},
                  {"unit", header.unit},
                  {"config", header.config},
                  {"device", header.device},
                  {"front_end", header.front_end},
                  {"frequencies_hz", header.frequencies_hz},
                  {"planes_m", header.planes_m},
                  {"x_m", header.x_m},
                  {"y_m", header.y_m},
                  {"points_xy_m", points}});
}

std::optional<Epoch> epoch_of(std::span<const std::byte> json) {
  const auto result = built(json, [](const Json& object) {
    std::vector<PlanePoint> points;
    for (const auto& [x_m, y_m] : object.value("points_xy_m", std::vector<std::pair<double, double>>())) {
      points.push_back({.x_m = x_m, .y_m = y_m});
    }
    return Epoch{.epoch = integer_at<std::uint64_t>(object, "epoch"),
                 .header = {.quantity = object.at("quantity").get<std::string>(),
                            .unit = object.at("unit").get<std::string>(),
                            .config = object.at("config").get<std::string>(),
                            .device = object.at("device").get<std::string>(),
                            .front_end = object.at("front_end").get<std::string>(),
                            .frequencies_hz = object.at("frequencies_hz").get<std::vector<double>>(),
                            .planes_m = object.at("planes_m").get<std::vector<double>>(),
                            .x_m = object.at("x_m").get<std::vector<double>>(),
                            .y_m = object.at("y_m").get<std::vector<double>>(),
                            .points = std::move(points)}};
  });
  return result && is_possible(result->header) ? result : std::nullopt;
}

std::string to_json(const EndInfo& info) {
  return text_of({{"reason", info.reason},
                  {"dropped_bit_times", info.dropped_bit_times},
                  {"dropped_images", info.dropped_images}});
}

std::optional<EndInfo> end_info_of(std::span<const std::byte> json) {
  return built(json, [](const Json& object) {
    return EndInfo{.reason = object.at("reason").get<std::string>(),
                   .dropped_bit_times = integer_at<std::uint64_t>(object, "dropped_bit_times"),
                   .dropped_images = integer_at<std::uint64_t>(object, "dropped_images")};
  });
}

std::optional<std::vector<Run>> runs_of(const RecordHeader& header, std::span<const std::byte> payload) {
  if (payload.size() / sizeof(Run) < header.runs) {
    return std::nullopt;
  }
  std::vector<Run> runs(header.runs);
  take(payload, std::span(runs));
  std::uint64_t end = 0;
  std::uint64_t missing = 0;
  for (const Run& run : runs) {
    if (run.offset_bit_times < end || run.bit_times == 0) {
      return std::nullopt;
    }
    end = std::uint64_t{run.offset_bit_times} + run.bit_times;
    missing += run.bit_times;
  }
  return end <= header.bit_times && missing == header.missing_bit_times ? std::optional(runs) : std::nullopt;
}

bool has_bits_size(const RecordHeader& header, std::uint64_t words_per_bit_time) {
  if (header.bit_times == 0) {
    return false;
  }
  if ((header.flags & kNotStored) != 0) {
    return header.payload_bytes == 0 && header.runs == 0 && header.missing_bit_times == header.bit_times;
  }
  const std::uint64_t runs_bytes = std::uint64_t{header.runs} * sizeof(Run);
  const std::uint64_t bytes_per_bit_time = words_per_bit_time * sizeof(std::uint32_t);
  return header.payload_bytes >= runs_bytes && (header.payload_bytes - runs_bytes) % bytes_per_bit_time == 0 &&
         (header.payload_bytes - runs_bytes) / bytes_per_bit_time == header.bit_times;
}

std::optional<ImageFields> image_fields_of(const RecordHeader& header, std::span<const std::byte> payload) {
  ImageFields fields;
  if (header.kind != Kind::kImage || payload.size() < sizeof(fields)) {
    return std::nullopt;
  }
  take(payload, std::span(&fields, 1));
  return fields;
}

std::optional<ImageFrame> frame_of(const RecordHeader& header, std::span<const std::byte> payload,
                                   const ImagesHeader& images, double sample_rate_hz) {
  const std::optional<ImageFields> fields = image_fields_of(header, payload);
  const std::size_t frequencies = images.frequencies_hz.size();
  if (!fields || fields->frequencies != frequencies || fields->values != images.values_per_frame() ||
      (is_first_version(header) && !images.points.empty()) ||
      payload.size() != image_bytes(header, frequencies, point_values(images) + fields->values)) {
    return std::nullopt;
  }
  const double window_ns = static_cast<double>(fields->window_bit_times) / sample_rate_hz * 1e9;
  ImageFrame frame;
  frame.first_sample = header.first_bit_time;
  // Unsigned, since a damaged time may not leave room for the window.
  frame.timestamp_ns =
      static_cast<std::int64_t>(static_cast<std::uint64_t>(header.tai_ns) -
                                (window_ns < 9e18 ? static_cast<std::uint64_t>(std::llround(window_ns)) : 0));
  frame.flags = header.flags;
  frame.missing_bits = header.missing_bit_times;
  frame.cutoff_rad_per_m.resize(frequencies);
  frame.slope.resize(frequencies);
  frame.noise_pa.resize(frequencies);
  frame.error_estimate.assign(frequencies, std::numeric_limits<float>::quiet_NaN());
  frame.points.resize(point_values(images));
  frame.images.resize(fields->values);
  payload = payload.subspan(sizeof(ImageFields));
  take(payload, std::span(frame.cutoff_rad_per_m));
  take(payload, std::span(frame.slope));
  take(payload, std::span(frame.noise_pa));
  if (!is_first_version(header)) {
    take(payload, std::span(frame.error_estimate));
  }
  take(payload, std::span(frame.points));
  take(payload, std::span(frame.images));
  return frame;
}

void append_record(std::vector<std::byte>& bytes, RecordHeader header, std::span<const std::byte> payload) {
  header.payload_bytes = static_cast<std::uint32_t>(payload.size());
  header.payload_crc = crc32c(payload);
  header.header_crc = header_crc(header);
  const auto head = std::as_bytes(std::span(&header, 1));
  bytes.insert(bytes.end(), head.begin(), head.end());
  bytes.insert(bytes.end(), payload.begin(), payload.end());
  bytes.resize(bytes.size() + padded(payload.size()) - payload.size());
}

}  // namespace nearfield::nfr
