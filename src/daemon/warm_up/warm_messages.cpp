#include "daemon/warm_up/warm_messages.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>

#include "core/error.hpp"
#include "core/system/clocks.hpp"
#include "files/nfr/nfr_json.hpp"

namespace nearfield::daemon {
namespace {

using nlohmann::json;

/// Geometry and layout of a capture, all that plans use of it.
json capture_json(const CaptureInfo& capture) {
  return {{"geometry", nfr::json_of(capture.measurement.geometry)},
          {"standoff_m", capture.measurement.standoff_m},
          {"sensitivity_dbfs", capture.measurement.sensitivity_dbfs},
          {"correctable", capture.measurement.correctable},
          {"layout", name_of(capture.layout)}};
}

CaptureInfo capture_of(const json& from) {
  CaptureInfo capture;
  capture.measurement.geometry = nfr::geometry_of(from.at("geometry"));
  capture.measurement.standoff_m = from.at("standoff_m");
  capture.measurement.sensitivity_dbfs = from.at("sensitivity_dbfs");
  capture.measurement.correctable = from.at("correctable");
  capture.layout = wire_layout_of(from.at("layout").get<std::string>());
  return capture;
}

json positions_json(const std::vector<MicrophonePosition>& positions_m) {
  json positions = json::array();
  for (const MicrophonePosition& place : positions_m) {
    positions.push_back({place.x_m, place.y_m, place.z_m});
  }
  return positions;
}

json input_json(const LiveInput& input) {
  return {{"form", static_cast<int>(input.form)},
          {"element_rate_hz", input.element_rate_hz},
          {"words_per_element", input.words_per_element},
          {"elements_per_sample", input.elements_per_sample},
          {"capture", input.capture ? capture_json(*input.capture) : json()},
          {"positions_m", positions_json(input.positions_m)},
          {"name", input.name},
          {"waits", input.waits}};
}

LiveInput input_of(const json& from) {
  LiveInput input;
  input.form = static_cast<InputForm>(from.at("form").get<int>());
  input.element_rate_hz = from.at("element_rate_hz");
  input.words_per_element = from.at("words_per_element");
  input.elements_per_sample = from.at("elements_per_sample");
  if (!from.at("capture").is_null()) {
    input.capture = capture_of(from.at("capture"));
  }
  for (const json& place : from.at("positions_m")) {
    input.positions_m.push_back({.x_m = place.at(0), .y_m = place.at(1), .z_m = place.at(2)});
  }
  input.name = from.at("name");
  input.waits = from.at("waits");
  return input;
}

}  // namespace

FileStamp stamp_of(const std::string& path) {
  struct stat found {};
  if (stat(path.c_str(), &found) != 0) {
    throw NoInputError(fmt::format("{}: expected a readable file: {}", path, std::strerror(errno)));
  }
  if (!S_ISREG(found.st_mode)) {
    throw NoInputError(fmt::format("{}: expected a regular file, found something else", path));
  }
  return {.path = path,
          .device = found.st_dev,
          .inode = found.st_ino,
          .bytes = found.st_size,
          .modified_ns = found.st_mtim.tv_sec * kNsPerSecond + found.st_mtim.tv_nsec};
}

json to_json(const WarmRequest& request) {
  return {{"path", request.path},
          {"overrides", request.overrides},
          {"input", input_json(request.input)},
          {"standard_input", request.standard_input}};
}

WarmRequest warm_request_of(const json& json) {
  return {.path = json.at("path"),
          .overrides = json.at("overrides"),
          .input = input_of(json.at("input")),
          .standard_input = json.at("standard_input")};
}

json to_json(const FileStamp& stamp) {
  return {{"path", stamp.path},
          {"device", stamp.device},
          {"inode", stamp.inode},
          {"bytes", stamp.bytes},
          {"modified_ns", stamp.modified_ns}};
}

FileStamp file_stamp_of(const json& json) {
  return {.path = json.at("path"),
          .device = json.at("device"),
          .inode = json.at("inode"),
          .bytes = json.at("bytes"),
          .modified_ns = json.at("modified_ns")};
}

}  // namespace nearfield::daemon
