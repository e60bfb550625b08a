#include "files/time_data/line_reader.hpp"

#include <fmt/format.h>

namespace nearfield::time_data {
namespace {

constexpr std::size_t kBufferBytes = 65536;
constexpr std::size_t kLongestLine = 1024;

}  // namespace

void LineReader::fill() {
  offset_ += begin_;
  begin_ = 0;
  buffer_ = file_->text(offset_, kBufferBytes);
}

void LineReader::go_to(std::uint64_t offset) {
  offset_ = offset;
  begin_ = 0;
  buffer_.clear();
}

std::optional<std::string_view> LineReader::next() {
  std::size_t end = buffer_.find('\n', begin_);
  if (end == std::string::npos) {
    fill();
    if (buffer_.empty()) {
      return std::nullopt;
    }
    end = buffer_.find('\n');
  }
  const std::size_t stop = end == std::string::npos ? buffer_.size() : end;
  if (stop - begin_ > kLongestLine) {
    throw file_->wrong(fmt::format("byte {}", offset()), "a line of more than 1024 characters", "lines of 80");
  }
  std::string_view line = std::string_view(buffer_).substr(begin_, stop - begin_);
  begin_ = end == std::string::npos ? buffer_.size() : end + 1;
  if (line.ends_with('\r')) {
    line.remove_suffix(1);
  }
  return line;
}

}  // namespace nearfield::time_data
