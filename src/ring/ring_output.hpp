#pragma once
#include <memory>
#include <string>

#include "core/output.hpp"
#include "ring/per_processor.hpp"
#include "ring/ring_server.hpp"
#include "ring/ring_writer.hpp"

namespace nearfield::ring {

/// Publishes every frame to readers on this host: for each processor a ring and the socket over which readers receive
/// its descriptor. When sizes or axes of a processor change with an epoch, a new ring replaces its old one, which ends;
/// those of other processors continue. write() takes no lock and never waits; begin() allocates no ring where prepare()
/// was called before it.
class RingOutput : public Output {
 public:
  /// Listens at `server.socket` immediately, for the first processor; nf_ring_open() of its clients returns
  /// NF_RING_NOT_READY until the first epoch. Throws IoError, ConfigError.
  RingOutput(RingOptions options, ServerOptions server);
  RingOutput(const RingOutput&) = delete;
  RingOutput& operator=(const RingOutput&) = delete;

  /// Makes the ring that begin() uses for the same header, so that the engine's thread does not wait for its memory
  /// (0.1 s for 180 MB), and the socket of a further processor. Called by any thread; may run concurrently with write()
  /// but not with begin(). Throws IoError, ConfigError.
  void prepare(const ResultHeader& header, const Beginning& beginning);
  void begin(const ResultHeader& header, const Beginning& beginning) override;
  void write(const Frame& frame) override { channels_.at(frame.processor).writer->write(frame); }
  /// Ends and frees the rings and sockets of processors that the last epoch does not have, and frees rings that have
  /// ended or that no begin() used; the threads of prepare() apply.
  void free_unused();

  /// Total over all processors.
  [[nodiscard]] std::size_t readers() const;
  [[nodiscard]] std::uint64_t refused_readers() const;
  /// Null for a processor that has not begun.
  [[nodiscard]] const RingWriter* writer(std::size_t processor = 0) const;

 private:
  /// The server is destroyed before the rings end, so that no reader finds an ended ring at the socket.
  struct Channel {
    std::unique_ptr<RingWriter> ended, prepared, writer;
    std::unique_ptr<RingServer> server;
  };
  Channel& channel_of(const std::string& name);

  RingOptions options_;
  ServerOptions server_;
  PerProcessor<Channel> channels_;
};

/// Socket of a further processor's ring: "frames.row_power.sock" in the folder of "frames.sock". Throws ConfigError on
/// a name that cannot be a file name.
std::filesystem::path socket_of_processor(const std::filesystem::path& first, const std::string& processor);

}  // namespace nearfield::ring
