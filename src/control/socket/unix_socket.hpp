#pragma once
#include <string>

#include "core/system/file_descriptor.hpp"

namespace nearfield::control {

/// A stream socket connected to `path`, whose reads and writes take at most `timeout_s`. Throws NoInputError if no
/// process listens there, Error with kNoPermission if this user may not connect, else IoError.
FileDescriptor connect_to(const std::string& path, double timeout_s);

/// Limits reads and writes of the socket to this time from now on.
void set_timeout(int socket, double timeout_s);

}  // namespace nearfield::control
