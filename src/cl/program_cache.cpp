#include "cl/program_cache.hpp"

#include <fmt/format.h>
#include <pwd.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <mutex>
#include <vector>

#include "cl/error_name.hpp"

namespace nearfield::ocl {
namespace {

/// Empty if it is not set or set to nothing.
std::string_view variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string_view() : std::string_view(value);
}

/// Variables that change what PoCL compiles.
constexpr const char* kCompilerVariables[] = {"POCL_WORK_GROUP_METHOD",
                                              "POCL_WORK_GROUP_SPECIALIZATION",
                                              "POCL_BINARY_SPECIALIZE_WG",
                                              "POCL_FORCE_PARALLEL_OUTER_LOOP",
                                              "POCL_FULL_REPLICATION_THRESHOLD",
                                              "POCL_WILOOPS_MAX_UNROLL_COUNT",
                                              "POCL_LLVM_CPU_NAME",
                                              "POCL_KERNELLIB_NAME",
                                              "POCL_EXTRA_BUILD_FLAGS"};

/// Home of this process's user, from the user database, if it is a folder owned by him; else empty.
std::filesystem::path home_of_user() {
  passwd entry{};
  passwd* found = nullptr;
  std::vector<char> texts(16384);
  struct stat status {};
  if (getpwuid_r(geteuid(), &entry, texts.data(), texts.size(), &found) != 0 || found == nullptr ||
      stat(entry.pw_dir, &status) != 0 || !S_ISDIR(status.st_mode) || status.st_uid != geteuid()) {
    return {};
  }
  return entry.pw_dir;
}

std::string compiler_environment() {
  std::string text;
  for (const char* name : kCompilerVariables) {
    text += fmt::format("{}={}\n", name, variable(name));
  }
  return text;
}

}  // namespace

std::filesystem::path cache_folder() {
  if (const char* own = std::getenv("NEARFIELD_CACHE_DIR"); own != nullptr) {
    return own;
  }
  if (const std::string_view of_service = variable("CACHE_DIRECTORY"); !of_service.empty()) {
    return of_service.substr(0, of_service.find(':'));
  }
  if (const std::string_view of_user = variable("XDG_CACHE_HOME"); !of_user.empty()) {
    return std::filesystem::path(of_user) / "nearfield";
  }
  if (const std::string_view home = variable("HOME"); !home.empty()) {
    return std::filesystem::path(home) / ".cache" / "nearfield";
  }
  return {};
}

std::filesystem::path program_cache_folder(std::string_view platform) {
  const bool is_left_to_pocl = platform == kPoclPlatform && std::getenv("NEARFIELD_CACHE_DIR") == nullptr;
  return is_left_to_pocl ? std::filesystem::path() : cache_folder();
}

std::optional<std::string> private_pocl_cache() {
  for (const char* name : {"POCL_CACHE_DIR", "XDG_CACHE_HOME", "HOME"}) {
    if (!variable(name).empty()) {
      return std::nullopt;
    }
  }
  const std::filesystem::path home = home_of_user();
  return home.empty() ? "/dev/null/no-home-for-pocl" : (home / ".cache" / "pocl" / "kcache").string();
}

void keep_pocl_cache_private() {
  static std::once_flag once;
  std::call_once(once, [] {
    if (const std::optional<std::string> folder = private_pocl_cache()) {
      setenv("POCL_CACHE_DIR", folder->c_str(), 1);
    }
  });
}

CacheKey device_key(std::string_view kind, const ::cl::Device& device, std::string_view options,
                    std::string_view source) {
  const ::cl::Platform platform(device.getInfo<CL_DEVICE_PLATFORM>());
  return cache_key({kind, platform.getInfo<CL_PLATFORM_NAME>(), platform.getInfo<CL_PLATFORM_VERSION>(),
                    device.getInfo<CL_DEVICE_NAME>(), device.getInfo<CL_DEVICE_VERSION>(),
                    device.getInfo<CL_DRIVER_VERSION>(), compiler_environment(), options, source});
}

CacheKey ProgramCache::key_of(const ::cl::Device& device, const std::string& options, const std::string& source) {
  return device_key("program", device, options, source);
}

std::optional<::cl::Program> ProgramCache::load(const CacheKey& key, const ::cl::Context& context,
                                                const ::cl::Device& device, const std::string& options) const {
  std::optional<std::vector<unsigned char>> binary = files_.load(key);
  if (!binary) {
    return std::nullopt;
  }
  cl_int code = CL_SUCCESS;
  ::cl::Program program(context, {device}, {std::move(*binary)}, nullptr, &code);
  if (code == CL_SUCCESS) {
    code = program.build(device, options.c_str());
  }
  if (code != CL_SUCCESS) {
    spdlog::debug("{}: the driver refuses this program, OpenCL error {} ({})", files_.path_of(key).string(), code,
                  error_name(code));
    return std::nullopt;
  }
  return program;
}

void ProgramCache::store(const CacheKey& key, const ::cl::Program& program) const {
  if (!files_.is_on()) {
    return;
  }
  cl_int code = CL_SUCCESS;
  const std::vector<std::vector<unsigned char>> binaries = program.getInfo<CL_PROGRAM_BINARIES>(&code);
  if (code == CL_SUCCESS && binaries.size() == 1 && !binaries.front().empty()) {
    files_.store(key, binaries.front());
  }
}

}  // namespace nearfield::ocl
