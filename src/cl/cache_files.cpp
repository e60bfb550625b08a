#include "cl/cache_files.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "core/crc32c.hpp"
#include "core/system/files.hpp"

namespace nearfield::ocl {
namespace {

namespace fs = std::filesystem;

constexpr std::array<char, 8> kMagic = {'N', 'F', 'C', 'A', 'C', 'H', 'E', '\n'};
constexpr std::uint32_t kVersion = 1;
constexpr std::string_view kEnding = ".cache";
constexpr std::string_view kTemporary = ".nearfield-partial-";
constexpr const char* kLock = ".nearfield-lock";
/// A temporary file this old belongs to a process that did not finish it.
constexpr auto kAbandoned = std::chrono::hours(1);

/// Header of a value's file, in this machine's byte order.
struct Header {
  std::array<char, 8> magic = kMagic;
  std::uint32_t version = kVersion;
  std::uint32_t crc32c = 0;  ///< over header, with 0 here, and value
  std::uint64_t value_bytes = 0;
  CacheKey key;
};
static_assert(sizeof(Header) == 40);

void say_once_that_it_cannot_write(const fs::path& folder, std::string_view why) {
  static std::atomic<bool> said{false};
  if (!said.exchange(true)) {
    spdlog::info("{}: nothing is cached: {}", folder.string(), why);
  }
}

std::uint32_t crc_of(Header header, std::span<const unsigned char> value) {
  header.crc32c = 0;
  std::array<unsigned char, sizeof(Header)> bytes{};
  std::memcpy(bytes.data(), &header, sizeof(Header));
  return crc32c(std::as_bytes(value), crc32c(std::as_bytes(std::span(bytes))));
}

bool is_own(const struct stat& status) { return status.st_uid == geteuid(); }

/// Invalid with errno set on failure. The folder itself may be a link, as systemd has it for DynamicUser=.
FileDescriptor open_folder(const fs::path& folder) {
  FileDescriptor opened(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  struct stat status {};
  if (opened.valid() && (fstat(opened.get(), &status) != 0 || !is_own(status))) {
    opened = FileDescriptor();
    errno = EPERM;
  }
  return opened;
}

/// Also creates missing parent folders. False with errno set on failure.
bool make_folder(const fs::path& folder) {
  fs::path made;
  std::error_code error;
  for (const fs::path& part : folder) {
    made /= part;
    if (mkdir(made.c_str(), S_IRWXU) != 0 && errno != EEXIST && !fs::is_directory(made, error)) {
      return false;
    }
  }
  return true;
}

/// Excludes other processes and other threads of this one until it is closed. Invalid with errno set on failure.
FileDescriptor lock_folder(const fs::path& folder) {
  if (!make_folder(folder)) {
    return {};
  }
  const FileDescriptor opened = open_folder(folder);
  if (!opened.valid()) {
    return {};
  }
  FileDescriptor lock(openat(opened.get(), kLock, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, S_IRUSR | S_IWUSR));
  while (lock.valid() && flock(lock.get(), LOCK_EX) != 0) {
    if (errno != EINTR) {
      return {};
    }
  }
  return lock;
}

bool read_all(int descriptor, void* into, std::size_t bytes) {
  auto* next = static_cast<char*>(into);
  while (bytes > 0) {
    const ssize_t count = read(descriptor, next, bytes);
    if (count < 0 && errno == EINTR) {
      continue;
    }
    if (count <= 0) {
      return false;
    }
    next += count;
    bytes -= static_cast<std::size_t>(count);
  }
  return true;
}

std::string_view cached_text(const void* from, std::size_t bytes) { return {static_cast<const char*>(from), bytes}; }

struct StoredFile {
  fs::path path;
  std::uint64_t bytes = 0;
  fs::file_time_type used;
};

/// True for a key in hexadecimal and the ending: the folder may contain other files.
bool is_ours(const fs::path& path) {
  const std::string stem = path.stem().string();
  return path.extension() == kEnding && stem.size() == 2 * sizeof(CacheKey::bytes) &&
         stem.find_first_not_of("0123456789abcdef") == std::string::npos;
}

/// Files of this cache; deletes abandoned temporary ones.
std::vector<StoredFile> stored_files(const fs::path& folder) {
  std::vector<StoredFile> files;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    std::error_code gone;
    const StoredFile file{at->path(), at->file_size(gone), at->last_write_time(gone)};
    if (gone) {
      continue;
    }
    if (is_ours(file.path)) {
      files.push_back(file);
    } else if (file.path.filename().string().starts_with(kTemporary) &&
               file.used + kAbandoned < fs::file_time_type::clock::now()) {
      fs::remove(file.path, gone);
    }
  }
  return files;
}

/// Deletes the least recently used files until at most `most_bytes` remain.
void make_room(const fs::path& folder, std::uint64_t most_bytes) {
  std::vector<StoredFile> files = stored_files(folder);
  std::sort(files.begin(), files.end(), [](const StoredFile& a, const StoredFile& b) { return a.used > b.used; });
  std::uint64_t kept_bytes = 0;
  for (const StoredFile& file : files) {
    kept_bytes += file.bytes;
    if (kept_bytes > most_bytes) {
      std::error_code ignored;
      fs::remove(file.path, ignored);
    }
  }
}

}  // namespace

std::string CacheKey::hex() const { return fmt::format("{:02x}", fmt::join(bytes, "")); }

CacheKey cache_key(std::initializer_list<std::string_view> parts) {
  std::string text;
  for (const std::string_view part : parts) {
    text += fmt::format("{}:", part.size());
    text += part;
  }
  XXH128_canonical_t canonical{};
  XXH128_canonicalFromHash(&canonical, XXH3_128bits(text.data(), text.size()));
  CacheKey key;
  std::copy(std::begin(canonical.digest), std::end(canonical.digest), key.bytes.begin());
  return key;
}

fs::path CacheFiles::path_of(const CacheKey& key) const { return folder_ / (key.hex() + std::string(kEnding)); }

std::optional<std::vector<unsigned char>> CacheFiles::load(const CacheKey& key) const {
  if (!is_on()) {
    return std::nullopt;
  }
  const FileDescriptor folder = open_folder(folder_);
  if (!folder.valid()) {
    return std::nullopt;
  }
  const std::string name = path_of(key).filename();
  const FileDescriptor file(openat(folder.get(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat status {};
  if (!file.valid() || fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode) || !is_own(status)) {
    return std::nullopt;
  }
  Header header;
  const auto file_bytes = static_cast<std::uint64_t>(status.st_size);
  if (file_bytes < sizeof(Header) || file_bytes > most_bytes_ || !read_all(file.get(), &header, sizeof(Header)) ||
      header.magic != kMagic || header.version != kVersion || header.key != key ||
      header.value_bytes != file_bytes - sizeof(Header)) {
    return std::nullopt;
  }
  std::vector<unsigned char> value(header.value_bytes);
  if (!read_all(file.get(), value.data(), value.size()) || crc_of(header, value) != header.crc32c) {
    return std::nullopt;
  }
  (void)futimens(file.get(), nullptr);  // marks it as recently used
  return value;
}

bool CacheFiles::write(const CacheKey& key, std::span<const unsigned char> value) const {
  const auto give_up = [&](std::string_view what) {
    say_once_that_it_cannot_write(folder_, fmt::format("{}: {}", what, std::strerror(errno)));
    return false;
  };
  if (!make_folder(folder_) || !open_folder(folder_).valid()) {
    return give_up("expected a folder of this user");
  }
  std::string temporary = (folder_ / (std::string(kTemporary) + "XXXXXX")).string();
  const FileDescriptor file(mkostemp(temporary.data(), O_CLOEXEC));
  if (!file.valid()) {
    return give_up("can't write");
  }
  Header header;
  header.value_bytes = value.size();
  header.key = key;
  header.crc32c = crc_of(header, value);
  const fs::path path = path_of(key);
  std::error_code in_the_way;
  if (fs::is_directory(fs::symlink_status(path, in_the_way))) {
    fs::remove_all(path, in_the_way);
  }
  if (!write_all(file.get(), cached_text(&header, sizeof(header))) ||
      !write_all(file.get(), cached_text(value.data(), value.size())) ||
      std::rename(temporary.c_str(), path.c_str()) != 0) {
    (void)give_up("can't write");
    unlink(temporary.c_str());
    return false;
  }
  return true;
}

void CacheFiles::store(const CacheKey& key, std::span<const unsigned char> value) const {
  if (is_on() && value.size() + sizeof(Header) <= most_bytes_ && write(key, value)) {
    make_room(folder_, most_bytes_);
  }
}

std::optional<std::vector<unsigned char>> CacheFiles::store_first(
    const CacheKey& key, std::span<const unsigned char> value,
    const std::function<bool(std::span<const unsigned char>)>& is_usable) const {
  if (!is_on()) {
    return std::nullopt;
  }
  const FileDescriptor lock = lock_folder(folder_);
  if (!lock.valid()) {
    say_once_that_it_cannot_write(folder_, std::strerror(errno));
    return std::nullopt;
  }
  std::optional<std::vector<unsigned char>> first = load(key);
  if (!first || !is_usable(*first)) {
    store(key, value);
    first = load(key);
  }
  return first && is_usable(*first) ? first : std::nullopt;  // an unusable one stays if it could not be replaced
}

bool CacheFiles::can_store_first() const { return is_on() && lock_folder(folder_).valid(); }

}  // namespace nearfield::ocl
