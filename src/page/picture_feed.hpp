#pragma once
#include <nearfield_ring.h>

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace nearfield::page {

struct CloseRing {
  void operator()(nf_ring* ring) const { nf_ring_close(ring); }
};
using RingHandle = std::unique_ptr<nf_ring, CloseRing>;

/// Result of a search for rings: handles to those that were not open yet.
struct FoundRings {
  struct One {
    std::string processor;
    std::shared_ptr<nf_ring> ring;
  };
  std::vector<One> opened = {};
  std::string first_name;                    ///< name of the first processor
  nf_ring_status first = NF_RING_NO_SOCKET;  ///< status of its socket
};

/// The rings that are already open.
struct OpenRings {
  std::set<std::string> names;
  std::string first_name;  ///< last known name of the first processor
};

/// Opens the rings at `socket`, the first processor's (empty: none), and in its folder, except those that are open. May
/// wait a second per socket for a daemon that hangs.
FoundRings find_rings(const std::string& socket, const OpenRings& open);

/// The rings of all processors and the newest frame of each, on one thread. Copies only what subscriptions want.
class PictureFeed {
 public:
  static constexpr std::int64_t kLateNs = 500'000'000;  ///< longest delay of a look() that sees a frame

  struct Ring {
    std::shared_ptr<nf_ring> handle;  ///< null while there is none
    std::uint64_t generation = 0;     ///< changes when the ring is replaced
    nf_ring_status status = NF_RING_NONE;
    bool has_frame = false;
    nf_frame frame{};  ///< valid until the next read
    std::int64_t read_ns = 0;
    std::set<std::string> wanted = {};    ///< products to copy, besides figures
    bool is_selected = false;             ///< the ring is set to copy those
    std::uint64_t counted_number = 0;     ///< number of the newest frame at the last look; 0: none yet
    std::int64_t counted_capture_ns = 0;  ///< its capture time
    std::int64_t counted_ns = 0;          ///< monotonic time at which the feed first saw that frame
    double rate_hz = 0.0;                 ///< frames per second of capture time; 0: none arrive, or one so far
  };

  /// Adds the found rings. True if the list of processors has changed.
  bool adopt(FoundRings found, std::int64_t now_ns);
  [[nodiscard]] OpenRings open_rings() const;
  [[nodiscard]] const std::map<std::string, Ring>& rings() const { return rings_; }
  /// Names of the processors, the first one's first.
  [[nodiscard]] std::vector<std::string> names() const;
  [[nodiscard]] Ring* find(const std::string& processor);
  /// Reason for the missing ring of the first processor; NF_RING_OK while it exists.
  [[nodiscard]] nf_ring_status first_status() const { return first_; }

  /// Sets the products that a ring copies from its next read on.
  void want(Ring& ring, std::set<std::string> wanted);
  /// Copies the newest frame; closes a ring that has ended.
  void read(Ring& ring, std::int64_t now_ns);
  /// Reads each ring, checks that its writer lives, and measures its rate by the capture times of the newest frames at
  /// this look and at the last one that saw another frame; a processor slower than looks keeps its rate between its
  /// frames. If frames are absent for longer than two of their intervals and kLateNs, the rate is 0.
  void look(std::int64_t now_ns);
  void close_all();

 private:
  static void close(Ring& ring, nf_ring_status why);
  static void measure_rate(Ring& ring, std::int64_t now_ns);

  std::map<std::string, Ring> rings_;
  std::string first_name_;
  nf_ring_status first_ = NF_RING_NO_SOCKET;
  std::uint64_t generations_ = 0;
};

}  // namespace nearfield::page
