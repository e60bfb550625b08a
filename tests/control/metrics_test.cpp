#include "control/metrics/metrics.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "control/checks/check.hpp"
#include "core/daemon_settings.hpp"
#include "core/error.hpp"

namespace nearfield::control {
namespace {

using testing::HasSubstr;

constexpr std::int64_t kMillisecondNs = 1'000'000;
constexpr std::int64_t kSecondNs = 1'000'000'000;

std::shared_ptr<Metrics> make_metrics() {
  return std::make_shared<Metrics>(MetricNames{{"front_end", "imager"}, {"late", "crc"}, {"input"}}, 0);
}

void run_some_frames(Metrics& metrics) {
  metrics.set_run(
      {"0.1.0", "0123456789ab", "a \"device\"", {{"far", "another"}}, "popcount", "udp 127.0.0.1:7230", 3, 1464.84375});
  for (int frame = 1; frame <= 100; ++frame) {
    metrics.frame_published(frame * kMillisecondNs, (frame - 5) * kMillisecondNs);
    metrics.stage_took(1, 200'000);
  }
  metrics.lose(1, 7);
  metrics.shed_hops(2);
  metrics.set_bit_times(90, 10, 100);
  metrics.set_queue_depth(0, 42);
  metrics.set_recording(RecordingState::kRecording, 4096);
  metrics.set_recording_bits({90, 4, 3, 2, 1});
}

TEST(Metrics, BucketsOfAHistogramHoldTheirSamples) {
  const auto metrics = make_metrics();
  run_some_frames(*metrics);
  for (const prometheus::MetricFamily& family : metrics->Collect()) {
    if (family.name != "nearfield_age_seconds") {
      continue;
    }
    std::uint64_t below = 0;
    double bound = 0.0;
    for (const auto& bucket : family.metric.at(0).histogram.bucket) {
      EXPECT_GE(bucket.cumulative_count, below);
      EXPECT_GT(bucket.upper_bound, bound);
      // Every age is 5 ms exactly.
      EXPECT_EQ(bucket.cumulative_count, bucket.upper_bound > 0.005 ? 100U : 0U) << bucket.upper_bound;
      below = bucket.cumulative_count;
      bound = bucket.upper_bound;
    }
    EXPECT_EQ(family.metric.at(0).histogram.sample_sum, 0.5);
    return;
  }
  FAIL() << "no nearfield_age_seconds";
}

TEST(Metrics, StatusTellsTheRecentPast) {
  const auto metrics = make_metrics();
  run_some_frames(*metrics);
  metrics->tick(kSecondNs);
  nlohmann::json status = metrics->status();
  EXPECT_EQ(status["frames"], 100);
  EXPECT_EQ(status["frame_rate_hz"], 100.0);
  EXPECT_EQ(status["state"], "running");
  EXPECT_EQ(status["devices"]["far"], "another");
  EXPECT_EQ(status["losses"]["crc"], 7);
  EXPECT_EQ(status["recording"]["state"], "recording");
  EXPECT_GE(status["age_ms"]["p99"].get<double>(), 5.0);
  EXPECT_LE(status["age_ms"]["p99"].get<double>(), 5.0 * 1.125);
  EXPECT_TRUE(status["stages_ms"]["front_end"]["median"].is_null());
  for (int second = 10; second <= 40; second += 10) {
    metrics->tick(second * kSecondNs);
  }
  status = metrics->status();
  EXPECT_EQ(status["frame_rate_hz"], 0.0);
  EXPECT_EQ(status["frames"], 100);
  EXPECT_TRUE(status["age_ms"]["median"].is_null()) << "ages of frames long ago";
  metrics->set_no_input(true);
  EXPECT_EQ(metrics->status()["state"], "no input");
}

TEST(Exposure, WhatOtherMachinesReachIsWarnedOf) {
  DaemonSettings daemon;
  EXPECT_THAT(exposure_warnings(daemon), testing::IsEmpty()) << "the defaults are on loopback";
  daemon.source.address = "0.0.0.0:7230";
  daemon.metrics.address = "[::]:9187";
  EXPECT_THAT(
      exposure_warnings(daemon),
      testing::ElementsAre(testing::AllOf(HasSubstr("daemon.source.address: 0.0.0.0:7230"), HasSubstr("send bits"),
                                          HasSubstr("daemon.source.allowed_from")),
                           testing::AllOf(HasSubstr("daemon.metrics.address: [::]:9187"), HasSubstr("can read them"))));
  daemon.page.address = "0.0.0.0:7232";
  EXPECT_THAT(exposure_warnings(daemon).back(),
              testing::AllOf(HasSubstr("daemon.page.address: 0.0.0.0:7232"), HasSubstr("token"), HasSubstr("TLS")));
  daemon.page.address.clear();
  daemon.source.kind = DaemonSettings::SourceKind::kPipe;
  daemon.metrics.address.clear();
  EXPECT_THAT(exposure_warnings(daemon), testing::IsEmpty());
}

TEST(Metrics, AreScrapedWhileTheStreamRuns) {
  const auto metrics = make_metrics();
  std::atomic<bool> over{false};
  std::thread stream([&] {
    for (std::int64_t now_ns = 1; !over; now_ns += kMillisecondNs) {
      metrics->frame_published(now_ns, now_ns - 1000);
      metrics->lose(0, 1);
    }
  });
  for (int scrape = 0; scrape < 50; ++scrape) {
    metrics->tick(scrape * kSecondNs);
    EXPECT_FALSE(metrics->Collect().empty());
    EXPECT_TRUE(metrics->status().is_object());
  }
  over = true;
  stream.join();
}

}  // namespace
}  // namespace nearfield::control
