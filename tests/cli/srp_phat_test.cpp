#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>

#include "core/product.hpp"
#include "files/results_file.hpp"
#include "support/command.hpp"
#include "support/measures.hpp"

/// srp_phat as a user runs it.
namespace nearfield {
namespace {

using testing::HasSubstr;

/// 8 x 8 microphones, a monopole 1 m before them with tones in every third bin from 1 to 4 kHz.
std::string capture_in(const test::TemporaryFolder& folder) {
  const std::string scene = folder / "scene.yaml";
  std::ofstream file(scene);
  file << "version: 1\narray: {rows: 8, columns: 8, pitch_x_m: 0.02, pitch_y_m: 0.025}\nstandoff_m: 0.03\n"
          "duration_s: 0.05\nmicrophones: {noise_pa: 0.0005}\nsources:\n";
  for (int bin = 22; bin < 88; bin += 3) {
    file << "  - {kind: monopole, frequency_hz: " << bin * 46875.0 / 1024.0
         << ", x_m: 0.31, y_m: -0.22, z_m: -0.97, volume_velocity_m3_s: 5.0e-5, phase_rad: " << bin % 7 << "}\n";
  }
  file.close();
  const test::CommandResult result = test::run_nearfield("simulate " + scene + " -o " + (folder / "c.h5"));
  EXPECT_EQ(result.exit_code, 0) << result.output;
  return folder / "c.h5";
}

const std::string kOptions =
    " --set processors.where.kind=srp_phat --set processors.where.every_hops=4 --set "
    "processors.where.band_hz=[1000,4000]"
    " --set processors.where.grid.x_m=[-0.6,0.6] --set processors.where.grid.y_m=[-0.6,0.6]"
    " --set processors.where.grid.step_m=0.1 ";

/// [row] of a column, of a frame's table.
std::vector<double> column(const ResultsReader& reader, std::uint64_t frame, const std::string& name) {
  const Product& table = reader.header(1).products[0];
  const ResultFrame read = reader.read(1, frame);
  const std::span<const std::byte> bytes = read.frame.products[0];
  const std::vector<ProductPlaces::Place> places = column_places(table);
  std::vector<double> values;
  for (std::size_t c = 0; c < places.size(); ++c) {
    const auto all = complex_values_of(table.columns[c].type, bytes.subspan(places[c].offset, places[c].bytes));
    for (std::size_t row = 0; table.columns[c].name == name && row < rows_of(bytes); ++row) {
      values.push_back(all[row].real());
    }
  }
  return values;
}

// Its own front end computes the bins of the band beside the run's two frequencies.
TEST(SrpPhatCommand, FindsASourceFromBitsAndKeepsItsId) {
  const test::TemporaryFolder folder;
  const std::string capture = capture_in(folder);
  const std::string output = folder / "out.h5";
  const test::CommandResult result = test::run_nearfield("replay " + capture + " -o " + output + kOptions);
  ASSERT_EQ(result.exit_code, 0) << result.output;
  const ResultsReader reader(output);
  ASSERT_EQ(reader.processors(), 2U);
  EXPECT_EQ(reader.header(1).products[0].name, "sources");
  EXPECT_EQ(reader.header(1).products[1].name, "map");
  ASSERT_GE(reader.frames(1), 10U);
  std::set<double> ids;
  for (std::uint64_t frame = 3; frame < reader.frames(1); ++frame) {
    const std::vector<double> x = column(reader, frame, "x");
    ASSERT_EQ(x.size(), 1U) << frame;
    // The array is 0.15 m wide: at 4 kHz a beam 1 m away is some 0.5 m wide.
    EXPECT_NEAR(x[0], 0.31, 0.05);
    EXPECT_NEAR(column(reader, frame, "y")[0], -0.22, 0.05);
    EXPECT_NEAR(column(reader, frame, "z")[0], -0.97, 1e-6);
    EXPECT_GT(column(reader, frame, "significance")[0], 6.0);
    EXPECT_EQ(column(reader, frame, "state")[0], 2.0);
    EXPECT_EQ(column(reader, frame, "first_bit_time")[0],
              static_cast<double>(reader.read(1, frame).frame.first_bit_time));
    EXPECT_EQ(reader.read(1, frame).frame.flags, 0U);
    ids.insert(column(reader, frame, "id")[0]);
  }
  EXPECT_EQ(ids, std::set<double>{1.0});
  const test::CommandResult inspected = test::run_nearfield("inspect " + output);
  EXPECT_EQ(inspected.exit_code, 0);
  EXPECT_THAT(inspected.output, HasSubstr("sources"));
}

TEST(SrpPhatCommand, RefusesWhatItCannotDo) {
  const test::TemporaryFolder folder;
  const std::string capture = capture_in(folder);
  const auto refusal_of = [&](const std::string& options) {
    const test::CommandResult result =
        test::run_nearfield("replay " + capture + " -o " + (folder / "out.h5") + kOptions + options);
    EXPECT_EQ(result.exit_code, 78) << result.output;
    EXPECT_FALSE(std::filesystem::exists(folder / "out.h5"));
    return result.output;
  };
  EXPECT_THAT(refusal_of("--set processors.where.band_hz=[1000,1001]"),
              HasSubstr("processors.where.band_hz: expected [low, high] with at least one multiple of 45.7764 Hz"));
  EXPECT_THAT(refusal_of("--set processors.where.band_hz=[1000,30000]"), HasSubstr("high at most 23437.5 Hz"));
  EXPECT_THAT(refusal_of("--set processors.where.band_hz=[4000,1000]"), HasSubstr("processors.where.band_hz"));
  EXPECT_THAT(refusal_of("--set processors.where.front_end.frequencies_hz=[500]"),
              HasSubstr("processors.where.band_hz: expected a band with at least one"));
  EXPECT_THAT(refusal_of("--set processors.where.grid.step_m=0.00001"),
              HasSubstr("processors.where.grid: expected at most 4194304 pixels"));
  EXPECT_THAT(refusal_of("--set processors.where.sources=9"), HasSubstr("processors.where.sources: expected"));
  EXPECT_THAT(refusal_of("--set processors.where.tracks.confirm=[5,3]"), HasSubstr("processors.where.tracks.confirm"));
}

}  // namespace
}  // namespace nearfield
