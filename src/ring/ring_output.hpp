#pragma once
#include <cstddef>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>

#include "core/access.hpp"
#include "core/frame.hpp"
#include "core/system/files.hpp"
#include "core/system/threads.hpp"
#include "core/system/unix_server.hpp"
#include "ring/per_processor.hpp"
#include "ring/ring_writer.hpp"

namespace nearfield::ring {

struct ServerOptions {
  std::filesystem::path socket = {};
  SocketAccess access = {};
  std::size_t most_clients = 64;
};

/// Sends the ring's descriptor to permitted users over a UNIX socket, from a thread of its own. A connection stays open
/// until either process ends, so that a reader notices the writer's end; the server reads no data from it.
class RingServer : private UnixService {
 public:
  /// Listens. Throws what UnixServer throws, with the path.
  explicit RingServer(const ServerOptions& options);

  /// Sends a duplicate of this descriptor to clients from now on. Throws IoError.
  void offer(int memory);
  [[nodiscard]] std::size_t clients() const { return server_.clients(); }
  /// Called by the server's thread after an error that disconnected all readers: logs it. Readers find that the
  /// connection is closed, and open the ring again.
  void recover(const std::exception& error) override;

 private:
  std::unique_ptr<UnixClient> admit(FileDescriptor socket) override;
  void refuse(int socket, const PeerProcess& peer) override;
  void turn_away(int socket) override;
  FileDescriptor offered();

  std::filesystem::path socket_;
  InheritingMutex mutex_;  ///< guards memory_
  FileDescriptor memory_;  ///< sent to clients
  UnixServer server_;      ///< last: its thread uses the rest
};

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

/// Socket of a further processor's ring: "frames.far.sock" in the folder of "frames.sock". Throws ConfigError on
/// a name that cannot be a file name.
std::filesystem::path socket_of_processor(const std::filesystem::path& first, const std::string& processor);

}  // namespace nearfield::ring
