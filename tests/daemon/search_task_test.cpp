#include "daemon/background/search_task.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <nlohmann/json.hpp>
#include <random>

#include "support/fields.hpp"
#include "support/images.hpp"
#include "support/measures.hpp"

namespace nearfield::daemon {
namespace {

constexpr double kFrequency_hz = 500.0;
constexpr double kKx = 24.0;
constexpr double kKy = -19.0;

Epoch make_spectra_epoch(std::uint64_t number, int every_frames) {
  Epoch epoch;
  epoch.number = number;
  epoch.plan.input = InputForm::kSpectra;
  epoch.plan.spectra_hz = {kFrequency_hz};
  Settings& settings = epoch.plan.settings;
  settings.array.geometry = {.rows = 16, .columns = 16};
  settings.array.layout = WireLayout::kRowMajor;
  settings.front_end.frequencies_hz = {kFrequency_hz};
  settings.front_end.hop_samples = 10;
  settings.holography.imager = ImagerKind::kSonah;
  settings.holography.search_every_frames = every_frames;
  epoch.engine = make_engine(EngineKind::kOpencl, epoch.plan);
  return epoch;
}

/// An evanescent plane wave at height z.
std::vector<std::complex<float>> wave(const ArrayPlan& plan, double z_m, double snr_db) {
  const double decay = std::sqrt(kKx * kKx + kKy * kKy - plan.wavenumber(0) * plan.wavenumber(0));
  std::vector<test::Complex> field;
  for (int row = 0; row < 16; ++row) {
    for (int column = 0; column < 16; ++column) {
      field.push_back(
          std::polar(std::exp(-decay * z_m), kKx * plan.geometry.x_m(column) + kKy * plan.geometry.y_m(row)));
    }
  }
  std::mt19937 generator(1U);
  test::add_noise(field, snr_db, generator);
  return test::narrow(field);
}

WindowView view_of(const Epoch& epoch, const FinishedBatch& batch, std::uint64_t first_sample, bool is_whole = true) {
  return {.engine = epoch.engine.get(),
          .batch = batch,
          .epoch = epoch.number,
          .first_sample = first_sample,
          .hop = first_sample / 10,
          .words = {},
          .is_whole = is_whole};
}

// What the engine's thread leaves comes back as findings, which make its next images better.
TEST(SearchTask, FindsWavesForTheFramesToCome) {
  const Epoch epoch = make_spectra_epoch(7, 100);
  const ArrayPlan& plan = epoch.engine->array_plan();
  const auto spectra = wave(plan, plan.standoff_m, 40.0);
  const auto truth = wave(plan, 0.0, 200.0);
  FinishedBatch batch;
  const auto error = [&] {
    batch = epoch.engine->compute_spectra(spectra);
    return test::relative_l2(images_in(*epoch.engine, batch), truth);
  };
  std::promise<std::shared_ptr<const Findings>> findings;
  control::Worker worker("nf-test");
  SearchTask search(worker, [&](const SearchChain::Found& found, std::uint64_t epoch_number) {
    EXPECT_EQ(epoch_number, 7U);
    findings.set_value(found.findings);
  });
  search.prepare(epoch);
  const double before = error();
  const auto is_pending = [&] {
    return (epoch.engine->read(batch, 0, 0, std::nullopt, true).flags & kFlagSearchPending) != 0;
  };
  EXPECT_TRUE(is_pending());
  search.look(view_of(epoch, batch, 0, false));  // bits are missing: not this one
  search.look(view_of(epoch, batch, 5000));
  search.look(view_of(epoch, batch, 5990));  // less than 100 hops of 10 samples later; a second value would throw
  epoch.engine->adopt(findings.get_future().get());
  const double after = error();
  EXPECT_FALSE(is_pending());
  std::printf("error %.2f %% before, %.2f %% after\n", 100.0 * before, 100.0 * after);
  EXPECT_LE(after, 0.1 * before);
  worker.close();
  EXPECT_EQ(search.status()["searches"], 1);
  EXPECT_EQ(search.status()["waves"], nlohmann::json({1}));
  EXPECT_EQ(search.status()["priors"].size(), 1U);
  const nlohmann::json found = search.status()["sources"][0][0];
  EXPECT_EQ(found["kind"], "plane_wave");
  EXPECT_NEAR(found["kx_rad_per_m"].get<double>(), kKx, 0.5);
  EXPECT_NEAR(found["ky_rad_per_m"].get<double>(), kKy, 0.5);
  const double decay = std::sqrt(kKx * kKx + kKy * kKy - plan.wavenumber(0) * plan.wavenumber(0));
  EXPECT_NEAR(found["amplitude_pa"].get<double>(), std::exp(-decay * plan.standoff_m), 0.01);
  EXPECT_EQ(search.status()["every_frames"], 100);
}

// A search has its number where it remembers all that it would in any run of the stream: its memory, of which one
// begins every fourth search, has none left out.
TEST(SearchTask, NumbersSearchesThatFollowOnOneAnother) {
  const Epoch epoch = make_spectra_epoch(1, 4);
  const FinishedBatch batch = epoch.engine->compute_spectra(wave(epoch.engine->array_plan(), 0.03, 40.0));
  control::Worker worker("nf-test");
  std::promise<SearchChain::Found> found;
  SearchTask search(worker, [&](const SearchChain::Found& one, std::uint64_t) { found.set_value(one); });
  search.prepare(epoch);
  const auto number_at = [&](std::uint64_t hop, bool is_whole = true) {
    found = {};
    std::future<SearchChain::Found> future = found.get_future();
    do {
      search.look(
          view_of(epoch, batch, 10 * hop, is_whole));  // passed over where it meets the background thread at its lock
    } while (future.wait_for(std::chrono::milliseconds(1)) != std::future_status::ready);
    const SearchChain::Found one = future.get();
    EXPECT_EQ(one.findings != nullptr, is_whole);
    return one.number;
  };
  EXPECT_EQ(number_at(0), 0U) << "the stream begins with it";
  EXPECT_EQ(number_at(4), 1U);
  EXPECT_EQ(number_at(8, false), 2U) << "bits are missing: what was found before holds on";
  EXPECT_EQ(number_at(12), 3U);
  EXPECT_EQ(number_at(20), SearchSchedule::kNoNumber) << "the window of hop 16 was shed";
  for (std::uint64_t hop = 24; hop < 48; hop += 4) {
    EXPECT_EQ(number_at(hop), SearchSchedule::kNoNumber) << hop;
  }
  EXPECT_EQ(number_at(48), 12U) << "of a memory that began with search 8";
  search.prepare(epoch);
  EXPECT_EQ(number_at(29), SearchSchedule::kNoNumber) << "the first one, at once";
  EXPECT_EQ(number_at(32), SearchSchedule::kNoNumber);
  for (std::uint64_t hop = 36; hop < 48; hop += 4) {
    EXPECT_EQ(number_at(hop), SearchSchedule::kNoNumber) << hop;
  }
  EXPECT_EQ(number_at(48), 12U);
  worker.close();
}

// However long a search takes, look() does not wait; one snapshot waits, and each comes back with its epoch's number.
TEST(SearchTask, NeverHoldsUpWhoLooks) {
  const Epoch first = make_spectra_epoch(1, 1);
  const Epoch second = make_spectra_epoch(2, 1);
  const auto spectra = wave(first.engine->array_plan(), 0.03, 40.0);
  const FinishedBatch of_first = first.engine->compute_spectra(spectra);
  const FinishedBatch of_second = second.engine->compute_spectra(spectra);
  std::promise<void> begun;
  std::promise<void> go_on;
  std::promise<void> done;
  std::vector<std::uint64_t> epochs;  // of the background thread, read after close()
  control::Worker worker("nf-test");
  SearchTask search(worker, [&](const SearchChain::Found& /*found*/, std::uint64_t number) {
    epochs.push_back(number);
    if (epochs.size() == 1) {
      begun.set_value();
      go_on.get_future().wait();
    }
    if (number == 2) {
      done.set_value();
    }
  });
  search.prepare(first);
  std::future<void> has_begun = begun.get_future();
  do {
    search.look(view_of(first, of_first, 0));  // passed over where it meets the background thread at its lock
  } while (has_begun.wait_for(std::chrono::milliseconds(1)) != std::future_status::ready);
  for (std::uint64_t hop = 1; hop < 50; ++hop) {
    search.look(view_of(first, of_first, 10 * hop));
  }
  search.prepare(second);
  search.look(view_of(first, of_first, 500));  // a window of the epoch before
  search.look(view_of(second, of_second, 510));
  search.look(view_of(second, of_second, 520));
  go_on.set_value();
  done.get_future().wait();
  worker.close();
  EXPECT_EQ(epochs, (std::vector<std::uint64_t>{1, 2}));
}

TEST(SearchTask, AsksForNothingWhereNothingIsSearchedFor) {
  const Epoch epoch = make_spectra_epoch(1, 0);
  control::Worker worker("nf-test");
  SearchTask search(worker, [](const SearchChain::Found&, std::uint64_t) { FAIL() << "no search was due"; });
  search.prepare(epoch);
  search.look(view_of(epoch, {}, 0));
  worker.close();
  EXPECT_EQ(search.status()["every_frames"], 0);
}

}  // namespace
}  // namespace nearfield::daemon
