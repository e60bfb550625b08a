#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>

#include "files/time_data/byte_file.hpp"
#include "files/time_data/time_data_input.hpp"

// WAV as in Microsoft's "Multiple channel audio data and WAVE files", RF64 as in EBU Tech 3306 (BW64, ITU-R BS.2088,
// has the same chunks).
namespace nearfield::time_data {
namespace {

constexpr std::uint16_t kPcm = 1;
constexpr std::uint16_t kFloat = 3;
constexpr std::uint16_t kExtensible = 0xFFFE;
constexpr std::uint32_t kSizeElsewhere = 0xFFFFFFFF;  ///< RF64: the size is in the chunk ds64
constexpr std::uint64_t kChunkHeadBytes = 8;
constexpr int kBitsPerByte = 8;

struct SampleFormat {
  std::uint16_t tag = 0;
  std::uint16_t channels = 0;
  std::uint32_t rate_hz = 0;
  std::uint16_t block_bytes = 0;
  std::uint16_t bits = 0;
};

bool is_known(const SampleFormat& format) {
  const auto is_one_of = [&format](auto... bits) { return ((format.bits == bits) || ...); };
  return (format.tag == kPcm && is_one_of(8, 16, 24, 32)) || (format.tag == kFloat && is_one_of(32, 64));
}

float sample_at(const std::byte* bytes, const SampleFormat& format) {
  if (format.tag == kFloat) {
    return format.bits == 32 ? number_at<float>(bytes) : static_cast<float>(number_at<double>(bytes));
  }
  if (format.bits == kBitsPerByte) {  // unsigned
    return (static_cast<float>(std::to_integer<int>(bytes[0])) - 128.0F) / 128.0F;
  }
  std::uint32_t word = 0;  // sample in the upper bits
  const int count = format.bits / kBitsPerByte;
  for (int i = 0; i < count; ++i) {
    word |= std::to_integer<std::uint32_t>(bytes[i]) << static_cast<unsigned>((4 - count + i) * kBitsPerByte);
  }
  return static_cast<float>(std::ldexp(static_cast<double>(static_cast<std::int32_t>(word)), -31));
}

/// True for placeholder sizes of programs that write to a pipe and cannot seek back: 0, 2^32 - 1 (ffmpeg) and near 2^31
/// (SoX, arecord).
bool is_unknown_size(std::uint32_t size) {
  constexpr std::uint32_t kNearFull = 0xFFFFFF00;
  constexpr std::uint32_t kHalf = 0x80000000;
  constexpr std::uint32_t kNearHalf = 0x7FFFF000;
  return size == 0 || size >= kNearFull || (size >= kNearHalf && size <= kHalf);
}

/// Location and content of the chunks fmt and data.
class WavChunks {
 public:
  explicit WavChunks(const ByteFile& file) : file_(file) { find_chunks(); }
  SampleFormat format = {};
  std::uint64_t data_offset = 0;
  std::uint64_t data_bytes = 0;  ///< bytes to read; all exist
  std::string note;              ///< set if these differ from the header

 private:
  void find_chunks() {
    constexpr std::uint64_t kFirstChunk = 12;
    constexpr int kMostChunks = 4096;
    std::optional<std::uint64_t> long_data_bytes;
    bool has_format = false;
    std::uint64_t offset = kFirstChunk;
    for (int i = 0; i < kMostChunks; ++i) {
      std::array<std::byte, kChunkHeadBytes> head{};
      file_.read(offset, head, "the head of a chunk, of which none was data yet");
      const std::string name = file_.text(offset, 4);
      const auto size = number_at<std::uint32_t>(head.data() + 4);
      offset += kChunkHeadBytes;
      if (name == "ds64") {
        std::array<std::byte, 16> sizes{};
        file_.read(offset, sizes, "chunk ds64");
        long_data_bytes = number_at<std::uint64_t>(sizes.data() + 8);
      } else if (name == "fmt ") {
        read_format(offset, size);
        has_format = true;
      } else if (name == "data") {
        if (!has_format) {
          throw file_.wrong("chunk data", "it before the chunk fmt", "the chunk fmt first");
        }
        data_offset = offset;
        const bool is_long = size == kSizeElsewhere && long_data_bytes.value_or(0) > 0;
        settle_size(is_long ? *long_data_bytes : size, !is_long && is_unknown_size(size));
        return;
      }
      offset += std::uint64_t{size} + size % 2;
    }
    throw file_.wrong("chunks", fmt::format("no chunk data among {}", kMostChunks), "one");
  }
  /// Decides which bytes are samples. `stated` is the header's size.
  void settle_size(std::uint64_t stated, bool is_unknown) {
    constexpr std::uint64_t kWrap = std::uint64_t{1} << 32U;
    const std::uint64_t left = file_.size_bytes() - data_offset;
    data_bytes = stated;
    const bool is_wrapped = stated < left && (left - stated) % kWrap == 0;
    if (stated <= left && !is_wrapped && is_rest_of_chunks(data_offset + stated) && !(stated == 0 && left > 0)) {
      return;
    }
    if (is_unknown) {
      data_bytes = first_chunk_at_end() - data_offset;
      note = fmt::format("the header leaves the number of samples open, as of a pipe: all up to the {} are read",
                         data_bytes < left ? "chunks at the end of the file" : "end of the file");
    } else if (stated > left) {
      throw file_.wrong("chunk data", fmt::format("{} bytes, the file is truncated", left),
                        fmt::format("{} bytes", stated));
    } else if (is_wrapped) {
      data_bytes = left;
      note = fmt::format(
          "the header's size, {} bytes, has wrapped at 4 GiB: all samples up to the end of the file are read", stated);
    } else {
      throw file_.wrong(
          "chunk data",
          fmt::format("{} bytes and behind them {} that are no chunks, so that the header's size is wrong", stated,
                      left - stated),
          "a size that reaches to the last sample");
    }
  }
  /// True if only whole chunks lie between `offset` and the end of the file, or common trailers: a padding byte, zeros,
  /// and tags of players.
  [[nodiscard]] bool is_rest_of_chunks(std::uint64_t offset) const {
    constexpr std::size_t kLongestTag = 8;
    const std::string start = file_.text(offset, kLongestTag);
    return start.starts_with("TAG") || start.starts_with("ID3") || start == "APETAGEX" || are_zeros(offset) ||
           are_chunks(offset) || are_chunks(offset + offset % 2);
  }
  /// True from `offset` to the end of the file.
  [[nodiscard]] bool are_zeros(std::uint64_t offset) const {
    constexpr std::size_t kBlock = 65536;
    for (; offset < file_.size_bytes(); offset += kBlock) {
      if (file_.text(offset, kBlock).find_first_not_of('\0') != std::string::npos) {
        return false;
      }
    }
    return true;
  }
  /// End of the chunk that begins there, without its padding byte; nothing where none begins.
  [[nodiscard]] std::optional<std::uint64_t> end_of_chunk(std::uint64_t offset) const {
    const std::uint64_t end = file_.size_bytes();
    if (offset > end || end - offset < kChunkHeadBytes) {
      return std::nullopt;
    }
    const std::string head = file_.text(offset, kChunkHeadBytes);
    if (std::any_of(head.begin(), head.begin() + 4, [](char c) { return c < ' ' || c > '~'; })) {
      return std::nullopt;
    }
    const auto size = number_at<std::uint32_t>(std::as_bytes(std::span(head)).data() + 4);
    return size <= end - offset - kChunkHeadBytes ? std::optional(offset + kChunkHeadBytes + size) : std::nullopt;
  }
  /// True up to the end of the file; some programs omit the padding byte of an odd chunk.
  [[nodiscard]] bool are_chunks(std::uint64_t offset) const {
    while (offset + 1 < file_.size_bytes()) {
      const std::optional<std::uint64_t> end = end_of_chunk(offset);
      if (!end) {
        return false;
      }
      const bool is_even = (*end - offset) % 2 == 0;
      offset = *end + (is_even || (end_of_chunk(*end) && !end_of_chunk(*end + 1)) ? 0 : 1);
    }
    return true;
  }
  /// Start of trailing chunks with well-known names that reach to the end of the file; the file's end if there are
  /// none.
  [[nodiscard]] std::uint64_t first_chunk_at_end() const {
    constexpr std::uint64_t kMost = std::uint64_t{1} << 20U;
    constexpr std::array<std::string_view, 10> kNames = {"LIST", "bext", "iXML", "id3 ", "ID3 ",
                                                         "cue ", "JUNK", "axml", "PEAK", "smpl"};
    const std::uint64_t end = file_.size_bytes();
    const std::uint64_t from = std::max(data_offset, end - std::min(end, kMost));
    const std::string tail = file_.text(from, kMost);
    std::uint64_t first = end;
    for (const std::string_view name : kNames) {
      for (std::size_t at = tail.find(name); at < first - from; at = tail.find(name, at + 1)) {
        if (are_chunks(from + at)) {
          first = from + at;
        }
      }
    }
    return first;
  }
  void read_format(std::uint64_t offset, std::uint32_t size) {
    constexpr std::uint32_t kPlainBytes = 16;
    constexpr std::uint32_t kExtensibleBytes = 40;
    std::array<std::byte, kExtensibleBytes> bytes{};
    if (size < kPlainBytes) {
      throw file_.wrong("chunk fmt", fmt::format("{} bytes", size), "at least 16");
    }
    file_.read(offset, std::span(bytes).first(std::min(size, kExtensibleBytes)), "chunk fmt");
    format = {.tag = number_at<std::uint16_t>(bytes.data()),
              .channels = number_at<std::uint16_t>(bytes.data() + 2),
              .rate_hz = number_at<std::uint32_t>(bytes.data() + 4),
              .block_bytes = number_at<std::uint16_t>(bytes.data() + 12),
              .bits = number_at<std::uint16_t>(bytes.data() + 14)};
    if (format.tag == kExtensible && size >= kExtensibleBytes) {
      format.tag = number_at<std::uint16_t>(bytes.data() + 24);  // first bytes of the GUID
    }
  }
  const ByteFile& file_;
};

class WavFile : public Input {
 public:
  explicit WavFile(const std::filesystem::path& path) : file_(path) {
    const WavChunks chunks(file_);
    format_ = chunks.format;
    data_offset_ = chunks.data_offset;
    data_bytes_ = chunks.data_bytes;
    check_format();
    if (data_bytes_ < format_.block_bytes) {
      throw file_.wrong("chunk data", fmt::format("{} bytes", data_bytes_), "at least one sample");
    }
    description_ = {
        .format = fmt::format("WAV, {} of {} bits", format_.tag == kFloat ? "floats" : "integers", format_.bits),
        .sample_rate_hz = static_cast<double>(format_.rate_hz),
        .samples = data_bytes_ / format_.block_bytes,
        .channels = format_.channels,
        .pascal_per_unit = std::nullopt,
        .note = chunks.note,
        .are_integers = format_.tag == kPcm};
  }
  [[nodiscard]] const Description& description() const override { return description_; }
  void read(std::uint64_t first_sample, std::span<float> values) override {
    const auto bytes = static_cast<std::size_t>(format_.bits / kBitsPerByte);
    buffer_.resize(values.size() * bytes);
    file_.read(data_offset_ + first_sample * format_.block_bytes, buffer_, "chunk data");
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = sample_at(buffer_.data() + i * bytes, format_);
    }
  }

 private:
  void check_format() const {
    if (!is_known(format_)) {
      throw file_.wrong("chunk fmt", fmt::format("samples of kind {} and {} bits", format_.tag, format_.bits),
                        "integers of 8, 16, 24 or 32 bits (kind 1) or floats of 32 or 64 (kind 3); nearfield encode "
                        "reads other kinds, such as mu-law");
    }
    if (format_.channels == 0 || format_.rate_hz == 0 ||
        format_.block_bytes != format_.channels * (format_.bits / kBitsPerByte)) {
      throw file_.wrong("chunk fmt",
                        fmt::format("{} channels at {} Hz, {} bytes to a sample of all of them", format_.channels,
                                    format_.rate_hz, format_.block_bytes),
                        "channels, a rate, and a whole number of bytes to each channel");
    }
  }

  ByteFile file_;
  SampleFormat format_;
  std::uint64_t data_offset_ = 0;
  std::uint64_t data_bytes_ = 0;
  Description description_;
  std::vector<std::byte> buffer_;
};

}  // namespace

bool has_unknown_samples(const std::filesystem::path& path) {
  const ByteFile file(path);
  return !is_known(WavChunks(file).format);
}

std::unique_ptr<Input> open_wav(const std::filesystem::path& path) { return std::make_unique<WavFile>(path); }

}  // namespace nearfield::time_data
