#include "daemon/background/search_task.hpp"

#include <spdlog/spdlog.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "daemon/last_words.hpp"
#include "nearfield/error.hpp"

namespace nearfield::daemon {

SearchTask::SearchTask(BackgroundWorker& worker, Adopt adopt)
    : adopt_(std::move(adopt)), worker_(&worker), task_(worker.add([this] { work(); })) {}

void SearchTask::prepare(const Epoch& epoch) {
  const Settings& settings = epoch.plan.settings;
  std::shared_ptr<Search> search = epoch.engine->make_search();
  const std::lock_guard lock(mutex_);
  search_ = std::move(search);
  every_frames_ = search_ ? static_cast<std::uint64_t>(settings.holography.search_every_frames) : 0;
  interval_samples_ = every_frames_ * static_cast<std::uint64_t>(settings.front_end.hop_samples);
  epoch_ = epoch.number;
  next_sample_ = 0;
  is_waiting_ = false;
  found_ = nullptr;
}

void SearchTask::look(const WindowView& view) {
  const std::uint64_t interval = interval_samples_;
  if (interval == 0 || view.first_sample < next_sample_ || !view.is_whole) {
    return;
  }
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock || is_waiting_ || view.epoch != epoch_) {
    return;
  }
  next_sample_ = view.first_sample + interval;
  waiting_.spectra.resize(view.engine->spectra_values());
  view.engine->read_spectra(0, waiting_.spectra);
  waiting_.mask = view.engine->mask();
  waiting_.epoch = view.epoch;
  is_waiting_ = true;
  worker_->run(task_);
}

/// Tasks do not throw.
std::shared_ptr<const Findings> SearchTask::search_in(Search& search, const Snapshot& taken) const {
  try {
    std::shared_ptr<const Findings> found = search.search(taken.spectra, *taken.mask);
    if (found) {
      adopt_(found, taken.epoch);
    }
    return found;
  } catch (const DeviceError& error) {
    end_process(error.exit_code(), error.what());
  } catch (const std::exception& error) {
    spdlog::error("search: {}; what was found before stays", error.what());
  }
  return nullptr;
}

void SearchTask::work() {
  std::shared_ptr<Search> search;
  {
    const std::lock_guard lock(mutex_);
    if (!std::exchange(is_waiting_, false)) {
      return;
    }
    std::swap(taken_, waiting_);
    search = search_;
  }
  const std::shared_ptr<const Findings> found = search_in(*search, taken_);
  const std::lock_guard lock(mutex_);
  if (taken_.epoch == epoch_) {
    ++searches_;
    found_ = found ? found : found_;
  }
}

nlohmann::json SearchTask::status() const {
  const std::lock_guard lock(mutex_);
  const std::vector<std::size_t> waves = found_ ? found_->wave_counts() : std::vector<std::size_t>();
  return {{"every_frames", every_frames_}, {"searches", searches_}, {"waves", waves}};
}

}  // namespace nearfield::daemon
