#pragma once
#include <memory>

#include "publish/live_frame.hpp"
#include "ring/ring_server.hpp"
#include "ring/ring_writer.hpp"

namespace nearfield::ring {

/// Publishes every frame to readers on this host: one ring and the socket that hands it over. When sizes or axes change
/// with an epoch, a new ring takes the old one's place and the old one ends. write() takes no lock and waits for
/// nothing; begin() for no memory where prepare() was called before it.
class RingSink : public Output {
 public:
  /// Listens at once; clients are told NF_RING_NOT_READY until the first epoch. Throws IoError, ConfigError.
  RingSink(RingOptions options, ServerOptions server)
      : options_(options), server_(std::make_unique<RingServer>(std::move(server))) {}
  /// Closes the socket before the ring ends, so that no reader finds an ended ring there.
  ~RingSink() override;
  RingSink(const RingSink&) = delete;
  RingSink& operator=(const RingSink&) = delete;

  /// Makes the ring that begin() with the same header takes into use, so that the engine's thread need not wait
  /// for its memory (0.1 s for 180 MB). Any thread, beside write() but never beside begin(). Throws IoError,
  /// ConfigError.
  void prepare(const ResultHeader& header, const Beginning& beginning);
  void begin(const ResultHeader& header, const Beginning& beginning) override;
  void write(const Frame& frame) override;
  /// Frees rings that have ended or were prepared in vain; called as prepare() is.
  void free_unused_rings();

  [[nodiscard]] std::size_t readers() const { return server_->clients(); }
  [[nodiscard]] std::uint64_t refused_readers() const { return server_->refused(); }
  [[nodiscard]] const RingWriter* writer() const { return writer_.get(); }

 private:
  RingOptions options_;
  std::unique_ptr<RingServer> server_;
  std::unique_ptr<RingWriter> writer_;
  std::unique_ptr<RingWriter> prepared_;
  std::unique_ptr<RingWriter> ended_;
};

}  // namespace nearfield::ring
