#pragma once
#include <complex>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "engine/engine.hpp"
#include "engine/search_chain.hpp"

namespace nearfield {

/// Runs an imager's search while a recording is replayed, on the same thread, by the schedule of
/// `holography.search_every_frames`.
class RecordingSearch {
 public:
  explicit RecordingSearch(Engine& engine);
  /// Computes the window of a hop; its status.
  using Compute = std::function<WindowStatus(std::uint64_t hop)>;
  /// Before a run that begins at `hop` of a recording that begins at `first_hop`: searches what holds there, in windows
  /// before it. The engine forgets that it computed these.
  void prepare(std::uint64_t first_hop, std::uint64_t hop, const Compute& compute);
  /// Of windows from a hop on: how many may be computed together.
  [[nodiscard]] std::size_t together(std::uint64_t hop, std::size_t windows) const;
  /// Whether begin() of a hop puts something into effect, and whether look() at the window of a hop looks.
  [[nodiscard]] bool changes_at(std::uint64_t hop) const {
    return !waiting_.empty() && waiting_.front().from_hop <= hop;
  }
  [[nodiscard]] bool looks_at(std::uint64_t hop) const { return chain_ && (!has_found_ || schedule_.looks_at(hop)); }
  /// Before the window of a hop is computed: what holds from there on takes effect.
  void begin(std::uint64_t hop);
  /// After windows were computed, the first of which is that of `hop`. Where nothing has been found so far, the images
  /// of all of them are computed again with what is found in that window.
  void look(std::uint64_t hop, std::span<const WindowStatus> statuses);
  /// The next window is another recording's: nothing has been found.
  void restart();

 private:
  struct Waiting {
    std::uint64_t from_hop = 0;
    SearchChain::Found found;
  };
  /// What a search looks at.
  struct Look {
    std::uint64_t hop = 0;
    bool is_whole = false;
    std::vector<std::complex<float>> spectra = {};
    std::shared_ptr<const MicrophoneMask> mask = nullptr;
  };
  [[nodiscard]] Look look_at(std::uint64_t hop, bool is_whole) const;
  [[nodiscard]] std::deque<Look> looks_before(std::uint64_t first_hop, std::uint64_t hop, const Compute& compute) const;
  bool search(const Look& look);
  void adopt(const SearchChain::Found& found);

  Engine* engine_;
  SearchSchedule schedule_;
  std::optional<SearchChain> chain_;  ///< none: no search
  bool has_found_ = false;
  std::uint64_t number_ = SearchSchedule::kNoNumber;  ///< in effect
  std::deque<Waiting> waiting_;                       ///< by their hops
};

}  // namespace nearfield
