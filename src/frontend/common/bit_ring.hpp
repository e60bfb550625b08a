#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "cl/device.hpp"
#include "core/microphones.hpp"
#include "frontend/front_end.hpp"

namespace nearfield {

/// Absolute indexes [begin, end) of an endless stream that a ring holds; index i lies in slot i mod capacity.
class RingSpan {
 public:
  explicit RingSpan(std::size_t capacity) : capacity_(capacity) {}

  /// Appends `count` new entries from `first` on. Entries that do not continue the last one restart the ring. Returns
  /// true when they continue.
  bool append(std::uint64_t first, std::size_t count) {
    const bool continues = begin_ != end_ && first == end_;
    begin_ = continues ? begin_ : first;
    end_ = first + count;
    begin_ = std::max(begin_, end_ > capacity_ ? end_ - capacity_ : 0);
    return continues;
  }
  [[nodiscard]] bool holds(std::uint64_t first, std::size_t count) const {
    return first >= begin_ && first + count <= end_;
  }
  [[nodiscard]] std::uint32_t slot_of(std::uint64_t index) const {
    return static_cast<std::uint32_t>(index % capacity_);
  }
  [[nodiscard]] std::uint32_t slots() const { return static_cast<std::uint32_t>(capacity_); }
  [[nodiscard]] std::size_t capacity() const { return capacity_; }
  [[nodiscard]] std::uint64_t begin() const { return begin_; }
  [[nodiscard]] std::uint64_t end() const { return end_; }

 private:
  std::size_t capacity_;
  std::uint64_t begin_ = 0;
  std::uint64_t end_ = 0;
};

/// The microphones' newest bits on the device: uint32 [slot][channel], channel (row * columns + column) fastest. One
/// word is 32 bit-times of one microphone, first bit-time in the least significant bit; word w (bits 32w .. 32w + 31)
/// lies in slot w mod capacity. Words that were never fed hold the silence pattern.
class BitRing {
 public:
  /// Holds `capacity_words`; one append takes up to `max_append_words`, at most the capacity.
  /// Throws ConfigError when layout and geometry do not fit, DeviceError.
  BitRing(const ocl::Device& device, WireLayout layout, const ArrayGeometry& geometry, std::size_t capacity_words,
          std::size_t max_append_words);

  /// Uploads wire words [bit-time][word], whole groups of 32 bit-times, and turns them into packed words from
  /// `first_word` (bit-time / 32) on. Does not wait: `wire` must stay as it is until Device::wait(). An append that
  /// does not continue the last one restarts the ring. Returns true when it continues.
  bool enqueue_append(std::uint64_t first_word, std::span<const std::uint32_t> wire);

  [[nodiscard]] int channels() const { return channels_; }
  [[nodiscard]] std::size_t wire_words_per_bit_time() const { return wire_words_; }
  [[nodiscard]] std::size_t max_append_words() const { return max_append_words_; }
  [[nodiscard]] const RingSpan& span() const { return span_; }
  [[nodiscard]] const ocl::Buffer<std::uint32_t>& packed() const { return packed_; }

 private:
  ocl::Device device_;
  int channels_;
  std::size_t wire_words_;
  std::size_t max_append_words_;
  RingSpan span_;
  ocl::Buffer<std::uint32_t> wire_;           ///< [bit-time][wire word], of one append
  ocl::Buffer<std::int32_t> channel_of_bit_;  ///< [wire word][bit]
  ocl::Buffer<std::uint32_t> packed_;         ///< [slot][channel]
  ocl::Kernel corner_turn_;
  ocl::Arguments<1> first_slot_;
};

/// Fraction of full scale at or above which a microphone counts as clipped.
inline constexpr double kClipLevel = 0.95;
/// Length of the runs of packed words in which clipping is detected by the sum of signs; shorter windows are one run.
inline constexpr std::size_t kClipRunWords = 8;

/// Sum of signs at or above which a run of `run_words` words counts as clipped.
int clip_sum(std::size_t run_words);
/// [channel]; 0 for the configured dead channels, whose clipping does not count.
std::vector<std::uint32_t> alive_channels(const FrontEndPlan& plan);

/// Detects full scale in packed bits, without a filter: |ones - zeros| of any 8 consecutive words (256 bits, 171 us) at
/// 0.95 of their bits or above.
class ClippingCheck {
 public:
  /// For windows of `words` packed words of the ring, which must outlive this; runs are shorter where windows are.
  /// Throws DeviceError.
  ClippingCheck(const ocl::Device& device, const FrontEndPlan& plan, const BitRing& ring, std::size_t words);

  /// Ors kFlagClipped into word 0 of `status` when a live channel is clipped in the window from `first_slot` on.
  void enqueue(std::uint32_t first_slot, const ocl::Buffer<std::uint32_t>& status);

 private:
  std::size_t channels_;
  std::size_t chunks_;
  ocl::Buffer<std::uint32_t> is_alive_;  ///< [channel]
  ocl::Kernel find_clipping_;
  ocl::Arguments<2> per_window_;
};

}  // namespace nearfield
