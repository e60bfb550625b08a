#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "config/config.hpp"
#include "core/daemon_settings.hpp"
#include "core/error.hpp"

namespace {

/// A file in memory for load_settings(); gone with this object.
class MemoryFile {
 public:
  explicit MemoryFile(const std::string& text) : descriptor_(memfd_create("config", MFD_CLOEXEC)) {
    if (descriptor_ < 0 || write(descriptor_, text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
      std::abort();
    }
  }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  ~MemoryFile() { close(descriptor_); }
  [[nodiscard]] std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

 private:
  int descriptor_;
};

}  // namespace

/// The text of a configuration; what follows a zero byte is an override. Either a ConfigError comes out, or settings
/// that are written and read back without change.
// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string input(data, data + size);
  const std::size_t zero = input.find('\0');
  std::vector<std::string> overrides;
  if (zero != std::string::npos) {
    overrides.push_back(input.substr(zero + 1));
  }
  nearfield::Settings settings;
  try {
    settings = nearfield::load_daemon_settings(MemoryFile(input.substr(0, zero)).path(), overrides);
  } catch (const nearfield::ConfigError&) {
    return 0;
  }
  const nearfield::Settings again = nearfield::load_daemon_settings(MemoryFile(to_yaml(settings)).path(), {});
  if (to_yaml(again) != to_yaml(settings) || *again.daemon != *settings.daemon) {
    std::abort();
  }
  return 0;
}
