#pragma once
#include <atomic>
#include <complex>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "control/service/worker.hpp"
#include "daemon/live/live_engine.hpp"
#include "engine/search_schedule.hpp"

namespace nearfield::daemon {

/// Runs an imager's search on the background thread, by the schedule of `holography.search_every_frames` or as often as
/// it can. The engine's thread copies a window's spectra here, without waiting. The mutex guards the waiting spectra,
/// the chain's handle and the findings, not the search itself.
class SearchTask {
 public:
  /// Passes on the findings, if the epoch has not changed. Called on the background thread.
  using Adopt = std::function<void(const SearchChain::Found& found, std::uint64_t epoch)>;
  /// The worker must be closed before this is destroyed.
  SearchTask(control::Worker& worker, Adopt adopt);
  ~SearchTask() = default;
  SearchTask(const SearchTask&) = delete;
  SearchTask& operator=(const SearchTask&) = delete;

  /// Called before an epoch begins, by any thread.
  void prepare(const Epoch& epoch);
  /// Called by the engine's thread after each window.
  void look(const WindowView& view);
  /// {"every_frames", "searches", "waves": [of each frequency], "points": likewise, "priors": likewise, their names,
  /// "sources": likewise, those found last (docs/reference/control.md)}; every_frames is 0 where nothing is searched
  /// for.
  [[nodiscard]] nlohmann::json status() const;

 private:
  struct Snapshot {
    std::vector<std::complex<float>> spectra;
    std::shared_ptr<const MicrophoneMask> mask;
    std::uint64_t hop = 0;
    bool is_whole = true;
    bool follows = true;  ///< no search was left out since the one before
    std::uint64_t epoch = 0;
  };
  void work();
  [[nodiscard]] std::shared_ptr<const Findings> search_in(SearchChain& chain, const Snapshot& taken) const;

  Adopt adopt_;
  control::Worker* worker_;
  mutable std::mutex mutex_;
  Snapshot waiting_;
  Snapshot taken_;  ///< used only by the background thread
  bool is_waiting_ = false;
  std::shared_ptr<SearchChain> chain_;  ///< used only by the background thread
  SearchSchedule schedule_;
  std::uint64_t searches_ = 0;
  std::shared_ptr<const Findings> found_;
  // Parameters of look(); changed only by prepare(), or by the engine's thread:
  std::atomic<std::uint64_t> epoch_{0};
  std::atomic<std::uint64_t> every_hops_{0};                      ///< 0: no search
  std::atomic<std::uint64_t> number_{SearchSchedule::kNoNumber};  ///< number of the last search
  std::atomic<bool> has_looked_{false};
};

}  // namespace nearfield::daemon
