#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <functional>
#include <iterator>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "core/daemon_settings.hpp"
#include "files/nfr/nfr_format.hpp"
#include "files/nfr/nfr_reader.hpp"
#include "recording/lane.hpp"
#include "recording/recorder.hpp"
#include "support/command.hpp"
#include "support/images.hpp"
#include "support/outputs.hpp"

/// Streams whose every word and value is known from its place.
namespace nearfield::test {

inline constexpr std::uint64_t kWords = 2;  ///< of a bit-time of 8 x 8 microphones

inline nfr::FileInfo small_info() {
  nfr::FileInfo info;
  info.measurement = {.geometry = {.rows = 8, .columns = 8, .pitch_x_m = 0.02, .pitch_y_m = 0.03},
                      .standoff_m = 0.04,
                      .sensitivity_dbfs = -26.0};
  info.layout = WireLayout::kRowMajor;
  return info;
}

inline std::uint32_t word_of(std::uint64_t bit_time, std::uint64_t word) {
  return static_cast<std::uint32_t>((bit_time * kWords + word + 1) * 2654435761U);
}

inline std::vector<std::uint32_t> words_of(std::uint64_t first, std::uint64_t bit_times) {
  std::vector<std::uint32_t> words;
  for (std::uint64_t t = first; t < first + bit_times; ++t) {
    for (std::uint64_t w = 0; w < kWords; ++w) {
      words.push_back(word_of(t, w));
    }
  }
  return words;
}

inline void make_silent(std::vector<std::uint32_t>& words, std::uint64_t first, const MissingRun& run) {
  for (std::uint64_t t = run.first_bit_time; t < run.first_bit_time + run.bit_times; ++t) {
    std::fill_n(words.begin() + static_cast<std::ptrdiff_t>((t - first) * kWords), kWords, silence_word(t));
  }
}

inline void push_bits(BitsTap& tap, std::uint64_t first, std::uint64_t bit_times,
                      const std::vector<MissingRun>& missing = {}, std::uint32_t stream_id = 1) {
  std::vector<std::uint32_t> words = words_of(first, bit_times);
  for (const MissingRun& run : missing) {
    make_silent(words, first, run);
  }
  tap.push({.first_bit_time = first,
            .bit_times = bit_times,
            .words = words,
            .missing = missing,
            .stream_id = stream_id,
            .mono_ns = 5,
            .tai_ns = static_cast<std::int64_t>((first + bit_times) * 2000 / 3)});
}

/// With two points.
inline ImagesHeader small_header() {
  return {.quantity = "pressure",
          .unit = "Pa",
          .config = "version: 1\n# caf\xc3\xa9\n",
          .device = "none",
          .front_end = "popcount",
          .frequencies_hz = {1007.08, 2014.16},
          .planes_m = {0.0},
          .x_m = {-0.01, 0.01},
          .y_m = {-0.02, 0.0, 0.02},
          .points = {{.x_m = -0.005, .y_m = 0.01}, {.x_m = 0.0, .y_m = 0.02}}};
}

/// The images of one hop.
inline ImageFrame small_images(std::uint64_t hop, float magnitude) {
  ImageFrame values;
  values.flags = hop % 2 == 0 ? 0U : kFlagMissingBits;
  values.cutoff_rad_per_m = {10.0F, 20.0F};
  values.slope = {0.1F, 0.2F};
  values.noise_pa = {1e-3F, 2e-3F};
  values.error_estimate = {0.05F, 0.04F};
  for (std::size_t i = 0; i < 12; ++i) {
    values.images.emplace_back(magnitude / static_cast<float>(i + 1), static_cast<float>(hop) * 1e-6F);
  }
  for (std::size_t i = 0; i < 4; ++i) {
    values.points.emplace_back(static_cast<float>(hop), static_cast<float>(i));
  }
  return values;
}

/// The frame of one hop, with its memory.
class TestFrame : public MadeFrame {
 public:
  explicit TestFrame(std::uint64_t hop, float magnitude = 1.0F, std::uint64_t epoch = 1)
      : MadeFrame(small_header(), small_images(hop, magnitude)) {
    frame.sequence = hop;
    frame.first_bit_time = hop * 1024;
    frame.window_bit_times = 32768;
    frame.capture_mono_ns = static_cast<std::int64_t>(hop) * 1'000'000;
    frame.capture_tai_ns = 1'700'000'000'000'000'000 + frame.capture_mono_ns;
    frame.missing_bit_times = hop % 2;
    frame.epoch = epoch;
  }
};

/// A processor whose frames are no images: an array of 12 bytes, which are no multiple of 8, and a table.
inline ResultHeader rows_header() {
  return {.processor = "rows",
          .kind = "row_power",
          .config = small_header().config,
          .device = "none",
          .front_end = "popcount",
          .axes = {{.name = "frequency", .unit = "Hz", .values = {1500.0}},
                   {.name = "y", .unit = "m", .values = {-0.02, 0.0, 0.02}}},
          .products = {{.name = "row_power",
                        .quantity = "mean square of a row",
                        .unit = "Pa^2",
                        .type = ElementType::kFloat32,
                        .axes = {"frequency", "y"}},
                       {.name = "sources",
                        .quantity = "found sources",
                        .unit = "1",
                        .form = Product::Form::kTable,
                        .columns = {{.name = "x", .unit = "m", .type = ElementType::kFloat64},
                                    {.name = "level", .unit = "dB", .type = ElementType::kFloat32},
                                    {.name = "id", .unit = "1", .type = ElementType::kUint32},
                                    {.name = "age", .unit = "ns", .type = ElementType::kUint64}},
                        .most_rows = 3}},
          .memory_hops = 60};
}
inline constexpr std::size_t kTableBytes = 8 + 24 + 16 + 16 + 24;  ///< of rows_header()

/// Its frame of one hop, with its memory. Unused rows of the table have bytes, too.
class RowsFrame {
 public:
  explicit RowsFrame(std::uint64_t hop, std::uint64_t epoch = 1, std::size_t processor = 1) {
    row_power_ = {static_cast<float>(hop), -0.0F, std::numeric_limits<float>::quiet_NaN()};
    for (std::size_t i = 0; i < kTableBytes; ++i) {
      table_[i] = static_cast<std::byte>(hop * 31 + i * 7);
    }
    const std::uint64_t rows = hop % 4;
    std::memcpy(table_.data(), &rows, sizeof(rows));
    products_ = {std::as_bytes(std::span(row_power_)), std::as_bytes(std::span(table_))};
    frame.processor = processor;
    frame.sequence = hop;
    frame.first_bit_time = hop * 1024;
    frame.window_bit_times = 32768;
    frame.capture_mono_ns = static_cast<std::int64_t>(hop) * 1'000'000;
    frame.capture_tai_ns = 1'700'000'000'000'000'000 + frame.capture_mono_ns;
    frame.epoch = epoch;
    frame.products = products_;
  }
  RowsFrame(const RowsFrame&) = delete;
  RowsFrame& operator=(const RowsFrame&) = delete;
  Frame frame;

 private:
  std::array<float, 3> row_power_{};
  alignas(8) std::array<std::byte, kTableBytes> table_{};
  std::array<std::span<const std::byte>, 2> products_{};
};

/// True when all of both are the same but for the time stamp, which a recording computes of the window's end.
inline bool is_same(const Frame& a, const Frame& b) {
  const auto same_bytes = [](std::span<const std::byte> one, std::span<const std::byte> other) {
    return std::equal(one.begin(), one.end(), other.begin(), other.end());
  };
  return a.processor == b.processor && a.sequence == b.sequence && a.stream_id == b.stream_id &&
         a.first_bit_time == b.first_bit_time && a.window_bit_times == b.window_bit_times &&
         a.capture_mono_ns == b.capture_mono_ns && a.capture_tai_ns == b.capture_tai_ns && a.flags == b.flags &&
         a.missing_bit_times == b.missing_bit_times && a.shed_hops == b.shed_hops &&
         a.valid_microphones == b.valid_microphones && a.epoch == b.epoch &&
         std::equal(a.products.begin(), a.products.end(), b.products.begin(), b.products.end(), same_bytes);
}

/// As nfr::for_each_frame() where the frames are images.
inline std::uint64_t for_each_image(const nfr::Reader& reader, const nfr::EpochSummary& epoch, std::uint64_t first,
                                    std::uint64_t end, const std::function<void(const ImageFrame&)>& visit) {
  const ImagesHeader header = images_header_of(epoch.header).value();
  return nfr::for_each_frame(reader, epoch, first, end,
                             [&](const Frame& frame) { visit(image_frame_of(header, frame)); });
}

/// A recording made without a recorder.
class FileBuilder {
 public:
  explicit FileBuilder(std::uint64_t id = 77) : id_(id) {
    const std::string json = nfr::to_json(small_info());
    add({.kind = nfr::Kind::kFile}, std::as_bytes(std::span(json)));
    add({.kind = nfr::Kind::kFile}, std::as_bytes(std::span(json)));
  }
  void add(nfr::RecordHeader header, std::span<const std::byte> payload) {
    header.recording_id = id_;
    header.sequence = starts.size();
    starts.push_back(bytes.size());
    nfr::append_record(bytes, header, payload);
  }
  void add_text(nfr::RecordHeader header, const std::string& text) { add(header, std::as_bytes(std::span(text))); }
  void add_epoch(const nfr::Epoch& epoch) { add_text({.kind = nfr::Kind::kEpoch}, nfr::to_json(epoch)); }
  void add_frame(const Frame& frame) {
    const std::vector<std::byte> payload = payload_of(frame);
    add({.kind = nfr::Kind::kResult,
         .first_bit_time = frame.first_bit_time,
         .bit_times = frame.window_bit_times,
         .missing_bit_times = frame.missing_bit_times,
         .mono_ns = frame.capture_mono_ns,
         .tai_ns = frame.capture_tai_ns,
         .flags = frame.flags},
        payload);
  }
  /// Fields of version 3, with `more` behind those that are known, and the products.
  static std::vector<std::byte> payload_of(const Frame& frame, std::span<const std::byte> more = {}) {
    nfr::ResultFields fields{.fields_bytes = static_cast<std::uint32_t>(sizeof(nfr::ResultFields) + more.size()),
                             .processor = static_cast<std::uint32_t>(frame.processor),
                             .epoch = frame.epoch,
                             .frame_sequence = frame.sequence,
                             .shed_hops = frame.shed_hops,
                             .stream_id = frame.stream_id,
                             .window_bit_times = frame.window_bit_times,
                             .valid_microphones = frame.valid_microphones};
    std::vector<std::byte> products;
    for (const std::span<const std::byte> product : frame.products) {
      products.insert(products.end(), product.begin(), product.end());
      products.resize((products.size() + 7) / 8 * 8);
    }
    fields.products_bytes = products.size();
    std::vector<std::byte> payload;
    for (const auto part : {std::as_bytes(std::span(&fields, 1)), more, std::span<const std::byte>(products)}) {
      payload.insert(payload.end(), part.begin(), part.end());
    }
    return payload;
  }
  void add_bits(std::uint64_t first, std::uint64_t bit_times) {
    const std::vector<std::uint32_t> words = words_of(first, bit_times);
    add({.kind = nfr::Kind::kBits, .first_bit_time = first, .bit_times = bit_times}, std::as_bytes(std::span(words)));
  }
  std::vector<std::byte> bytes;
  std::vector<std::size_t> starts;  ///< of the records

 private:
  std::uint64_t id_;
};

/// Reads all bits of a recording and counts words that are neither the stream's nor flagged silence.
struct BitsCheck {
  std::uint64_t wrong_words = 0;
  std::uint64_t received = 0;
  std::uint64_t missing = 0;
};
inline BitsCheck check_bits(nfr::Reader& reader) {
  const nfr::BitsSummary& bits = reader.summary().bits;
  BitsCheck check;
  constexpr std::uint64_t kStep = 1000;  // no multiple of a piece
  for (std::uint64_t at = bits.first_bit_time; at < bits.end_bit_time; at += kStep) {
    const std::uint64_t count = std::min(kStep, bits.end_bit_time - at);
    std::vector<std::uint32_t> words(count * kWords);
    std::vector<MissingRun> missing;
    reader.read_bits(at, words, missing);
    std::vector<std::uint32_t> expected = words_of(at, count);
    for (const MissingRun& run : missing) {
      make_silent(expected, at, run);
      check.missing += run.bit_times;
      check.received -= run.bit_times;
    }
    check.received += count;
    for (std::size_t i = 0; i < words.size(); ++i) {
      check.wrong_words += words[i] != expected[i] ? 1U : 0U;
    }
  }
  return check;
}

/// What a recording by the level goes by.
struct Level {
  double level = 0.0;
  double quiet_s = 0.0;
  double pause_s = 0.0;
};

inline void set_level(RecorderOptions& options, const Level& level) {
  options.settings.trigger = DaemonSettings::Trigger::kLevel;
  options.settings.level = level.level;
  options.settings.quiet_s = level.quiet_s;
  options.settings.pause_s = level.pause_s;
}

}  // namespace nearfield::test
