#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/system/clocks.hpp"
#include "daemon/live/live_engine.hpp"
#include "pipeline/replay.hpp"
#include "support/command.hpp"
#include "support/images.hpp"
#include "support/outputs.hpp"
#include "support/recordings.hpp"

namespace nearfield::test {

/// Keeps bits.
class KeepingTap : public BitsTap {
 public:
  void push(const BitsPiece& piece) override {
    EXPECT_TRUE(piece.stream_id != stream_id || piece.first_bit_time == next_bit_time)
        << "pieces must follow on each other";
    stream_id = piece.stream_id;
    if (piece.words.empty()) {
      gaps[piece.cause] += piece.bit_times;
    }
    words.insert(words.end(), piece.words.begin(), piece.words.end());
    missing.insert(missing.end(), piece.missing.begin(), piece.missing.end());
    next_bit_time = piece.first_bit_time + piece.bit_times;
  }
  std::vector<std::uint32_t> words;
  std::vector<MissingRun> missing;
  std::map<GapCause, std::uint64_t> gaps;  ///< bit-times of pieces without words
  std::uint64_t next_bit_time = 0;
  std::uint32_t stream_id = 0;
};

constexpr std::size_t kSmallWords = 2;  ///< a bit-time of 8 x 8 microphones

/// 8 x 8 microphones, windows of 128 samples, hops of 16.
inline Settings small_settings() {
  Settings settings;
  settings.array.geometry = small_array();
  settings.array.layout = WireLayout::kRowMajor;
  settings.explicit_keys = {"array.rows", "array.columns", "array.pitch_x_m", "array.pitch_y_m",
                            "holography.standoff_m"};
  settings.front_end.window_samples = 128;
  settings.front_end.hop_samples = 16;
  settings.front_end.frequencies_hz = {1464.84375};
  settings.holography.extrapolation.order = 4;
  return settings;
}

inline daemon::LiveInput small_input() {
  daemon::LiveInput input;
  input.words_per_element = kSmallWords;
  input.name = "test";
  return input;
}

/// Runs an engine until its source has ended.
inline std::vector<KeptFrame> run_to_end(daemon::LiveEngine& engine, KeepingOutput& sink) {
  while (engine.step(monotonic_ns() + 1'000'000'000) != daemon::LiveEngine::Step::kEnded) {
  }
  return std::move(sink.frames);
}

inline std::vector<ImageFrame> replayed(const std::string& path, const Settings& settings,
                                        const FrameRange& frames = {}) {
  ReplayOptions options;
  options.input = path;
  options.frames = frames;
  options.settings = settings;
  std::vector<std::unique_ptr<Output>> outputs;
  outputs.push_back(std::make_unique<KeepingOutput>());
  replay(options, outputs);
  return dynamic_cast<KeepingOutput&>(*outputs.front()).images();
}

}  // namespace nearfield::test
