#pragma once
#include <CL/opencl.hpp>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "cl/cache_files.hpp"

namespace nearfield::ocl {

/// Names of a kernel's arguments in their order. Arguments from `fixed` on exist only with certain macros.
struct KernelSignature {
  std::string_view name;
  std::span<const std::string_view> arguments;
  std::size_t fixed = 0;
};

/// A file below kernels/ with the files it needs, embedded in the program. cmake/embed_kernels.py writes the table.
struct EmbeddedKernel {
  std::string_view path;                     ///< below kernels/, such as "imaging/extrapolate.cl"
  std::span<const std::string_view> texts;   ///< the program's text in pieces
  std::span<const KernelSignature> kernels;  ///< all kernels of the program
};

std::span<const EmbeddedKernel> embedded_kernels();

/// CL_PLATFORM_NAME of PoCL.
inline constexpr std::string_view kPoclPlatform = "Portable Computing Language";

/// Folder of this user's caches: $NEARFIELD_CACHE_DIR, else the first of $CACHE_DIRECTORY (systemd's), else
/// $XDG_CACHE_HOME/nearfield, else $HOME/.cache/nearfield. Empty, which means off, if NEARFIELD_CACHE_DIR is set to
/// nothing, or none of them is set.
std::filesystem::path cache_folder();

/// Folder of built programs: in cache_folder(), but none on PoCL unless NEARFIELD_CACHE_DIR is set. PoCL caches
/// finished machine code itself, and a request for a binary makes it compile every kernel once more
/// (docs/use/program_cache.md).
std::filesystem::path program_cache_folder(std::string_view platform);

/// The POCL_CACHE_DIR to set when the environment leaves the choice to PoCL, which would then keep machine code in
/// /tmp/pocl, where any user can put his own: the folder that it would use with HOME set to the home of this user's
/// entry in the user database, or, without such a home, an impossible folder, so that PoCL has no device. Empty if
/// POCL_CACHE_DIR, XDG_CACHE_HOME or HOME is set.
std::optional<std::string> private_pocl_cache();

/// Puts private_pocl_cache() into the environment. Call before the first OpenCL call; later calls do nothing.
void keep_pocl_cache_private();

/// Key that depends on platform, device, driver and compiler's environment, on `options` and on `source`. Values of
/// different kinds have different keys.
CacheKey device_key(std::string_view kind, const ::cl::Device& device, std::string_view options,
                    std::string_view source);

/// Binaries of built programs on disk, so that a start compiles only what has not been compiled before. Never an error:
/// a program that is missing, damaged or refused by the driver is built again and stored.
class ProgramCache {
 public:
  explicit ProgramCache(CacheFiles files) : files_(std::move(files)) {}

  /// Platform, device, driver, compiler's environment, options and source.
  static CacheKey key_of(const ::cl::Device& device, const std::string& options, const std::string& source);

  /// A built program, or empty.
  [[nodiscard]] std::optional<::cl::Program> load(const CacheKey& key, const ::cl::Context& context,
                                                  const ::cl::Device& device, const std::string& options) const;
  /// `program` must be built, for one device.
  void store(const CacheKey& key, const ::cl::Program& program) const;

 private:
  CacheFiles files_;
};

}  // namespace nearfield::ocl
