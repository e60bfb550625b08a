#pragma once
#include <filesystem>
#include <string>

namespace nearfield {

/// Where the file of the running program lies, links followed: programs that are installed together find each other
/// there. Empty where /proc cannot be read.
std::filesystem::path folder_of_this_program();

/// The program of that name beside the running one; where there is none, the bare name, which execvp() and
/// posix_spawnp() look for in PATH.
std::string program_to_run(const std::string& name);

}  // namespace nearfield
