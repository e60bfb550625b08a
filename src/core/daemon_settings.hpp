#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/access.hpp"
#include "core/product.hpp"
#include "core/sample_format.hpp"

namespace nearfield {

/// Stands for a socket at its default path, which depends on the user: socket_to_serve(), socket_to_connect().
inline constexpr std::string_view kAutoSocket = "auto";

/// Scheduling of the threads that carry the stream.
struct RealtimeSettings {
  int priority = 0;       ///< SCHED_FIFO, 1 to 99; 0: the ordinary scheduler
  std::vector<int> cpus;  ///< empty: any
  bool lock_memory = false;
  /// Polling time before and after the expected arrival of a hop's last bits; empty: auto.
  std::optional<double> poll_us = {};
  friend bool operator==(const RealtimeSettings&, const RealtimeSettings&) = default;
};

/// Settings that only `nearfieldd` uses: section `daemon` of a configuration. An empty path, address or endpoint means
/// none ("off" or null in YAML).
struct DaemonSettings {
  enum class SourceKind { kUdp, kPipe, kAudio, kFile, kSimulate };
  /// Content of packets and pipes: wire words, or samples of a converter or decimated by the sender.
  enum class Payload { kBits, kSamples };
  /// Delivery speed of a file or the simulator; kFast: as fast as possible.
  enum class Pace { kRealtime, kFast };
  using PhaseReference = nearfield::PhaseReference;
  enum class RecordWhat { kBits, kImages, kBoth };
  enum class Trigger { kNone, kLevel, kExternal, kLimit };
  /// Statistic over the values that a limit watches: the largest, or the root mean square (the mean for powers).
  enum class Statistic { kMax, kMean };
  /// kAuto: the journal when systemd connected stderr to it, else stderr.
  enum class LogTarget { kAuto, kJournal, kStderr };
  enum class LogLevel { kDebug, kInfo, kWarning, kError };

  struct Source {
    SourceKind kind = SourceKind::kUdp;
    Payload payload = Payload::kBits;              ///< udp and pipe
    std::optional<double> sample_rate_hz = {};     ///< udp and pipe with samples, and audio: their rate
    SampleFormat format = SampleFormat::kF32;      ///< pipe with samples
    std::string device = {};                       ///< audio: a device of ALSA
    std::string address = "127.0.0.1:7230";        ///< udp: HOST:PORT to listen at, or a multicast group
    std::string interface = {};                    ///< udp: the network interface of a multicast group; empty: any
    std::string path = {};                         ///< pipe: a named pipe, or "-" for stdin; file: a capture
    std::string scene = {};                        ///< simulate: a scene
    Pace pace = Pace::kRealtime;                   ///< file and simulate
    bool loop = false;                             ///< file: start again at its end
    std::int64_t receive_buffer_bytes = 64 << 20;  ///< udp: size of the socket's receive buffer
    int reorder_bit_times = 8192;                  ///< udp: how far behind the newest bit a packet is still accepted
    std::int64_t ring_bit_times = 1 << 20;         ///< bits in host memory between the source and the engine
    std::vector<std::string> allowed_from = {};    ///< udp: addresses and networks that may send; empty: any
    bool require_crc = false;                      ///< udp: packets without a CRC are refused
    double takeover_after_ms = 100.0;              ///< udp: silence of a stream before another one may take over
    double restart_hold_off_ms = 1000.0;           ///< udp: time from a stream's start before another one may begin
    std::int64_t max_jump_bit_times = 15'000'000;  ///< udp: the longest gap in a stream's clock, either way
    friend bool operator==(const Source&, const Source&) = default;
  };

  using Access = SocketAccess;

  struct Ring {
    static constexpr std::string_view kFile = "frames.sock";  ///< file name of the default socket
    std::string socket{kAutoSocket};
    Access access;
    int slots = 64;  ///< frames that a slow reader may lag behind
    friend bool operator==(const Ring&, const Ring&) = default;
  };

  struct Zmq {
    std::string endpoint;           ///< such as "tcp://127.0.0.1:7231"
    std::string curve_secret_file;  ///< a path, or "credential:NAME", see credential_path()
    double max_rate_hz = 30.0;
    std::vector<std::string> curve_clients = {};  ///< with a secret key: public keys of permitted subscribers, Z85
    friend bool operator==(const Zmq&, const Zmq&) = default;
  };

  struct Publish {
    PhaseReference phase_reference = PhaseReference::kWindow;
    Ring ring;
    Zmq zmq;
    friend bool operator==(const Publish&, const Publish&) = default;
  };

  struct Recording {
    std::string directory = "/var/lib/nearfield";
    RecordWhat what = RecordWhat::kBoth;
    Trigger trigger = Trigger::kNone;
    double level = 1.0;    ///< trigger kLevel: limit on the images, in their unit
    double quiet_s = 1.0;  ///< time below the level before a rise triggers, and before a recording by the level ends
    double pause_s = 5.0;  ///< time from the end of a recording until a rise may start the next one
    double pre_trigger_s = 1.0;
    std::int64_t max_bytes = std::int64_t{64} << 30;
    double max_s = 3600.0;
    std::int64_t quota_bytes = std::int64_t{256} << 30;        ///< total of all recordings in the directory; 0: no
                                                               ///< quota
    double sync_s = 0.0;                                       ///< interval of syncs to disk; 0: only at the end
    std::int64_t bits_queue_bytes = std::int64_t{64} << 20;    ///< in addition to the history: 0.35 s at 192 MB/s
    std::int64_t images_queue_bytes = std::int64_t{64} << 20;  ///< including the images' history
    bool remove_oldest = false;        ///< deletes the oldest recordings to meet quota_bytes, max_age_s and
                                       ///< keep_free_bytes
    double max_age_s = 0.0;            ///< age since the last byte was written; 0: no limit
    std::int64_t keep_free_bytes = 0;  ///< free space to keep on the disk; 0: none
    friend bool operator==(const Recording&, const Recording&) = default;
  };

  struct Control {
    static constexpr std::string_view kFile = "control.sock";  ///< file name of the default socket
    std::string socket{kAutoSocket};
    Access access;
    friend bool operator==(const Control&, const Control&) = default;
  };

  struct Metrics {
    std::string address = "127.0.0.1:9187";
    friend bool operator==(const Metrics&, const Metrics&) = default;
  };

  struct Page {
    static constexpr std::string_view kTokenFile = "page_token";  ///< in the control socket's folder
    std::string address = "127.0.0.1:7232";
    std::vector<std::string> allowed_hosts = {};    ///< names of this server besides localhost, 127.0.0.1 and [::1]
    std::vector<std::string> allowed_origins = {};  ///< pages of other servers that may read and control
    std::string token_file = {};                    ///< a path, or "credential:NAME"; empty: a random token is made
    double pictures_hz = 60.0;                      ///< highest rate of pictures per client
    std::string camera = {};                        ///< path of a V4L2 device; empty: none
    friend bool operator==(const Page&, const Page&) = default;
  };

  using Realtime = RealtimeSettings;

  struct Deadlines {
    double frame_ms = 1000.0;  ///< from a hop's last bit in memory to its frame; the process ends when it takes longer
    friend bool operator==(const Deadlines&, const Deadlines&) = default;
  };

  /// Ages of the oldest pending bits from which on work is dropped. A recording was requested and cannot be repeated:
  /// by default it is paused last, and the bits of shed hops are recorded.
  struct Overload {
    double pause_dashboards_ms = 10.0;
    double pause_recordings_ms = 500.0;
    double shed_hops_ms = 50.0;
    friend bool operator==(const Overload&, const Overload&) = default;
  };

  struct Log {
    LogTarget target = LogTarget::kAuto;
    LogLevel level = LogLevel::kInfo;
    friend bool operator==(const Log&, const Log&) = default;
  };

  struct NoInput {
    double after_ms = 1000.0;  ///< declares "no input" after this time without a window that is at least half complete
    bool is_fault = false;     ///< the process then ends instead of waiting
    friend bool operator==(const NoInput&, const NoInput&) = default;
  };

  /// A threshold on a product of a processor.
  struct Limit {
    std::string name;
    std::string processor{kFirstProcessor};
    std::string product = "images";
    std::string column = {};                           ///< table column; empty: the product is an array
    std::optional<std::vector<double>> point_m = {};   ///< x, y: selects the nearest pixel
    std::optional<std::vector<double>> region_m = {};  ///< x0, y0, x1, y1; the whole image if neither is set
    std::optional<double> frequency_hz = {};           ///< empty: all frequencies
    std::optional<double> plane_m = {};                ///< empty: all planes
    Statistic statistic = Statistic::kMax;
    std::optional<double> above = {};     ///< in the product's unit
    std::optional<double> above_db = {};  ///< equivalent of `above` as a level
    double hysteresis_db = 3.0;           ///< the limit is left this far below the threshold
    double hold_s = 0.0;                  ///< time above the threshold before it is exceeded
    double release_s = 0.0;               ///< time below before it is left
    bool record = false;                  ///< starts a recording, with trigger kLimit
    friend bool operator==(const Limit&, const Limit&) = default;
  };

  Source source;
  Publish publish;
  Recording recording;
  Control control;
  Metrics metrics;
  Page page;
  Realtime realtime;
  Deadlines deadlines;
  Overload overload;
  Log log;
  NoInput no_input;
  std::vector<Limit> limits;
  friend bool operator==(const DaemonSettings&, const DaemonSettings&) = default;
};

std::string_view name_of(DaemonSettings::SourceKind kind);
std::string_view name_of(DaemonSettings::Payload payload);
std::string_view name_of(DaemonSettings::Pace pace);
std::string_view name_of(DaemonSettings::RecordWhat what);
std::string_view name_of(DaemonSettings::Trigger trigger);
std::string_view name_of(DaemonSettings::Statistic statistic);
std::string_view name_of(DaemonSettings::LogTarget target);
std::string_view name_of(DaemonSettings::LogLevel level);

/// The number of a user or group of this system, by name or number; empty for an unknown name.
std::optional<std::uint32_t> user_id(const std::string& name);
std::optional<std::uint32_t> group_id(const std::string& name);

/// The path at which a daemon of this user listens: `setting` itself, or for "auto" `file` in the user's default folder
/// (nearfield/runtime_folder.h). Throws IoError if a user other than root has no such folder.
std::string socket_to_serve(const std::string& setting, std::string_view file);
/// The path to which a client connects: `setting` itself, or for "auto" the first default folder that holds the socket.
std::string socket_to_connect(const std::string& setting, std::string_view file);

/// A host (name, IPv4, or IPv6 without its brackets) and a port.
struct HostPort {
  std::string host;
  int port = 0;
};
/// "HOST:PORT" or "[IPV6]:PORT"; empty if it is neither.
std::optional<HostPort> parse_host_port(std::string_view text);
/// True for 127.0.0.0/8, ::1 and localhost, which no other machine reaches.
bool is_loopback(std::string_view host);

}  // namespace nearfield
