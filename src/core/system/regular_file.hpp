#pragma once
#include <filesystem>
#include <string>
#include <string_view>

#include "core/system/file_descriptor.hpp"

namespace nearfield {

/// Opens a regular file for reading. A pipe or a device is refused at once: opening or reading it could wait for ever.
/// Throws NoInputError; `expected` names what the file should be, such as "a YAML file".
FileDescriptor open_regular_file(const std::filesystem::path& path, std::string_view expected);

/// The first `most_bytes` bytes of an open file, fewer if it is shorter; `path` is for messages. Throws NoInputError.
std::string read_open_file(const FileDescriptor& file, const std::filesystem::path& path, std::size_t most_bytes);

/// The first `most_bytes` bytes of a regular file, fewer if it is shorter. Throws NoInputError.
std::string read_regular_file(const std::filesystem::path& path, std::string_view expected, std::size_t most_bytes);

}  // namespace nearfield
