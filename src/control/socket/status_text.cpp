#include "control/socket/status_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/system/clocks.hpp"
#include "core/text.hpp"

namespace nearfield::control {
namespace {

using nlohmann::json;

constexpr double kStatusMegabyte = 1e6;

/// Part of an object; null if absent.
json part(const json& whole, const char* key) { return whole.is_object() ? whole.value(key, json()) : json(); }

std::string text(const json& value) { return value.is_string() ? value.get<std::string>() : "?"; }

/// Prints an integer in full, other numbers with one decimal.
std::string number(const json& value) {
  if (value.is_number_float()) {
    return fmt::format("{:.1f}", value.get<double>());
  }
  return value.is_number() ? value.dump() : "?";
}

void add_line(std::string& out, const std::string& name, const std::string& content) {
  out += fmt::format("{:<12}  {}\n", name, content);
}

std::string uptime(const json& seconds) {
  constexpr long kMinute_s = 60;
  constexpr long kHour_s = 3600;
  constexpr long kDay_s = 86400;
  constexpr double kMost = 1e15;
  if (!seconds.is_number() || !(std::abs(seconds.get<double>()) < kMost)) {
    return "?";
  }
  const auto whole = static_cast<long>(seconds.get<double>());
  if (whole >= kDay_s) {
    return fmt::format("{} d {} h", whole / kDay_s, whole % kDay_s / kHour_s);
  }
  return whole >= kHour_s ? fmt::format("{} h {} min", whole / kHour_s, whole % kHour_s / kMinute_s)
                          : fmt::format("{} min {} s", whole / kMinute_s, whole % kMinute_s);
}

/// "median 10.9 ms, p99 11.2 ms, ..."; empty if nothing was measured.
std::string percentiles(const json& measured) {
  std::string result;
  for (const auto& [key, name] : {std::pair{"median", "median"}, {"p99", "p99"}, {"p999", "p99.9"}, {"max", "most"}}) {
    if (const json value = part(measured, key); value.is_number()) {
      result += fmt::format("{}{} {:.3g} ms", result.empty() ? "" : ", ", name, value.get<double>());
    }
  }
  return result;
}

/// Counts that are not zero, "late 7, crc 2".
std::string counts(const json& named) {
  std::string result;
  if (!named.is_object()) {
    return result;
  }
  for (const auto& [name, count] : named.items()) {
    if (count.is_number() && count.get<double>() > 0.0) {
      result += fmt::format("{}{} {}", result.empty() ? "" : ", ", name, number(count));
    }
  }
  return result;
}

/// Adds the input according to the settings, the measured rate, and the doubts.
void add_input(std::string& out, const json& input) {
  if (!input.is_object()) {
    return;
  }
  const json measured = part(input, "measured_rate_hz");
  add_line(out, "input",
           text(part(input, "text")) +
               (measured.is_number() ? fmt::format("; measured {:.6g} samples a second", measured.get<double>()) : ""));
  for (const json& doubt : part(input, "doubts")) {
    add_line(out, "  in doubt", text(doubt));
  }
}

void add_times(std::string& out, const json& status) {
  if (const std::string age = percentiles(part(status, "age_ms")); !age.empty()) {
    add_line(out, "age", age);
  }
  if (const std::string interval = percentiles(part(status, "interval_ms")); !interval.empty()) {
    add_line(out, "interval", interval);
  }
  const json stages = part(status, "stages_ms");
  if (!stages.is_object()) {
    return;
  }
  for (const auto& [stage, measured] : stages.items()) {
    if (const std::string took = percentiles(measured); !took.empty()) {
      add_line(out, "  " + stage, took);
    }
  }
}

void add_losses(std::string& out, const json& status) {
  const json bits = part(status, "bit_times");
  if (bits.is_object()) {
    const json unit = part(status, "counted_in");
    add_line(out, unit.is_string() ? unit.get<std::string>() : "bit-times",
             fmt::format("{} received + {} missing = {} expected", number(part(bits, "received")),
                         number(part(bits, "missing")), number(part(bits, "expected"))));
  }
  std::string losses = counts(part(status, "losses"));
  if (const std::string shed = counts({{"shed hops", part(status, "shed_hops")}}); !shed.empty()) {
    losses = losses.empty() ? shed : shed + ", " + losses;
  }
  add_line(out, "lost", losses.empty() ? "nothing" : losses);
  if (const std::string queues = counts(part(status, "queues")); !queues.empty()) {
    add_line(out, "waiting", queues);
  }
}

/// "127.0.0.1:4000 (stream 7); two senders? 127.0.0.1:4001 (stream 8), 0.2 s ago"
void add_senders(std::string& out, const json& senders) {
  const json present = part(senders, "present");
  if (!present.is_object()) {
    return;
  }
  const auto name = [](const json& sender) {
    return fmt::format("{} (stream {})", text(part(sender, "address")), number(part(sender, "stream_id")));
  };
  std::string line = name(present);
  if (const json other = part(senders, "other"); other.is_object()) {
    line += fmt::format("; two senders? {}, {} s ago", name(other), number(part(other, "s_ago")));
  }
  add_line(out, "sender", line);
}

/// "5 (row 0, column 5) dead, ...": the first few, with their causes.
std::string channels_text(const json& channels) {
  constexpr std::size_t kMostShown = 8;
  std::string result;
  for (std::size_t i = 0; i < std::min(channels.size(), kMostShown); ++i) {
    const json& entry = channels[i];
    result += fmt::format("{}{} (row {}, column {}) {}", i == 0 ? "" : ", ", number(part(entry, "channel")),
                          number(part(entry, "row")), number(part(entry, "column")), text(part(entry, "cause")));
  }
  if (channels.size() > kMostShown) {
    result += fmt::format(" and {} more", channels.size() - kMostShown);
  }
  return result;
}

/// "62 of 64 used; 2 masked (4 % of the information missing): 5 (row 0, column 5) configuration, 9 (...) dead; bad, not
/// masked: 12 (...) loud". A daemon of an earlier version has no list of masked microphones: all its bad ones are
/// named, masked or not.
void add_microphones(std::string& out, const json& microphones) {
  if (!microphones.is_object()) {
    return;
  }
  const json all = part(microphones, "microphones");
  const json count = part(microphones, "masked");
  std::string line =
      all.is_number_integer() && count.is_number_integer()
          ? fmt::format("{} of {} used; ", all.get<std::int64_t>() - count.get<std::int64_t>(), number(all))
          : "";
  line += fmt::format("{} masked", number(count));
  if (const json missing = part(microphones, "missing_information");
      missing.is_number() && missing.get<double>() > 0.0) {
    line += fmt::format(" ({} of the information missing)", text_of_percent(missing.get<double>()));
  }
  const json masked = part(microphones, "masked_channels");
  if (masked.is_array() && !masked.empty()) {
    line += ": " + channels_text(masked);
  }
  const auto is_masked = [&](const json& entry) {
    return masked.is_array() && std::any_of(masked.begin(), masked.end(), [&](const json& one) {
             return part(one, "channel") == part(entry, "channel");
           });
  };
  json others = json::array();
  if (const json bad = part(microphones, "bad"); bad.is_array()) {
    std::copy_if(bad.begin(), bad.end(), std::back_inserter(others), std::not_fn(is_masked));
  }
  if (!others.empty()) {
    line += (masked.is_array() ? "; bad, not masked: " : "; bad: ") + channels_text(others);
  }
  add_line(out, "microphones", line);
}

/// Adds "above, 2.31 Pa, 4 times" for each limit.
void add_limits(std::string& out, const json& limits) {
  if (!limits.is_array()) {
    return;
  }
  for (const json& limit : limits) {
    const json value = part(limit, "value");
    add_line(out, "limit",
             fmt::format("{}: {}, {}, exceeded {} times", text(part(limit, "name")), text(part(limit, "state")),
                         value.is_number() ? fmt::format("{:.4g} {}", value.get<double>(), text(part(limit, "unit")))
                                           : std::string("no value yet"),
                         number(part(limit, "events"))));
  }
}

/// "271.7 MB: ring 134.2, history 0.0, ..., own 30.1; 12.0 MB on the device"
void add_memory(std::string& out, const json& memory) {
  const json total_bytes = part(memory, "total_bytes");
  if (!total_bytes.is_number()) {
    return;
  }
  const auto megabytes = [](const json& bytes) {
    return bytes.is_number() ? bytes.get<double>() / kStatusMegabyte : 0.0;
  };
  std::string line = fmt::format("{:.1f} MB", megabytes(total_bytes));
  std::string separator = ": ";
  for (const auto& [name, key] : {std::pair{"ring", "ring"},
                                  {"history", "history"},
                                  {"device buffers", "device_buffers"},
                                  {"driver", "driver"},
                                  {"program", "program"},
                                  {"own", "own"}}) {
    if (const json bytes = part(part(memory, "parts_bytes"), key); bytes.is_number()) {
      line += fmt::format("{}{} {:.1f}", std::exchange(separator, ", "), name, megabytes(bytes));
    }
  }
  if (const json device_bytes = part(memory, "device_bytes"); megabytes(device_bytes) > 0.0) {
    line += fmt::format("; {:.1f} MB of the device's", megabytes(device_bytes));
  }
  add_line(out, "memory", line);
}

void add_recording(std::string& out, const json& recording) {
  if (!recording.is_object()) {
    return;
  }
  std::string line = text(part(recording, "state"));
  if (const json bytes = part(recording, "bytes"); bytes.is_number() && bytes.get<double>() > 0.0) {
    line += fmt::format(", {:.1f} MB", bytes.get<double>() / kStatusMegabyte);
  }
  if (const json about = part(recording, "text"); about.is_string() && !about.get_ref<const std::string&>().empty()) {
    line += ", " + text(about);
  }
  add_line(out, "recording", line);
  const json bits = part(recording, "bit_times");
  if (const json span = part(bits, "span"); span.is_number() && span.get<double>() > 0.0) {
    add_line(out, "  bit-times",
             fmt::format("{} stored + {} never sent + {} paused + {} overrun + {} dropped = {}",
                         number(part(bits, "stored")), number(part(bits, "never_sent")), number(part(bits, "paused")),
                         number(part(bits, "overrun")), number(part(bits, "dropped")), number(span)));
  }
}

}  // namespace

std::string status_text(const json& status) {
  std::string out;
  add_line(out, "nearfieldd",
           fmt::format("{}, version {}, up {}", text(part(status, "state")), text(part(status, "version")),
                       uptime(part(status, "uptime_s"))));
  add_line(out, "source", text(part(status, "source")));
  add_input(out, part(status, "input"));
  add_line(out, "device", text(part(status, "device")));
  const json devices = part(status, "devices");
  for (const auto& [processor, device] : devices.items()) {
    if (device != part(status, "device")) {
      add_line(out, "device", fmt::format("of {}: {}", processor, text(device)));
    }
  }
  add_line(out, "front end",
           fmt::format("{}, configuration epoch {}", text(part(status, "front_end")), number(part(status, "epoch"))));
  add_line(out, "frames",
           fmt::format("{}, {} a second of {} asked for", number(part(status, "frames")),
                       number(part(status, "frame_rate_hz")), number(part(status, "hop_rate_hz"))));
  add_times(out, status);
  add_senders(out, part(status, "senders"));
  add_losses(out, status);
  add_microphones(out, part(status, "microphones"));
  add_limits(out, part(status, "limits"));
  add_memory(out, part(status, "memory"));
  add_recording(out, part(status, "recording"));
  return out;
}

std::string events_text(const json& result) {
  const auto value = [](const json& one, const json& unit) {
    return one.is_number() ? fmt::format("{:.4g} {}", one.get<double>(), text(unit)) : std::string("no value");
  };
  std::string out;
  const json events = part(result, "events");
  for (const json& event : events) {
    const json unit = part(event, "unit");
    const json tai_ns = part(event, "tai_ns");
    out +=
        fmt::format("{:.3f} s TAI  {:<5}  {}  {}, largest {}",
                    tai_ns.is_number() ? kSecondsPerNs * tai_ns.get<double>() : 0.0, text(part(event, "event")),
                    text(part(event, "name")), value(part(event, "value"), unit), value(part(event, "largest"), unit));
    const json position = part(event, "position");
    for (const auto& [axis, place] : position.items()) {
      out += fmt::format(", {} {}", axis, place.dump());
    }
    out += '\n';
  }
  return out.empty() ? "no event of a limit\n" : out;
}

}  // namespace nearfield::control
