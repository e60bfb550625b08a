#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <map>

#include "config/schema/front_end_kinds.hpp"
#include "files/files.hpp"
#include "files/nfr/nfr_format.hpp"
#include "files/nfr/nfr_results.hpp"
#include "pipeline/replay.hpp"
#include "support/command.hpp"
#include "support/images.hpp"
#include "support/outputs.hpp"
#include "support/recordings.hpp"

/// Frames do not depend on where a replay began, on its batches or on the file: whole replays against parts of them.
namespace nearfield {
namespace {

constexpr std::uint64_t kHop = 16;
constexpr std::uint64_t kWindow = 64;
constexpr std::uint64_t kHops = 160;
constexpr std::uint64_t kBitTimes = (kHop * kHops + kWindow) * kBitsPerWord;
constexpr std::uint64_t kMemory = 60;  // hops

CaptureInfo info_of(std::uint64_t first_bit_time) {
  CaptureInfo info;
  info.measurement = {.geometry = test::small_array(), .standoff_m = 0.03, .sensitivity_dbfs = -26.0};
  info.layout = WireLayout::kRowMajor;
  info.first_bit_time = first_bit_time;
  info.words_per_bit_time = 2;
  return info;
}

void write_capture(const std::string& path, std::uint64_t first_bit_time, std::span<const std::uint32_t> words) {
  CaptureWriter writer(path, info_of(first_bit_time));
  writer.append(words.subspan(2 * first_bit_time));
  writer.finish();
}

void write_recording(const std::string& path, std::uint64_t first_bit_time, std::span<const std::uint32_t> words) {
  std::vector<std::byte> bytes;
  std::uint64_t sequence = 0;
  const auto append = [&](nfr::RecordHeader header, std::span<const std::byte> payload) {
    header.recording_id = 3;
    header.sequence = sequence++;
    nfr::append_record(bytes, header, payload);
  };
  nfr::FileInfo info;
  info.measurement = info_of(0).measurement;
  info.layout = WireLayout::kRowMajor;
  const std::string text = nfr::to_json(info);
  append({.kind = nfr::Kind::kFile}, std::as_bytes(std::span(text)));
  append({.kind = nfr::Kind::kFile}, std::as_bytes(std::span(text)));
  append({.kind = nfr::Kind::kBits, .first_bit_time = first_bit_time, .bit_times = kBitTimes - first_bit_time},
         std::as_bytes(words.subspan(2 * first_bit_time)));
  const std::string end = nfr::to_json(nfr::EndInfo{.reason = "stopped", .seconds = 1.0});
  append({.kind = nfr::Kind::kEnd}, std::as_bytes(std::span(end)));
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
}

struct Way {
  std::string name;
  std::string front_end;
  ImagerKind imager = ImagerKind::kPnah;
  std::string fft = "auto";
  int search_every_frames = 0;
  /// How many hops before its own a frame depends on.
  [[nodiscard]] std::uint64_t memory() const { return kMemory + 9 * static_cast<std::uint64_t>(search_every_frames); }
};

/// All front ends with the imager of few launches, and the other imagers.
std::vector<Way> ways() {
  std::vector<Way> all;
  for (const schema::FrontEndKind& kind : schema::front_end_kinds()) {
    all.push_back({.name = std::string(kind.name), .front_end = std::string(kind.name)});
  }
  all.push_back({.name = "stage_by_stage", .front_end = "popcount", .fft = "clfft"});
  all.push_back({.name = "sonah", .front_end = "popcount", .imager = ImagerKind::kSonah});
  all.push_back(
      {.name = "sonah_search", .front_end = "popcount", .imager = ImagerKind::kSonah, .search_every_frames = 2});
  all.push_back({.name = "cutoff_search", .front_end = "popcount", .search_every_frames = 2});
  return all;
}

struct Place {
  FrameRange frames = {};
  int batch = 1;
};

using Frames = std::map<std::uint64_t, ImageFrame>;  ///< by first bit-time

Frames replayed(const std::string& path, const Way& way, const Place& place = {}) {
  ReplayOptions options;
  options.input = path;
  options.frames = place.frames;
  options.settings.array.health.enabled = false;
  options.settings.front_end.kind = way.front_end;
  options.settings.front_end.window_samples = static_cast<int>(kWindow);
  options.settings.front_end.hop_samples = static_cast<int>(kHop);
  options.settings.front_end.frequencies_hz = {1464.84375};
  options.settings.holography.imager = way.imager;
  options.settings.holography.search_every_frames = way.search_every_frames;
  if (way.name == "cutoff_search") {
    options.settings.holography.filter.cutoff_rule = CutoffRule::kSearch;
  }
  options.settings.device.fft = way.fft;
  options.settings.device.batch = place.batch;
  std::vector<std::unique_ptr<Output>> outputs;
  outputs.push_back(std::make_unique<test::KeepingOutput>());
  replay(options, outputs);
  Frames frames;
  for (const ImageFrame& frame : dynamic_cast<test::KeepingOutput&>(*outputs.front()).images()) {
    frames.emplace(frame.first_sample, frame);
  }
  return frames;
}

template <class T>
bool same_bytes(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

bool is_same(const ImageFrame& a, const ImageFrame& b) {
  return same_bytes(a.images, b.images) && same_bytes(a.cutoff_rad_per_m, b.cutoff_rad_per_m) &&
         same_bytes(a.slope, b.slope) && same_bytes(a.noise_pa, b.noise_pa) &&
         same_bytes(a.error_estimate, b.error_estimate);
}

class ReplayMemory : public testing::TestWithParam<Way> {
 protected:
  ReplayMemory() { write_capture(folder_ / "whole.h5", 0, bits_); }
  const std::vector<std::uint32_t> bits_ = test::unsteady_bits(kBitTimes, kHop* kBitsPerWord);
  const test::TemporaryFolder folder_;
};
INSTANTIATE_TEST_SUITE_P(, ReplayMemory, testing::ValuesIn(ways()), [](const auto& way) { return way.param.name; });

TEST_P(ReplayMemory, GivesAPartAsTheWhole) {
  const Frames whole = replayed(folder_ / "whole.h5", GetParam());
  ASSERT_EQ(whole.size(), kHops + 1);
  for (const Place& place : {Place{.frames = {.first = 7, .end = 20}}, Place{.frames = {.first = 95, .end = 115}},
                             Place{.frames = {.first = 95, .end = 115}, .batch = 4}, Place{.batch = 4}}) {
    const Frames part = replayed(folder_ / "whole.h5", GetParam(), place);
    EXPECT_EQ(part.size(), place.frames.end.value_or(kHops + 1) - place.frames.first);
    for (const auto& [first, frame] : part) {
      EXPECT_TRUE(is_same(frame, whole.at(first)))
          << "frame " << first / (kHop * kBitsPerWord) << " of those from " << place.frames.first << " on";
    }
  }
}

// A file that begins later in the stream, within a word: what it has no bits of is not remembered, and after the
// memory nothing of that is left.
TEST_P(ReplayMemory, GivesAFileFromTheMiddleAsTheWhole) {
  constexpr std::uint64_t kFirst = 20'011;
  const Frames whole = replayed(folder_ / "whole.h5", GetParam());
  write_capture(folder_ / "part.h5", kFirst, bits_);
  write_recording(folder_ / "part.nfr", kFirst, bits_);
  for (const std::string& file : {std::string("part.h5"), std::string("part.nfr")}) {
    const Frames part = replayed(folder_ / file, GetParam());
    constexpr std::uint64_t kHopBits = kHop * kBitsPerWord;
    EXPECT_EQ(part.begin()->first, (kFirst + kHopBits - 1) / kHopBits * kHopBits) << "the grid of hops is the stream's";
    std::size_t compared = 0;
    for (const auto& [first, frame] : part) {
      if (first >= part.begin()->first + (GetParam().memory() + kWindow / kHop) * kHopBits) {
        EXPECT_TRUE(is_same(frame, whole.at(first))) << file << ", frame " << first / kHopBits;
        ++compared;
      }
    }
    EXPECT_GT(compared, 30U) << file;
  }
}

}  // namespace
}  // namespace nearfield
