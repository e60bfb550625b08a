#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "core/error.hpp"
#include "page/page.hpp"

namespace nearfield::page {
namespace {

using control::MetricNames;
using control::Metrics;
using testing::HasSubstr;

constexpr std::int64_t kMillisecondNs = 1'000'000;

std::shared_ptr<Metrics> make_metrics() {
  return std::make_shared<Metrics>(MetricNames{{"front_end", "imager"}, {"late", "crc"}, {"input"}}, 0);
}

/// Metrics at an address of this machine.
class MetricsAt {
 public:
  MetricsAt(const std::string& address, const std::shared_ptr<Metrics>& metrics)
      : server_("nf-metrics"),
        port_(server_.listen("daemon.metrics.address", address, metrics_site(metrics, {"scraped.lab"}))) {
    server_.start();
  }
  [[nodiscard]] int port() const { return port_; }

 private:
  HttpServer server_;
  int port_;
};

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
std::string http_get(int port, const std::string& path, const std::string& host = "localhost") {
  const int client = connected_to(port);
  const std::string request = "GET " + path + " HTTP/1.1\r\nHost: " + host + "\r\nConnection: close\r\n\r\n";
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

TEST(MetricsSite, IsScrapedOverHttp) {
  const auto metrics = make_metrics();
  run_some_frames(*metrics);
  metrics->add_reader("readers", "Readers of the ring", [] { return 16.0; });
  metrics->add_reader(
      "microphones_bad", "By cause", [] { return 3.0; }, control::Metrics::Label{"cause", "dead"});
  metrics->add_reader(
      "microphones_bad", "By cause", [] { return 0.0; }, control::Metrics::Label{"cause", "stuck"});
  metrics->add_readers("limit_events_total", "Of limits", "name", [] {
    return control::Metrics::Labelled{{"loud", 4.0}, {"left", 0.0}};
  });
  metrics->add_readers("limit_state", "Without any", "name", [] { return control::Metrics::Labelled(); });
  const MetricsAt server("127.0.0.1:0", metrics);
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
           "# TYPE nearfield_limit_events_total counter\nnearfield_limit_events_total{name=\"loud\"} 4\n",
           "nearfield_limit_events_total{name=\"left\"} 0\n",
           "# TYPE nearfield_microphones_bad gauge\nnearfield_microphones_bad{cause=\"dead\"} 3\n",
           "nearfield_microphones_bad{cause=\"stuck\"} 0\n",
           "nearfield_up 1\n",
       }) {
    EXPECT_THAT(answer, HasSubstr(line));
  }
  EXPECT_THAT(answer, testing::Not(HasSubstr("limit_state")));
  EXPECT_THAT(
      answer,
      HasSubstr(R"({device="a \"device\"",front_end="popcount",source="udp 127.0.0.1:7230",version="0.1.0"} 1)"));
  EXPECT_THAT(http_get(server.port(), "/elsewhere"), testing::StartsWith("HTTP/1.1 404"));
  EXPECT_THAT(http_get(server.port(), "/metrics", "scraped.lab:80"), testing::StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(http_get(server.port(), "/metrics", "evil.example"), testing::StartsWith("HTTP/1.1 421"));
}

// Clients that say nothing, or half a request, or do not read their answer, held each of the server's threads for two
// seconds: eight of them a scrape for four. They stay connected here for as long as the scrapes take; more of them than
// the server has places for do not keep a scrape out either.
TEST(MetricsSite, ClientsThatAreSlowOrIdleCostAScrapeNothing) {
  const auto metrics = make_metrics();
  const MetricsAt server("127.0.0.1:0", metrics);
  std::vector<int> slow;
  for (std::size_t i = 0; i < 16 + 2 * HttpServer::kMostRequests; ++i) {
    slow.push_back(connected_to(server.port()));
    const std::string part = i % 3 == 0 ? "" : (i % 3 == 1 ? "GET /met" : "GET /metrics HTTP/1.1\r\n");
    EXPECT_EQ(send(slow.back(), part.data(), part.size(), MSG_NOSIGNAL), static_cast<ssize_t>(part.size()));
    if (i == 15 || i + 1 == 16 + 2 * HttpServer::kMostRequests) {
      EXPECT_THAT(http_get(server.port(), "/metrics"), HasSubstr("nearfield_up 1\n")) << "beside " << i + 1;
    }
  }
  for (const int client : slow) {
    close(client);
  }
}

TEST(MetricsSite, AnswersARequestThatComesInPieces) {
  const MetricsAt server("127.0.0.1:0", make_metrics());
  const int client = connected_to(server.port());
  for (const std::string part : {"GET /metr", "ics HTTP/1.1\r\nHost: [::1]\r\n", "\r\n"}) {
    EXPECT_EQ(send(client, part.data(), part.size(), MSG_NOSIGNAL), static_cast<ssize_t>(part.size()));
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  std::array<char, 16> start{};
  EXPECT_EQ(recv(client, start.data(), 12, MSG_WAITALL), 12);
  EXPECT_EQ(std::string(start.data()), "HTTP/1.1 200");
  close(client);
}

TEST(MetricsSite, SaysWhichAddressItCantHave) {
  const auto metrics = make_metrics();
  const MetricsAt first("127.0.0.1:0", metrics);
  const std::string taken = "127.0.0.1:" + std::to_string(first.port());
  try {
    const MetricsAt second(taken, metrics);
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

TEST(MetricsSite, ThreadsDoNotInheritScheduling) {
  // SCHED_BATCH needs no privilege and is inherited as SCHED_FIFO is.
  std::thread([] {
    const sched_param parameters{};
    ASSERT_EQ(pthread_setschedparam(pthread_self(), SCHED_BATCH, &parameters), 0);
    const std::set<int> before = threads_of_process();
    const MetricsAt server("127.0.0.1:0", make_metrics());
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

}  // namespace
}  // namespace nearfield::page
