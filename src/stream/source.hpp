#pragma once
#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "files/files.hpp"
#include "nearfield/daemon_settings.hpp"
#include "stream/ingest_ring.hpp"
#include "stream/packets/packet_intake.hpp"

namespace nearfield {

/// A live stream as it is opened: its section of the configuration, and what follows from the rest of it. An element is
/// a bit-time, or a decimated sample where the payload is samples.
struct SourceSettings {
  DaemonSettings::Source source = {};
  std::size_t words_per_element = 32;          ///< of udp and pipe; files say it themselves
  std::uint64_t bit_times_per_element = 1;     ///< by which lengths in bit-times become lengths in elements
  std::uint64_t least_ring_elements = 0;       ///< the ring holds at least so many, whatever its own key says
  std::optional<double> pascal_per_unit = {};  ///< of files of samples that do not say it
  std::vector<int> channels = {};              ///< of files of samples, those of the microphones; empty: all
};

enum class SourceState { kIdle, kRunning, kEnded, kFailed };

/// Everything a source counts, at one moment. With socket sources the sum over all is: what was sent = datagrams +
/// kernel_drops + what the network lost.
struct SourceCounters {
  RingCounters ring;
  PacketCounters packets;          ///< udp only
  std::uint64_t kernel_drops = 0;  ///< udp: datagrams the kernel dropped because its buffer was full (SO_RXQ_OVFL)
  std::uint64_t cut_bytes = 0;     ///< pipe: of an element that the end cut
  std::optional<Sender> sender;    ///< udp: of the present stream
  std::optional<Sender> other;     ///< udp: the last one beside it
};

/// What runs on a source's thread.
class SourceWorker {
 public:
  SourceWorker() = default;
  SourceWorker(const SourceWorker&) = delete;
  SourceWorker& operator=(const SourceWorker&) = delete;
  virtual ~SourceWorker() = default;
  /// Fills the ring until the source ends or a stop is requested, which it notices within 50 ms. Throws what is wrong.
  virtual void run(const std::stop_token& stop) = 0;
  /// Before run(): drops what has come since the source was opened, where the sender does not wait. How much that was.
  virtual std::uint64_t discard_waiting() { return 0; }
  /// Adds the counts that only this source has.
  virtual void count(SourceCounters& counters) const = 0;
  [[nodiscard]] virtual std::uint16_t port() const { return 0; }
  /// Turns of the thread's loops, for who watches that it does not hang. Any thread.
  [[nodiscard]] std::uint64_t turns() const noexcept { return turns_.load(std::memory_order_relaxed); }

 protected:
  /// The condition of every loop of run() that may last: counts a turn, and is false once a stop is requested.
  [[nodiscard]] bool goes_on(const std::stop_token& stop) noexcept {
    turns_.store(turns_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);  // of one thread alone
    return !stop.stop_requested();
  }

 private:
  std::atomic<std::uint64_t> turns_{0};
};

/// A live stream: a thread that fills a ring. The owner reads ring(); a stop, from any thread, ends within 100 ms.
/// Errors after start() end the stream: state() is kFailed then and error() says why.
class Source {
 public:
  Source(std::unique_ptr<IngestRing> ring, std::unique_ptr<SourceWorker> worker,
         const std::optional<CaptureInfo>& capture, std::vector<std::string> warnings);
  ~Source();
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;

  [[nodiscard]] IngestRing& ring() const { return *ring_; }
  /// Before start(): drops the datagrams that have come since the source was opened, and returns how many they were. No
  /// counter has them.
  std::uint64_t discard_waiting() { return worker_->discard_waiting(); }
  /// Once. `prepare_thread` runs first on the new thread: names, priorities, affinities.
  void start(std::function<void()> prepare_thread = {});
  void stop();

  [[nodiscard]] SourceState state() const { return state_.load(); }
  /// Grows at least every 50 ms while the source runs, unless its thread hangs.
  [[nodiscard]] std::uint64_t turns() const noexcept { return worker_->turns(); }
  /// Empty unless state() is kFailed.
  [[nodiscard]] std::string error() const;
  [[nodiscard]] SourceCounters counters() const;
  /// What a capture file or a scene says of its array; nothing for other sources.
  [[nodiscard]] const std::optional<CaptureInfo>& capture() const { return capture_; }
  /// Of a UDP source: where it listens.
  [[nodiscard]] std::uint16_t port() const { return worker_->port(); }
  /// A sentence for each setting that could not be granted, such as a larger receive buffer.
  [[nodiscard]] const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  void run(const std::stop_token& stop, const std::function<void()>& prepare_thread);

  std::unique_ptr<IngestRing> ring_;
  std::unique_ptr<SourceWorker> worker_;
  std::optional<CaptureInfo> capture_;
  std::vector<std::string> warnings_;
  std::atomic<SourceState> state_{SourceState::kIdle};
  mutable std::mutex error_mutex_;  ///< guards error_
  std::string error_;
  std::jthread thread_;  ///< last: joined before the rest goes
};

/// Opens a source, ready to start(). Throws ConfigError on settings that make no sense, NoInputError, DataError or
/// IoError when it can't be opened.
std::unique_ptr<Source> make_source(const SourceSettings& settings);

/// The ring of these settings.
RingSettings ring_settings(const SourceSettings& settings);

/// Who may send, and when a stream begins, as the configuration says. Throws ConfigError.
IntakeSettings intake_settings(const DaemonSettings::Source& source, std::uint64_t bit_times_per_element = 1);

}  // namespace nearfield
