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

#include "core/daemon_settings.hpp"
#include "files/files.hpp"
#include "stream/ingest_ring.hpp"
#include "stream/packets/packet_intake.hpp"

namespace nearfield {

/// Parameters of a live stream: its section of the configuration, and what follows from the rest of it. An element is a
/// bit-time, or a decimated sample if the payload is samples.
struct SourceSettings {
  DaemonSettings::Source source = {};
  std::size_t words_per_element = 32;          ///< for udp and pipe; files state it themselves
  std::uint64_t bit_times_per_element = 1;     ///< converts lengths in bit-times to elements
  std::uint64_t least_ring_elements = 0;       ///< least size of the ring, whatever its own key says
  std::optional<double> pascal_per_unit = {};  ///< for files of samples that do not state it
  std::vector<int> channels = {};  ///< microphones' channels in files of samples and of a device; empty: all
  double period_s = 1e-3;          ///< audio: wanted time between two reads
};

enum class SourceState { kIdle, kRunning, kEnded, kFailed };

/// All counters of a source, at one moment. Socket sources satisfy: sent = datagrams + kernel_drops + lost by the
/// network.
struct SourceCounters {
  RingCounters ring;
  PacketCounters packets;          ///< udp only
  std::uint64_t kernel_drops = 0;  ///< udp: datagrams the kernel dropped because its buffer was full (SO_RXQ_OVFL)
  std::uint64_t cut_bytes = 0;     ///< pipe: bytes of an element that the end cut
  std::uint64_t overruns = 0;      ///< audio: times when the driver's buffer was full
  std::uint64_t absences = 0;      ///< audio: times when the device went
  std::optional<Sender> sender;    ///< udp: of the current stream
  std::optional<Sender> other;     ///< udp: the last other one
};

/// The work of a source's thread.
class SourceWorker {
 public:
  SourceWorker() = default;
  SourceWorker(const SourceWorker&) = delete;
  SourceWorker& operator=(const SourceWorker&) = delete;
  virtual ~SourceWorker() = default;
  /// Fills the ring until the source ends or a stop is requested, which it notices within 50 ms. Throws on errors.
  virtual void run(const std::stop_token& stop) = 0;
  /// Before run(): drops data received since the source was opened, if the sender does not wait. Returns their number.
  virtual std::uint64_t discard_waiting() { return 0; }
  /// Adds the counts specific to this source.
  virtual void count(SourceCounters& counters) const = 0;
  [[nodiscard]] virtual std::uint16_t port() const { return 0; }
  /// Turns of the thread's loops, for a watchdog. Any thread.
  [[nodiscard]] std::uint64_t turns() const noexcept { return turns_.load(std::memory_order_relaxed); }

 protected:
  /// Condition of every loop of run() that may take long: counts a turn, and returns false once a stop is requested.
  [[nodiscard]] bool goes_on(const std::stop_token& stop) noexcept {
    turns_.store(turns_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);  // only one thread writes
    return !stop.stop_requested();
  }

 private:
  std::atomic<std::uint64_t> turns_{0};
};

/// A live stream: a thread that fills a ring. The owner reads ring(); stop(), from any thread, takes at most 100 ms.
/// Errors after start() end the stream: state() is then kFailed and error() gives the reason.
class Source {
 public:
  Source(std::unique_ptr<IngestRing> ring, std::unique_ptr<SourceWorker> worker,
         const std::optional<CaptureInfo>& capture, std::vector<std::string> warnings);
  ~Source();
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;

  [[nodiscard]] IngestRing& ring() const { return *ring_; }
  /// Before start(): drops the datagrams received since the source was opened, and returns their number. No counter
  /// includes them.
  std::uint64_t discard_waiting() { return worker_->discard_waiting(); }
  /// May be called once. `prepare_thread` runs first on the new thread: names, priorities, affinities.
  void start(std::function<void()> prepare_thread = {});
  void stop();

  [[nodiscard]] SourceState state() const { return state_.load(); }
  /// Grows at least every 50 ms while the source runs, unless its thread hangs.
  [[nodiscard]] std::uint64_t turns() const noexcept { return worker_->turns(); }
  /// Empty unless state() is kFailed.
  [[nodiscard]] std::string error() const;
  [[nodiscard]] SourceCounters counters() const;
  /// Array description from a capture file or a scene; nullopt for other sources.
  [[nodiscard]] const std::optional<CaptureInfo>& capture() const { return capture_; }
  /// Listening port of a UDP source, otherwise 0.
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
  std::jthread thread_;  ///< last: joined before the other members are destroyed
};

/// Opens a source, ready to start(). Throws ConfigError on invalid settings, NoInputError, DataError or IoError if it
/// can't be opened.
std::unique_ptr<Source> make_source(const SourceSettings& settings);

/// Ring settings that follow from these settings.
RingSettings ring_settings(const SourceSettings& settings);

/// Permitted senders, and when a stream begins, by the configuration. Throws ConfigError.
IntakeSettings intake_settings(const DaemonSettings::Source& source, std::uint64_t bit_times_per_element = 1);

}  // namespace nearfield
