#include "config/yaml_reader.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <limits>
#include <random>

#include "core/error.hpp"

namespace nearfield {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;

constexpr NumberRule kLength{0.0, 1000.0, true, "a length > 0 m"};
constexpr int kIntMax = std::numeric_limits<int>::max();

std::string error_of(const std::string& text) {
  try {
    parse_yaml(text, "lab.yaml");
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

/// One mapping read from a text, with what is wrong with it.
class Reading {
 public:
  explicit Reading(const std::string& text) : map_("lab.yaml", "", parse_yaml(text, "lab.yaml"), problems_) {}
  YamlMap* operator->() { return &map_; }
  std::vector<std::string> messages() { return problems_.messages(); }

 private:
  YamlProblems problems_;
  YamlMap map_;
};

TEST(YamlReader, ReadsEachKind) {
  Reading yaml("{a: 1.5e-2, b: -7, c: true, d: some text, e: two, f: [1, 2.5], g: 3, h: [4, 5], i: [0, 1, 2], j: +4}");
  EXPECT_EQ(yaml->number("a", kLength), 0.015);
  EXPECT_EQ(yaml->integer("b", -7, 7), -7);
  EXPECT_EQ(yaml->boolean("c"), true);
  EXPECT_EQ(yaml->text("d"), "some text");
  EXPECT_EQ(yaml->choice("e", {"one", "two"}), 1U);
  EXPECT_EQ(yaml->numbers("f", kLength), (std::vector<double>{1.0, 2.5}));
  EXPECT_EQ(yaml->numbers("g", kLength), std::vector<double>{3.0});
  EXPECT_EQ(yaml->integers("h", 0, 9), (std::vector<int>{4, 5}));
  EXPECT_EQ(yaml->vector("i", 3, {-1, 9, false, "a coordinate"}), (std::vector<double>{0, 1, 2}));
  EXPECT_EQ(yaml->integer("j", 0, 9), 4);
  EXPECT_EQ(yaml->number("absent", kLength), std::nullopt);
  yaml->finish();
  EXPECT_THAT(yaml.messages(), IsEmpty());
}

TEST(YamlReader, NamesFileLineKeyExpectedAndFound) {
  Reading yaml("# a comment\nholography:\n  standoff_m: 3 cm\n");
  yaml->map("holography").number("standoff_m", kLength);
  EXPECT_THAT(yaml.messages(),
              ElementsAre("lab.yaml:3:15: holography.standoff_m: expected a length > 0 m, found \"3 cm\""));
}

/// Where a message about "a: VALUE" points: at the value, and at the key where there is none.
std::string place_of(const std::string& value) {
  return value.empty() || value == "~" || value == "null" ? "lab.yaml:1:1" : "lab.yaml:1:4";
}

TEST(YamlReader, RefusesWhatIsNoNumber) {
  for (const std::string bad :
       {".nan", "nan", ".inf", "-.inf",  "inf", "1e999", "0x10",   "1,5", "1 2", "\"3\"", "'3'",
        "",     "~",   "[1]",  "{a: 1}", "0",   "-1",    "1000.5", "+-1", "++1", "1_000", "true"}) {
    Reading yaml("a: " + bad);
    EXPECT_EQ(yaml->number("a", kLength), std::nullopt) << bad;
    EXPECT_THAT(yaml.messages(), ElementsAre(StartsWith(place_of(bad) + ": a: expected a length > 0 m, found ")))
        << bad;
  }
}

TEST(YamlReader, RefusesWhatIsNoInteger) {
  for (const std::string bad : {"1e3", "32.0", "1.5", "2147483648", "-2147483649", "99999999999999999999", "0", "",
                                "null", "[3]", "0x10", "\"3\"", "3 m"}) {
    Reading yaml("a: " + bad);
    EXPECT_EQ(yaml->integer("a", 1, kIntMax), std::nullopt) << bad;
    EXPECT_THAT(yaml.messages(), ElementsAre(StartsWith(place_of(bad) + ": a: expected an integer >= 1, found ")))
        << bad;
  }
}

TEST(YamlReader, ChecksEachElementOfAList) {
  Reading yaml("a:\n  - 1\n  - x\n  - 2\n  - -3\nb: {}\nc: [1, 2]\nd: [5, [6]]\n");
  EXPECT_EQ(yaml->numbers("a", kLength), std::nullopt);
  EXPECT_EQ(yaml->numbers("b", kLength), std::nullopt);
  EXPECT_EQ(yaml->vector("c", 3, kLength), std::nullopt);
  EXPECT_EQ(yaml->integers("d", 0, 9), std::nullopt);
  EXPECT_THAT(yaml.messages(),
              ElementsAre("lab.yaml:3:5: a[1]: expected a length > 0 m, found \"x\"",
                          "lab.yaml:5:5: a[3]: expected a length > 0 m, found \"-3\"",
                          "lab.yaml:6:4: b: expected a length > 0 m, or a list of such, found a mapping",
                          "lab.yaml:7:4: c: expected a list of 3 numbers, each a length > 0 m, found a list of 2",
                          "lab.yaml:8:8: d[1]: expected an integer from 0 to 9, found a list of 1"));
}

TEST(YamlReader, RefusesWrongWordsAndTexts) {
  Reading yaml("a: three\nb: maybe\nc: [1]\nd:\n");
  EXPECT_EQ(yaml->choice("a", {"one", "two"}), std::nullopt);
  EXPECT_EQ(yaml->boolean("b"), std::nullopt);
  EXPECT_EQ(yaml->text("c"), std::nullopt);
  EXPECT_EQ(yaml->text("d"), std::nullopt);
  EXPECT_THAT(yaml.messages(), ElementsAre("lab.yaml:1:4: a: expected one of one, two, found \"three\"",
                                           "lab.yaml:2:4: b: expected true or false, found \"maybe\"",
                                           "lab.yaml:3:4: c: expected a text, found a list of 1",
                                           "lab.yaml:4:1: d: expected a text, found nothing"));
}

TEST(YamlReader, KnowsNullAndWords) {
  Reading yaml("a: null\nb: auto\nc:\n");
  EXPECT_TRUE(yaml->is_null("a"));
  EXPECT_TRUE(yaml->is_null("c"));
  EXPECT_FALSE(yaml->is_null("b"));
  EXPECT_FALSE(yaml->is_null("d"));
  EXPECT_TRUE(yaml->is_word("b", "auto"));
  EXPECT_FALSE(yaml->is_word("b", "aut"));
  EXPECT_FALSE(yaml->is_word("d", "auto"));
  EXPECT_TRUE(yaml->has("a"));
  EXPECT_FALSE(yaml->has("d"));
  yaml->finish();
  EXPECT_THAT(yaml.messages(), IsEmpty());
}

// Infinity is .inf in YAML, and inf in the words of settings.
TEST(YamlReader, TakesYamlsInfinityForTheWord) {
  for (const std::string infinite : {"inf", ".inf", "+.inf", ".Inf", ".INF", "\"inf\""}) {
    Reading yaml("a: " + infinite + "\nb: [" + infinite + "]\n");
    EXPECT_TRUE(yaml->is_word("a", "inf")) << infinite;
    EXPECT_TRUE(yaml->is_list_of_word("b", "inf")) << infinite;
    EXPECT_FALSE(yaml->is_word("a", "auto")) << infinite;
  }
  for (const std::string other : {"-.inf", "-inf", ".nan", "\".inf\"", "infinite"}) {
    Reading yaml("a: " + other + "\nb: [" + other + "]\n");
    EXPECT_FALSE(yaml->is_word("a", "inf")) << other;
    EXPECT_FALSE(yaml->is_list_of_word("b", "inf")) << other;
  }
}

// Elements that each fit are shown where the whole does not.
TEST(YamlReader, ShowsShortListsThatARuleRefuses) {
  Reading yaml("a: [0.5, -0.5]\nb: [1, 2, 3, 4, 5]\nc: [[1], 2]\nd: 3\n");
  for (const char* key : {"a", "b", "c", "d"}) {
    yaml->problem(key, "[first, last]");
  }
  EXPECT_THAT(yaml.messages(), ElementsAre("lab.yaml:1:4: a: expected [first, last], found a list of 2, [0.5, -0.5]",
                                           "lab.yaml:2:4: b: expected [first, last], found a list of 5",
                                           "lab.yaml:3:4: c: expected [first, last], found a list of 2",
                                           "lab.yaml:4:4: d: expected [first, last], found \"3\""));
}

TEST(YamlReader, SuggestsTheNearestKey) {
  Reading yaml(
      "array: {rosw: 3, pitch_x: 1}\nholography:\n  stand_off_m: 0.1\n  rows: 4\n  qwertyuiop: 1\nstandoff: 1\n");
  YamlMap array = yaml->map("array");
  array.integer("rows", 1, 64);
  array.number("pitch_x_m", kLength);
  array.finish();
  YamlMap holography = yaml->map("holography");
  holography.number("standoff_m", kLength);
  holography.finish();
  yaml->finish();
  EXPECT_THAT(yaml.messages(),
              ElementsAre("lab.yaml:1:9: array.rosw: unknown key; did you mean array.rows?",
                          "lab.yaml:1:18: array.pitch_x: unknown key; did you mean array.pitch_x_m?",
                          "lab.yaml:3:3: holography.stand_off_m: unknown key; did you mean holography.standoff_m?",
                          "lab.yaml:4:3: holography.rows: unknown key; did you mean array.rows?",
                          "lab.yaml:5:3: holography.qwertyuiop: unknown key",
                          "lab.yaml:6:1: standoff: unknown key; did you mean holography.standoff_m?"));
}

TEST(YamlReader, ReportsKeysGivenTwice) {
  Reading yaml("a: 1\nb: 2\na: 3\n");
  EXPECT_EQ(yaml->integer("a", 0, 9), 1);
  EXPECT_THAT(yaml.messages(), ElementsAre("lab.yaml:3:1: a: given twice, first in line 1"));
  Reading flow("m: {x: 1, x: 2}");
  flow->map("m");
  EXPECT_THAT(flow.messages(), ElementsAre("lab.yaml:1:11: m.x: given twice, first in the same line"));
}

TEST(YamlReader, RefusesOddKeys) {
  Reading yaml("? [1, 2]\n: 3\n\"\": 4\n");
  yaml->finish();
  EXPECT_THAT(yaml.messages(), ElementsAre("lab.yaml:1:3: expected a word as key, found a list of 2",
                                           "lab.yaml:3:1: expected a word as key, found the text \"\""));
}

TEST(YamlReader, WantsMappings) {
  Reading list("- 1\n- 2\n");
  EXPECT_THAT(list.messages(),
              ElementsAre("lab.yaml:1:1: expected a mapping (lines of \"key: value\"), found a list of 2"));
  Reading yaml("a: 5\nb:\nc: [{x: 1}, 7, ~]\nd: {x: 1}\n");
  yaml->map("a").finish();
  yaml->map("b").finish();
  yaml->map("absent").finish();
  EXPECT_THAT(yaml->maps("c"), SizeIs(3));
  EXPECT_THAT(yaml->maps("d"), IsEmpty());
  EXPECT_THAT(yaml->maps("absent"), IsEmpty());
  EXPECT_THAT(yaml.messages(),
              ElementsAre("lab.yaml:1:4: a: expected a mapping (lines of \"key: value\"), found \"5\"",
                          "lab.yaml:3:13: c[1]: expected a mapping (lines of \"key: value\"), found \"7\"",
                          "lab.yaml:3:4: c[2]: expected a mapping (lines of \"key: value\"), found nothing",
                          "lab.yaml:4:4: d: expected a list of mappings, found a mapping"));
}

TEST(YamlReader, ReadsAnEmptyFileAndAnchors) {
  for (const std::string empty : {"", "\n\n", "# nothing\n", "---\n", "---\n...\n"}) {
    Reading yaml(empty);
    EXPECT_FALSE(yaml->has("a"));
    yaml->finish();
    EXPECT_THAT(yaml.messages(), IsEmpty());
  }
  Reading yaml("a: &one [1, 2]\nb: *one\n");
  EXPECT_EQ(yaml->numbers("a", kLength), yaml->numbers("b", kLength));
}

/// Columns count bytes from 1; of a value that is only named again its own key is meant, not the anchor far above.
TEST(YamlReader, PointsAtValuesAndTheirElements) {
  Reading yaml("one: &one 1 m\n\u00fcber: {a: *one}\nlist:\n  - 1\n  -\n  - [3, 4]\n");
  yaml->number("one", kLength);
  yaml->map("\u00fcber").number("a", kLength);
  yaml->numbers("list", kLength);
  EXPECT_THAT(yaml.messages(), ElementsAre("lab.yaml:1:6: one: expected a length > 0 m, found \"1 m\"",
                                           "lab.yaml:2:9: \u00fcber.a: expected a length > 0 m, found \"1 m\"",
                                           "lab.yaml:4:3: list[1]: expected a length > 0 m, found nothing",
                                           "lab.yaml:6:5: list[2]: expected a length > 0 m, found a list of 2"));
  EXPECT_EQ(yaml->place("list"), "lab.yaml:4:3");
  EXPECT_EQ(yaml->place_of_element("list", 0), "lab.yaml:4:5");
  EXPECT_EQ(yaml->place_of_element("list", 7), "lab.yaml:4:3");
  EXPECT_EQ(yaml->place("absent"), "lab.yaml:1:1");
}

TEST(YamlReader, PointsAtSyntaxErrors) {
  EXPECT_THAT(error_of("a: 1\nb: [1, 2\nc: 3\n"), StartsWith("lab.yaml:3:2: expected YAML, found a syntax error: "));
  EXPECT_THAT(error_of("a: 1\n---\nb: 2\n"),
              StartsWith("lab.yaml:2:1: expected one YAML document, found text beyond it"));
  EXPECT_THAT(error_of(",a: 1"), HasSubstr("expected one YAML document"));
  EXPECT_THAT(error_of("a:\n\tb: 1\n"),
              AllOf(StartsWith("lab.yaml:2:1: "), HasSubstr("the line is indented by a tab")));
  EXPECT_THAT(error_of("a:\n  b:\n  \t  c: 1\n d: 2\n"), StartsWith("lab.yaml:3:3: "));
  EXPECT_THAT(error_of("a: *nowhere\n"), StartsWith("lab.yaml:1:4: "));
  EXPECT_THAT(error_of(std::string(20000, '[')), HasSubstr("syntax error"));
  EXPECT_THAT(error_of(std::string(3 << 20, 'a')), HasSubstr("at most"));
}

TEST(YamlReader, ShortensAndEscapesWhatItShows) {
  Reading yaml("a: \"" + std::string(5000, 'x') + "\"\nb: \"\\x1b[31m\"\n");
  yaml->number("a", kLength);
  yaml->number("b", kLength);
  EXPECT_THAT(yaml.messages(), ElementsAre(SizeIs(testing::Lt(200U)), HasSubstr("\\x1b[31m")));
}

TEST(YamlReader, SaysWhichFileIsNotThere) {
  EXPECT_THROW(load_yaml("/nowhere/at/all.yaml"), NoInputError);
  EXPECT_THROW(load_yaml(std::filesystem::temp_directory_path().string()), NoInputError);
}

TEST(YamlReader, ListsEveryProblemInOneError) {
  YamlProblems problems;
  EXPECT_NO_THROW(problems.throw_if_any());
  problems.add("first");
  problems.add("second");
  try {
    problems.throw_if_any();
    FAIL() << "nothing thrown";
  } catch (const ConfigError& error) {
    EXPECT_STREQ(error.what(), "first\nsecond");
  }
}

/// Walks a document as a reader of settings would.
void read_all(const YAML::Node& node) {
  YamlProblems problems;
  YamlMap top("lab.yaml", "", node, problems);
  top.number("a", kLength);
  top.integers("b", 0, 9);
  top.numbers("c", kLength);
  YamlMap below = top.map("d");
  below.text("a");
  below.finish();
  for (YamlMap& element : top.maps("e")) {
    element.boolean("a");
    element.finish();
  }
  top.finish();
  problems.throw_if_any();
}

/// True when the bytes are read or refused with a ConfigError.
bool read_or_refused(const std::string& bytes) {
  try {
    read_all(parse_yaml(bytes, "lab.yaml"));
  } catch (const ConfigError& error) {
    return std::string_view(error.what()).size() > 0;
  }
  return true;
}

TEST(YamlReader, LetsNothingButItsOwnErrorsOut) {
  std::mt19937 random(20240611);
  const std::string_view grammar = "abcde: \n\n  --[]{},&*!|>'\"%@`#?~\t\r0123456789.\\xfe\xff";
  for (int draw = 0; draw < 20000; ++draw) {
    std::string bytes(random() % 64, '\0');
    for (char& byte : bytes) {
      byte = draw % 2 == 0 ? static_cast<char>(random() % 256) : grammar[random() % grammar.size()];
    }
    EXPECT_NO_THROW(EXPECT_TRUE(read_or_refused(bytes))) << testing::PrintToString(bytes);
  }
}

TEST(YamlReader, LetsNothingOutOfDamagedSettings) {
  const std::string whole =
      "a: 1.5\nb: [1, 2]\nc:\n  - 3\n  - 4\nd: {a: 'x', b: \"y\\n\"}\ne:\n  - a: true\n  - &q a\n";
  std::mt19937 random(7);
  for (int draw = 0; draw < 20000; ++draw) {
    std::string bytes = whole;
    for (int change = 0; change <= draw % 4; ++change) {
      bytes[random() % bytes.size()] = static_cast<char>(random() % 256);
    }
    EXPECT_NO_THROW(EXPECT_TRUE(read_or_refused(bytes))) << testing::PrintToString(bytes);
  }
}

}  // namespace
}  // namespace nearfield
