#pragma once
#include <complex>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/frame.hpp"
#include "core/product.hpp"
#include "nearfield_ring.h"

namespace nearfield::ring {

/// Nominal PDM bit rate.
inline constexpr std::uint32_t kBitRate_hz = 1'500'000;

/// Rotates the phases of a published image from the window's first bit, where a steady tone's phasor turns from hop to
/// hop, to bit-time 0, where it is constant.

/// Whole and part turns of a tone at a bit-time, exact after any length of time: f/F is kept to 128 bits, so that the
/// product with a bit-time below 2^64 is off by less than 2^-64 turns.
class TonePhase {
 public:
  /// 0 <= frequency_hz < bit_rate_hz, the F below.
  explicit TonePhase(double frequency_hz, std::uint32_t bit_rate_hz = kBitRate_hz);
  /// frac(f t / F), in units of 2^-64 turns.
  [[nodiscard]] std::uint64_t turns(std::uint64_t bit_time) const;
  /// e^{-j 2 pi f t / F}: rotates the phase from bit-time t to bit-time 0.
  [[nodiscard]] std::complex<float> to_stream(std::uint64_t bit_time) const;

 private:
  std::uint64_t step_high_ = 0;  ///< f/F, first 64 fractional bits
  std::uint64_t step_low_ = 0;   ///< the next 64
};

inline constexpr std::size_t kLine = 64;  ///< bytes of a cache line

constexpr std::size_t round_up(std::size_t value, std::size_t step) { return (value + step - 1) / step * step; }

/// Returns `fields` with the sizes, counts and offsets of the tables that describe `header`, followed by those tables:
/// nf_ring_header.header_bytes in all. `products_offset` is the offset of the first product in a slot. Throws
/// ConfigError on more axes, products, columns or text than the ring's format permits.
std::vector<std::byte> make_header_block(const nf_ring_header& fields, const ResultHeader& header,
                                         std::size_t products_offset);

/// Encodes frames of one layout as nearfield_ring.h describes, in memory of its own. Only its constructor allocates.
class FrameEncoder {
 public:
  /// Throws ConfigError on a flawed header, and on frequencies whose phases cannot be rotated.
  FrameEncoder(const ResultHeader& header, std::uint64_t epoch, PhaseReference reference,
               std::uint32_t bit_rate_hz = kBitRate_hz);

  /// Bytes of a slot including its padding, a multiple of 64.
  [[nodiscard]] std::size_t slot_bytes() const { return slot_bytes_; }
  /// Bytes of a slot without that padding, a multiple of 8.
  [[nodiscard]] std::size_t used_bytes() const { return head_bytes() + payload_.size(); }
  /// Makes nf_ring_header and its tables for a ring of so many slots; `published` is 0. Throws ConfigError on a header
  /// that exceeds the limits of the ring's format.
  [[nodiscard]] std::vector<std::byte> header_block(std::uint32_t slot_count, std::uint64_t ring_id) const;
  /// True if frames of `header` have this layout: equal processor name, axes, products and memory.
  [[nodiscard]] bool fits(const ResultHeader& header) const {
    return header_.processor == header.processor && header_.has_layout_of(header) &&
           header_.memory_hops == header.memory_hops;
  }

  /// Copies a frame's products, their phases rotated to the reference that was set, and all fields but the time of
  /// publication. Throws std::invalid_argument when a product has another size than the layout.
  void take(const Frame& frame);
  /// Sets the time of publication to now, and the head's CRC.
  void stamp();

  /// The consecutive parts of a slot, as filled by take() and stamp(); each is a multiple of 8 bytes. `lock` is left 0.
  [[nodiscard]] const nf_ring_slot& head() const { return head_; }
  /// CRCs [product], with padding.
  [[nodiscard]] std::span<const std::uint32_t> crcs() const { return crcs_; }
  /// The products, at the offsets in the header.
  [[nodiscard]] std::span<const std::byte> payload() const { return payload_; }

 private:
  /// Shape of an array whose values rotate with the frequency's phase: [outer][frequency][inner].
  struct Rotation {
    std::size_t outer = 0;  ///< 0: no rotation
    std::size_t inner = 0;
  };
  [[nodiscard]] Rotation rotation_of(const Product& product) const;
  [[nodiscard]] std::size_t head_bytes() const { return sizeof head_ + crcs_.size() * sizeof(std::uint32_t); }
  void rotate(const Rotation& rotation, std::span<const std::byte> from, std::byte* to) const;

  ResultHeader header_;
  std::uint64_t epoch_;
  PhaseReference reference_;
  std::uint32_t bit_rate_hz_;
  ProductPlaces places_;
  std::vector<Rotation> rotations_;         ///< [product]
  std::vector<TonePhase> phases_;           ///< [frequency]; empty if no product rotates
  std::vector<std::complex<float>> turns_;  ///< [frequency], of the current frame
  std::size_t slot_bytes_ = 0;
  nf_ring_slot head_{};
  std::vector<std::uint32_t> crcs_;
  std::vector<std::byte> payload_;
};

}  // namespace nearfield::ring
