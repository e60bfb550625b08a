#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "imaging/priors/make_mask.hpp"
#include "processors/srp_phat_support.hpp"

/// However the kernels cut their work, the products are those of the reference: cuts for GPUs on any device.
namespace nearfield {
namespace {

using far_field::GridKind;
using far_field::Position;
using test::Complex;
using test::SrpFrame;
using test::SrpOnDevice;
using test::SrpReference;
using test::SrpSetup;

struct CutCase {
  std::string name;
  std::size_t vectors;
  std::size_t run;
  std::size_t tile_bins;
  std::size_t part_tiles;
  std::size_t ways;
  bool is_uneven;
};

class SrpCuts : public testing::TestWithParam<CutCase> {};

// float32 against double, as where the device chooses: 1e-4 of the map's maximum.
TEST_P(SrpCuts, GiveTheReferencesProducts) {
  const CutCase& one = GetParam();
  SrpSetup setup(7, 11, 80, 37);
  if (one.is_uneven) {
    setup.array.frequencies_hz.back() += 13.7;
  }
  setup.own.grid.distance_m = {0.6};
  setup.own.grid.step_m = 0.05;  // 441 pixels: of several groups, and of a part of one
  setup.own.sources = 2;
  SrpCut cut = SrpCut::of_groups();
  cut.vectors = one.vectors;
  cut.run = one.run;
  cut.tile_bins = one.tile_bins;
  cut.part_tiles = one.part_tiles;
  cut.ways = one.ways;
  cut.group = 64;
  cut.point_group = 2 * one.run;  // 77 microphones in several turns
  cut.fit(setup.places());
  std::mt19937 generator(31);
  std::vector<Complex> spectra = setup.source({0.08, -0.13, -0.6}, generator);
  const std::vector<Complex> other = setup.source({-0.31, 0.22, -0.6}, generator);
  const std::vector<Complex> noise = setup.noise(generator);
  for (std::size_t i = 0; i < spectra.size(); ++i) {
    spectra[i] += other[i] + 0.3 * noise[i];
  }
  spectra[13] = {std::numeric_limits<double>::quiet_NaN(), 0.0};
  SrpReference reference(setup);
  SrpOnDevice device(setup, cut);
  reference.use(make_mask(setup.array, {3, 40}));
  device.use(make_mask(setup.array, {3, 40}));
  const SrpFrame expected = reference.look(test::widen(test::narrow(spectra)));
  const SrpFrame found = device.look(spectra);
  EXPECT_EQ(found.flags, expected.flags);
  ASSERT_EQ(found.map.size(), expected.map.size());
  for (std::size_t i = 0; i < found.map.size(); ++i) {
    ASSERT_NEAR(found.map[i], expected.map[i], 1e-4) << i;
  }
  ASSERT_EQ(expected.rows.size(), 2U);
  ASSERT_EQ(found.rows.size(), 2U);
  for (std::size_t row = 0; row < 2; ++row) {
    for (const std::size_t column : {test::kX, test::kY, test::kZ}) {
      EXPECT_NEAR(found.rows[row][column], expected.rows[row][column], 0.05 / 16.0) << row;
    }
    EXPECT_NEAR(found.rows[row][test::kConfidence], expected.rows[row][test::kConfidence], 1e-4);
    EXPECT_NEAR(found.rows[row][test::kLevel], expected.rows[row][test::kLevel], 0.01);
  }
}

INSTANTIATE_TEST_SUITE_P(All, SrpCuts,
                         testing::Values(CutCase{"OneWay", 2, 16, 16, 3, 1, false},
                                         CutCase{"ManyWays", 2, 16, 16, 2, 16, false},
                                         CutCase{"ShortRuns", 4, 8, 8, 1, 4, false},
                                         CutCase{"LongTiles", 1, 16, 32, 1, 2, false},
                                         CutCase{"UnevenBins", 2, 16, 16, 1, 8, true}),
                         [](const auto& one) { return one.param.name; });

// Each pixel and each microphone is in the cut that a device gets, whatever their numbers.
TEST(SrpCut, HoldsEveryPixelBinAndMicrophone) {
  for (const bool is_gpu : {false, true}) {
    for (const std::uint32_t units : {1U, 132U}) {
      for (const int rows : {2, 9, 32}) {
        for (const double step_m : {1.0, 0.02, 0.004}) {
          for (const std::size_t bins : {std::size_t{1}, std::size_t{77}, std::size_t{300}}) {
            SrpSetup setup(rows, 32, 20, bins);
            setup.own.band_hz = {1.0, 1e6};
            setup.own.grid.step_m = step_m;
            const SrpPlan plan = setup.places();
            ocl::DeviceInfo device;
            device.is_gpu = is_gpu;
            device.compute_units = units;
            device.local_memory_bytes = 49152;
            const SrpCut cut = SrpCut::for_device(device, plan);
            EXPECT_GE(cut.pixel_stride, plan.pixels());
            EXPECT_EQ(cut.pixel_stride % (cut.group / cut.ways * cut.lanes * cut.vectors), 0U);
            EXPECT_GE(cut.padded_channels, plan.channels());
            EXPECT_EQ(cut.padded_channels % cut.microphone_tile, 0U);
            EXPECT_EQ(cut.microphone_tile % (cut.ways * cut.at_once), 0U);
            EXPECT_GE(cut.bins(), bins);
            EXPECT_GE(cut.parts * cut.part_tiles, cut.tiles);
            EXPECT_EQ(cut.group % cut.ways, 0U);
            EXPECT_EQ(cut.tile_bins % cut.ways, 0U);
            EXPECT_EQ(cut.map_items() % cut.group, 0U);
            EXPECT_LE(cut.local_bytes(), device.local_memory_bytes);
          }
        }
      }
    }
  }
}

// The check of memory before a start counts phases, pressures, powers and lags, and not the map alone.
TEST(SrpCut, IsCountedByTheCheckOfMemory) {
  SrpSetup setup(8, 8, 11, 77);
  setup.own.band_hz = {11.0 * SrpSetup::kRate_hz / 1024.0, 87.5 * SrpSetup::kRate_hz / 1024.0};
  setup.settings.array.geometry = setup.array.geometry;
  setup.settings.front_end.window_samples = 1024;
  for (const SrpDomain domain : {SrpDomain::kFrequency, SrpDomain::kTime}) {
    setup.own.domain = domain;
    const SrpPlan plan = setup.places();
    const SrpCut cut = SrpCut::for_device(test::srp_device().info(), plan);
    const auto values = static_cast<double>(cut.phases()) * 4.0 +
                        static_cast<double>(plan.pairs.size() * (2 * plan.farthest_lag + 2 * plan.bins.size())) +
                        static_cast<double>(plan.pixels() * 2);
    const double counted = setup.own.frame_bytes(setup.settings);
    EXPECT_GT(counted, 0.8 * values * sizeof(float));  // but for bins, pixels and lags that fill up tiles
    EXPECT_LT(counted, 3.0 * values * sizeof(float));
  }
}

}  // namespace
}  // namespace nearfield
