#include "config/premises.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/config.hpp"

namespace nearfield {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

std::vector<std::string> lines_of(const std::vector<std::string>& overrides, double sample_rate_hz = 46875.0) {
  return premises(load_settings("", overrides), sample_rate_hz);
}

TEST(Premises, DefaultsAreStatedInUnitsThatAreRead) {
  const std::vector<std::string> lines = lines_of({});
  EXPECT_EQ(lines[0],
            "array: 32 x 32 microphones, 20 mm x 20 mm apart, 620 mm x 620 mm in all, 30 mm from the surface; "
            "sound at 343 m/s");
  EXPECT_EQ(lines[1], "samples: 46875 a second; windows of 21.85 ms, one every 0.6827 ms");
  EXPECT_EQ(lines[2], "frequencies (wavelengths): 1007.08 Hz (340.6 mm), 2014.16 Hz (170.3 mm)");
  EXPECT_EQ(lines.size(), 4U) << "nothing differs from its default";
}

/// A value that is wrong by a thousand changes a length that a person reads.
TEST(Premises, AThousandfoldPitchIsAnArrayOfManyMetres) {
  EXPECT_THAT(lines_of({"array.pitch_x_m=20"})[0], HasSubstr("20 m x 20 mm apart, 620 m x 620 mm in all"));
  EXPECT_THAT(lines_of({"holography.standoff_m=30"})[0], HasSubstr("30 m from the surface"));
  EXPECT_THAT(lines_of({"medium.sound_speed_m_s=34300"}, 46875.0)[0], HasSubstr("sound at 34300 m/s"));
  EXPECT_THAT(lines_of({}, 46.875)[1], HasSubstr("46.875 a second; windows of 21.85 s"));
}

TEST(Premises, ALayoutThatFollowsFromTheArrayIsNoSetting) {
  EXPECT_THAT(lines_of({"array.rows=16"}), Not(Contains(HasSubstr("layout"))));
  EXPECT_THAT(lines_of({"array.layout=row-major"}), Contains(HasSubstr("array.layout row-major")));
}

TEST(Premises, AUnitThatWasGivenIsStated) {
  EXPECT_THAT(lines_of({"array.pascal_per_unit=20"}), Contains(HasSubstr("20 Pa is a sample of 1")));
}

TEST(Premises, SpectraHaveNoRate) { EXPECT_THAT(lines_of({}, 0.0), Not(Contains(HasSubstr("samples:")))); }

/// Every setting is walked, those of processors beside the defaults of their kind.
TEST(Premises, WhatDiffersFromItsDefaultIsListed) {
  const std::vector<std::string> lines =
      lines_of({"processors={far: {kind: beamform, grid: {distance_m: [1000]}}}", "medium.density_kg_m3=1204"});
  EXPECT_THAT(lines, Contains("processor far: beamform"));
  EXPECT_THAT(lines.back(), HasSubstr("medium.density_kg_m3 1204"));
  EXPECT_THAT(lines.back(), HasSubstr("processors.far.grid.distance_m [1000]"));
  EXPECT_THAT(lines.back(), Not(HasSubstr("step_m")));
}

TEST(Premises, AListOfAllMicrophonesIsCut) {
  std::string all = "array.health.trusted_channels=[0";
  for (int channel = 1; channel < 500; ++channel) {
    all += "," + std::to_string(channel);
  }
  EXPECT_LT(lines_of({all + "]"}).back().size(), 200U);
}

}  // namespace
}  // namespace nearfield
