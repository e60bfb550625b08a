#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "nearfield/frame.hpp"
#include "nearfield_ring.h"
#include "publish/live_frame.hpp"
#include "ring/phase_rotation.hpp"

namespace nearfield::ring {

/// Turns frames of one layout into the bytes of nearfield_ring.h, in memory of its own. Allocates only when made.
class FrameEncoder {
 public:
  /// Throws ConfigError on images that have no values or do not fit a slot.
  FrameEncoder(const ResultHeader& header, std::uint64_t epoch, PhaseReference reference);

  /// Bytes of a slot with what pads it, a multiple of 64.
  [[nodiscard]] std::size_t slot_bytes() const { return slot_bytes_; }
  /// Bytes of a slot that hold something, a multiple of 8.
  [[nodiscard]] std::size_t used_bytes() const { return sizeof(nf_ring_slot) + payload_bytes(); }
  [[nodiscard]] std::size_t payload_bytes() const { return payload_.size() * sizeof(float); }
  /// nf_ring_header and its tables for a ring of so many slots; `published` is 0.
  [[nodiscard]] std::vector<std::byte> header_block(std::uint32_t slot_count, std::uint64_t ring_id) const;
  /// Whether frames of `header` can go on in this layout: sizes, axes, quantity and unit are the same.
  [[nodiscard]] bool fits(const ResultHeader& header) const { return description_.has_layout_of(header); }

  /// Takes a frame's images and points over, with the phases that were asked for, and what else but the time of
  /// publication. Throws std::invalid_argument when a span has another size than the layout.
  void take(const Frame& frame);
  /// Sets the time of publication to now, and the CRC.
  void stamp();
  /// As filled by take() and stamp(); `lock` is left 0.
  [[nodiscard]] const nf_ring_slot& head() const { return head_; }
  /// [cut-offs, slopes, noise, error estimates, points, images]
  [[nodiscard]] std::span<const float> payload() const { return payload_; }

 private:
  /// [plane][frequency][per_frequency], to index `at` of the payload.
  void take_values(const LiveFrame& frame, const char* name, std::span<const std::complex<float>> values,
                   std::size_t per_frequency, std::size_t at);

  ResultHeader description_;
  ImagesHeader header_;
  std::uint64_t epoch_;
  PhaseReference reference_;
  std::vector<TonePhase> phases_;  ///< [frequency], for PhaseReference::kStream
  std::size_t points_at_;          ///< index in payload_
  std::size_t images_at_;          ///< likewise
  std::size_t slot_bytes_;
  nf_ring_slot head_{};
  std::vector<float> payload_;
  std::uint32_t payload_crc_ = 0;  ///< as crc32_iscsi carries it on
  std::uint32_t points_crc_ = 0;   ///< of what is before the images
};

/// Clock now, ns: CLOCK_MONOTONIC, CLOCK_TAI.
std::int64_t clock_ns(int clock);

}  // namespace nearfield::ring
