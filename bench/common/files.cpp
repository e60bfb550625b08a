#include "bench/common/files.hpp"

#include <fmt/format.h>
#include <stdlib.h>

#include <cerrno>
#include <cmath>
#include <string>
#include <system_error>

#include "core/error.hpp"
#include "core/system/partial_file.hpp"
#include "version/version.hpp"

namespace nearfield::bench {
namespace {

[[noreturn]] void throw_io(const std::filesystem::path& path, std::string_view what, const std::error_code& error) {
  throw IoError(fmt::format("{}: {}: {}", path.string(), what, error.message()));
}

}  // namespace

TemporaryFolder::TemporaryFolder() {
  std::string pattern = (std::filesystem::temp_directory_path() / "nearfield-bench-XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) {
    throw_io(pattern, "can't make a temporary folder", {errno, std::generic_category()});
  }
  path_ = pattern;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

void write_text(const std::filesystem::path& path, std::string_view text) { write_whole_file(path, text); }

nlohmann::ordered_json report_head(std::string_view benchmark, const ocl::DeviceInfo& device) {
  return {{"benchmark", benchmark},
          {"version", version()},
          {"commit", commit()},
          {"device",
           {{"name", device.name},
            {"platform", device.platform},
            {"version", device.version},
            {"driver", device.driver},
            {"is_gpu", device.is_gpu},
            {"compute_units", device.compute_units},
            {"max_work_group_size", device.max_work_group_size},
            {"local_memory_bytes", device.local_memory_bytes},
            {"global_memory_bytes", device.global_memory_bytes}}}};
}

nlohmann::ordered_json to_json(const Distribution& d) {
  return {{"count", d.count}, {"minimum", d.minimum}, {"median", d.median},
          {"p99", d.p99},     {"p99_9", d.p999},      {"maximum", d.maximum}};
}

nlohmann::ordered_json to_json(const Ceilings& c) {
  return {{"write_bytes_per_s", c.write_bytes_per_s},
          {"read_bytes_per_s", c.read_bytes_per_s},
          {"locked_write_bytes_per_s", c.locked_write_bytes_per_s},
          {"locked_read_bytes_per_s", c.locked_read_bytes_per_s},
          {"copy_bytes_per_s", c.copy_bytes_per_s},
          {"operations_per_s", c.operations_per_s},
          {"launch_and_wait_s", c.launch_and_wait_s},
          {"further_launch_s", c.further_launch_s}};
}

nlohmann::ordered_json finite_or_null(double value) {
  return std::isfinite(value) ? nlohmann::ordered_json(value) : nlohmann::ordered_json(nullptr);
}

}  // namespace nearfield::bench
