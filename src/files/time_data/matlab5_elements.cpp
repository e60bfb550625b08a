#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <limits>

#include "files/time_data/matlab_file.hpp"

namespace nearfield::time_data {
namespace {

constexpr std::uint64_t kFileHeadBytes = 128;
constexpr std::uint64_t kTagBytes = 8;
constexpr std::uint32_t kMatrix = 14;
constexpr std::uint32_t kCompressed = 15;
constexpr std::size_t kMostVariables = 65536;

constexpr std::array<std::string_view, 16> kClasses = {"",       "cell",   "struct", "object", "char",  "sparse",
                                                       "double", "single", "int8",   "uint8",  "int16", "uint16",
                                                       "int32",  "uint32", "int64",  "uint64"};
constexpr std::uint32_t kFirstNumericClass = 6;

class PlainStream : public ByteStream {
 public:
  PlainStream(const ByteFile& file, std::uint64_t offset, std::uint64_t bytes)
      : file_(file), offset_(offset), bytes_(bytes) {}
  void read(std::span<std::byte> bytes) override {
    if (bytes.size() > bytes_ - std::min(position(), bytes_)) {
      throw file_.wrong(fmt::format("variable at byte {}", offset_), "its end", "more of it");
    }
    file_.read(offset_ + position(), bytes, "variable");
    count(bytes.size());
  }

 private:
  const ByteFile& file_;
  std::uint64_t offset_;
  std::uint64_t bytes_;
};

class InflatedStream : public ByteStream {
 public:
  InflatedStream(const ByteFile& file, std::uint64_t offset, std::uint64_t bytes)
      : file_(file), offset_(offset), end_(offset + bytes) {
    if (inflateInit(&zlib_) != Z_OK) {
      throw IoError(fmt::format("{}: zlib cannot be started", file.path().string()));
    }
  }
  ~InflatedStream() override { inflateEnd(&zlib_); }
  InflatedStream(const InflatedStream&) = delete;
  InflatedStream& operator=(const InflatedStream&) = delete;
  void read(std::span<std::byte> bytes) override {
    std::size_t done = 0;
    while (done < bytes.size()) {
      if (zlib_.avail_in == 0) {
        feed();
      }
      constexpr std::size_t kMost = std::size_t{1} << 30U;
      const std::size_t wanted = std::min(bytes.size() - done, kMost);
      zlib_.next_out = reinterpret_cast<Bytef*>(bytes.data() + done);
      zlib_.avail_out = static_cast<uInt>(wanted);
      const int result = inflate(&zlib_, Z_NO_FLUSH);
      const std::size_t made = wanted - zlib_.avail_out;
      done += made;
      const bool may_go_on = result == Z_OK || (result == Z_BUF_ERROR && offset_ < end_) ||
                             (result == Z_STREAM_END && done == bytes.size());
      if (!may_go_on) {
        throw damaged(zlib_.msg != nullptr ? zlib_.msg : "the end of the data");
      }
    }
    count(bytes.size());
  }

 private:
  [[nodiscard]] DataError damaged(std::string_view found) const {
    return file_.wrong("compressed variable", fmt::format("damaged content ({})", found), "zlib's");
  }
  void feed() {
    buffer_.resize(static_cast<std::size_t>(std::min<std::uint64_t>(end_ - offset_, std::uint64_t{1} << 18U)));
    if (buffer_.empty()) {
      throw damaged("the end of the data");
    }
    file_.read(offset_, buffer_, "compressed variable");
    offset_ += buffer_.size();
    zlib_.next_in = reinterpret_cast<Bytef*>(buffer_.data());
    zlib_.avail_in = static_cast<uInt>(buffer_.size());
  }
  const ByteFile& file_;
  std::uint64_t offset_;
  std::uint64_t end_;
  z_stream zlib_{};
  std::vector<std::byte> buffer_;
};

/// Type and length of an element; small ones hold up to four bytes in the tag.
struct Tag {
  std::uint32_t type = 0;
  std::uint32_t bytes = 0;
  bool is_small = false;
  std::array<std::byte, 4> small{};
};

class VariableReader {
 public:
  VariableReader(const ByteFile& file, ByteStream& stream, bool is_reversed)
      : file_(file), stream_(stream), is_reversed_(is_reversed) {}
  /// Reads the content of a matrix element, after its tag.
  void read(Matlab5Variable& out) {
    const std::vector<std::byte> flags = content(next_tag(), kTagBytes);
    const std::uint32_t bits = flags.size() < 4 ? 0 : number_at<std::uint32_t>(flags.data(), is_reversed_);
    const std::uint32_t kind = bits & 0xFFU;
    constexpr std::uint32_t kComplexFlag = 0x800;
    constexpr std::uint32_t kLogicalFlag = 0x200;
    out.variable.class_name = kind > 0 && kind < kClasses.size() ? kClasses[kind] : "of an unknown class";
    out.variable.is_real_number =
        kind >= kFirstNumericClass && kind < kClasses.size() && (bits & (kComplexFlag | kLogicalFlag)) == 0;
    if ((bits & kLogicalFlag) != 0) {
      out.variable.class_name = "logical";
    }
    if ((bits & kComplexFlag) != 0) {
      out.variable.class_name += ", complex";
    }
    read_lengths(out.variable);
    constexpr std::size_t kLongestName = 256;
    const std::vector<std::byte> name = content(next_tag(), kLongestName);
    for (const std::byte letter : name) {
      const char c = static_cast<char>(letter);
      out.variable.name.push_back(c >= ' ' && c <= '~' ? c : '?');
    }
    if (out.variable.is_real_number) {
      read_numbers(out);
    }
  }

 private:
  Tag next_tag() {
    std::array<std::byte, kTagBytes> bytes{};
    stream_.read(bytes);
    Tag tag{.type = number_at<std::uint32_t>(bytes.data(), is_reversed_),
            .bytes = number_at<std::uint32_t>(bytes.data() + 4, is_reversed_)};
    constexpr unsigned kSmallShift = 16;
    if (tag.type >> kSmallShift != 0) {
      tag.is_small = true;
      tag.bytes = tag.type >> kSmallShift;
      tag.type &= 0xFFFFU;
      std::copy_n(bytes.data() + 4, tag.small.size(), tag.small.data());
      if (tag.bytes > tag.small.size()) {
        throw file_.wrong("variable", fmt::format("a small element of {} bytes", tag.bytes), "at most 4");
      }
    }
    return tag;
  }
  std::vector<std::byte> content(const Tag& tag, std::size_t most) {
    if (tag.is_small) {
      return {tag.small.begin(), tag.small.begin() + tag.bytes};
    }
    if (tag.bytes > most) {
      throw file_.wrong("variable", fmt::format("{} bytes of type {}", tag.bytes, tag.type),
                        fmt::format("at most {}", most));
    }
    std::vector<std::byte> bytes(tag.bytes);
    stream_.read(bytes);
    stream_.skip((kTagBytes - tag.bytes % kTagBytes) % kTagBytes);
    return bytes;
  }
  void read_lengths(Variable& variable) {
    constexpr std::size_t kMostBytes = 128;
    const std::vector<std::byte> bytes = content(next_tag(), kMostBytes);
    for (std::size_t i = 0; i + sizeof(std::int32_t) <= bytes.size(); i += sizeof(std::int32_t)) {
      const auto length = number_at<std::int32_t>(bytes.data() + i, is_reversed_);
      if (length < 0) {
        throw file_.wrong("variable", fmt::format("a side of {} values", length), "0 or more");
      }
      variable.lengths.push_back(static_cast<std::uint64_t>(length));
    }
  }
  void read_numbers(Matlab5Variable& out) {
    std::uint64_t values = 1;
    constexpr std::uint64_t kMost = std::numeric_limits<std::uint32_t>::max();  // limit for the bytes of an element
    for (const std::uint64_t length : out.variable.lengths) {
      values = length == 0 || values > kMost ? values * std::min<std::uint64_t>(length, 1) : values * length;
    }
    if (values == 0) {
      return;
    }
    const Tag tag = next_tag();
    const std::size_t size = bytes_of_stored(tag.type);
    if (size == 0 || values > kMost || tag.bytes != values * size) {
      throw file_.wrong(out.variable.name, fmt::format("{} bytes of type {}", tag.bytes, tag.type),
                        fmt::format("{} numbers", values));
    }
    out.numbers = {.type = tag.type, .bytes = tag.bytes};
    out.numbers_offset = stream_.position();
    if (values == 1) {
      const std::vector<std::byte> bytes = content(tag, sizeof(double));
      out.variable.value = tag.type == 9 ? number_at<double>(bytes.data(), is_reversed_)
                                         : static_cast<double>(stored_number(bytes.data(), tag.type, is_reversed_));
      out.numbers = {};
    } else if (tag.is_small) {
      out.variable.is_real_number = false;  // too few bytes to be samples
    }
  }
  const ByteFile& file_;
  ByteStream& stream_;
  bool is_reversed_;
};

}  // namespace

void ByteStream::skip(std::uint64_t bytes) {
  constexpr std::uint64_t kPiece = 65536;
  std::vector<std::byte> unused(static_cast<std::size_t>(std::min(bytes, kPiece)));
  for (; bytes > 0; bytes -= std::min(bytes, kPiece)) {
    read(std::span(unused).first(static_cast<std::size_t>(std::min(bytes, kPiece))));
  }
}

std::size_t bytes_of_stored(std::uint32_t type) {
  constexpr std::array<std::size_t, 14> kBytes = {0, 1, 1, 2, 2, 4, 4, 4, 0, 8, 0, 0, 8, 8};
  return type < kBytes.size() ? kBytes[type] : 0;
}

float stored_number(const std::byte* bytes, std::uint32_t type, bool is_reversed) {
  switch (type) {
    case 1:
      return static_cast<float>(number_at<std::int8_t>(bytes));
    case 2:
      return static_cast<float>(number_at<std::uint8_t>(bytes));
    case 3:
      return static_cast<float>(number_at<std::int16_t>(bytes, is_reversed));
    case 4:
      return static_cast<float>(number_at<std::uint16_t>(bytes, is_reversed));
    case 5:
      return static_cast<float>(number_at<std::int32_t>(bytes, is_reversed));
    case 6:
      return static_cast<float>(number_at<std::uint32_t>(bytes, is_reversed));
    case 7:
      return number_at<float>(bytes, is_reversed);
    case 9:
      return static_cast<float>(number_at<double>(bytes, is_reversed));
    case 12:
      return static_cast<float>(number_at<std::int64_t>(bytes, is_reversed));
    default:
      return static_cast<float>(number_at<std::uint64_t>(bytes, is_reversed));
  }
}

std::unique_ptr<ByteStream> open_variable(const ByteFile& file, const Matlab5Variable& variable) {
  if (variable.is_compressed) {
    return std::make_unique<InflatedStream>(file, variable.offset, variable.bytes);
  }
  return std::make_unique<PlainStream>(file, variable.offset, variable.bytes);
}

std::vector<Matlab5Variable> read_matlab5_variables(const ByteFile& file, bool is_reversed) {
  std::vector<Matlab5Variable> variables;
  std::uint64_t offset = kFileHeadBytes;
  while (offset < file.size_bytes()) {
    std::array<std::byte, kTagBytes> tag{};
    file.read(offset, tag, "the head of a variable");
    const auto type = number_at<std::uint32_t>(tag.data(), is_reversed);
    const auto bytes = number_at<std::uint32_t>(tag.data() + 4, is_reversed);
    offset += kTagBytes;
    const std::uint64_t left = file.size_bytes() - offset;
    if (bytes > left) {
      throw file.wrong(fmt::format("variable at byte {}", offset - kTagBytes),
                       fmt::format("{} bytes to the end of the file, which is truncated", left),
                       fmt::format("{} bytes", bytes));
    }
    if (type == kMatrix || type == kCompressed) {
      if (variables.size() >= kMostVariables) {
        throw file.wrong("variables", fmt::format("more than {}", kMostVariables), "fewer");
      }
      Matlab5Variable variable;
      variable.is_compressed = type == kCompressed;
      variable.offset = offset;
      variable.bytes = bytes;
      const std::unique_ptr<ByteStream> stream = open_variable(file, variable);
      if (variable.is_compressed) {
        std::array<std::byte, kTagBytes> inner{};
        stream->read(inner);
        if (number_at<std::uint32_t>(inner.data(), is_reversed) != kMatrix) {
          throw file.wrong("compressed variable", "no matrix", "one");
        }
      }
      VariableReader(file, *stream, is_reversed).read(variable);
      variables.push_back(std::move(variable));
    } else if (type != 0 || bytes != 0) {  // zeros pad the end of some files
      throw file.wrong(fmt::format("byte {}", offset - kTagBytes), fmt::format("an element of type {}", type),
                       "variables up to the end of the file");
    }
    offset += bytes;
  }
  return variables;
}

}  // namespace nearfield::time_data
