#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <random>

#include "core/error.hpp"
#include "imaging/priors/make_mask.hpp"
#include "processors/beamform_support.hpp"

/// Mean squares of the sources in sectors.
namespace nearfield {
namespace {

using far_field::Formulation;
using far_field::GridKind;
using far_field::Position;
using test::Beamformer;
using test::Complex;
using test::difference_of;
using test::noise;

std::vector<double> sectors_of(test::Mapper& mapper, const std::vector<Complex>& field) {
  const std::vector<float> powers = mapper.powers(field);  // the last product
  return {powers.begin(), powers.end()};
}

/// A wide plane 0.6 m away, and two sectors of it, 0.2 m apart: the pixels (x, y) = (-0.2, 0) and (0.2, 0) are their
/// centres. Each window is a snapshot, and a block.
Beamformer two_sectors() {
  Beamformer beamformer(20, 24, {5000.0});
  beamformer.settings.front_end.hop_samples = beamformer.settings.front_end.window_samples / 2;
  beamformer.own.grid.distance_m = {0.6};
  beamformer.own.grid.x_m = {-0.4, 0.4};
  beamformer.own.grid.y_m = {-0.2, 0.2};
  beamformer.own.grid.step_m = 0.02;
  beamformer.own.steering.shading = far_field::Shading::kHann;
  beamformer.own.average.seconds = 1e-6;
  beamformer.own.sectors = {{.name = "left", .across = {-0.3, -0.1}, .down = {-0.15, 0.15}},
                            {.name = "right", .across = {0.1, 0.3}, .down = {-0.15, 0.15}}};
  return beamformer;
}

constexpr Position kInLeft = {-0.2, 0.0, -0.6};

/// Of a source at a place with a pressure of 1 Pa (peak) at the array's centre.
std::vector<Complex> source_at(const Beamformer& beamformer, const Position& place) {
  std::vector<Complex> field = beamformer.monopole(place);
  for (Complex& value : field) {
    value *= norm(place);
  }
  return test::widen(test::narrow(field));
}

// The half of 1 Pa squared. What the other sector reads are side lobes of Hann's shading.
TEST(BeamformSectors, ReadTheMeanSquareOfASource) {
  for (const Formulation formulation : {Formulation::kInverse, Formulation::kTrueLevel}) {
    for (const bool removes : {false, true}) {
      Beamformer beamformer = two_sectors();
      beamformer.own.steering.formulation = formulation;
      beamformer.own.diagonal_removal = removes;
      beamformer.own.average.kind = removes ? AverageKind::kLinear : AverageKind::kNone;
      test::ReferenceMapper reference(beamformer);
      test::DeviceMapper device(beamformer);
      const auto field = source_at(beamformer, kInLeft);
      for (test::Mapper* mapper : {static_cast<test::Mapper*>(&reference), static_cast<test::Mapper*>(&device)}) {
        const std::vector<double> powers = sectors_of(*mapper, field);
        ASSERT_EQ(powers.size(), 2U);
        EXPECT_NEAR(powers[0], 0.5, 1e-4);
        EXPECT_LT(powers[1], 0.005);
        EXPECT_GE(powers[1], 0.0);
      }
    }
  }
}

// Elsewhere in the sector a source has most of its beam inside as well.
TEST(BeamformSectors, HoldASourceBesideTheirCentre) {
  const Beamformer beamformer = two_sectors();
  test::ReferenceMapper mapper(beamformer);
  for (const Position& place : {Position{-0.24, 0.05, -0.6}, Position{-0.17, -0.07, -0.6}}) {
    const std::vector<double> powers = sectors_of(mapper, source_at(beamformer, place));
    EXPECT_NEAR(test::in_db(powers[0] / 0.5), 0.0, 0.8);
    EXPECT_LT(test::in_db(powers[1] / 0.5), -20.0);
  }
  const std::vector<double> outside = sectors_of(mapper, source_at(beamformer, {0.0, 0.0, -0.6}));
  EXPECT_LT(test::in_db(outside[0] / 0.5), -8.0) << "0.1 m beside both, less than a beam";
}

// Two sources that are incoherent: the mean of 64 windows has each, with what noise makes of its level, in its sector.
TEST(BeamformSectors, TellTwoSourcesApart) {
  constexpr int kWindows = 64;
  Beamformer beamformer = two_sectors();
  beamformer.own.average = {.kind = AverageKind::kLinear, .seconds = kWindows * 512.0 / 46875.0};
  test::DeviceMapper mapper(beamformer);
  std::mt19937 generator(3U);
  const auto left = source_at(beamformer, {-0.22, 0.03, -0.6});
  const auto right = source_at(beamformer, {0.18, -0.05, -0.6});
  double of_left = 0.0;
  double of_right = 0.0;
  std::vector<double> powers;
  for (int window = 0; window < kWindows; ++window) {
    const std::vector<Complex> amplitudes = noise(2, generator);
    std::vector<Complex> field(left.size());
    for (std::size_t i = 0; i < field.size(); ++i) {
      field[i] = amplitudes[0] * left[i] + 0.3 * amplitudes[1] * right[i];
    }
    of_left += 0.5 * std::norm(amplitudes[0]) / kWindows;
    of_right += 0.5 * 0.09 * std::norm(amplitudes[1]) / kWindows;
    powers = sectors_of(mapper, field);
  }
  EXPECT_NEAR(test::in_db(powers[0] / of_left), 0.0, 0.5);
  EXPECT_NEAR(test::in_db(powers[1] / of_right), 0.0, 0.5);
}

struct SectorCase {
  std::string name;
  GridKind grid;
  Formulation formulation;
  Method method;
  AverageKind average;
  bool removal;
  double reference_m;
  bool is_far;
  std::size_t planes;
};

const std::vector<SectorCase> kSectorCases = {
    {"PlaneI", GridKind::kPlane, Formulation::kClassic, Method::kDas, AverageKind::kNone, false, 0.0, false, 1},
    {"PlaneII", GridKind::kPlane, Formulation::kInverse, Method::kDas, AverageKind::kLinear, true, 1.0, false, 1},
    {"PlaneIII", GridKind::kPlane, Formulation::kTrueLevel, Method::kDas, AverageKind::kLinear, true, 0.0, false, 3},
    {"PlaneIV", GridKind::kPlane, Formulation::kTrueLocation, Method::kDas, AverageKind::kLinear, true, 0.0, false, 1},
    {"Volume", GridKind::kVolume, Formulation::kTrueLevel, Method::kDas, AverageKind::kNone, false, 1.0, false, 3},
    {"Angles", GridKind::kAngles, Formulation::kTrueLevel, Method::kDas, AverageKind::kLinear, false, 0.0, false, 2},
    {"AnglesFar", GridKind::kAngles, Formulation::kTrueLevel, Method::kDas, AverageKind::kLinear, true, 0.0, true, 1},
    {"Line", GridKind::kLine, Formulation::kTrueLocation, Method::kDas, AverageKind::kNone, false, 0.0, false, 1},
    {"Sphere", GridKind::kSphere, Formulation::kInverse, Method::kDas, AverageKind::kNone, false, 0.0, false, 2},
    {"Functional", GridKind::kPlane, Formulation::kTrueLevel, Method::kFunctional, AverageKind::kNone, false, 0.0,
     false, 1},
    {"FunctionalIV", GridKind::kPlane, Formulation::kTrueLocation, Method::kFunctional, AverageKind::kNone, false, 1.0,
     false, 2},
    {"Orthogonal", GridKind::kAngles, Formulation::kTrueLevel, Method::kOrthogonal, AverageKind::kNone, false, 0.0,
     false, 1},
    {"CleanSc", GridKind::kPlane, Formulation::kTrueLevel, Method::kCleanSc, AverageKind::kNone, false, 0.0, false, 1}};

class BeamformSectorKinds : public testing::TestWithParam<SectorCase> {};

Beamformer beamformer_of_sectors(const SectorCase& one) {
  Beamformer beamformer(9, 11, {2500.0, 6000.0});
  beamformer.settings.front_end.hop_samples = beamformer.settings.front_end.window_samples / 2;
  beamformer.array.gains.assign(2 * 99, {0.5F, -0.25F});
  beamformer.own.steering.formulation = one.formulation;
  beamformer.own.steering.reference_m = one.reference_m;
  beamformer.own.steering.shading = far_field::Shading::kHamming;
  beamformer.own.average.kind = one.average;
  beamformer.own.average.seconds = 1e-6;
  beamformer.own.average.snapshots = 8;
  beamformer.own.diagonal_removal = one.removal;
  beamformer.own.method = one.method;
  beamformer.own.functional_exponent = 4.0;
  beamformer.own.map_rate_hz = 1000.0;
  beamformer.own.grid.kind = one.grid;
  beamformer.own.grid.distance_m = {0.3, 0.5, 0.8};
  beamformer.own.grid.distance_m.resize(one.planes);
  if (one.grid == GridKind::kVolume) {
    beamformer.own.grid.distance_m = {0.3, 0.44};
  }
  if (one.is_far) {
    beamformer.own.grid.distance_m = {far_field::kInfinitelyFar};
  }
  beamformer.own.grid.radius_m = {0.3, 0.6};
  beamformer.own.grid.step_m = 0.07;
  beamformer.own.grid.step_deg = 7.0;
  beamformer.own.grid.azimuth_deg = {-80.0, 80.0};
  beamformer.own.grid.elevation_deg = {-70.0, 80.0};
  beamformer.own.grid.count = 133;
  switch (sides_of(one.grid)) {
    case SectorSides::kPlane:
      beamformer.own.sectors = {{.name = "a", .across = {-0.3, 0.1}, .down = {-0.2, 0.31}},
                                {.name = "b", .across = {0.2, 0.5}, .down = {-0.5, -0.5}}};
      break;
    case SectorSides::kAngles:  // the corner of the second one is no direction
      beamformer.own.sectors = {
          {.name = "a", .sides = SectorSides::kAngles, .across = {-31.0, 10.0}, .down = {-20.0, 33.0}},
          {.name = "b", .sides = SectorSides::kAngles, .across = {4.0, 80.0}, .down = {-4.0, 80.0}},
          {.name = "c", .sides = SectorSides::kAngles, .across = {-3.0, -3.0}, .down = {0.0, 0.0}}};
      break;
    case SectorSides::kLine:
      beamformer.own.sectors = {{.name = "a", .sides = SectorSides::kLine, .across = {20.0, 90.0}}};
      break;
  }
  return beamformer;
}

// A source at the pixel in a sector's centre reads what the map has there, whatever the method and its formulation: the
// sum over the sector is divided by the same sum of that source.
TEST_P(BeamformSectorKinds, OfASourceInTheCentreAreTheMapThere) {
  const SectorCase& one = GetParam();
  Beamformer beamformer = beamformer_of_sectors(one);
  beamformer.array.gains.clear();
  const BeamformPlan plan = beamformer.places();
  const SectorPixels& sector = plan.sectors.front();
  const std::size_t pixel = (plan.planes() - 1) * plan.plane_pixels() + sector.centre;
  const Position& place = plan.grid.pixels[pixel];
  const auto wave = plan.is_plane_wave ? beamformer.plane_wave(place) : source_at(beamformer, place);
  test::ReferenceMapper reference(beamformer);
  test::DeviceMapper device(beamformer);
  for (test::Mapper* mapper : {static_cast<test::Mapper*>(&reference), static_cast<test::Mapper*>(&device)}) {
    Products products;
    std::mt19937 generator(7U);
    for (int window = 0; window < (one.method == Method::kDas ? 1 : 8); ++window) {
      std::vector<Complex> field = wave;  // with a phase of its own, and noise that only decides which method has modes
      const Complex phase = std::polar(1.0, 0.7 * window);
      const std::vector<Complex> rest = noise(field.size(), generator);
      for (std::size_t i = 0; i < field.size(); ++i) {
        field[i] = phase * field[i] + (one.method == Method::kDas ? 0.0 : 1e-4) * rest[i];
      }
      products = mapper->map(field);
    }
    const std::size_t of_map = 0;
    for (std::size_t f = 0; f < 2; ++f) {
      double at_centre = 0.0;
      if (plan.has_powers()) {
        at_centre = static_cast<double>(values_of<float>(products[of_map])[f * plan.pixels() + pixel]);
      } else {
        at_centre =
            0.5 * std::norm(Complex(values_of<std::complex<float>>(products[of_map])[f * plan.pixels() + pixel]));
      }
      const auto sectors = values_of<float>(products[products.size() - (plan.has_powers() ? 2 : 1)]);
      const auto found = static_cast<double>(sectors[(f * plan.planes() + plan.planes() - 1) * plan.sectors.size()]);
      // A loop takes 0.6 of what is left each time: clean_sc leaves its last part to its neighbours.
      EXPECT_NEAR(found / at_centre, 1.0, one.method == Method::kCleanSc ? 0.02 : 2e-3) << f;
      EXPECT_GT(at_centre, 0.0);
    }
  }
}

// Of noise in each microphone, so that the sums have no special value; against sums over the published map, too.
TEST_P(BeamformSectorKinds, DeviceAndReferenceAgree) {
  const SectorCase& one = GetParam();
  const Beamformer beamformer = beamformer_of_sectors(one);
  const BeamformPlan plan = beamformer.places();
  ASSERT_EQ(flaw_of(header_of(plan)), "");
  test::ReferenceMapper reference(beamformer);
  test::DeviceMapper device(beamformer);
  const auto expect_same = [&](unsigned window) {
    const auto field = test::widen(test::narrow(test::busy_field(beamformer, 5U + window)));
    const std::vector<float> expected = reference.powers(field);
    const std::vector<float> found = device.powers(field);
    ASSERT_EQ(expected.size(), 2 * plan.sector_values());
    ASSERT_EQ(found.size(), expected.size());
    bool has_values = true;
    for (std::size_t i = 0; i < expected.size(); ++i) {
      has_values = has_values && !std::isnan(expected[i]);
    }
    EXPECT_EQ(std::isnan(expected.front()), std::isnan(found.front()));
    if (has_values) {
      EXPECT_LE(difference_of(found, expected), 2e-4);
    }
  };
  for (unsigned window = 0; window < (one.method == Method::kDas ? 1U : 9U); ++window) {
    expect_same(window);
  }
  std::vector<int> corner;
  for (int channel = 0; channel < 44; ++channel) {
    corner.push_back(channel);
  }
  for (const std::vector<int>& masked : {corner, std::vector<int>({3, 40, 41})}) {
    for (test::Mapper* mapper : {static_cast<test::Mapper*>(&reference), static_cast<test::Mapper*>(&device)}) {
      mapper->use(make_mask(beamformer.array, masked));
      mapper->forget();
    }
    for (unsigned window = 0; window < (one.method == Method::kDas ? 1U : 7U); ++window) {
      expect_same(window);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, BeamformSectorKinds, testing::ValuesIn(kSectorCases),
                         [](const auto& instance) { return instance.param.name; });

// With masked microphones the answer of the array is that of the others.
TEST(BeamformSectors, FollowTheMask) {
  const Beamformer beamformer = two_sectors();
  std::vector<int> masked;
  for (int channel = 0; channel < 20 * 24; ++channel) {
    if (channel % 24 >= 16) {
      masked.push_back(channel);
    }
  }
  test::ReferenceMapper reference(beamformer);
  test::DeviceMapper device(beamformer);
  const auto field = source_at(beamformer, kInLeft);
  for (test::Mapper* mapper : {static_cast<test::Mapper*>(&reference), static_cast<test::Mapper*>(&device)}) {
    mapper->use(make_mask(beamformer.array, masked));
    EXPECT_NEAR(sectors_of(*mapper, field)[0], 0.5, 1e-4);
  }
}

// A band's is the sum of its bins', each with the array's answer at its frequency: so a source keeps its level in it.
TEST(BeamformSectors, OfBandsAreSumsOverTheirBins) {
  const double bin_hz = 46875.0 / 1024.0;
  Beamformer beamformer = two_sectors();
  beamformer.array.frequencies_hz = {44 * bin_hz, 80 * bin_hz, 81 * bin_hz, 82 * bin_hz};
  beamformer.settings.front_end.bands_hz = {{.low_hz = 79.5 * bin_hz, .high_hz = 82.5 * bin_hz}};
  beamformer.own.average.kind = AverageKind::kLinear;
  ProcessorPlan plan = beamformer.plan();
  plan.frequencies_hz = {44 * bin_hz};
  const ResultHeader header = header_of(BeamformPlan(plan));
  ASSERT_EQ(header.products.size(), 5U);
  EXPECT_EQ(header.products[1].name, "sectors");
  EXPECT_EQ(header.products[3].name, "bands_sectors");
  EXPECT_EQ(header.products[3].axes, std::vector<std::string>({"band", "sector"}));
  EXPECT_EQ(header.axis("sector")->values, std::vector<double>({-0.3, -0.1, -0.15, 0.15, 0.1, 0.3, -0.15, 0.15}));
  EXPECT_EQ(header.axis("sector")->components, 4U);
  const auto field = source_at(beamformer, kInLeft);
  const auto reference = processor_entry("beamform").make_reference(plan);
  (void)reference->compute(std::array{reference::WindowInput{.spectra = field}});
  EXPECT_NEAR(values_of<float>(reference->products({.window = 0}).products[1])[0], 0.5, 1e-4);
  EXPECT_NEAR(values_of<float>(reference->products({.window = 0}).products[3])[0], 3 * 0.5 / 1.5, 1e-4);
  const ocl::Device& on = test::beamform_device();
  const auto device = processor_entry("beamform").make(on, plan);
  const auto input = on.upload<std::complex<float>>(test::narrow(field), "test");
  const auto status = on.upload<std::uint32_t>(std::vector<std::uint32_t>(kStatusWords), "test");
  device->enqueue({.spectra = input, .status = status, .windows = 1});
  on.wait();
  EXPECT_NEAR(values_of<float>(device->products({.window = 0}).products[1])[0], 0.5, 1e-4);
  EXPECT_NEAR(values_of<float>(device->products({.window = 0}).products[3])[0], 3 * 0.5 / 1.5, 1e-4);
}

// Planes keep theirs where maps show the largest of them.
TEST(BeamformSectors, StandBesideTheFocus) {
  Beamformer beamformer = two_sectors();
  beamformer.own.grid.distance_m = {0.4, 0.6};
  test::ReferenceMapper plain(beamformer);
  const auto field = source_at(beamformer, kInLeft);
  const std::vector<double> expected = sectors_of(plain, field);
  beamformer.own.focus = Focus::kMax;
  const ResultHeader header = header_of(beamformer.places());
  ASSERT_EQ(header.products.size(), 3U);
  EXPECT_EQ(header.products[0].axes, std::vector<std::string>({"frequency", "y", "x"}));
  EXPECT_EQ(header.products[2].axes, std::vector<std::string>({"frequency", "distance", "sector"}));
  EXPECT_NEAR(expected[2], 0.5, 1e-4);
  test::ReferenceMapper reference(beamformer);
  test::DeviceMapper device(beamformer);
  EXPECT_EQ(sectors_of(reference, field), expected);
  EXPECT_LE(difference_of(sectors_of(device, field), expected), 1e-4);
}

TEST(BeamformSectors, NeedACentreThatIsADirection) {
  Beamformer beamformer = two_sectors();
  beamformer.own.grid.kind = GridKind::kAngles;
  beamformer.own.grid.distance_m = {far_field::kInfinitelyFar};
  beamformer.own.sectors = {
      {.name = "corner", .sides = SectorSides::kAngles, .across = {30.0, 60.0}, .down = {55.0, 60.0}}};
  EXPECT_THROW((void)beamformer.places(), ConfigError);
}

// Pixels -0.5, -0.4, ... 0.5.
TEST(BeamformSectors, HoldThePixelsBetweenTheirEnds) {
  const PixelRange some = pixels_between({-0.3, 0.0}, -0.5, 0.1, 11);
  EXPECT_EQ(some.first, 2U);
  EXPECT_EQ(some.count, 4U);
  EXPECT_TRUE(some.centre == 3 || some.centre == 4);
  const PixelRange odd = pixels_between({-0.35, -0.04}, -0.5, 0.1, 11);
  EXPECT_EQ(odd.first, 2U);
  EXPECT_EQ(odd.count, 3U);
  EXPECT_EQ(odd.centre, 3U);
  EXPECT_EQ(pixels_between({0.41, 0.49}, -0.5, 0.1, 11).count, 0U);
  EXPECT_EQ(pixels_between({-2.0, 2.0}, -0.5, 0.1, 11).count, 11U);
  EXPECT_EQ(pixels_between({0.5, 0.5}, -0.5, 0.1, 11).first, 10U);
  EXPECT_EQ(pixels_between({0.0, 2.0}, 1.0, 0.0, 5).count, 5U);
  EXPECT_EQ(pixels_between({1.5, 2.0}, 1.0, 0.0, 5).count, 0U);
}

using Bytes = std::vector<std::byte>;

std::vector<Bytes> bytes_of(Products products) {
  std::vector<Bytes> all;
  for (const std::span<const std::byte> product : products) {
    all.emplace_back(product.begin(), product.end());
  }
  return all;
}

// A batch gives each window the largest plane and the sectors of its own time, bit for bit.
TEST(BeamformSectors, AndLargestPlanesOfABatchAreAsOneWindowAfterTheOther) {
  constexpr std::size_t kWindows = 3;
  for (const AverageKind average : {AverageKind::kNone, AverageKind::kExponential}) {
    Beamformer beamformer = two_sectors();
    beamformer.own.average = {.kind = average, .seconds = 0.05};
    beamformer.own.grid.distance_m = {0.3, 0.4, 0.6};
    beamformer.own.focus = Focus::kMax;
    test::DeviceMapper one_by_one(beamformer);
    beamformer.batch = kWindows;
    const auto batched = processor_entry("beamform").make(test::beamform_device(), beamformer.plan());
    std::mt19937 generator(23U);
    for (int round = 0; round < 2; ++round) {
      std::vector<std::vector<Complex>> fields;
      std::vector<Complex> all;
      for (std::size_t window = 0; window < kWindows; ++window) {
        fields.push_back(test::widen(test::narrow(noise(480U, generator))));
        all.insert(all.end(), fields.back().begin(), fields.back().end());
      }
      const auto input = test::beamform_device().upload<std::complex<float>>(test::narrow(all), "test");
      const auto status =
          test::beamform_device().upload<std::uint32_t>(std::vector<std::uint32_t>(kWindows * kStatusWords), "test");
      batched->enqueue({.spectra = input, .status = status, .windows = kWindows});
      test::beamform_device().wait();
      for (std::size_t window = 0; window < kWindows; ++window) {
        const std::vector<Bytes> expected = bytes_of(one_by_one.map(fields[window]));
        ASSERT_GE(expected.size(), 3U);  // the map, its planes, and sectors
        EXPECT_EQ(bytes_of(batched->products({.window = window}).products), expected) << round << ", " << window;
      }
    }
  }
}

}  // namespace
}  // namespace nearfield
