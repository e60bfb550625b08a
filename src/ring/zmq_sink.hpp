#pragma once
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "publish/live_frame.hpp"
#include "ring/frame_encoder.hpp"

namespace nearfield::ring {

struct ZmqOptions {
  std::string endpoint = {};  ///< such as tcp://127.0.0.1:7231; port * or 0: any free one
  std::filesystem::path curve_secret_key =
      {};  ///< file with the server's Z85 secret key; empty: no CURVE, loopback alone
  std::vector<std::string> curve_clients = {};  ///< with CURVE: public keys, Z85, of those who may subscribe
  double most_frames_per_s = 0.0;               ///< 0: all
  PhaseReference phase_reference = DaemonSettings::Publish{}.phase_reference;
};

/// Publishes frames to dashboards and loggers: a ZeroMQ PUB socket that keeps one frame for each subscriber, the
/// newest. A message is one part: nf_ring_header and its tables with slot_count 1, then one nf_ring_slot
/// (nearfield_ring.h).
class ZmqSink : public Output {
 public:
  /// Binds. Throws ConfigError on an endpoint beyond loopback without a CURVE key, CURVE without clients, a bad
  /// endpoint or key; NoInputError when the key cannot be read; IoError when the endpoint cannot be bound.
  explicit ZmqSink(const ZmqOptions& options);
  ~ZmqSink() override;
  ZmqSink(const ZmqSink&) = delete;
  ZmqSink& operator=(const ZmqSink&) = delete;

  void begin(const ResultHeader& header, const Beginning& beginning) override;
  /// Hands the frame to ZeroMQ, or lets it go when the rate limit says so. Never waits.
  void write(const Frame& frame) override;

  /// As bound, with the port.
  [[nodiscard]] std::string endpoint() const;
  [[nodiscard]] std::uint64_t sent() const { return sent_; }

 private:
  bool is_due(const Frame& frame);

  struct Socket;  ///< keeps ZeroMQ's header out of this one
  std::unique_ptr<Socket> socket_;
  std::int64_t interval_ns_;
  PhaseReference phase_reference_;
  std::optional<FrameEncoder> encoder_;
  std::vector<std::byte> header_;
  std::optional<std::int64_t> due_mono_ns_;
  std::uint64_t sent_ = 0;
};

/// Whether only this host can reach a ZeroMQ endpoint.
bool is_local_endpoint(const std::string& endpoint);

}  // namespace nearfield::ring
