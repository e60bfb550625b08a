#include "audio/alsa.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <array>
#include <cstdarg>
#include <cstdio>
#include <utility>

#include "core/error.hpp"

namespace nearfield::audio {
namespace {

/// The last line that the library would have written to stderr.
std::string& last_line() {
  thread_local std::string line;
  return line;
}

extern "C" void keep_line(const char* /*file*/, int /*line*/, const char* /*function*/, int /*error*/,
                          const char* format, ...) {
  constexpr std::size_t kLongest = 200;
  std::array<char, kLongest> text{};
  va_list arguments;
  va_start(arguments, format);
  (void)std::vsnprintf(text.data(), text.size(), format, arguments);
  va_end(arguments);
  last_line() = text.data();
}

template <typename Call>
void load(void* library, const char* name, Call& call) {
  call = reinterpret_cast<Call>(dlsym(library, name));
  if (call == nullptr) {
    throw NoInputError(fmt::format("audio: expected {} in libasound.so.2, found a version without it", name));
  }
}

Alsa opened() {
  void* const library = dlopen("libasound.so.2", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    throw NoInputError(
        fmt::format("audio: expected ALSA's library, found none ({}); Debian's package libasound2 has it", dlerror()));
  }
  Alsa calls;
#define NEARFIELD_ALSA_LOAD(name) load(library, #name, calls.name);
  NEARFIELD_ALSA_CALLS(NEARFIELD_ALSA_LOAD)
#undef NEARFIELD_ALSA_LOAD
  (void)calls.snd_lib_error_set_handler(keep_line);
  return calls;
}

}  // namespace

const Alsa& alsa() {
  static const Alsa kCalls = opened();
  return kCalls;
}

std::string text_of_error(int error) {
  const std::string line = std::exchange(last_line(), {});
  const char* const system = alsa().snd_strerror(error);
  return line.empty() || line.find(system) != std::string::npos ? system : fmt::format("{}; {}", line, system);
}

}  // namespace nearfield::audio
