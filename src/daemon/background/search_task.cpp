#include "daemon/background/search_task.hpp"

#include <complex>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>

namespace nearfield::daemon {
namespace {

using nlohmann::json;

/// Sources of one frequency for status().
json sources_json(const FoundWaves& found) {
  json sources = json::array();
  auto amplitude = found.amplitudes.begin();
  for (const PlaneWave& wave : found.waves) {
    sources.push_back({{"kind", "plane_wave"},
                       {"kx_rad_per_m", wave.kx_rad_per_m},
                       {"ky_rad_per_m", wave.ky_rad_per_m},
                       {"amplitude_pa", std::abs(*amplitude++)}});
  }
  for (const PointSource& point : found.points) {
    sources.push_back({{"kind", point.is_disc() ? "disc" : "monopole"},
                       {"x_m", point.x_m},
                       {"y_m", point.y_m},
                       {"z_m", point.z_m},
                       {"radius_m", point.radius_m},
                       {"amplitude_pa_m", std::abs(*amplitude++)}});
  }
  return sources;
}

}  // namespace

SearchTask::SearchTask(control::Worker& worker, Adopt adopt) : adopt_(std::move(adopt)), worker_(&worker) {}

void SearchTask::prepare(const Epoch& epoch) {
  const SearchSchedule schedule = epoch.engine->search_schedule();
  std::shared_ptr<Search> search = schedule.is_on() ? epoch.engine->make_search() : nullptr;
  const std::lock_guard lock(mutex_);
  chain_ = search ? std::make_shared<SearchChain>(std::move(search), schedule) : nullptr;
  schedule_ = schedule;
  every_hops_ = chain_ ? schedule.every() : 0;
  epoch_ = epoch.number;
  has_looked_ = false;
  number_ = SearchSchedule::kNoNumber;
  is_waiting_ = false;
  found_ = nullptr;
}

void SearchTask::look(const WindowView& view) {
  const SearchSchedule schedule(every_hops_);
  const bool is_due = has_looked_ ? schedule.looks_at(view.hop) : view.is_whole;
  if (!schedule.is_on() || !is_due) {
    return;
  }
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock || is_waiting_ || view.epoch != epoch_) {
    return;
  }
  const std::uint64_t number = schedule.number_of(view.hop);
  if (number == number_) {
    return;
  }
  waiting_.hop = view.hop;
  waiting_.is_whole = view.is_whole;
  waiting_.follows = has_looked_ && number_ != SearchSchedule::kNoNumber && number == number_ + 1;
  waiting_.epoch = view.epoch;
  if (view.is_whole) {
    waiting_.spectra.resize(view.engine->spectra_values());
    view.engine->read_spectra(view.batch, 0, waiting_.spectra);
    waiting_.mask = view.engine->mask();
    has_looked_ = true;
  }
  number_ = schedule.looks_at(view.hop) ? number : SearchSchedule::kNoNumber;
  is_waiting_ = worker_->run([this] { work(); });
  if (!is_waiting_) {
    number_ = SearchSchedule::kNoNumber;
  }
}

std::shared_ptr<const Findings> SearchTask::search_in(SearchChain& chain, const Snapshot& taken) const {
  try {
    if (!taken.follows) {
      chain.restart();
    }
    const SearchChain::Found found =
        taken.is_whole ? chain.look(taken.hop, taken.spectra, *taken.mask) : chain.pass_over(taken.hop);
    adopt_(found, taken.epoch);
    return found.findings;
  } catch (...) {
    chain.restart();
    throw;
  }
}

void SearchTask::work() {
  std::shared_ptr<SearchChain> chain;
  {
    const std::lock_guard lock(mutex_);
    if (!std::exchange(is_waiting_, false)) {
      return;
    }
    std::swap(taken_, waiting_);
    chain = chain_;
  }
  const std::shared_ptr<const Findings> found = search_in(*chain, taken_);
  const std::lock_guard lock(mutex_);
  if (taken_.epoch == epoch_) {
    searches_ += taken_.is_whole ? 1 : 0;
    found_ = found ? found : found_;
  }
}

nlohmann::json SearchTask::status() const {
  json status = {
      {"waves", json::array()}, {"points", json::array()}, {"priors", json::array()}, {"sources", json::array()}};
  std::shared_ptr<const Findings> found;
  {
    const std::lock_guard lock(mutex_);  // held briefly: look() leaves out a search that is due meanwhile
    status["every_frames"] = chain_ ? schedule_.every() : 0;
    status["searches"] = searches_;
    found = found_;
  }
  for (const FoundWaves& frequency : found ? found->frequencies() : std::span<const FoundWaves>()) {
    status["waves"].push_back(frequency.waves.size());
    status["points"].push_back(frequency.points.size());
    status["sources"].push_back(sources_json(frequency));
    if (frequency.prior) {
      status["priors"].push_back(name_of(*frequency.prior));
    }
  }
  return status;
}

}  // namespace nearfield::daemon
