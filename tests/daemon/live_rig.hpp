#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "core/daemon_settings.hpp"
#include "core/system/clocks.hpp"
#include "daemon/daemon_support.hpp"

namespace nearfield::daemon {

inline constexpr std::uint64_t kSampleBits = kBitsPerWord;
inline constexpr std::uint64_t kWindowBits = 128 * kSampleBits;
inline constexpr std::uint64_t kHopBits = 16 * kSampleBits;

/// An input that is never behind, whatever this machine's speed: nothing is shed.
inline LiveInput patient_input() {
  LiveInput input = test::small_input();
  input.waits = true;
  return input;
}

/// Bits as random as they need be here (Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014).
inline std::uint32_t scrambled(std::uint64_t i) {
  std::uint64_t z = (i + 1) * 0x9E3779B97F4A7C15U;
  z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9U;
  z = (z ^ (z >> 27U)) * 0x94D049BB133111EBU;
  return static_cast<std::uint32_t>(z >> 32U);
}

/// What a test feeds, and an engine behind it.
struct Rig {
  explicit Rig(const Settings& settings = test::small_settings(), std::uint64_t elements = 1U << 18U,
               const LiveInput& input = test::small_input(), std::uint64_t reorder_elements = 256)
      : Rig(make_epoch(settings, input, 1), settings, elements, input, reorder_elements) {}
  /// With an engine of the test's own.
  Rig(std::unique_ptr<Epoch> epoch, const Settings& settings, std::uint64_t elements, const LiveInput& input,
      std::uint64_t reorder_elements)
      : ring({.words_per_element = test::kSmallWords, .elements = elements, .reorder_elements = reorder_elements}),
        engine(ring, input, std::move(epoch), publisher,
               {.overload = settings.daemon->overload, .poll_us = settings.daemon->realtime.poll_us, .hooks = {}}) {
    publisher.set(Publisher::Priority::kController, &sink);
    publisher.set_bits(&tap);
    publisher.begin(*engine.epoch().engine, 1);
  }
  std::unique_ptr<Epoch> swap(std::unique_ptr<Epoch> next) {
    engine.finish_late();
    publisher.begin(*next->engine, next->number);
    return engine.swap(std::move(next));
  }
  void feed(std::uint64_t first, std::uint64_t count, std::int64_t now_ns = monotonic_ns()) {
    const std::vector<std::uint32_t> words(count * test::kSmallWords, 0x3C5A96F1U);
    ring.store(first, std::as_bytes(std::span(words)), now_ns);
  }
  /// Bits that are the same whenever they are fed, and never the same twice.
  void feed_noise(std::uint64_t first, std::uint64_t count) {
    std::vector<std::uint32_t> words;
    for (std::uint64_t i = first * test::kSmallWords; i < (first + count) * test::kSmallWords; ++i) {
      words.push_back(scrambled(i));
    }
    ring.store(first, std::as_bytes(std::span(words)), monotonic_ns());
  }
  /// All that is there.
  void run() {
    while (engine.step(0) != LiveEngine::Step::kNothing || engine.step(0) != LiveEngine::Step::kNothing) {
    }
  }
  test::KeepingOutput sink;
  test::KeepingTap tap;
  IngestRing ring;
  Publisher publisher;
  LiveEngine engine;
};

inline void expect_same_image(const test::KeptFrame& frame, const test::KeptFrame& expected) {
  ASSERT_EQ(frame.images.size(), expected.images.size());
  float largest = 0.0F;
  float error = 0.0F;
  for (std::size_t i = 0; i < frame.images.size(); ++i) {
    largest = std::max(largest, std::abs(expected.images[i]));
    error = std::max(error, std::abs(frame.images[i] - expected.images[i]));
  }
  ASSERT_LE(error, 1e-5F * largest);  // sums of single precision that began elsewhere
}

}  // namespace nearfield::daemon
