#pragma once
#include <filesystem>
#include <string>

namespace nearfield {

/// What a file seems to be that is none of HDF5, by its first bytes, and how to bring it into a format that is read:
/// the end of a message.
std::string hint_on_unknown_format(const std::filesystem::path& path);

}  // namespace nearfield
