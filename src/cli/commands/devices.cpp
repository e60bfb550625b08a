#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "audio/capture.hpp"
#include "cl/device.hpp"
#include "cli/command.hpp"

namespace nearfield::cli {
namespace {

constexpr double kGibibyte = 1024.0 * 1024.0 * 1024.0;

nlohmann::json device_json(const ocl::DeviceInfo& device) {
  return {{"name", device.name},
          {"platform", device.platform},
          {"kind", device.is_gpu ? "gpu" : "other"},
          {"version", device.version},
          {"driver", device.driver},
          {"compute_units", device.compute_units},
          {"global_memory_bytes", device.global_memory_bytes},
          {"local_memory_bytes", device.local_memory_bytes},
          {"fp64", device.has_fp64}};
}

void print_devices_json(const std::vector<ocl::DeviceInfo>& devices) {
  nlohmann::json list = nlohmann::json::array();
  std::transform(devices.begin(), devices.end(), std::back_inserter(list), device_json);
  fmt::print("{}\n", list.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
}

void list_audio(bool as_json) {
  const std::vector<audio::DeviceFacts> devices = audio::list_devices();
  nlohmann::json list = nlohmann::json::array();
  for (const audio::DeviceFacts& device : devices) {
    std::vector<std::string_view> formats;
    std::transform(device.formats.begin(), device.formats.end(), std::back_inserter(formats),
                   [](SampleFormat one) { return name_of(one); });
    list.push_back({{"name", device.name},
                    {"description", device.description},
                    {"fewest_channels", device.fewest_channels},
                    {"most_channels", device.most_channels},
                    {"rates_hz", device.rates_hz},
                    {"formats", formats},
                    {"flaw", device.flaw}});
    if (!as_json) {
      fmt::print("{}\n  {}\n  {}\n", device.name, device.description, text_of(device));
    }
  }
  if (as_json) {
    fmt::print("{}\n", list.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
  } else if (devices.empty()) {
    fmt::print("no audio device that captures: /proc/asound/cards lists the cards that the kernel knows\n");
  }
}

void run(bool as_json) {
  const std::vector<ocl::DeviceInfo> devices = ocl::list_devices();
  if (devices.empty()) {
    (void)ocl::find_device({});  // says what is missing
  }
  if (as_json) {
    print_devices_json(devices);
    return;
  }
  for (const ocl::DeviceInfo& device : devices) {
    fmt::print("{}\n", device.name);
    fmt::print("  platform      {}\n", device.platform);
    fmt::print("  kind          {}\n", device.is_gpu ? "GPU" : "CPU or other");
    fmt::print("  version       {}, driver {}\n", device.version, device.driver);
    fmt::print("  compute units {}\n", device.compute_units);
    fmt::print("  memory        {:.1f} GiB global, {} KiB local\n",
               static_cast<double>(device.global_memory_bytes) / kGibibyte, device.local_memory_bytes / 1024);
    fmt::print("  fp64          {}\n", device.has_fp64 ? "yes" : "no: predictors lose digits on very smooth fields");
  }
}

}  // namespace

void add_devices(CLI::App& app) {
  CLI::App* command = app.add_subcommand("devices", "List the OpenCL devices of this machine, or its audio devices");
  const auto as_json = std::make_shared<bool>(false);
  command->add_flag("--json", *as_json, "print them as JSON");
  const auto of_audio = std::make_shared<bool>(false);
  command->add_flag("--audio", *of_audio, "list the audio devices that capture, with channels, rates and formats");
  command->callback([as_json, of_audio] { *of_audio ? list_audio(*as_json) : run(*as_json); });
}

}  // namespace nearfield::cli
