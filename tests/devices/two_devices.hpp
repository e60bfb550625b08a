#pragma once
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cl/device.hpp"
#include "config/config.hpp"
#include "core/settings.hpp"
#include "engine/engine_parts.hpp"

/// Two devices of PoCL, 0 ("basic") and 1 ("pthread"), whatever the machine has.
namespace nearfield::test {

/// Set before the first call of OpenCL: the order of these lines among the program's others does not matter.
[[maybe_unused]] inline const int kHasTwoDevices = setenv("POCL_DEVICES", "basic pthread", 1);

inline constexpr const char* kPocl = "Portable Computing Language";
/// The name of one of both: versions of PoCL have others.
inline std::string device_name(int index) { return ocl::find_device({.platform = kPocl, .index = index}).name; }

/// 8 x 8 microphones, windows of 128 samples, hops of 16, on device 1.
inline Settings two_device_settings() {
  Settings settings;
  settings.array.geometry = {.rows = 8, .columns = 8, .pitch_x_m = 0.02, .pitch_y_m = 0.02};
  settings.array.layout = WireLayout::kRowMajor;
  settings.explicit_keys = {"array.rows", "array.columns", "array.pitch_x_m", "array.pitch_y_m",
                            "holography.standoff_m"};
  settings.front_end.window_samples = 128;
  settings.front_end.hop_samples = 16;
  settings.front_end.frequencies_hz = {1464.84375};
  settings.holography.extrapolation.order = 4;
  settings.device.platform = kPocl;
  settings.device.index = 1;
  return settings;
}

inline Settings with_processors(Settings settings, const std::vector<std::string>& lines) {
  settings.processors = load_settings("", lines).processors;
  return settings;
}

/// A device that stands still until it is let go: what is enqueued after the construction waits.
class HeldDevice {
 public:
  explicit HeldDevice(const ocl::Device& device) : gate_(device.context()) {
    std::vector<cl::Event> gates = {gate_};
    device.queue().enqueueBarrierWithWaitList(&gates);
  }
  HeldDevice(const HeldDevice&) = delete;
  HeldDevice& operator=(const HeldDevice&) = delete;
  ~HeldDevice() { let_go(); }
  void let_go() { gate_.setStatus(CL_COMPLETE); }

 private:
  cl::UserEvent gate_;
};

/// The run on device 0, processor `far` on device 1, whose commands do not run on the calling thread.
inline Settings held_settings(std::vector<std::string> lines) {
  Settings settings = two_device_settings();
  settings.device.index = 0;
  lines.emplace_back("processors.far.device=1");
  return with_processors(settings, lines);
}

/// An engine, and the second of its devices held.
struct HeldEngine {
  std::unique_ptr<Engine> engine;
  std::unique_ptr<HeldDevice> held;
};
inline HeldEngine held_engine(const EnginePlan& plan) {
  Devices devices = open_devices(ocl::Device::open(plan.settings.device), plan.settings);
  const ocl::Device second = devices.all.at(1);
  HeldEngine made{.engine = make_opencl_engine(std::move(devices), plan), .held = nullptr};
  second.wait();
  made.held = std::make_unique<HeldDevice>(second);
  return made;
}

/// Bits as random as they need be here (Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014).
inline std::uint32_t scrambled_bits(std::uint64_t i) {
  std::uint64_t z = (i + 1) * 0x9E3779B97F4A7C15U;
  z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9U;
  z = (z ^ (z >> 27U)) * 0x94D049BB133111EBU;
  return static_cast<std::uint32_t>(z >> 32U);
}

}  // namespace nearfield::test
