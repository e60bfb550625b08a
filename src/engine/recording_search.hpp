#pragma once
#include <complex>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "engine/engine.hpp"

namespace nearfield {

/// Runs an imager's search while a recording is replayed, on the same thread: every
/// `holography.search_every_frames` frames of the recording.
class RecordingSearch {
 public:
  RecordingSearch(Engine& engine, const Settings& settings);
  /// After windows were computed, the first of which is frame `index` of the recording. Where a search is due and that
  /// window is whole, it searches that window's spectra and computes the images of all windows again with the findings.
  void look(std::uint64_t index, std::span<const WindowStatus> statuses);

 private:
  Engine* engine_;
  std::unique_ptr<Search> search_;  ///< null: no search
  std::uint64_t every_frames_;
  std::uint64_t next_ = 0;
  std::vector<std::complex<float>> spectra_;
};

}  // namespace nearfield
