#pragma once
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "core/error.hpp"

namespace nearfield {

/// A file of a test's own, gone with this object.
class WrittenFile {
 public:
  explicit WrittenFile(const std::string& content) {
    static std::atomic<int> count{0};
    folder_ = std::filesystem::temp_directory_path() /
              ("nearfield_config_test_" + std::to_string(::getpid()) + "_" + std::to_string(count++));
    std::filesystem::create_directory(folder_);
    std::ofstream(path(), std::ios::binary) << content;
  }
  ~WrittenFile() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  WrittenFile(const WrittenFile&) = delete;
  WrittenFile& operator=(const WrittenFile&) = delete;

  [[nodiscard]] std::string path() const { return (folder_ / "lab.yaml").string(); }
  [[nodiscard]] const std::filesystem::path& folder() const { return folder_; }

 private:
  std::filesystem::path folder_;
};

/// The lines of the ConfigError of `load(path)`, each from the file's bare name on; none when there is no error.
template <class Load>
std::vector<std::string> error_lines(const std::string& text, const Load& load) {
  const WrittenFile file(text);
  std::vector<std::string> lines;
  try {
    load(file.path());
  } catch (const ConfigError& error) {
    std::istringstream stream(error.what());
    const std::string folder = file.folder().string() + "/";
    for (std::string line; std::getline(stream, line);) {
      lines.push_back(line.starts_with(folder) ? line.substr(folder.size()) : line);
    }
  }
  return lines;
}

}  // namespace nearfield
