#pragma once
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "cl/device.hpp"
#include "cl/memory.hpp"
#include "core/error.hpp"

namespace nearfield {

/// Page-locked memory that holds bits until the device has fetched them. It has two alternating halves where bits must
/// stay until the next frame, or until the next batch has begun.
class BitStaging {
 public:
  BitStaging(const ocl::Device& device, std::size_t wire_words, bool has_halves)
      : memory_(device.allocate_host<std::uint32_t>(wire_words * (has_halves ? 2 : 1), "pipeline/staging")),
        words_(wire_words),
        has_halves_(has_halves) {}
  [[nodiscard]] bool has_room(std::size_t wire_words) const { return wire_words <= words_ - used_; }
  std::span<std::uint32_t> room(std::size_t wire_words) {
    return memory_.values().subspan(begin_ + used_, std::min(wire_words, words_ - used_));
  }
  /// True if the bits lie in the room that room() returned last.
  [[nodiscard]] bool holds(std::span<const std::uint32_t> wire) const {
    return wire.data() == memory_.values().data() + begin_ + used_;
  }
  void use(std::size_t wire_words) { used_ += wire_words; }
  /// Frees the half in use: its bits are no longer needed.
  void clear() { used_ = 0; }
  /// Switches to the other half; the used bits stay valid until the call after the next.
  void turn() {
    begin_ = has_halves_ && begin_ == 0 ? words_ : 0;
    used_ = 0;
  }

 private:
  ocl::HostBuffer<std::uint32_t> memory_;
  std::size_t words_;  ///< per half
  bool has_halves_;
  std::size_t begin_ = 0;  ///< start of the half in use
  std::size_t used_ = 0;
};

/// Page-locked memory of a device that frames do not wait for: bits stay in it until the device has fetched them. It
/// has two halves. While one is filled the device empties the other; where the device falls further behind, keep()
/// waits for it.
class PacedStaging {
 public:
  PacedStaging(const ocl::Device& device, std::size_t half_words, std::string_view stage)
      : device_(device), memory_(device.allocate_host<std::uint32_t>(2 * half_words, stage)), half_words_(half_words) {}
  /// Copies `wire`, at most half the memory; the copy stays in place until the device has run the commands that the
  /// caller enqueues before the next call.
  [[nodiscard]] std::span<const std::uint32_t> keep(std::span<const std::uint32_t> wire) {
    if (wire.size() > half_words_) {
      throw Error(ExitCode::kInternal,
                  fmt::format("engine: expected at most {} wire words at a time, found {}", half_words_, wire.size()));
    }
    if (used_ + wire.size() > half_words_) {
      fetched_[half_].emplace(device_);
      half_ = 1 - half_;
      used_ = 0;
      if (fetched_[half_]) {
        fetched_[half_]->wait();
      }
    }
    const std::span<std::uint32_t> room = memory_.values().subspan(half_ * half_words_ + used_, wire.size());
    std::copy(wire.begin(), wire.end(), room.begin());
    used_ += wire.size();
    return room;
  }

 private:
  const ocl::Device device_;
  ocl::HostBuffer<std::uint32_t> memory_;
  std::size_t half_words_;
  std::size_t half_ = 0;                               ///< half being filled
  std::size_t used_ = 0;                               ///< words used in that half
  std::array<std::optional<ocl::Marker>, 2> fetched_;  ///< [half] marker behind the last command that reads it
};

}  // namespace nearfield
