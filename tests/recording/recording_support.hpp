#pragma once
#include <algorithm>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "capture/nfr_format.hpp"
#include "capture/nfr_reader.hpp"
#include "recording/bits_tap.hpp"
#include "support/command.hpp"
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

}  // namespace nearfield::test
