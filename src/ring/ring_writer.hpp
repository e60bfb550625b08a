#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <thread>

#include "core/product.hpp"
#include "core/system/files.hpp"
#include "ring/frame_encoder.hpp"

namespace nearfield::ring {

/// Wakes all readers that sleep on a futex word. FUTEX_WAKE takes longer with each of them, and the kernel may run them
/// before it returns. So the writer wakes them itself while at most kAtOnce sleep; otherwise a thread does.
class Waker {
 public:
  static constexpr int kAtOnce = 2;
  /// `word` must outlive this object.
  explicit Waker(std::uint32_t* word);
  ~Waker();
  Waker(const Waker&) = delete;
  Waker& operator=(const Waker&) = delete;
  /// Called after a change of the word. Several calls may result in one FUTEX_WAKE of the thread.
  void notify();
  /// True if the next call leaves it to the thread: more than kAtOnce slept the last time.
  [[nodiscard]] bool has_many() const { return many_.load(std::memory_order_relaxed); }

 private:
  void call_thread();
  void run();
  std::uint32_t* word_;
  std::atomic<std::uint32_t> calls_ = 0;
  std::atomic<long> woken_ = 0;     ///< readers woken by the writer when more may sleep: the thread counts on from here
  std::atomic<bool> many_ = false;  ///< more than kAtOnce slept the last time
  std::atomic<bool> stop_ = false;
  std::thread thread_;
};

/// FUTEX_WAKE for all threads that sleep on the word.
void wake_all(std::uint32_t* word);

struct RingOptions {
  std::uint32_t slots = 64;                          ///< at least 4
  std::size_t most_bytes = std::size_t{256} << 20U;  ///< fewer slots if they would need more; never fewer than 4
  PhaseReference phase_reference = PhaseReference::kWindow;
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
