#include "core/system/memory_file.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "core/error.hpp"

namespace nearfield {

FileDescriptor memory_file(const std::string& text) {
  FileDescriptor file(memfd_create("standard input", MFD_CLOEXEC));
  if (!file.valid() || write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()) ||
      lseek(file.get(), 0, SEEK_SET) != 0) {
    throw IoError(fmt::format("standard input of a process: {}", std::generic_category().message(errno)));
  }
  return file;
}

}  // namespace nearfield
