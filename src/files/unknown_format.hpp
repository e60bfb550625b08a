#pragma once
#include <filesystem>
#include <string>

namespace nearfield {

/// End of a message: the probable kind of a file that is not HDF5, by its first bytes, and how to convert it to a
/// format that is read.
std::string hint_on_unknown_format(const std::filesystem::path& path);

}  // namespace nearfield
