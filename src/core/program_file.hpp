#pragma once
#include <filesystem>

namespace nearfield {

/// Where the file of the running program lies, links followed: programs that are installed together find each other
/// there. Empty where /proc does not say.
std::filesystem::path folder_of_this_program();

}  // namespace nearfield
