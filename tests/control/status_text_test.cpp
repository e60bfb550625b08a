#include "control/socket/status_text.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "control/checks/check.hpp"
#include "control/metrics/metrics.hpp"

namespace nearfield::control {
namespace {

using testing::HasSubstr;

TEST(StatusText, TellsWhatMetricsKnow) {
  Metrics metrics({{"imager"}, {"late"}, {"input"}}, 0);
  metrics.set_run(
      {"0.1.0", "0123456789ab", "pocl", {{"far", "another"}}, "popcount", "udp 127.0.0.1:7230", 3, 1464.84375});
  for (std::int64_t ms = 1; ms <= 1000; ++ms) {
    metrics.frame_published(ms * 1'000'000, ms * 1'000'000 - 2'000'000);
    metrics.stage_took(0, 500'000);
  }
  metrics.lose(0, 7);
  metrics.shed_hops(2);
  metrics.set_bit_times(90, 10, 100);
  metrics.set_recording(RecordingState::kRecording, 12'300'000);
  metrics.set_recording_text("run-1.nfr");
  metrics.set_recording_bits({90, 4, 3, 2, 1});
  metrics.tick(1'000'000'000);
  // 2 ms and 0.5 ms lie in buckets that end at 2.097152 ms and 0.524288 ms.
  EXPECT_EQ(status_text(metrics.status()),
            "nearfieldd    running, version 0.1.0, up 0 min 1 s\n"
            "source        udp 127.0.0.1:7230\n"
            "device        pocl\n"
            "device        of far: another\n"
            "front end     popcount, configuration epoch 3\n"
            "frames        1000, 1000.0 a second of 1464.8 asked for\n"
            "age           median 2.1 ms, p99 2.1 ms, p99.9 2.1 ms, most 2.1 ms\n"
            "interval      median 1.05 ms, p99 1.05 ms, p99.9 1.05 ms, most 1.05 ms\n"
            "  imager      median 0.524 ms, p99 0.524 ms, p99.9 0.524 ms, most 0.524 ms\n"
            "bit-times     90 received + 10 missing = 100 expected\n"
            "lost          shed hops 2, late 7\n"
            "recording     recording, 12.3 MB, run-1.nfr\n"
            "  bit-times   90 stored + 4 never sent + 3 paused + 2 overrun + 1 dropped = 100\n");
}

TEST(StatusText, SurvivesWhatItDoesNotKnow) {
  for (const char* odd :
       {"{}", "[]", "null", "3", R"({"uptime_s": 1e300, "age_ms": 3, "losses": [1], "frames": "x"})",
        R"({"microphones": {"masked": [], "masked_channels": [3, {"channel": {}}], "bad": [null, "x"]}})",
        R"({"stages_ms": {"a": {"median": "b"}}, "recording": {"bytes": {}}, "bit_times": {}})"}) {
    EXPECT_THAT(status_text(nlohmann::json::parse(odd)), HasSubstr("nearfieldd    ?")) << odd;
  }
}

TEST(StatusText, SaysWhatTheInputIsTakenForAndWhatIsInDoubt) {
  const std::string text = status_text(nlohmann::json::parse(
      R"({"input": {"text": "16 channels, 46875 samples a second", "measured_rate_hz": 48000.25, "doubts": ["so", 7]}})"));
  EXPECT_THAT(text,
              HasSubstr("input         16 channels, 46875 samples a second; measured 48000.2 samples a second\n"));
  EXPECT_THAT(text, HasSubstr("  in doubt    so\n"));
  EXPECT_THAT(status_text(nlohmann::json::parse(R"({"input": {"text": 3, "measured_rate_hz": null}})")),
              HasSubstr("input         ?\n"));
}

TEST(StatusText, HasALineForEachLimitAndEachOfItsEvents) {
  const auto status = nlohmann::json::parse(
      R"({"limits": [{"name": "loud", "state": "above", "value": 2.314159, "unit": "Pa", "events": 3},
                     {"name": "left", "state": "ok", "value": null, "unit": "Pa", "events": 0}, 7]})");
  EXPECT_THAT(status_text(status), HasSubstr("limit         loud: above, 2.314 Pa, exceeded 3 times\n"
                                             "limit         left: ok, no value yet, exceeded 0 times\n"));
  const auto events = nlohmann::json::parse(
      R"({"events": [{"name": "loud", "event": "begin", "tai_ns": 1500000000, "value": 2.5, "largest": 2.5,
                      "unit": "Pa", "position": {"x": 0.02, "point": [0, 1]}}]})");
  EXPECT_EQ(events_text(events), "1.500 s TAI  begin  loud  2.5 Pa, largest 2.5 Pa, point [0,1], x 0.02\n");
  EXPECT_EQ(events_text(nlohmann::json::parse(R"({"events": []})")), "no event of a limit\n");
  EXPECT_EQ(events_text(nlohmann::json::parse("3")), "no event of a limit\n");
}

TEST(StatusText, NamesMaskedMicrophonesAndThoseThatAreBadWithoutAMask) {
  const auto line_of = [](const char* microphones) {
    const std::string text = status_text(nlohmann::json::parse(std::string(R"({"microphones": )") + microphones + "}"));
    const std::size_t begin = text.find("microphones");
    return begin == std::string::npos ? "" : text.substr(begin, text.find('\n', begin) - begin);
  };
  EXPECT_EQ(line_of(R"({"masked": 0, "masked_channels": [], "bad": []})"), "microphones   0 masked");
  EXPECT_EQ(
      line_of(R"({"microphones": 64, "masked": 2, "missing_information": 0.04, "masked_channels": [], "bad": []})"),
      "microphones   62 of 64 used; 2 masked (4 % of the information missing)");
  EXPECT_EQ(
      line_of(R"({"microphones": 64, "masked": 63, "missing_information": 0.996, "masked_channels": [], "bad": []})"),
      "microphones   1 of 64 used; 63 masked (100 % of the information missing)");
  EXPECT_EQ(line_of(R"({"masked": 2, "bad": [{"channel": 5, "row": 0, "column": 5, "cause": "dead"}],
                        "masked_channels": [{"channel": 5, "row": 0, "column": 5, "cause": "dead"},
                                            {"channel": 37, "row": 1, "column": 5, "cause": "configuration"}]})"),
            "microphones   2 masked: 5 (row 0, column 5) dead, 37 (row 1, column 5) configuration");
  EXPECT_EQ(
      line_of(R"({"masked": 1, "masked_channels": [{"channel": 3, "row": 0, "column": 3, "cause": "configuration"}],
                        "bad": [{"channel": 3, "row": 0, "column": 3, "cause": "dead"},
                                {"channel": 6, "row": 0, "column": 6, "cause": "loud"}]})"),
      "microphones   1 masked: 3 (row 0, column 3) configuration; bad, not masked: 6 (row 0, column 6) loud");
  EXPECT_EQ(line_of(R"({"masked": 1, "bad": [{"channel": 6, "row": 0, "column": 6, "cause": "loud"}]})"),
            "microphones   1 masked; bad: 6 (row 0, column 6) loud")
      << "a daemon of an earlier version, which does not list what is masked";
  std::string many;
  for (int channel = 0; channel < 10; ++channel) {
    many += (channel == 0 ? "" : ",") +
            (R"({"row": 0, "column": 0, "cause": "dead", "channel": )" + std::to_string(channel)) + "}";
  }
  const std::string shown = line_of((R"({"masked": 10, "bad": [], "masked_channels": [)" + many + "]}").c_str());
  EXPECT_THAT(shown, testing::EndsWith("7 (row 0, column 0) dead and 2 more"));
}

TEST(Check, ListsProblemsOneByOne) {
  EXPECT_THAT(configuration_problems("", {}), testing::IsEmpty());
  EXPECT_THAT(configuration_problems("", {"array.rows=0", "daemon.sorce.kind=udp"}),
              testing::ElementsAre("given by set: array.rows: expected an integer from 1 to 64, found \"0\"",
                                   "given by set: daemon.sorce: unknown key; did you mean daemon.source?"));
}

}  // namespace
}  // namespace nearfield::control
