#pragma once
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "bench/common/timing.hpp"
#include "cl/device.hpp"

/// What the benchmarks write.
namespace nearfield::bench {

/// A folder of its own that goes away with it. Throws IoError when there can't be one.
class TemporaryFolder {
 public:
  TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder();
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

/// Writes `path`.partial and renames it. Throws IoError; nothing is left then.
void write_text(const std::filesystem::path& path, std::string_view text);

/// Version and commit of the program, the benchmark's name, and device and driver.
nlohmann::ordered_json report_head(std::string_view benchmark, const ocl::DeviceInfo& device);
nlohmann::ordered_json to_json(const Distribution& distribution);
nlohmann::ordered_json to_json(const Ceilings& ceilings);
/// A number, or null where it is not finite.
nlohmann::ordered_json finite_or_null(double value);

}  // namespace nearfield::bench
