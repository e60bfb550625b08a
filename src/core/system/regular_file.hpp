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

/// The first `most_bytes` bytes of a file that root or this process's user alone can read and change, or that a group
/// of root or of this process can read: systemd passes a credential as a file of the group root, readable by that
/// group. Throws NoInputError if it cannot be read, ConfigError if others could read or change it; `expected` names
/// what the file should hold, such as "a token".
std::string read_secret_file(const std::filesystem::path& path, std::string_view expected, std::size_t most_bytes);

/// Writes a file of mode 0600 less the umask, whole or not at all, replacing an older one. Throws IoError.
void write_secret_file(const std::filesystem::path& path, std::string_view bytes);

}  // namespace nearfield
