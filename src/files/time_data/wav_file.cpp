#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "files/time_data/byte_file.hpp"
#include "files/time_data/time_data_input.hpp"

// WAV as in Microsoft's "Multiple channel audio data and WAVE files", RF64 as in EBU Tech 3306 (BW64, ITU-R BS.2088,
// has the same chunks).
namespace nearfield::time_data {
namespace {

constexpr std::uint16_t kPcm = 1;
constexpr std::uint16_t kFloat = 3;
constexpr std::uint16_t kExtensible = 0xFFFE;
constexpr std::uint32_t kSizeElsewhere = 0xFFFFFFFF;  ///< of RF64: in the chunk ds64
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
  std::uint32_t word = 0;  // the sample's bits at the top
  const int count = format.bits / kBitsPerByte;
  for (int i = 0; i < count; ++i) {
    word |= std::to_integer<std::uint32_t>(bytes[i]) << static_cast<unsigned>((4 - count + i) * kBitsPerByte);
  }
  return static_cast<float>(std::ldexp(static_cast<double>(static_cast<std::int32_t>(word)), -31));
}

/// Where the chunks fmt and data are, and what they say.
class WavChunks {
 public:
  explicit WavChunks(const ByteFile& file) : file_(file) { find_chunks(); }
  SampleFormat format = {};
  std::uint64_t data_offset = 0;
  std::uint64_t data_bytes = 0;

 private:
  void find_chunks() {
    constexpr std::uint64_t kFirstChunk = 12;
    constexpr int kMostChunks = 4096;
    std::uint64_t long_data_bytes = 0;
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
        data_bytes = size == kSizeElsewhere && long_data_bytes > 0 ? long_data_bytes : size;
        return;
      }
      offset += std::uint64_t{size} + size % 2;
    }
    throw file_.wrong("chunks", fmt::format("no chunk data among {}", kMostChunks), "one");
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
      format.tag = number_at<std::uint16_t>(bytes.data() + 24);  // the first of the GUID's bytes
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
    const std::uint64_t left = file_.size_bytes() - data_offset_;
    if (data_bytes_ > left) {
      throw file_.wrong("chunk data", fmt::format("{} bytes, the file is truncated", left),
                        fmt::format("{} bytes", data_bytes_));
    }
    if (data_bytes_ < format_.block_bytes) {
      throw file_.wrong("chunk data", fmt::format("{} bytes", data_bytes_), "at least one sample");
    }
    description_ = {
        .format = fmt::format("WAV, {} of {} bits", format_.tag == kFloat ? "floats" : "integers", format_.bits),
        .sample_rate_hz = static_cast<double>(format_.rate_hz),
        .samples = data_bytes_ / format_.block_bytes,
        .channels = format_.channels,
        .pascal_per_unit = std::nullopt};
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
