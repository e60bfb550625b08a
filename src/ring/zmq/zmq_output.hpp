#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/daemon_settings.hpp"
#include "core/frame.hpp"
#include "ring/frame_encoder.hpp"

namespace nearfield::ring {

/// Publishes frames to dashboards and loggers: for each processor a ZeroMQ PUB socket that queues only the newest frame
/// per subscriber. A message is one part: nf_ring_header and its tables with slot_count 1, then one nf_ring_slot
/// (nearfield_ring.h).
class ZmqOutput : public Output {
 public:
  /// Binds the first processor's endpoint; port * or 0 selects any free one. `curve_secret_file` is a path here;
  /// without it only loopback is permitted. Throws ConfigError on an endpoint beyond loopback without a CURVE key,
  /// CURVE without clients, a bad endpoint or key; NoInputError if the key cannot be read; IoError if the endpoint
  /// cannot be bound.
  ZmqOutput(const DaemonSettings::Zmq& settings, PhaseReference reference, std::uint32_t bit_rate_hz = kBitRate_hz);
  ~ZmqOutput() override;
  ZmqOutput(const ZmqOutput&) = delete;
  ZmqOutput& operator=(const ZmqOutput&) = delete;

  /// Binds the endpoint that begin() uses for the same header. Called by any thread; may run concurrently with write()
  /// but not with begin(). Throws ConfigError, IoError.
  void prepare(const ResultHeader& header, const Beginning& beginning);
  void begin(const ResultHeader& header, const Beginning& beginning) override;
  /// Passes the frame to ZeroMQ, or drops it if the rate limit requires that. Never waits.
  void write(const Frame& frame) override;
  /// Unbinds the endpoints of processors that the last epoch does not have; the threads of prepare() apply.
  void free_unused();

  /// The bound endpoint, with its port; empty for a further processor that has not begun.
  [[nodiscard]] std::string endpoint(std::size_t processor = 0) const;
  /// Total over all processors.
  [[nodiscard]] std::uint64_t sent() const { return sent_; }

 private:
  struct Channel;
  struct Sockets;  ///< keeps ZeroMQ's headers out of this one
  Channel& channel_of(const std::string& name, const std::string& endpoint);

  DaemonSettings::Zmq settings_;
  PhaseReference reference_;
  std::uint32_t bit_rate_hz_;
  std::unique_ptr<Sockets> sockets_;
  std::int64_t interval_ns_ = 0;
  std::uint64_t sent_ = 0;
};

/// Endpoint of the processor of this index if the first one's is `first`: for tcp, the port plus the index, or any free
/// one again; otherwise the processor's name is appended after a point. Throws ConfigError if there is no such port.
std::string endpoint_of_processor(const std::string& first, std::size_t index, const std::string& processor);

/// True if only this host can reach a ZeroMQ endpoint.
bool is_local_endpoint(const std::string& endpoint);

}  // namespace nearfield::ring
