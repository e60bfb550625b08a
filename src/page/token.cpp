#include "page/token.hpp"

#include <fmt/format.h>
#include <sys/random.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <exception>
#include <sstream>
#include <system_error>
#include <utility>

#include "core/error.hpp"
#include "core/system/regular_file.hpp"

namespace nearfield::page {
namespace {

constexpr std::size_t kFewestTokenCharacters = 16;
constexpr std::size_t kMostTokenCharacters = 256;
constexpr std::size_t kMostTokenBytes = 4096;
constexpr std::size_t kRandomBytes = 32;

std::string random_token() {
  std::array<std::uint8_t, kRandomBytes> bytes{};
  if (getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    throw IoError(fmt::format("can't make a random token: {}", std::strerror(errno)));
  }
  std::string token;
  for (const std::uint8_t byte : bytes) {
    token += fmt::format("{:02x}", byte);
  }
  return token;
}

}  // namespace

std::string read_token(const std::filesystem::path& path) {
  std::string token;
  std::istringstream(read_secret_file(path, "a token", kMostTokenBytes)) >> token;
  const bool is_plain =
      token.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_") == std::string::npos;
  if (!is_plain || token.size() < kFewestTokenCharacters || token.size() > kMostTokenCharacters) {
    throw ConfigError(fmt::format(
        "{}: expected a token of {} to {} letters, digits, \"-\" and \"_\", found {} characters{}", path.string(),
        kFewestTokenCharacters, kMostTokenCharacters, token.size(), is_plain ? "" : ", others among them"));
  }
  return token;
}

TokenFile::TokenFile(std::filesystem::path path) : path_(std::move(path)), token_(random_token()) {
  write_secret_file(path_, token_ + "\n");
}

TokenFile::~TokenFile() {
  try {
    if (read_token(path_) == token_) {
      std::error_code ignored;
      std::filesystem::remove(path_, ignored);
    }
  } catch (const std::exception&) {  // replaced by another daemon or removed: nothing to do
  }
}

}  // namespace nearfield::page
