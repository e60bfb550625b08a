#include "support/positions.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "config/config.hpp"
#include "config/written_file.hpp"
#include "core/error.hpp"

// The setting array.positions: what files are read, and what is wrong with others.
namespace nearfield {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

/// A configuration beside a file of positions.
class Positions : public testing::Test {
 protected:
  void place(const std::string& content, const std::string& name = "array.csv") const {
    std::ofstream(yaml_.folder() / name, std::ios::binary) << content;
  }
  [[nodiscard]] Settings load(const std::vector<std::string>& overrides = {}) const {
    return load_settings(yaml_.path(), overrides);
  }
  /// The message of the error of a type.
  template <class Failure>
  [[nodiscard]] std::string refusal(const std::vector<std::string>& overrides = {}) const {
    try {
      (void)load(overrides);
    } catch (const Failure& error) {
      return error.what();
    }
    return "nothing was refused";
  }
  WrittenFile yaml_{"version: 1\narray: {positions: array.csv}\nholography: {imager: none}\n"};
  std::vector<MicrophonePosition> flower_ = test::sunflower(33, 0.2);
};

/// The same with z the other way.
std::vector<MicrophonePosition> turned(std::vector<MicrophonePosition> positions_m) {
  for (MicrophonePosition& one : positions_m) {
    one.z_m = 0.0 - one.z_m;
  }
  return positions_m;
}

TEST_F(Positions, OfCsvAndOfXmlGiveTheArray) {
  for (const std::string& content :
       {test::as_csv(flower_), test::as_xml(turned(flower_)), "\xEF\xBB\xBF" + test::as_csv(flower_),
        std::string("# measured\r\n\r\nx_m,y_m,z_m\r\n 0, 0.5 ,1e-2\r\n"),
        std::string(" X [m], Y [m] ,z(m)\n+0,+0.5,+1e-2\n"), std::string("x,y,z\n+0.0,+.5,0.01\n"),
        std::string("<MicArray><pos x=\"+0.0\" y=\"+0.5\" z=\"-0.01\"/></MicArray>")}) {
    place(content);
    const Settings settings = load();
    EXPECT_FALSE(content.size() > 100 && settings.array.geometry.is_grid());
    const std::size_t expected = content.size() > 100 ? flower_.size() : 1;
    ASSERT_EQ(settings.array.geometry.placement->positions_m.size(), expected);
    const MicrophonePosition first = expected == 1 ? MicrophonePosition{0.0, 0.5, 0.01} : flower_.front();
    EXPECT_EQ(settings.array.geometry.placement->positions_m.front(), first);
    EXPECT_EQ(geometry_not_given(settings), "\n  --set holography.standoff_m=METRES") << "the array is given";
  }
}

// XML is Acoular's, whose z points to the sources; array.axes stands for what a file has otherwise.
TEST_F(Positions, AreOnTheAxesThatTheFormatOrTheSettingSays) {
  const std::vector<MicrophonePosition> uneven = {
      {0.1, 0.2, 0.3}, {-0.1, -0.2, -0.3}, {0.3, 0.0, -0.1}, {-0.3, 0.0, 0.1}};
  const auto first = [&](const std::vector<std::string>& overrides) {
    return load(overrides).array.geometry.position_m(0);
  };
  place(test::as_csv(uneven));
  EXPECT_EQ(first({}), (MicrophonePosition{0.1, 0.2, 0.3}));
  EXPECT_EQ(first({"array.axes=[x, -z, -y]"}), (MicrophonePosition{0.1, -0.3, -0.2}));
  EXPECT_EQ(first({"array.axes=[-y, +z, x]"}), (MicrophonePosition{-0.2, 0.3, 0.1}));
  const std::string yaml = to_yaml(load({"array.axes=[x, -z, -y]"}));
  EXPECT_THAT(yaml, HasSubstr("axes: [x, -z, -y]"));
  EXPECT_EQ(to_yaml(load_settings(WrittenFile(yaml).path(), {})), yaml);
  place(test::as_xml(uneven));
  EXPECT_EQ(first({}), (MicrophonePosition{0.1, 0.2, -0.3}));
  EXPECT_EQ(first({"array.axes=[x, y, z]"}), (MicrophonePosition{0.1, 0.2, 0.3}));
  for (const std::string axes : {"[x, y]", "[x, y, y]", "[x, y, -y]", "[x, y, w]", "[x, y, --z]", "[x, y, z, x]"}) {
    EXPECT_THAT(refusal<ConfigError>({"array.axes=" + axes}),
                HasSubstr("array.axes: expected x, y and z, each once, with or without -, such as [x, -z, -y]"))
        << axes;
  }
}

TEST_F(Positions, OnAGridGiveRowsColumnsAndPitchesThatMustAgreeWithThoseGiven) {
  const ArrayGeometry grid{.rows = 4, .columns = 6, .pitch_x_m = 0.03, .pitch_y_m = 0.02};
  place(test::as_csv(test::positions_in_order(grid, test::shuffled(24, 1))));
  const Settings settings = load({"holography.imager=sonah", "array.rows=4", "array.pitch_x_m=0.0301"});
  EXPECT_EQ(settings.array.geometry.rows, 4);
  EXPECT_EQ(settings.array.geometry.columns, 6);
  EXPECT_NEAR(settings.array.geometry.pitch_x_m, 0.03, 1e-12);
  EXPECT_THAT(refusal<ConfigError>({"array.rows=6"}),
              AllOf(HasSubstr("array.rows: expected nothing or 4"), HasSubstr("4 x 6"), HasSubstr("found 6")));
  EXPECT_THAT(refusal<ConfigError>({"array.pitch_y_m=0.03"}), HasSubstr("array.pitch_y_m: expected nothing or 0.02"));
}

TEST_F(Positions, OnNoGridAreImagedByOperatorsAlone) {
  place(test::as_csv(flower_));
  EXPECT_EQ(text_of_size(load({"processors.far.kind=beamform"}).array.geometry), "33 irregular");
  for (const std::string imager : {"pnah", "sonah"}) {
    EXPECT_THAT(refusal<ConfigError>({"holography.imager=" + imager}),
                AllOf(HasSubstr("holography.imager: expected operators, auto or none, as images by " + imager),
                      HasSubstr("33 irregular"), HasSubstr("found " + imager)));
    EXPECT_THAT(refusal<ConfigError>({"processors.near.kind=" + imager}),
                AllOf(HasSubstr("processors.near.kind: expected operators"), HasSubstr("found " + imager)));
  }
  for (const std::string imager : {"operators", "auto"}) {
    const std::string wall = "holography.operators.wall.y_m=0.5";
    EXPECT_EQ(load({"holography.imager=" + imager, wall}).holography.operators.wall.y_m, 0.5);
    const std::string yaml = to_yaml(load({"holography.imager=" + imager, wall}));
    EXPECT_EQ(to_yaml(load_settings(WrittenFile(yaml).path(), {})), yaml);
    EXPECT_THAT(refusal<ConfigError>({"holography.imager=" + imager, "holography.quantity=active_intensity"}),
                AllOf(HasSubstr("holography.quantity: expected pressure"), HasSubstr("33 irregular")));
    // Its microphones are within 0.2 m of the middle, and its grid ends less than half a pitch beyond them.
    EXPECT_THAT(refusal<ConfigError>({"holography.imager=" + imager, "holography.points=[{x_m: 0.3, y_m: 0}]"}),
                AllOf(HasSubstr("holography.points[0]: expected a point of the aperture"), HasSubstr("found x 0.3")));
    (void)load({"holography.imager=" + imager, "holography.points=[{x_m: 0.15, y_m: -0.1}]"});
  }
  (void)load({"processors.near.kind=operators"});
  EXPECT_THAT(refusal<ConfigError>({"processors.near.kind=operators", "processors.near.quantity=active_intensity"}),
              HasSubstr("processors.near.quantity: expected pressure"));
  EXPECT_THAT(refusal<ConfigError>({"front_end.bands_hz=[[1000, 2000]]"}), HasSubstr("front_end.bands_hz"));
}

// What is written of settings is read back, whatever the positions are.
TEST_F(Positions, AreWrittenByTheirPath) {
  place(test::as_csv(test::sunflower(700, 0.5)));
  const Settings settings = load();
  const std::string yaml = to_yaml(settings);
  EXPECT_THAT(yaml, HasSubstr("positions: \"" + (yaml_.folder() / "array.csv").string() + "\""));
  EXPECT_EQ(load_settings(WrittenFile(yaml).path(), {}).array.geometry, settings.array.geometry);
  const Settings recorded = load_recorded_settings(yaml, "a recording", {});
  EXPECT_EQ(recorded.array.positions_path, "") << "the recording has its own";
}

TEST_F(Positions, ThatCannotBeAreNamedWithWhatWasExpected) {
  EXPECT_THAT(refusal<ConfigError>(), AllOf(HasSubstr("lab.yaml:2:20: "), HasSubstr("array.positions"),
                                            HasSubstr("array.csv"), HasSubstr("a CSV or XML file of positions")));
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", "expected CSV with the header x_m,y_m,z_m, or XML, found nothing"},
      {"0,0,0\n0.1,0,0\n", "line 1: expected the header x_m,y_m,z_m, found other text"},
      {"x_m,y_m,z_m\n", "expected the positions of 1 to 4096 microphones, found 0"},
      {"x_m,y_m,z_m\n0,0,0\n0.1,0\n", "line 3: expected x_m,y_m,z_m, three numbers in m, found other text"},
      {"x_mm,y_mm,z_mm\n0,0,0\n", "line 1: expected the header x_m,y_m,z_m, found other text"},
      {"x_m,y_m,z_m\n++0,0,0\n", "line 2: expected x_m,y_m,z_m"},
      {"x_m,y_m,z_m\n+-1,0,0\n", "line 2: expected x_m,y_m,z_m"},
      {"x_m,y_m,z_m\n0,0,0,0\n", "line 2: expected x_m,y_m,z_m"},
      {"x_m,y_m,z_m\n0,zero,0\n", "line 2: expected x_m,y_m,z_m"},
      {"x_m,y_m,z_m\n0,nan,0\n", "microphone 0: expected x, y and z from -50 to 50 m, found 0, nan, 0"},
      {"x_m,y_m,z_m\n0,0,0\n0,51,0\n", "microphone 1: expected x, y and z"},
      {"x_m,y_m,z_m\n0,0,0\n1,0,0\n0,0,0\n", "microphone 2: expected a place of its own, found that of microphone 0"},
      {"<MicArray><pos x=\"0\" y=\"0\" z=\"0\">", "expected XML, found at byte"},
      {"<MicArray><pos Name=\"A\" x=\"0\" y=\"0\"/></MicArray>", "pos 1: expected a number in m as the attribute z"},
      {"<MicArray></MicArray>", "expected the positions of 1 to 4096 microphones, found 0"},
      {std::string("x_m,y_m,z_m\n") + std::string(5U << 20U, '\n'), "expected at most 4194304 bytes, found more"},
      {std::string(100000, '<'), "expected XML, found at byte"},
  };
  for (const auto& [content, expected] : cases) {
    place(content);
    EXPECT_THAT(refusal<DataError>(), AllOf(HasSubstr("array.positions: "), HasSubstr(expected)))
        << content.substr(0, 80);
  }
}

}  // namespace
}  // namespace nearfield
