#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "config/config.hpp"
#include "config/schema/pages.hpp"
#include "config/schema/processor_kinds.hpp"
#include "config/schema/section.hpp"
#include "support/places.hpp"

// The description of all settings, and what is made from it.
namespace nearfield::schema {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

std::string text_of(const std::string& path) {
  std::ifstream file(NEARFIELD_SOURCE_DIR "/" + path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(Schema, TheAnnotatedFileIsMadeFromIt) {
  EXPECT_EQ(text_of("config/nearfield.yaml"), annotated_defaults())
      << "build/release/bin/nearfield settings > config/nearfield.yaml";
}

TEST(Schema, ThePageIsMadeFromIt) {
  EXPECT_EQ(text_of("docs/reference/settings.md"), settings_page())
      << "build/release/bin/nearfield settings --markdown > docs/reference/settings.md";
}

TEST(Schema, JsonHasEverySettingWithItsDefault) {
  const auto list = nlohmann::json::parse(settings_json());
  Settings defaults;
  const Section all = describe(defaults);
  const auto is_of_a_kind = [](const nlohmann::json& one) {
    const auto key = one["key"].get<std::string>();
    return key.starts_with("processors.") || key.starts_with("daemon.limits.");
  };
  const auto of_kinds = static_cast<std::size_t>(std::count_if(list.begin(), list.end(), is_of_a_kind));
  ASSERT_EQ(list.size() - of_kinds, all_settings(all).size());
  EXPECT_GE(of_kinds, 2 * processor_kinds().size()) << "each kind has its kind and its cadence at least";
  std::map<std::string, nlohmann::json> by_key;
  for (const auto& one : list) {
    by_key[one["key"]] = one;
  }
  EXPECT_EQ(by_key["holography.standoff_m"]["default"], 0.03);
  EXPECT_EQ(by_key["holography.standoff_m"]["minimum"], 1e-6);
  EXPECT_EQ(by_key["holography.standoff_m"]["maximum"], 100.0);
  EXPECT_EQ(by_key["holography.standoff_m"]["unit"], "m");
  EXPECT_EQ(by_key["holography.standoff_m"]["effect"], "live");
  EXPECT_EQ(by_key["holography.filter.slope"]["exclusive_minimum"], 0.0);
  EXPECT_EQ(by_key["front_end.frequencies_hz"]["default"], (std::vector<double>{1007.08, 2014.16}));
  EXPECT_EQ(by_key["front_end.kind"]["default"], "popcount");
  EXPECT_EQ(by_key["front_end.kind"]["words"].size(), 4U);
  EXPECT_EQ(by_key["array.calibration"]["default"], nullptr);
  EXPECT_EQ(by_key["array.rows"]["effect"], "restart");
  EXPECT_EQ(by_key["daemon.source.address"]["default"], "127.0.0.1:7230");
  EXPECT_EQ(by_key["daemon.source.address"]["effect"], "restart") << "as its section";
  EXPECT_EQ(by_key["daemon.publish.zmq.endpoint"]["default"], "off");
  EXPECT_EQ(by_key["daemon.limits.NAME.product"]["default"], "images");
  EXPECT_EQ(by_key["processors.sonah.kind"]["default"], "sonah") << "a kind stands for a name";
}

/// What is wrong with `key: value`; empty where the value fits.
std::string problem_with(const Section::Entry& setting, const std::string& value) {
  YamlProblems problems;
  YamlMap map("lab.yaml", "", parse_yaml(setting.key + ": " + value, "lab.yaml"), problems);
  const Outcome outcome = setting.read(map, "/");
  EXPECT_EQ(outcome, problems.empty() ? Outcome::kTaken : Outcome::kWrong) << setting.key << ": " << value;
  return problems.empty() ? "" : problems.messages().front();
}

TEST(Schema, BoundsAreThoseOfTheReader) {
  Settings settings;
  const Section all = describe(settings);
  int bounds = 0;
  for (const NamedSetting& setting : all_settings(all)) {
    const Facts& facts = setting.entry->facts;
    if (setting.key == "front_end.window_samples" || (facts.minimum && facts.minimum == facts.maximum)) {
      continue;  // not every integer between the bounds fits, and none around the only one
    }
    const bool is_integer = facts.type.find("integer") != std::string::npos;
    const auto verdict = [&](double value) { return problem_with(*setting.entry, fmt::format("{}", value)); };
    const auto step_from = [&](double bound) { return is_integer ? 1.0 : std::max(1e-7, 1e-7 * std::abs(bound)); };
    if (facts.minimum) {
      ++bounds;
      const double step = step_from(*facts.minimum);
      EXPECT_EQ(verdict(*facts.minimum).empty(), !facts.open_minimum) << setting.key;
      EXPECT_THAT(verdict(*facts.minimum - step), HasSubstr(": expected ")) << setting.key;
      EXPECT_EQ(verdict(*facts.minimum + step), "") << setting.key;
    }
    if (facts.maximum) {
      ++bounds;
      EXPECT_EQ(verdict(*facts.maximum), "") << setting.key;
      EXPECT_THAT(verdict(*facts.maximum + step_from(*facts.maximum)), HasSubstr(": expected ")) << setting.key;
    }
  }
  EXPECT_GT(bounds, 60);
}

TEST(Schema, EveryWordIsTaken) {
  Settings settings;
  const Section all = describe(settings);
  for (const NamedSetting& setting : all_settings(all)) {
    EXPECT_THAT(setting.entry->meaning, testing::Not(IsEmpty())) << setting.key;
    for (const Word& word : setting.entry->facts.words) {
      EXPECT_EQ(problem_with(*setting.entry, word.word), "") << setting.key;
      EXPECT_THAT(setting.entry->written(), testing::AnyOf(word.word, '"' + word.word + '"')) << setting.key;
    }
  }
}

// What a folder of its own would have: a structure with defaults, and one line a setting.
struct PistonSettings {
  double radius_m = 0.1;
  int rings = 4;
};

void describe(Section& section, PistonSettings& piston) {
  section.add("radius_m", piston.radius_m, number({"a radius from", 0.01, 10.0, "m"}), "of the piston");
  section.add("rings", piston.rings, integer(1, 99), "that it is cut into", Effect::kRestart);
}

TEST(Schema, ASettingIsOneLineBesideItsMember) {
  PistonSettings piston;
  Section section;
  describe(section, piston);
  const std::vector<NamedSetting> settings = all_settings(section);
  ASSERT_EQ(settings.size(), 2U);
  EXPECT_EQ(settings[0].entry->written(), "0.1");
  EXPECT_EQ(settings[0].entry->facts.range, "0.01 to 10");
  EXPECT_EQ(problem_with(*settings[0].entry, "0.25"), "");
  EXPECT_EQ(piston.radius_m, 0.25);
  EXPECT_EQ(problem_with(*settings[0].entry, "11"),
            "lab.yaml:1:11: radius_m: expected a radius from 0.01 to 10 m, found \"11\"");
  EXPECT_EQ(settings[1].unit_of_restart, "rings");
}

TEST(Schema, RangesReadAsTheirMessages) {
  EXPECT_EQ(expected({.what = "a slope", .maximum = 2.0, .open_minimum = true}), "a slope > 0, at most 2");
  EXPECT_EQ(expected({.what = "a time", .maximum = 1e7, .unit = "s", .open_minimum = true}),
            "a time > 0 s, at most 1e7 s");
  EXPECT_EQ(expected({"a speed from", 1.0, 1e5, "m/s"}), "a speed from 1 to 100000 m/s");
  EXPECT_EQ(expected({.what = "a frequency", .unit = "Hz"}), "a frequency >= 0 Hz");
  EXPECT_EQ(in_words({.what = "a number of", .minimum = 1e-30, .maximum = 1e6}), "1e-30 to 1e6");
}

}  // namespace
}  // namespace nearfield::schema
