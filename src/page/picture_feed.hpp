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

/// What a search for rings found: handles to those that were not open yet.
struct FoundRings {
  struct One {
    std::string processor;
    std::shared_ptr<nf_ring> ring;
  };
  std::vector<One> opened = {};
  std::string first_name;                    ///< of the first processor
  nf_ring_status first = NF_RING_NO_SOCKET;  ///< of its socket
};

/// Which rings are open already.
struct OpenRings {
  std::set<std::string> names;
  std::string first_name;  ///< of the first processor, as it was last known
};

/// Opens the rings at `socket`, the first processor's (empty: none), and beside it, but those that are open. May wait a
/// second a socket for a daemon that hangs.
FoundRings find_rings(const std::string& socket, const OpenRings& open);

/// The rings of all processors and the newest frame of each, on one thread. Only what subscriptions want is copied.
class PictureFeed {
 public:
  static constexpr std::int64_t kLateNs = 500'000'000;  ///< how late looks are, at most, which see a frame

  struct Ring {
    std::shared_ptr<nf_ring> handle;  ///< null while there is none
    std::uint64_t generation = 0;     ///< another one is another ring
    nf_ring_status status = NF_RING_NONE;
    bool has_frame = false;
    nf_frame frame{};  ///< valid until the next read
    std::int64_t read_ns = 0;
    std::set<std::string> wanted = {};    ///< products that are copied, beside figures
    bool is_selected = false;             ///< the ring copies those
    std::uint64_t counted_number = 0;     ///< of the newest frame at the last look; 0: none yet
    std::int64_t counted_capture_ns = 0;  ///< when it was captured
    std::int64_t counted_ns = 0;          ///< when a look saw it first
    double rate_hz = 0.0;                 ///< frames a second of capture time; 0: none come, or one so far
  };

  /// True when the list of processors has changed.
  bool adopt(FoundRings found, std::int64_t now_ns);
  [[nodiscard]] OpenRings open_rings() const;
  [[nodiscard]] const std::map<std::string, Ring>& rings() const { return rings_; }
  /// The first processor's name first.
  [[nodiscard]] std::vector<std::string> names() const;
  [[nodiscard]] Ring* find(const std::string& processor);
  /// Why there is no ring of the first processor; NF_RING_OK while there is one.
  [[nodiscard]] nf_ring_status first_status() const { return first_; }
  /// Some ring has ended or was never found.
  [[nodiscard]] bool lacks_some() const;

  /// What the products `wanted` of a ring are from its next read on.
  void want(Ring& ring, std::set<std::string> wanted);
  /// Copies the newest frame; a ring that has ended is closed.
  void read(Ring& ring, std::int64_t now_ns);
  /// Reads each ring, looks whether its writer lives, and measures its rate by the capture times of the newest frames
  /// at this look and at the last one that saw another frame; a processor slower than looks keeps its rate between its
  /// frames. Where they stay away for longer than two of their intervals and kLateNs, the rate is 0.
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
