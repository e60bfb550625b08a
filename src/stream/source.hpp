#pragma once
#include <cstdint>
#include <exception>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "capture/files.hpp"
#include "stream/ingest_ring.hpp"
#include "stream/packet_intake.hpp"

namespace nearfield {

enum class SourceKind {
  kUdp,    ///< packets "NFB1", unicast or multicast
  kPipe,   ///< raw wire words on standard input or a named pipe
  kFile,   ///< a capture, or time data
  kScene,  ///< a simulated array that never ends
};
std::string_view name_of(SourceKind kind);
/// "udp", "pipe", "file" or "scene". Throws ConfigError.
SourceKind source_kind_of(std::string_view name);

enum class Pace {
  kRealTime,  ///< at the file's own rate, by absolute deadlines
  kFast,      ///< as fast as the reader takes: the one case where a source waits for it
};
std::string_view name_of(Pace pace);
/// "real-time" or "fast". Throws ConfigError.
Pace pace_of(std::string_view name);

/// Where a live stream comes from. Lengths in elements: bit-times, or decimated samples where `payload` says so.
struct SourceSettings {
  SourceKind kind = SourceKind::kUdp;
  PayloadKind payload = PayloadKind::kBits;  ///< of udp and pipe; files say it themselves
  std::string address = "127.0.0.1:4710";  ///< of udp: HOST:PORT or [V6]:PORT to listen on, or a multicast group; port
                                           ///< 0 lets the system choose
  std::string interface {};                ///< of udp: the network interface of a multicast group; empty: any
  std::filesystem::path path{};            ///< of pipe ("-" is standard input), file and scene
  Pace pace = Pace::kRealTime;             ///< of file
  bool loop = false;                       ///< of file: begin again at its end; the phases jump at the seam
  std::size_t words_per_element = 32;      ///< of udp and pipe; files say it themselves
  bool require_crc = false;                ///< of udp: refuse packets without CRC
  std::uint64_t receive_buffer_bytes = 64U << 20U;  ///< of udp: asked of the kernel
  std::uint64_t ring_elements = 1U << 19U;          ///< 0.35 s of bits; rounded up to a power of two
  std::uint64_t reorder_elements = 1024;            ///< how long missing ones are waited for
  std::uint64_t max_jump_elements = 15'000'000;     ///< a jump further than that needs a second packet to be believed
  double restart_hold_off_s = 1.0;                  ///< how long a stream that was left may not come back
};

enum class SourceState { kIdle, kRunning, kEnded, kFailed };

/// Everything a source counts, at one moment. With socket sources the sum over all is: what was sent = datagrams +
/// kernel_drops + what the network lost.
struct SourceCounters {
  RingCounters ring;
  PacketCounters packets;          ///< udp only
  std::uint64_t kernel_drops = 0;  ///< udp: datagrams the kernel dropped because its buffer was full (SO_RXQ_OVFL)
  std::uint64_t cut_bytes = 0;     ///< pipe: of an element that the end cut
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
  /// Adds what only it knows.
  virtual void count(SourceCounters& counters) const = 0;
  [[nodiscard]] virtual std::uint16_t port() const { return 0; }
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
  /// Once. `prepare_thread` runs first on the new thread: names, priorities, affinities.
  void start(std::function<void()> prepare_thread = {});
  void stop();

  [[nodiscard]] SourceState state() const { return state_.load(); }
  /// Empty unless state() is kFailed.
  [[nodiscard]] std::string error() const;
  [[nodiscard]] SourceCounters counters() const;
  /// What a capture file or a scene says of its array; nothing for other sources.
  [[nodiscard]] const std::optional<CaptureInfo>& capture() const { return capture_; }
  /// Of a UDP source: where it listens.
  [[nodiscard]] std::uint16_t port() const { return worker_->port(); }
  /// Sentences about what is not as asked, such as a smaller receive buffer.
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

/// The ring that `settings` ask for.
RingSettings ring_settings(const SourceSettings& settings);

}  // namespace nearfield
