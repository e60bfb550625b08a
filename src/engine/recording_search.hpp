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
#include "engine/search_schedule.hpp"

namespace nearfield {

/// Runs an imager's search while a recording is replayed, on the same thread, by the schedule of
/// `holography.search_every_frames`.
class RecordingSearch {
 public:
  explicit RecordingSearch(Engine& engine);
  /// Computes the window of a hop.
  using Compute = std::function<FinishedBatch(std::uint64_t hop)>;
  /// Call it before a run that begins at `hop` of a recording that begins at `first_hop`: searches earlier windows for
  /// the findings in effect at `hop`. Resets the engine's memory of computing these.
  void prepare(std::uint64_t first_hop, std::uint64_t hop, const Compute& compute);
  /// Number of windows, from a hop on, that may be computed together.
  [[nodiscard]] std::size_t together(std::uint64_t hop, std::size_t windows) const;
  /// changes_at(): true if begin() of the hop puts findings into effect. looks_at(): true if look() searches its
  /// window.
  [[nodiscard]] bool changes_at(std::uint64_t hop) const {
    return !waiting_.empty() && waiting_.front().from_hop <= hop;
  }
  [[nodiscard]] bool looks_at(std::uint64_t hop) const { return chain_ && (!has_found_ || schedule_.looks_at(hop)); }
  /// Puts the findings scheduled for the hop into effect; call it before its window is computed.
  void begin(std::uint64_t hop);
  /// Call it after each batch. The first findings of a run take effect at once: the images of all windows of the batch
  /// are computed again with them.
  void look(const FinishedBatch& batch);
  /// Resets the findings: the next window belongs to another recording.
  void restart();

 private:
  struct Waiting {
    std::uint64_t from_hop = 0;
    SearchChain::Found found;
  };
  /// Input of a search.
  struct Look {
    std::uint64_t hop = 0;
    bool is_whole = false;
    std::vector<std::complex<float>> spectra = {};
    std::shared_ptr<const MicrophoneMask> mask = nullptr;
  };
  [[nodiscard]] Look look_at(const FinishedBatch& batch) const;
  [[nodiscard]] std::deque<Look> looks_before(std::uint64_t first_hop, std::uint64_t hop, const Compute& compute) const;
  bool search(const Look& look);
  void adopt(const SearchChain::Found& found);

  Engine* engine_;
  SearchSchedule schedule_;
  std::optional<SearchChain> chain_;  ///< none: search is off
  bool has_found_ = false;
  std::uint64_t number_ = SearchSchedule::kNoNumber;  ///< number of the search in effect
  std::deque<Waiting> waiting_;                       ///< ordered by hop
};

}  // namespace nearfield
