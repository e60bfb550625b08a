#include "engine/recording_search.hpp"

namespace nearfield {

RecordingSearch::RecordingSearch(Engine& engine, const Settings& settings)
    : engine_(&engine),
      search_(engine.make_search()),
      every_frames_(static_cast<std::uint64_t>(settings.holography.search_every_frames)),
      spectra_(engine.spectra_values()) {}

void RecordingSearch::look(std::uint64_t index, std::span<const WindowStatus> statuses) {
  if (!search_ || index + statuses.size() <= next_ || statuses.front().missing_bits > 0) {
    return;
  }
  next_ = ((index + statuses.size() - 1) / every_frames_ + 1) * every_frames_;
  engine_->read_spectra(0, spectra_);
  const std::shared_ptr<const Findings> found = search_->search(spectra_, *engine_->mask());
  if (found) {
    engine_->adopt(found);
    engine_->image_again();
  }
}

}  // namespace nearfield
