#pragma once
#include <filesystem>
#include <string>

namespace nearfield {

/// Folder of the running program's file, links resolved: programs that are installed together find each other there.
/// Empty if /proc cannot be read.
std::filesystem::path folder_of_this_program();

/// The program of that name in the running one's folder; if there is none, the bare name, which execvp() and
/// posix_spawnp() look up in PATH.
std::string program_to_run(const std::string& name);

}  // namespace nearfield
