#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace nearfield {

std::string host_name();
/// The kernel's boot UUID, which changes at each boot; empty if it cannot be read (a service with ProcSubset=pid).
std::string boot_id();
/// A random number that tells one recording or ring from all others.
std::uint64_t random_id();
/// Memory that programs can still allocate without swapping, bytes (MemAvailable of /proc/meminfo); infinite if it
/// cannot be read.
double available_memory_bytes();

/// Processors that the calling thread may run on, at least 1.
int usable_processors();

/// Folder of the running program's file, links resolved: programs that are installed together find each other there.
/// Empty if /proc cannot be read.
std::filesystem::path folder_of_this_program();

/// The program of that name in the running one's folder; if there is none, the bare name, which execvp() and
/// posix_spawnp() look up in PATH.
std::string program_to_run(const std::string& name);

/// Arguments for execvp() and posix_spawnp(), which point into `words`, and a null pointer.
std::vector<char*> argv_of(std::vector<std::string>& words);

/// True if a line written to the descriptor can be replaced by the next one: a terminal whose TERM is not "dumb".
bool can_redraw(int descriptor);

/// False if NO_COLOR is set and not empty (no-color.org), or can_redraw() is false.
bool takes_colours(int descriptor);

/// Size of a terminal in characters and lines.
struct TextSize {
  int columns = 0;
  int lines = 0;
};

/// Size of the terminal at a file descriptor; 80 x 24 if it is not a terminal or does not report its size.
TextSize terminal_size(int descriptor);

}  // namespace nearfield
