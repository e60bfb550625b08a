#include "files/nfr/nfr_format.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#include "core/crc32c.hpp"
#include "core/error.hpp"
#include "core/microphones.hpp"
#include "files/format.hpp"
#include "files/nfr/nfr_json.hpp"

namespace nearfield::nfr {
namespace {

bool is_length(double value_m) { return std::isfinite(value_m) && value_m > 0.0; }

bool is_possible(const FileInfo& info) {
  const ArrayGeometry& geometry = info.measurement.geometry;
  if (!is_length(geometry.pitch_x_m) || !is_length(geometry.pitch_y_m) || !is_length(info.measurement.standoff_m) ||
      !std::isfinite(info.measurement.sensitivity_dbfs) || !is_length(info.sample_rate_hz) ||
      !is_length(info.pascal_per_unit.value_or(1.0))) {
    return false;
  }
  try {
    return info.words_per_element() > 0;
  } catch (const ConfigError&) {  // the layout does not fit
    return false;
  }
}

}  // namespace

std::uint64_t FileInfo::words_per_element() const {
  const ArrayGeometry& geometry = measurement.geometry;
  return static_cast<std::uint64_t>(holds_samples ? geometry.channels() : words_per_bit_time(layout, geometry));
}

void FileInfo::fill_silence(std::uint64_t first_element, std::span<std::uint32_t> words) const {
  if (holds_samples) {
    std::ranges::fill(words, 0U);
  } else {
    nearfield::fill_silence(first_element, words_per_element(), words);
  }
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
  Json object = json_of(info.measurement.geometry);
  object.update({{"standoff_m", info.measurement.standoff_m},
                 {"sample_rate_hz", info.sample_rate_hz},
                 {"host", info.host},
                 {"boot_id", info.boot_id}});
  if (info.holds_samples) {  // no layout: a reader that knows bits alone refuses the file
    object["payload"] = "samples";
  } else {
    object.update({{"sensitivity_dbfs", info.measurement.sensitivity_dbfs}, {"layout", name_of(info.layout)}});
  }
  if (info.pascal_per_unit) {
    object["pascal_per_unit"] = *info.pascal_per_unit;
  }
  if (!info.notes.empty()) {
    object["notes"] = info.notes;
  }
  return text_of(object);
}

std::optional<FileInfo> file_info_of(std::span<const std::byte> json) {
  const auto info = built(json, [](const Json& object) {
    FileInfo result;
    result.measurement.geometry = geometry_of(object);
    result.measurement.standoff_m = object.at("standoff_m").get<double>();
    result.holds_samples = object.value("payload", "bits") == "samples";
    if (object.contains("pascal_per_unit")) {
      result.pascal_per_unit = object.at("pascal_per_unit").get<double>();
    }
    if (!result.holds_samples) {
      result.measurement.sensitivity_dbfs = object.at("sensitivity_dbfs").get<double>();
      result.layout = wire_layout_of(object.at("layout").get<std::string>());
    }
    result.sample_rate_hz = object.at("sample_rate_hz").get<double>();
    result.host = object.at("host").get<std::string>();
    result.boot_id = object.at("boot_id").get<std::string>();
    result.notes = object.value("notes", std::string());
    return result;
  });
  return info && is_possible(*info) ? info : std::nullopt;
}

std::string to_json(const EndInfo& info) {
  Json object = {
      {"reason", info.reason}, {"dropped_bit_times", info.dropped_bit_times}, {"dropped_images", info.dropped_images}};
  if (info.seconds) {
    object["seconds"] = *info.seconds;
  }
  if (!info.began_by.empty()) {
    object["began_by"] = info.began_by;
  }
  return text_of(object);
}

std::optional<EndInfo> end_info_of(std::span<const std::byte> json) {
  return built(json, [](const Json& object) {
    return EndInfo{.reason = object.at("reason").get<std::string>(),
                   .dropped_bit_times = integer_at<std::uint64_t>(object, "dropped_bit_times"),
                   .dropped_images = integer_at<std::uint64_t>(object, "dropped_images"),
                   .seconds = object.contains("seconds") ? std::optional(object.at("seconds").get<double>())
                                                         : std::optional<double>(),
                   .began_by = object.value("began_by", "")};
  });
}

std::string to_json(const MaskChange& change) { return text_of(Json{{"channels", change.channels}}); }

std::optional<MaskChange> mask_of(const RecordHeader& header, std::span<const std::byte> json, int microphones) {
  return built(json, [&](const Json& object) {
    MaskChange change{.first_bit_time = header.first_bit_time, .channels = integers_at<int>(object, "channels")};
    if (const std::string flaw = flaw_of_mask(change, microphones); !flaw.empty()) {
      throw DataError(flaw);
    }
    return change;
  });
}

std::optional<std::vector<Run>> runs_of(const RecordHeader& header, std::span<const std::byte> payload) {
  if (payload.size() / sizeof(Run) < header.runs) {
    return std::nullopt;
  }
  std::vector<Run> runs(header.runs);
  if (!runs.empty()) {  // memcpy() must not get a null pointer
    std::memcpy(runs.data(), payload.data(), runs.size() * sizeof(Run));
  }
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

void append_record(std::vector<std::byte>& bytes, RecordHeader header, std::span<const std::byte> payload) {
  header.payload_bytes = static_cast<std::uint32_t>(payload.size());
  header.payload_crc = crc32c(payload);
  header.header_crc = header_crc(header);
  const auto head = std::as_bytes(std::span(&header, 1));
  bytes.insert(bytes.end(), head.begin(), head.end());
  bytes.insert(bytes.end(), payload.begin(), payload.end());
  bytes.resize(bytes.size() + padded(payload.size()) - payload.size());
}

Json json_of(const ArrayGeometry& geometry) {
  Json object = {{"rows", geometry.rows},
                 {"columns", geometry.columns},
                 {"pitch_x_m", geometry.pitch_x_m},
                 {"pitch_y_m", geometry.pitch_y_m}};
  if (geometry.placement) {
    Json positions = Json::array();
    for (const MicrophonePosition& position : kept_positions_m(geometry)) {
      positions.push_back({position.x_m, position.y_m, position.z_m});
    }
    object["positions_m"] = std::move(positions);
  }
  return object;
}

ArrayGeometry geometry_of(const Json& object) {
  if (!object.contains("positions_m")) {
    return {.rows = integer_at<int>(object, "rows"),
            .columns = integer_at<int>(object, "columns"),
            .pitch_x_m = object.at("pitch_x_m").get<double>(),
            .pitch_y_m = object.at("pitch_y_m").get<double>()};
  }
  std::vector<MicrophonePosition> positions_m;
  for (const auto& [x_m, y_m, z_m] : object.at("positions_m").get<std::vector<std::array<double, 3>>>()) {
    positions_m.push_back({x_m, y_m, z_m});
  }
  if (const std::string flaw = flaw_of_positions(positions_m); !flaw.empty()) {
    throw DataError("positions_m: " + flaw);
  }
  return geometry_of_kept(positions_m);
}

}  // namespace nearfield::nfr
