#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>

#include "core/daemon_settings.hpp"
#include "core/system/file_descriptor.hpp"
#include "ring/frame_encoder.hpp"
#include "ring/waker.hpp"

namespace nearfield::ring {

struct RingOptions {
  std::uint32_t slots = static_cast<std::uint32_t>(DaemonSettings::Ring{}.slots);  ///< at least 4
  std::size_t most_bytes = std::size_t{256} << 20U;  ///< fewer slots if they would need more; never fewer than 4
  PhaseReference phase_reference = DaemonSettings::Publish{}.phase_reference;
  std::uint32_t bit_rate_hz = kBitRate_hz;  ///< bit-times per second
};

/// The only writer of a ring in a sealed memfd (nearfield_ring.h). Readers receive a descriptor that cannot write;
/// neither their actions nor their end affect the writer.
class RingWriter {
 public:
  /// Makes, fills and seals the memory. Throws ConfigError on invalid sizes, IoError if the kernel refuses.
  RingWriter(const ResultHeader& header, std::uint64_t epoch, const RingOptions& options);
  /// Ends the ring.
  ~RingWriter();
  RingWriter(const RingWriter&) = delete;
  RingWriter& operator=(const RingWriter&) = delete;

  /// Publishes a frame. Never waits; its only system calls wake readers, or the thread that wakes many.
  void write(const Frame& frame);
  /// The two halves of write(): the frame is published, and sleeping readers are woken.
  void store(const Frame& frame);
  void wake() { waker_->notify(); }
  /// Marks the ring as ended, so that readers expect no further frame, and wakes them.
  void end();

  [[nodiscard]] bool fits(const ResultHeader& header) const { return encoder_.fits(header); }
  /// Read-only descriptor to be sent to readers.
  [[nodiscard]] int memory() const { return memory_.get(); }
  [[nodiscard]] std::uint32_t slots() const { return slots_; }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  [[nodiscard]] std::uint64_t published() const { return number_; }

 private:
  void make_memory(const std::vector<std::byte>& header_block);
  [[nodiscard]] nf_ring_header* shared_header() const { return static_cast<nf_ring_header*>(map_); }
  void bump_wake() const;

  FrameEncoder encoder_;
  std::uint32_t slots_;
  std::size_t header_bytes_ = 0;
  std::size_t bytes_ = 0;
  FileDescriptor memory_;
  void* map_ = nullptr;
  std::uint64_t number_ = 0;  ///< number of the newest frame
  std::optional<Waker> waker_;
};

}  // namespace nearfield::ring
