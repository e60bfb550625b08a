#pragma once
#include <filesystem>
#include <string>

namespace nearfield::page {

/// The token in a file that others cannot read: 16 to 256 letters, digits, "-" and "_", which a URL and a cookie carry
/// as they are. Throws NoInputError where it cannot be read, ConfigError where others can read it or it holds something
/// else.
std::string read_token(const std::filesystem::path& path);

/// A random token in a file of mode 0600, which the destructor removes if the token is still this one.
class TokenFile {
 public:
  /// Throws IoError.
  explicit TokenFile(std::filesystem::path path);
  ~TokenFile();
  TokenFile(const TokenFile&) = delete;
  TokenFile& operator=(const TokenFile&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  [[nodiscard]] const std::string& token() const { return token_; }

 private:
  std::filesystem::path path_;
  std::string token_;
};

}  // namespace nearfield::page
