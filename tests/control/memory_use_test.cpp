#include "control/metrics/memory_use.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prometheus/metric_family.h>

#include <map>
#include <nlohmann/json.hpp>
#include <numeric>

#include "control/socket/status_text.hpp"

namespace nearfield::control {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

std::uint64_t sum_of(const MemoryUse& use) {
  return std::accumulate(use.parts.begin(), use.parts.end(), std::uint64_t{0},
                         [](std::uint64_t sum, const auto& part) { return sum + part.second; });
}

const MemoryFigures kFigures = {.ring_bytes = 1000,
                                .history_bytes = 200,
                                .buffers_bytes = 30,
                                .device_bytes = 5,
                                .driver_heap_bytes = 400,
                                .driver_files = {"/lib/driver.so", "/lib/gone.so"}};

// Pages of a file that were written to count where the heap does, and so does memory for readers of frames.
TEST(MemoryUse, PartsAddUpToAllThatIsResident) {
  const MappedMemory mapped = {.resident_bytes = 3000,
                               .files = {{"/memfd:frames (deleted)", {.resident_bytes = 70}},
                                         {"/bin/program", {.resident_bytes = 600, .anonymous_bytes = 100}},
                                         {"/lib/driver.so", {.resident_bytes = 300, .anonymous_bytes = 50}}}};
  const MemoryUse use = memory_use(kFigures, mapped);
  EXPECT_THAT(use.parts, ElementsAre(Pair("ring", 1000), Pair("history", 200), Pair("device_buffers", 30),
                                     Pair("driver", 650), Pair("program", 500), Pair("own", 620)));
  EXPECT_EQ(use.total_bytes, 3000U);
  EXPECT_EQ(sum_of(use), use.total_bytes);
  EXPECT_EQ(use.device_bytes, 5U);
}

TEST(MemoryUse, WhatIsSwappedOutMakesNoPartNegative) {
  EXPECT_THAT(memory_use(kFigures, {.resident_bytes = 100, .files = {}}).parts.back(), Pair("own", 0));
}

TEST(MemoryUse, OfThisProcessIsWhatTheKernelSays) {
  const std::optional<MemoryUse> use = memory_use(MemoryFigures{.ring_bytes = 4096});
  ASSERT_TRUE(use);
  EXPECT_EQ(sum_of(*use), use->total_bytes);
  const std::map<std::string, std::uint64_t> parts(use->parts.begin(), use->parts.end());
  EXPECT_EQ(parts.at("ring"), 4096U);
  EXPECT_GT(parts.at("program"), 100'000U);
  EXPECT_GT(parts.at("own"), 100'000U);
}

TEST(MemoryUse, IsScrapedByPart) {
  Metrics metrics({{}, {}, {}}, 0);
  add_memory_metrics(metrics, [] { return kFigures; });
  std::map<std::string, double> parts;
  double device_bytes = 0.0;
  for (const prometheus::MetricFamily& family : metrics.Collect()) {
    for (const prometheus::ClientMetric& metric : family.metric) {
      if (family.name == "nearfield_memory_bytes") {
        ASSERT_EQ(metric.label.at(0).name, "part");
        parts[metric.label.at(0).value] = metric.gauge.value;
      } else if (family.name == "nearfield_device_memory_bytes") {
        device_bytes = metric.gauge.value;
      }
    }
  }
  EXPECT_EQ(parts.size(), 6U);
  EXPECT_EQ(parts["ring"], 1000.0);
  EXPECT_GT(parts["own"], 100'000.0);
  EXPECT_EQ(device_bytes, 5.0);
}

TEST(MemoryUse, IsALineOfTheStatus) {
  nlohmann::json status = {{"memory", memory_status(kFigures)}};
  EXPECT_EQ(status["memory"]["parts_bytes"]["history"], 200);
  status["memory"] = nlohmann::json::parse(
      R"({"total_bytes": 271700000, "device_bytes": 0,
          "parts_bytes": {"ring": 134217728, "history": 0, "device_buffers": 12161056, "driver": 78400000,
                          "program": 25100000, "own": 21821216}})");
  EXPECT_THAT(status_text(status), HasSubstr("memory        271.7 MB: ring 134.2, history 0.0, device buffers 12.2, "
                                             "driver 78.4, program 25.1, own 21.8\n"));
  status["memory"]["device_bytes"] = 7'000'000;
  EXPECT_THAT(status_text(status), HasSubstr("own 21.8; 7.0 MB of the device's\n"));
  for (const char* odd : {"null", "3", R"({"total_bytes": "x"})", R"({"total_bytes": 1, "parts_bytes": [1]})"}) {
    status["memory"] = nlohmann::json::parse(odd);
    EXPECT_THAT(status_text(status), HasSubstr("nearfieldd    ?")) << odd;
  }
}

}  // namespace
}  // namespace nearfield::control
