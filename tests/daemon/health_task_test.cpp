#include "daemon/background/health_task.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <new>
#include <nlohmann/json.hpp>
#include <random>

#include "daemon/daemon_support.hpp"

namespace nearfield::daemon {
namespace {

/// Looks again and again, a window at a time, until `holds`.
template <typename Holds>
void look_until(HealthTask& health, const Epoch& epoch, std::span<const std::uint32_t> words, const Holds& holds) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  const auto window = static_cast<std::size_t>(epoch.plan.settings.front_end.window_samples);
  epoch.engine->seek(0, 0);
  epoch.engine->push_bits(0, std::vector<std::uint32_t>(window * kBitsPerWord * test::kSmallWords));
  const FinishedBatch batch = epoch.engine->compute({});
  for (std::uint64_t sample = 0; !holds() && std::chrono::steady_clock::now() < end; sample += 1U << 20U) {
    health.look({.engine = epoch.engine.get(),
                 .batch = batch,
                 .epoch = 1,
                 .first_sample = sample,
                 .words = words,
                 .is_whole = true});
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

TEST(HealthTask, CountsTheBadMicrophonesByCause) {
  const std::unique_ptr<Epoch> epoch = make_epoch(test::small_settings(), test::small_input(), 1);
  control::Worker worker("nf-test");
  HealthTask health(worker, {.use = [](const Masks&, std::uint64_t) {},
                             .report = [](const health::Change&, std::size_t) {},
                             .too_many = [](std::size_t) {}});
  health.prepare(*epoch);
  // Random bits; of channels 5 and 40 all ones.
  std::vector<std::uint32_t> words(512 * test::kSmallWords);
  std::mt19937 random(1);
  for (std::uint32_t& word : words) {
    word = static_cast<std::uint32_t>(random());
  }
  for (std::size_t t = 0; t < 512; ++t) {
    words[2 * t] |= 1U << 5U;
    words[2 * t + 1] |= 1U << 8U;
  }
  look_until(health, *epoch, words, [&] { return health.bad_count(health::Condition::kStuck) == 2; });
  worker.close();
  EXPECT_EQ(health.bad_count(health::Condition::kStuck), 2U);
  std::size_t all = 0;
  for (const health::Condition cause : health::kBadConditions) {
    all += health.bad_count(cause);
  }
  EXPECT_EQ(health.status().at("bad").size(), all);
  EXPECT_EQ(health.status().at("masked"), health.status().at("masked_channels").size());
  EXPECT_EQ(health.status().at("masked"), 2) << "by default those that are certain";
  EXPECT_EQ(health.bad_count(health::Condition::kOk), 0U);
}

TEST(HealthTask, NamesTheMicrophonesThatTheConfigurationMasks) {
  Settings settings = test::small_settings();
  settings.array.dead_channels = {9, 2};
  settings.array.health.enabled = false;
  const std::unique_ptr<Epoch> epoch = make_epoch(settings, test::small_input(), 1);
  control::Worker worker("nf-test");
  HealthTask health(worker, {.use = [](const Masks&, std::uint64_t) {},
                             .report = [](const health::Change&, std::size_t) {},
                             .too_many = [](std::size_t) {}});
  health.prepare(*epoch);
  worker.close();
  const int columns = settings.array.geometry.columns;
  const nlohmann::json status = health.status();
  EXPECT_EQ(status.at("watched"), false);
  EXPECT_EQ(status.at("masked"), 2);
  EXPECT_EQ(status.at("microphones"), settings.array.geometry.channels());
  EXPECT_GT(status.at("missing_information").get<double>(), 0.0);
  EXPECT_EQ(status.at("bad"), nlohmann::json::array());
  ASSERT_EQ(status.at("masked_channels").size(), 2U);
  EXPECT_EQ(status.at("masked_channels").at(0).at("channel"), 2);
  const nlohmann::json ninth = {
      {"channel", 9}, {"row", 9 / columns}, {"column", 9 % columns}, {"cause", "configuration"}};
  EXPECT_EQ(status.at("masked_channels").at(1), ninth);
}

// A mask begins averages anew, so one that is in effect is not put into effect again: here too many are bad, and none
// of them is masked.
TEST(HealthTask, LeavesAMaskThatStaysTheSame) {
  const std::unique_ptr<Epoch> epoch = make_epoch(test::small_settings(), test::small_input(), 1);
  control::Worker worker("nf-test");
  std::atomic<int> uses{0};
  std::atomic<int> reports{0};
  HealthTask health(worker, {.use = [&](const Masks&, std::uint64_t) { ++uses; },
                             .report = [&](const health::Change&, std::size_t) { ++reports; },
                             .too_many = [](std::size_t) {}});
  health.prepare(*epoch);
  const std::vector<std::uint32_t> words(512 * test::kSmallWords, 0);
  look_until(health, *epoch, words, [&] { return reports > 0; });
  worker.close();
  EXPECT_GT(reports, 32);
  EXPECT_EQ(uses, 0);
}

// What a change of masks throws must not end the watch.
TEST(HealthTask, WatchesOnAfterAMaskThatFails) {
  const std::unique_ptr<Epoch> epoch = make_epoch(test::small_settings(), test::small_input(), 1);
  control::Worker worker("nf-test");
  std::atomic<int> uses{0};
  HealthTask health(worker, {.use =
                                 [&](const Masks&, std::uint64_t) {
                                   ++uses;
                                   throw std::bad_alloc();
                                 },
                             .report = [](const health::Change&, std::size_t) {},
                             .too_many = [](std::size_t) {}});
  health.prepare(*epoch);
  std::vector<std::uint32_t> words(512 * test::kSmallWords);
  std::mt19937 random(1);
  const auto fill = [&](unsigned stuck) {
    for (std::size_t t = 0; t < 512; ++t) {
      words[2 * t] = static_cast<std::uint32_t>(random()) | stuck;
      words[2 * t + 1] = static_cast<std::uint32_t>(random());
    }
  };
  fill(1U << 5U);
  look_until(health, *epoch, words, [&] { return uses == 1; });
  fill(1U << 5U | 1U << 9U);
  look_until(health, *epoch, words, [&] { return uses == 2; });
  worker.close();
  EXPECT_EQ(uses, 2);
  EXPECT_EQ(health.bad_count(health::Condition::kStuck), 2U);
}

}  // namespace
}  // namespace nearfield::daemon
