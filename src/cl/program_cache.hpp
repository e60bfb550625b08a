#pragma once
#include <CL/opencl.hpp>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "cl/cache_files.hpp"

namespace nearfield::ocl {

/// CL_PLATFORM_NAME of PoCL.
inline constexpr std::string_view kPoclPlatform = "Portable Computing Language";

/// Where this user's caches are: $NEARFIELD_CACHE_DIR, else the first of $CACHE_DIRECTORY (systemd's), else
/// $XDG_CACHE_HOME/nearfield, else $HOME/.cache/nearfield. Empty, which is off: where NEARFIELD_CACHE_DIR is set to
/// nothing, and where none of them is set.
std::filesystem::path cache_folder();

/// Where programs are kept: in cache_folder(), but on PoCL nowhere unless NEARFIELD_CACHE_DIR is set. PoCL keeps
/// finished machine code itself, and when a binary is requested it compiles every kernel once more
/// (docs/program_cache.md).
std::filesystem::path program_cache_folder(std::string_view platform);

/// The POCL_CACHE_DIR that PoCL needs because the environment leaves it to PoCL, which then keeps machine code in
/// /tmp/pocl, where any user can put his own: the folder that it would use with HOME set to the home of this user's
/// entry in the user database, or a folder that cannot be, so that PoCL has no device, where there is no such home.
/// Nothing where POCL_CACHE_DIR, XDG_CACHE_HOME or HOME says otherwise.
std::optional<std::string> private_pocl_cache();

/// Puts private_pocl_cache() into the environment. Call before the first OpenCL call; later calls do nothing.
void keep_pocl_cache_private();

/// The key of what depends on platform, device, driver and compiler's environment, on `options` and on `source`. Values
/// of different kinds have different keys.
CacheKey device_key(std::string_view kind, const ::cl::Device& device, std::string_view options,
                    std::string_view source);

/// Binaries of built programs on disk, so that a start compiles only what no start before it has compiled. Never an
/// error: what is missing, damaged or refused by the driver is built again and stored.
class ProgramCache {
 public:
  explicit ProgramCache(CacheFiles files) : files_(std::move(files)) {}

  /// Platform, device, driver, compiler's environment, options and source.
  static CacheKey key_of(const ::cl::Device& device, const std::string& options, const std::string& source);

  /// A built program, or nothing.
  [[nodiscard]] std::optional<::cl::Program> load(const CacheKey& key, const ::cl::Context& context,
                                                  const ::cl::Device& device, const std::string& options) const;
  /// `program` must be built, for one device.
  void store(const CacheKey& key, const ::cl::Program& program) const;

 private:
  CacheFiles files_;
};

}  // namespace nearfield::ocl
