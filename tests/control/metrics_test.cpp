#include "control/metrics/metrics.hpp"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <thread>

#include "control/metrics/metrics_server.hpp"
#include "control/socket/exposure.hpp"
#include "nearfield/error.hpp"

namespace nearfield::control {
namespace {

using testing::HasSubstr;

constexpr std::int64_t kMillisecondNs = 1'000'000;
constexpr std::int64_t kSecondNs = 1'000'000'000;

std::shared_ptr<Metrics> make_metrics() {
  return std::make_shared<Metrics>(MetricNames{{"front_end", "imager"}, {"late", "crc"}, {"input"}}, 0);
}

int connected_to(int port) {
  const int client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(connect(client, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  return client;
}

/// A plain HTTP GET, as a scraper sends it; the whole answer.
std::string http_get(int port, const std::string& path) {
  const int client = connected_to(port);
  const std::string request = "GET " + path + " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
  EXPECT_EQ(send(client, request.data(), request.size(), MSG_NOSIGNAL), static_cast<ssize_t>(request.size()));
  std::string answer;
  std::array<char, 4096> chunk{};
  for (ssize_t bytes = 0; (bytes = recv(client, chunk.data(), chunk.size(), 0)) > 0;) {
    answer.append(chunk.data(), static_cast<std::size_t>(bytes));
  }
  close(client);
  return answer;
}

void run_some_frames(Metrics& metrics) {
  metrics.set_run({"0.1.0", "a \"device\"", {{"far", "another"}}, "popcount", "udp 127.0.0.1:7230", 3, 1464.84375});
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

TEST(Metrics, AreScrapedOverHttp) {
  const auto metrics = make_metrics();
  run_some_frames(*metrics);
  metrics->add_reader("readers", "Readers of the ring", [] { return 16.0; });
  metrics->add_reader(
      "microphones_bad", "By cause", [] { return 3.0; }, Metrics::Label{"cause", "dead"});
  metrics->add_reader(
      "microphones_bad", "By cause", [] { return 0.0; }, Metrics::Label{"cause", "stuck"});
  const MetricsServer server("127.0.0.1:0", metrics);
  const std::string answer = http_get(server.port(), "/metrics");
  EXPECT_THAT(answer, testing::StartsWith("HTTP/1.1 200"));
  for (const char* line : {
           "# TYPE nearfield_frames_total counter\nnearfield_frames_total 100\n",
           "# TYPE nearfield_age_seconds histogram\n",
           "nearfield_age_seconds_count 100\n",
           "nearfield_age_seconds_bucket{le=\"+Inf\"} 100\n",
           "nearfield_publish_interval_seconds_count 99\n",
           "nearfield_stage_seconds_count{stage=\"front_end\"} 0\n",
           "nearfield_stage_seconds_count{stage=\"imager\"} 100\n",
           "nearfield_losses_total{cause=\"late\"} 0\n",
           "nearfield_losses_total{cause=\"crc\"} 7\n",
           "nearfield_shed_hops_total 2\n",
           "nearfield_bit_times_missing_total 10\n",
           "nearfield_queue_depth{queue=\"input\"} 42\n",
           "nearfield_configuration_epoch 3\n",
           "nearfield_recording_state{state=\"recording\"} 1\n",
           "nearfield_recording_state{state=\"idle\"} 0\n",
           "nearfield_recording_bit_times{became=\"stored\"} 90\n",
           "nearfield_recording_bit_times{became=\"never_sent\"} 4\n",
           "nearfield_recording_bit_times{became=\"paused\"} 3\n",
           "nearfield_recording_bit_times{became=\"overrun\"} 2\n",
           "nearfield_recording_bit_times{became=\"dropped\"} 1\n",
           "nearfield_readers 16\n",
           "# TYPE nearfield_microphones_bad gauge\nnearfield_microphones_bad{cause=\"dead\"} 3\n",
           "nearfield_microphones_bad{cause=\"stuck\"} 0\n",
           "nearfield_up 1\n",
       }) {
    EXPECT_THAT(answer, HasSubstr(line));
  }
  EXPECT_THAT(
      answer,
      HasSubstr(R"({device="a \"device\"",front_end="popcount",source="udp 127.0.0.1:7230",version="0.1.0"} 1)"));
  EXPECT_THAT(http_get(server.port(), "/elsewhere"), testing::StartsWith("HTTP/1.1 404"));
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

// Clients that say nothing, or half a request, or do not read their answer, held each of the server's threads for two
// seconds: eight of them a scrape for four. They stay connected here for as long as the scrapes take; more of them than
// the server has places for do not keep a scrape out either.
TEST(MetricsServer, ClientsThatAreSlowOrIdleCostAScrapeNothing) {
  const auto metrics = make_metrics();
  const MetricsServer server("127.0.0.1:0", metrics);
  std::vector<int> slow;
  for (std::size_t i = 0; i < 16 + 2 * MetricsServer::kMostClients; ++i) {
    slow.push_back(connected_to(server.port()));
    const std::string part = i % 3 == 0 ? "" : (i % 3 == 1 ? "GET /met" : "GET /metrics HTTP/1.1\r\n");
    EXPECT_EQ(send(slow.back(), part.data(), part.size(), MSG_NOSIGNAL), static_cast<ssize_t>(part.size()));
    if (i == 15 || i + 1 == 16 + 2 * MetricsServer::kMostClients) {
      EXPECT_THAT(http_get(server.port(), "/metrics"), HasSubstr("nearfield_up 1\n")) << "beside " << i + 1;
    }
  }
  for (const int client : slow) {
    close(client);
  }
}

TEST(MetricsServer, AnswersARequestThatComesInPieces) {
  const MetricsServer server("127.0.0.1:0", make_metrics());
  const int client = connected_to(server.port());
  for (const std::string part : {"GET /metr", "ics HTTP/1.1\r\nHost: x\r\n", "\r\n"}) {
    EXPECT_EQ(send(client, part.data(), part.size(), MSG_NOSIGNAL), static_cast<ssize_t>(part.size()));
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  std::array<char, 16> start{};
  EXPECT_EQ(recv(client, start.data(), 12, MSG_WAITALL), 12);
  EXPECT_EQ(std::string(start.data()), "HTTP/1.1 200");
  close(client);
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
  daemon.source.kind = DaemonSettings::SourceKind::kPipe;
  daemon.metrics.address.clear();
  EXPECT_THAT(exposure_warnings(daemon), testing::IsEmpty());
}

TEST(MetricsServer, SaysWhichAddressItCantHave) {
  const auto metrics = make_metrics();
  const MetricsServer first("127.0.0.1:0", metrics);
  const std::string taken = "127.0.0.1:" + std::to_string(first.port());
  try {
    const MetricsServer second(taken, metrics);
    FAIL() << "two servers at one port";
  } catch (const IoError& error) {
    EXPECT_THAT(error.what(), HasSubstr(taken));
  }
}

std::set<int> threads_of_process() {
  std::set<int> threads;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) {
    threads.insert(std::stoi(entry.path().filename()));
  }
  return threads;
}

TEST(MetricsServer, ThreadsDoNotInheritScheduling) {
  // SCHED_BATCH needs no privilege and is inherited as SCHED_FIFO is.
  std::thread([] {
    const sched_param parameters{};
    ASSERT_EQ(pthread_setschedparam(pthread_self(), SCHED_BATCH, &parameters), 0);
    const std::set<int> before = threads_of_process();
    const MetricsServer server("127.0.0.1:0", make_metrics());
    EXPECT_FALSE(http_get(server.port(), "/metrics").empty()) << "an answer is later than the thread's start";
    int started = 0;
    for (const int thread : threads_of_process()) {
      if (!before.contains(thread)) {
        ++started;
        EXPECT_EQ(sched_getscheduler(thread), SCHED_OTHER);
      }
    }
    EXPECT_GE(started, 1);
  }).join();
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
