#include "frontend/common/bit_ring.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/frame.hpp"

namespace nearfield {
namespace {

constexpr std::string_view kBitRingStage = "front_end/bit_ring";
constexpr std::size_t kMaxWordTile = 8;

/// The narrowest tile that spans the wire, up to the widest one that keeps a work-group at 256 items.
std::size_t word_tile(std::size_t wire_words) {
  std::size_t tile = 1;
  while (tile < wire_words && tile < kMaxWordTile) {
    tile *= 2;
  }
  return tile;
}

}  // namespace

BitRing::BitRing(const ocl::Device& device, WireLayout layout, const ArrayGeometry& geometry,
                 std::size_t capacity_words, std::size_t max_append_words)
    : device_(device),
      channels_(geometry.channels()),
      wire_words_(static_cast<std::size_t>(words_per_bit_time(layout, geometry))),
      max_append_words_(max_append_words),
      span_(capacity_words),
      wire_(device.allocate<std::uint32_t>(max_append_words * kBitsPerWord * wire_words_, kBitRingStage)),
      channel_of_bit_(device.upload<std::int32_t>(channel_of_wire_bit(layout, geometry), kBitRingStage)),
      packed_(device.allocate<std::uint32_t>(capacity_words * static_cast<std::size_t>(channels_), kBitRingStage)) {
  if (max_append_words < 1 || max_append_words > capacity_words) {
    throw Error(ExitCode::kInternal, fmt::format("{}: expected appends of 1 to {} words, the capacity, found {}",
                                                 kBitRingStage, capacity_words, max_append_words));
  }
  const ocl::Program program = device.build(kBitRingStage, "frontend/common/corner_turn.cl",
                                            {{"CHANNELS", fmt::format("{}", channels_)},
                                             {"WIRE_WORDS", fmt::format("{}", wire_words_)},
                                             {"WORD_TILE", fmt::format("{}", word_tile(wire_words_))}});
  corner_turn_ = program.kernel("corner_turn");
  corner_turn_.set("wire", wire_)
      .set("channel_of_wire_bit", channel_of_bit_)
      .set("packed", packed_)
      .set("slots", span_.slots());
  first_slot_ = corner_turn_.arguments("first_slot");
  device.enqueue_fill(packed_, kPackedSilence, kBitRingStage);
}

bool BitRing::enqueue_append(std::uint64_t first_word, std::span<const std::uint32_t> wire) {
  const std::size_t word_size = kBitsPerWord * wire_words_;
  const std::size_t words = wire.size() / word_size;
  if (words == 0 || wire.size() % word_size != 0 || words > max_append_words_) {
    throw Error(ExitCode::kInternal,
                fmt::format("{}: expected 1 to {} times {} wire words (32 bit-times), found {} wire words",
                            kBitRingStage, max_append_words_, word_size, wire.size()));
  }
  const bool continues = span_.append(first_word, words);
  device_.enqueue_write(wire_, 0, wire, kBitRingStage);
  corner_turn_.set(first_slot_, span_.slot_of(first_word));
  const std::size_t tile = word_tile(wire_words_);
  corner_turn_.enqueue({.global_0 = kBitsPerWord,
                        .local_0 = kBitsPerWord,
                        .global_1 = ocl::round_up(wire_words_, tile),
                        .local_1 = tile,
                        .global_2 = words,
                        .local_2 = 1});
  return continues;
}

namespace {

constexpr std::string_view kClippingStage = "front_end/clipping";
constexpr std::size_t kClippingGroup = 64;
constexpr std::size_t kChunk = 32;  ///< runs checked by one work-item, each from one word on

}  // namespace

int clip_sum(std::size_t run_words) {
  return static_cast<int>(std::ceil(kClipLevel * static_cast<double>(run_words * kBitsPerWord)));
}

std::vector<std::uint32_t> alive_channels(const FrontEndPlan& plan) {
  std::vector<std::uint32_t> alive(static_cast<std::size_t>(plan.geometry.channels()), 1U);
  for (const int channel : plan.dead_channels) {
    alive[static_cast<std::size_t>(channel)] = 0U;
  }
  return alive;
}

ClippingCheck::ClippingCheck(const ocl::Device& device, const FrontEndPlan& plan, const BitRing& ring,
                             std::size_t words)
    : channels_(static_cast<std::size_t>(plan.geometry.channels())) {
  const std::size_t run = std::min(kClipRunWords, words);
  chunks_ = (words - run + 1 + kChunk - 1) / kChunk;
  is_alive_ = device.upload<std::uint32_t>(alive_channels(plan), kClippingStage);
  const ocl::Program program = device.build(kClippingStage, "frontend/common/clipping.cl",
                                            {{"CHANNELS", fmt::format("{}", channels_)},
                                             {"WORDS", fmt::format("{}", words)},
                                             {"RUN", fmt::format("{}", run)},
                                             {"CHUNK", fmt::format("{}", kChunk)},
                                             {"LIMIT", fmt::format("{}u", clip_sum(run))},
                                             {"FLAG_CLIPPED", fmt::format("{}u", std::uint32_t{kFlagClipped})}});
  find_clipping_ = program.kernel("find_clipping");
  find_clipping_.set("packed", ring.packed()).set("is_alive", is_alive_).set("slots", ring.span().slots());
  per_window_ = find_clipping_.arguments("status", "first_slot");
}

void ClippingCheck::enqueue(std::uint32_t first_slot, const ocl::Buffer<std::uint32_t>& status) {
  find_clipping_.set(per_window_, status, first_slot);
  find_clipping_.enqueue(
      {.global_0 = ocl::round_up(channels_, kClippingGroup), .local_0 = kClippingGroup, .global_1 = chunks_});
}

}  // namespace nearfield
