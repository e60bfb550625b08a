#pragma once
#include <string>

#include "core/system/file_descriptor.hpp"

namespace nearfield {

/// A file in memory that holds `text`, to be read from its beginning: the standard input of a process that reads when
/// it likes. Throws IoError.
FileDescriptor memory_file(const std::string& text);

}  // namespace nearfield
