#include <fmt/format.h>

#include "cl/device.hpp"
#include "cli/command.hpp"
#include "nearfield/error.hpp"

namespace nearfield::cli {
namespace {

constexpr double kGibibyte = 1024.0 * 1024.0 * 1024.0;

void run() {
  const std::vector<ocl::DeviceInfo> devices = ocl::list_devices();
  if (devices.empty()) {
    throw DeviceError("no OpenCL device found; install a GPU driver with OpenCL or PoCL (pocl-opencl-icd)");
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
  CLI::App* command = app.add_subcommand("devices", "List the OpenCL devices of this machine");
  command->callback([] { run(); });
}

}  // namespace nearfield::cli
