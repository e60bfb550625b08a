#include "processors/far_field/subset.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numbers>
#include <set>

#include "core/error.hpp"
#include "imaging/priors/make_mask.hpp"
#include "processors/beamform_support.hpp"
#include "processors/srp_phat_support.hpp"
#include "support/positions.hpp"

// array.subset and steering.subset: which microphones are chosen, and that these alone are used.
namespace nearfield {
namespace {

using far_field::chosen_channels;
using far_field::Position;
using Kind = SubsetSettings::Kind;
using test::Beamformer;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr double kAllowed = 1e-4;  // of float32, as beamform_test.cpp says

ArrayPlan camera() {
  ArrayPlan array;
  array.frequencies_hz = {2000.0};
  return array;
}

TEST(Subset, GridsHaveTheNearestToEvenlySpacedRowsAndColumnsTheOutermostIncluded) {
  const std::vector<int> channels = chosen_channels({.kind = Kind::kGrid, .rows = 8, .columns = 4}, camera(), "key");
  ASSERT_EQ(channels.size(), 32U);
  std::set<int> rows;
  std::set<int> columns;
  for (const int channel : channels) {
    rows.insert(channel / 32);
    columns.insert(channel % 32);
  }
  // 31/7 = 4.43 and 31/3 = 10.33 apart.
  EXPECT_THAT(rows, ElementsAre(0, 4, 9, 13, 18, 22, 27, 31));
  EXPECT_THAT(columns, ElementsAre(0, 10, 21, 31));
}

// The n-th point of the spiral is at 0.97 h sqrt((n + 1/2)/N): the microphones of 32 x 32 lie within half a pitch along
// each axis of theirs, unless a nearer one is taken, which 32 points this far apart never do.
TEST(Subset, SpiralsFollowTheSunflower) {
  const ArrayPlan array = camera();
  const std::vector<int> channels = chosen_channels({.kind = Kind::kSpiral, .count = 32}, array, "key");
  ASSERT_EQ(std::set<int>(channels.begin(), channels.end()).size(), 32U);
  for (int n = 0; n < 32; ++n) {
    const double radius = 0.97 * 0.31 * std::sqrt((n + 0.5) / 32.0);
    const double angle = n * std::numbers::pi * (3.0 - std::sqrt(5.0));
    double nearest = 1.0;
    for (const int channel : channels) {
      const MicrophonePosition at = array.geometry.position_m(channel);
      nearest = std::min(
          nearest, std::max(std::abs(at.x_m - radius * std::cos(angle)), std::abs(at.y_m - radius * std::sin(angle))));
    }
    EXPECT_LE(nearest, 0.01 + 1e-9) << n;
  }
}

TEST(Subset, OfAllKindsNeverHasAMaskedMicrophone) {
  ArrayPlan array = camera();
  const std::vector<int> free = chosen_channels({.kind = Kind::kRandom, .count = 40}, array, "key");
  EXPECT_EQ(std::set<int>(free.begin(), free.end()).size(), 40U);
  EXPECT_EQ(chosen_channels({.kind = Kind::kRandom, .count = 40}, array, "key"), free) << "the seed is fixed";
  for (const SubsetSettings& subset :
       {SubsetSettings{.kind = Kind::kRandom, .count = 40}, SubsetSettings{.kind = Kind::kSpiral, .count = 40},
        SubsetSettings{.kind = Kind::kGrid, .rows = 8, .columns = 5},
        SubsetSettings{.kind = Kind::kChannels, .channels = {3, 5, 8, 13, 21, 34, 55}}}) {
    array.dead_channels.clear();
    const std::vector<int> all = chosen_channels(subset, array, "key");
    array.dead_channels = {all[0], all[2]};
    const std::vector<int> rest = chosen_channels(subset, array, "key");
    const bool is_counted = subset.kind == Kind::kRandom || subset.kind == Kind::kSpiral;
    EXPECT_EQ(rest.size(), all.size() - (is_counted ? 0 : 2));
    EXPECT_FALSE(std::binary_search(rest.begin(), rest.end(), all[0]));
    EXPECT_FALSE(std::binary_search(rest.begin(), rest.end(), all[2]));
  }
}

TEST(Subset, WhatAnArrayHasNotIsRefused) {
  ArrayPlan array = camera();
  array.dead_channels = {0, 1, 2, 3};
  const auto refusal = [&](const SubsetSettings& subset) -> std::string {
    try {
      (void)chosen_channels(subset, array, "array.subset");
    } catch (const ConfigError& error) {
      return error.what();
    }
    return "accepted";
  };
  EXPECT_THAT(refusal({.kind = Kind::kSpiral, .count = 1021}),
              HasSubstr("array.subset: expected at most the 1020 microphones that are not masked, found 1021"));
  EXPECT_THAT(refusal({.kind = Kind::kGrid, .rows = 33, .columns = 4}),
              HasSubstr("expected rows and columns of the array's 32 x 32, found grid 33x4"));
  EXPECT_THAT(refusal({.kind = Kind::kChannels, .channels = {5, 6, 7, 1024}}), HasSubstr("0 to 1023, found 1024"));
  EXPECT_THAT(refusal({.kind = Kind::kChannels, .channels = {1, 2, 3, 4, 5, 6}}),
              HasSubstr("at least 4 microphones that are not masked, found 3"));
  array = camera();
  array.geometry = geometry_of(test::sunflower(50, 0.3));
  EXPECT_THAT(refusal({.kind = Kind::kGrid, .rows = 4, .columns = 4}), HasSubstr("regular grid, which it has not"));
  EXPECT_EQ(refusal({.kind = Kind::kSpiral, .count = 50}), "accepted");
}

// A map of some microphones is the map of the whole array whose others are masked: norms are those of the rest.
TEST(Subset, MapsAreThoseOfTheChosenMicrophonesAlone) {
  for (const SubsetSettings& subset : {SubsetSettings{.kind = Kind::kGrid, .rows = 3, .columns = 4},
                                       SubsetSettings{.kind = Kind::kSpiral, .count = 13},
                                       SubsetSettings{.kind = Kind::kChannels, .channels = {0, 9, 20, 35, 47, 62}}}) {
    Beamformer beamformer(8, 8, {700.0, 3000.0});
    beamformer.own.grid.step_m = 0.25;
    beamformer.own.diagonal_removal = false;
    std::mt19937 generator(2);
    beamformer.array.gains = test::narrow(test::noise(128, generator));
    const auto field = test::busy_field(beamformer, 4);
    const std::vector<int> channels = chosen_channels(subset, beamformer.array, "key");
    std::vector<int> others;
    for (int channel = 0; channel < 64; ++channel) {
      if (!std::binary_search(channels.begin(), channels.end(), channel)) {
        others.push_back(channel);
      }
    }
    test::ReferenceMapper whole(beamformer);
    whole.use(make_mask(beamformer.array, others));
    const auto expected = whole.beams(field);
    EXPECT_NE(whole.flags() & kFlagMaskedMicrophones, 0U);
    beamformer.own.steering.subset = subset;
    test::ReferenceMapper reference(beamformer);
    EXPECT_LT(test::difference_of(reference.beams(field), expected), 1e-6);
    EXPECT_EQ(reference.flags() & kFlagMaskedMicrophones, 0U);
    test::DeviceMapper device(beamformer);
    EXPECT_LT(test::difference_of(device.beams(field), expected), kAllowed);
    // A mask of the whole array, later: one of the chosen, and one of the others.
    const MicrophoneMask mask = make_mask(beamformer.array, {channels[1], others[0]});
    device.use(mask);
    reference.use(mask);
    EXPECT_LT(test::difference_of(device.beams(field), reference.beams(field)), kAllowed);
    EXPECT_NE(reference.flags() & kFlagMaskedMicrophones, 0U);
    const auto made = processor_entry("beamform").make(test::beamform_device(), beamformer.plan());
    EXPECT_THAT(made->header().axis("channel")->values, testing::ElementsAreArray(channels));
  }
}

// Two processors on one stream may use different ones, and a processor's own wins over the array's.
TEST(Subset, AProcessorsOwnWinsOverTheArrays) {
  Beamformer beamformer(8, 8, {700.0});
  beamformer.settings.array.subset = {.kind = Kind::kSpiral, .count = 9};
  const auto size = [&] {
    return processor_entry("beamform").make_reference(beamformer.plan())->header().axis("channel")->size();
  };
  EXPECT_EQ(size(), 9U);
  beamformer.own.steering.subset = SubsetSettings{.kind = Kind::kGrid, .rows = 4, .columns = 4};
  EXPECT_EQ(size(), 16U);
  beamformer.own.steering.subset = SubsetSettings{};
  EXPECT_EQ(processor_entry("beamform").make_reference(beamformer.plan())->header().axis("channel"), nullptr);
}

TEST(Subset, SourcesAreFoundByTheChosenMicrophones) {
  test::SrpSetup setup(16, 16, 20, 80);
  setup.look_far(40.0, 4.0);
  std::mt19937 generator(7);
  const double x = std::sin(0.3);
  const double y = std::sin(-0.2);
  const Position unit = {x, y, -std::sqrt(1.0 - x * x - y * y)};
  const auto spectra = setup.source(unit, generator);
  setup.own.subset = SubsetSettings{.kind = Kind::kSpiral, .count = 32};
  const test::SrpFrame device = test::SrpOnDevice(setup).look(spectra);
  const test::SrpFrame reference = test::SrpReference(setup).look(spectra);
  EXPECT_LT(test::difference_of(device.map, reference.map), kAllowed);
  ASSERT_FALSE(device.rows.empty());
  EXPECT_NEAR(device.rows.front()[test::kX], unit.x, 0.005);
  EXPECT_NEAR(device.rows.front()[test::kY], unit.y, 0.005);
}

// Pairs name channels of the array, whichever of them are used.
TEST(Subset, ListedPairsNameChannelsOfTheArray) {
  test::SrpSetup setup(8, 8, 20, 20);
  setup.look_far(40.0, 5.0);
  setup.own.domain = SrpDomain::kTime;
  setup.own.subset = SubsetSettings{.kind = Kind::kGrid, .rows = 2, .columns = 3};
  std::mt19937 generator(11);
  const auto spectra = setup.source({0.2, 0.1, -std::sqrt(0.95)}, generator);
  const std::vector<int> chosen = chosen_channels(*setup.own.subset, setup.array, "key");
  const test::SrpFrame all = test::SrpOnDevice(setup).look(spectra);
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      setup.own.pairs.list.push_back({chosen[i], chosen[j]});
    }
  }
  EXPECT_LT(test::difference_of(test::SrpOnDevice(setup).look(spectra).map, all.map), kAllowed);
  EXPECT_LT(test::difference_of(test::SrpReference(setup).look(spectra).map, all.map), kAllowed);
  setup.own.pairs.list.push_back({0, 9});
  try {
    (void)test::SrpReference(setup);
    FAIL() << "channel 9 is not of the subset";
  } catch (const ConfigError& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("pairs: expected channels of the subset, 0, "), HasSubstr("[0, 9]")));
  }
}

// Contract: flag 64 where the largest distance of neighbours exceeds half a wavelength; sin = lambda/d - 1.
TEST(Subset, FlagAndWarningComeWithTheSubsetsOwnNeighbours) {
  Beamformer beamformer(16, 16, {2000.0});
  const auto flags = [&] {
    test::DeviceMapper mapper(beamformer);
    (void)mapper.beams(test::busy_field(beamformer, 1));
    test::ReferenceMapper reference(beamformer);
    (void)reference.beams(test::busy_field(beamformer, 1));
    EXPECT_EQ(mapper.flags() & kFlagWavenumberAboveNyquist, reference.flags() & kFlagWavenumberAboveNyquist);
    return mapper.flags() & kFlagWavenumberAboveNyquist;
  };
  const auto remarks = [&] { return processor_entry("beamform").remarks(beamformer.plan()); };
  EXPECT_EQ(flags(), 0U);
  EXPECT_THAT(remarks().warnings, testing::IsEmpty());
  EXPECT_THAT(remarks().notes, testing::IsEmpty());
  // Columns 0, 5, 10 and 15: 10 cm apart, half a wavelength at 1715 Hz. At 2 kHz 17.15 cm / 10 cm - 1 = sin 45.7
  // degrees.
  beamformer.own.steering.subset = SubsetSettings{.kind = Kind::kGrid, .rows = 4, .columns = 4};
  EXPECT_NE(flags(), 0U);
  EXPECT_THAT(remarks().warnings, ElementsAre(AllOf(HasSubstr("processors.far"), HasSubstr("0.1 m"),
                                                    HasSubstr("above 1715 Hz"), HasSubstr("from 46 degrees on"))));
  EXPECT_THAT(remarks().notes, ElementsAre(HasSubstr("uses 16 of 256 microphones: 0, 5, 10, 15, 80, 85, 90, 95, 160")));
}

}  // namespace
}  // namespace nearfield
