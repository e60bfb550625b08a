#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "nearfield/frame.hpp"
#include "nearfield_ring.h"
#include "ring/phase_rotation.hpp"

namespace nearfield::ring {

/// Encodes frames of one layout as nearfield_ring.h describes, in memory of its own. Only its constructor allocates.
class FrameEncoder {
 public:
  /// Throws ConfigError on a header that is flawed, and on frequencies that phases cannot be turned by.
  FrameEncoder(const ResultHeader& header, std::uint64_t epoch, PhaseReference reference,
               std::uint32_t bit_rate_hz = kBitRate_hz);

  /// Bytes of a slot with what pads it, a multiple of 64.
  [[nodiscard]] std::size_t slot_bytes() const { return slot_bytes_; }
  /// Bytes of a slot without that padding, a multiple of 8.
  [[nodiscard]] std::size_t used_bytes() const { return head_bytes() + payload_.size(); }
  /// nf_ring_header and its tables for a ring of so many slots; `published` is 0. Throws ConfigError on a header that
  /// the ring's format has no room for.
  [[nodiscard]] std::vector<std::byte> header_block(std::uint32_t slot_count, std::uint64_t ring_id) const;
  /// Whether frames of `header` have this layout: the processor's name, axes, products and memory are the same.
  [[nodiscard]] bool fits(const ResultHeader& header) const {
    return header_.processor == header.processor && header_.has_layout_of(header) &&
           header_.memory_hops == header.memory_hops;
  }

  /// Copies a frame's products, their phases rotated to the reference that was set, and all fields but the time of
  /// publication. Throws std::invalid_argument when a product has another size than the layout.
  void take(const Frame& frame);
  /// Sets the time of publication to now, and the head's CRC.
  void stamp();

  /// The parts of a slot behind each other, as filled by take() and stamp(); each is a multiple of 8 bytes. `lock` is
  /// left 0.
  [[nodiscard]] const nf_ring_slot& head() const { return head_; }
  /// [product], and what pads them
  [[nodiscard]] std::span<const std::uint32_t> crcs() const { return crcs_; }
  /// The products where the header's places say.
  [[nodiscard]] std::span<const std::byte> payload() const { return payload_; }

 private:
  /// An array whose values turn with the frequency's phase: [outer][frequency][inner].
  struct Rotation {
    std::size_t outer = 0;  ///< 0: it does not turn
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
  std::vector<TonePhase> phases_;           ///< [frequency], where a product turns
  std::vector<std::complex<float>> turns_;  ///< [frequency], of the frame
  std::size_t slot_bytes_ = 0;
  nf_ring_slot head_{};
  std::vector<std::uint32_t> crcs_;
  std::vector<std::byte> payload_;
};

}  // namespace nearfield::ring
