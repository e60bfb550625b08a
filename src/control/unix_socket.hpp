#pragma once
#include <cstdint>
#include <string>

#include "control/file_descriptor.hpp"

namespace nearfield::control {

/// A stream socket that listens at `path` with this file mode, from its first moment on; does not block. Replaces a
/// socket where nobody listens. Throws IoError.
FileDescriptor listen_at(const std::string& path, std::uint32_t mode);

/// A stream socket connected to `path`, whose reads and writes take at most `timeout_s`. Throws NoInputError when
/// nobody listens there, Error with kNoPermission when this user may not connect, else IoError.
FileDescriptor connect_to(const std::string& path, double timeout_s);

}  // namespace nearfield::control
