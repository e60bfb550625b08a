#include "daemon/device_check.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <numeric>

#include "cl/device.hpp"
#include "config/config.hpp"
#include "config/live_samples.hpp"
#include "core/daemon_settings.hpp"
#include "core/error.hpp"
#include "core/images.hpp"
#include "core/system/host.hpp"
#include "daemon/live/live_input.hpp"
#include "engine/devices.hpp"

namespace nearfield::daemon {
namespace {

constexpr double kStep = 1000.0;

/// Images of a frame on the host besides a batch's: the published ones, and the least number of slots of the ring.
constexpr double kHostImages = 1.0 + 4.0;

std::string size_text(double bytes) {
  constexpr std::array kUnits = {"bytes", "kB", "MB", "GB", "TB", "PB", "EB"};
  std::size_t unit = 0;
  while (bytes >= kStep && unit + 1 < kUnits.size()) {
    bytes /= kStep;
    ++unit;
  }
  return fmt::format("{:.3g} {}", bytes, kUnits[unit]);
}

MemoryNeed images_need(const Settings& settings) {
  const HolographySettings& holography = settings.holography;
  const std::size_t pixels = image_grid(settings.array.geometry, holography.upsample).pixels();
  const auto planes = static_cast<double>(holography.planes_m.size());
  const auto frequencies = static_cast<double>(settings.front_end.frequencies_hz.size());
  const double frame_bytes = image_bytes_per_frame(settings);
  const double batch = settings.device.batch;
  return {.key = "holography.planes_m, front_end.frequencies_hz, holography.upsample, device.batch",
          .what = fmt::format("images of {} planes, {} frequencies and {} pixels", planes, frequencies, pixels),
          .host_bytes = (batch + kHostImages) * frame_bytes,
          .device_bytes = batch * frame_bytes};
}

MemoryNeed need_of(const ProcessorSettings& processor, const Settings& settings) {
  const double frame_bytes = product_bytes_per_frame(settings, processor);
  const double batch = settings.device.batch;
  return {.key = fmt::format("processors.{}", processor.name),
          .what = fmt::format("the products of {}", processor.name),
          .host_bytes = (batch + kHostImages) * frame_bytes,
          .device_bytes = batch * frame_bytes};
}

double sum_of(const std::vector<MemoryNeed>& needs, double MemoryNeed::*part) {
  return std::accumulate(needs.begin(), needs.end(), 0.0,
                         [part](double sum, const MemoryNeed& need) { return sum + need.*part; });
}

std::string problem_of(const std::vector<MemoryNeed>& needs, double MemoryNeed::*part, double room_bytes,
                       const char* where) {
  const auto largest = std::max_element(needs.begin(), needs.end(),
                                        [part](const MemoryNeed& a, const MemoryNeed& b) { return a.*part < b.*part; });
  return fmt::format("{}: expected what fits into the {} of memory {}, found {}, {}, of {} in all", largest->key,
                     size_text(room_bytes), where, largest->what, size_text(*largest.*part),
                     size_text(sum_of(needs, part)));
}

}  // namespace

std::vector<MemoryNeed> needs_of_epoch(const Settings& settings, const std::vector<std::size_t>& devices) {
  std::vector<MemoryNeed> needs = {images_need(settings)};
  for (std::size_t i = 0; i < settings.processors.size(); ++i) {
    needs.push_back(need_of(settings.processors[i], settings));
    needs.back().device = i < devices.size() ? devices[i] : 0;
  }
  const DaemonSettings::Recording& recording = settings.daemon->recording;
  const bool is_armed = recording.trigger != DaemonSettings::Trigger::kNone && !recording.directory.empty();
  const bool keeps_bits = recording.what != DaemonSettings::RecordWhat::kImages;
  if (is_armed && keeps_bits) {
    needs.push_back({.key = "daemon.recording.pre_trigger_s",
                     .what = fmt::format("a history of {} s", recording.pre_trigger_s),
                     .host_bytes = recording.pre_trigger_s * wire_bytes_per_s(settings)});
  }
  return needs;
}

std::vector<MemoryNeed> needs_of_source(const Settings& settings) {
  if (!is_bare(settings.daemon->source)) {
    return {};
  }
  const SourceSettings source = source_settings(settings);
  const auto elements = static_cast<double>(std::bit_ceil(ring_settings(source).elements));
  return {{.key = fmt::format("daemon.source.ring_bit_times, {}.window_samples, front_end.hop_samples",
                              section_of_longest_window(settings)),
           .what = fmt::format("a ring of {} bit-times", elements),
           .host_bytes = elements * static_cast<double>(source.words_per_element) * sizeof(std::uint32_t)}};
}

FreeMemory free_memory(std::span<const ocl::DeviceInfo> devices) {
  FreeMemory room{.host_bytes = available_memory_bytes()};
  for (std::size_t i = 0; i < devices.size(); ++i) {
    const auto bytes =
        devices[i].is_gpu ? std::optional(static_cast<double>(devices[i].global_memory_bytes)) : std::nullopt;
    if (i == 0) {
      room.device_bytes = bytes;
    } else {
      room.other_devices.push_back(bytes);
    }
  }
  return room;
}

std::vector<std::string> memory_problems(const std::vector<MemoryNeed>& needs, const FreeMemory& room) {
  std::vector<MemoryNeed> of_host = needs;
  std::vector<std::string> problems;
  std::vector<std::optional<double>> rooms = {room.device_bytes};
  rooms.insert(rooms.end(), room.other_devices.begin(), room.other_devices.end());
  for (std::size_t device = 0; device < rooms.size(); ++device) {
    std::vector<MemoryNeed> of_device;
    std::copy_if(needs.begin(), needs.end(), std::back_inserter(of_device),
                 [&](const MemoryNeed& need) { return need.device == device; });
    if (rooms[device] && sum_of(of_device, &MemoryNeed::device_bytes) > *rooms[device]) {
      problems.push_back(problem_of(of_device, &MemoryNeed::device_bytes, *rooms[device],
                                    device == 0 ? "of the device" : "of its device"));
    }
  }
  for (MemoryNeed& need : of_host) {
    const bool is_here = need.device >= rooms.size() || !rooms[need.device];
    need.host_bytes += is_here ? need.device_bytes : 0.0;
  }
  if (sum_of(of_host, &MemoryNeed::host_bytes) > room.host_bytes) {
    problems.push_back(problem_of(of_host, &MemoryNeed::host_bytes, room.host_bytes, "that is free here"));
  }
  return problems;
}

void require_memory(const std::vector<MemoryNeed>& needs, const FreeMemory& room) {
  const std::vector<std::string> problems = memory_problems(needs, room);
  if (!problems.empty()) {
    throw ConfigError(fmt::format("{}", fmt::join(problems, "\n")));
  }
}

std::vector<control::Finding> device_findings(const Settings& settings) {
  using Kind = control::Finding::Kind;
  const auto name_of = [](const ocl::DeviceInfo& info) { return fmt::format("{} ({})", info.name, info.platform); };
  std::vector<control::Finding> findings;
  try {
    const ocl::Device device = ocl::Device::open(settings.device);
    findings.push_back({Kind::kNote, fmt::format("device: {}", name_of(device.info()))});
    const DeviceInfos devices = find_devices(device.info(), settings);
    for (std::size_t i = 0; i < settings.processors.size(); ++i) {
      if (devices.of_processors[i] != 0) {
        findings.push_back({Kind::kNote, fmt::format("device of {}: {}", settings.processors[i].name,
                                                     name_of(devices.all[devices.of_processors[i]]))});
      }
    }
  } catch (const DeviceError& error) {
    findings.push_back(
        {Kind::kProblem,
         fmt::format("device.platform, device.index: {}; \"nearfield devices\" lists them", error.what())});
  } catch (const ConfigError& error) {
    findings.push_back({Kind::kProblem, fmt::format("{}; \"nearfield devices\" lists them", error.what())});
  }
  for (control::Finding& finding : findings) {
    finding.check = "device";
  }
  return findings;
}

}  // namespace nearfield::daemon
