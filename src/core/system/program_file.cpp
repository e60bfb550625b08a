#include "core/system/program_file.hpp"

#include <system_error>

namespace nearfield {

std::filesystem::path folder_of_this_program() {
  std::error_code ignored;
  return std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path();
}

std::string program_to_run(const std::string& name) {
  const std::filesystem::path beside = folder_of_this_program() / name;
  std::error_code ignored;
  return std::filesystem::exists(beside, ignored) ? beside.string() : name;
}

}  // namespace nearfield
