#include "daemon/background/search_desk.hpp"

#include <pthread.h>
#include <spdlog/spdlog.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "control/service/realtime.hpp"
#include "daemon/last_words.hpp"
#include "nearfield/error.hpp"

namespace nearfield::daemon {

SearchDesk::SearchDesk(Adopt adopt) : adopt_(std::move(adopt)) {
  thread_ = std::jthread([this] {
    control::leave_realtime();
    pthread_setname_np(pthread_self(), "nf-search");
    work();
  });
}

SearchDesk::~SearchDesk() { close(); }

void SearchDesk::close() {
  {
    const std::lock_guard lock(mutex_);
    is_closed_ = true;
  }
  wanted_.notify_all();
  if (thread_.joinable()) {
    thread_.join();
  }
}

void SearchDesk::prepare(const Epoch& epoch) {
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

void SearchDesk::look(const WindowView& view) {
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
  wanted_.notify_one();
}

/// At the top of a thread: nothing is thrown on.
std::shared_ptr<const Findings> SearchDesk::search_in(Search& search, const Snapshot& taken) const {
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

void SearchDesk::work() {
  Snapshot taken;
  std::unique_lock lock(mutex_);
  while (true) {
    wanted_.wait(lock, [this] { return is_waiting_ || is_closed_; });
    if (is_closed_) {
      return;
    }
    std::swap(taken, waiting_);
    is_waiting_ = false;
    const std::shared_ptr<Search> search = search_;
    lock.unlock();
    const std::shared_ptr<const Findings> found = search_in(*search, taken);
    lock.lock();
    if (taken.epoch == epoch_) {
      ++searches_;
      found_ = found ? found : found_;
    }
  }
}

nlohmann::json SearchDesk::status() const {
  const std::lock_guard lock(mutex_);
  const std::vector<std::size_t> waves = found_ ? found_->wave_counts() : std::vector<std::size_t>();
  return {{"every_frames", every_frames_}, {"searches", searches_}, {"waves", waves}};
}

}  // namespace nearfield::daemon
