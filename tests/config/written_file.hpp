#pragma once
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <string>

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

}  // namespace nearfield
