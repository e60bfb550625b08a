#pragma once
#include <filesystem>
#include <string>
#include <string_view>

namespace nearfield {

/// The first `most_bytes` bytes of a file that root or this process's user alone can read and change, or that a group
/// which root or this process is in can read: systemd passes a credential as a file of the group root, readable by that
/// group. Throws NoInputError where it cannot be read, ConfigError where others could read or change it; `expected`
/// names what the file should hold, such as "a token".
std::string read_secret_file(const std::filesystem::path& path, std::string_view expected, std::size_t most_bytes);

/// Writes a file of mode 0600 less the umask, whole or not at all, in place of an older one. Throws IoError.
void write_secret_file(const std::filesystem::path& path, std::string_view bytes);

}  // namespace nearfield
