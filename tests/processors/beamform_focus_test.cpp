#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "core/error.hpp"
#include "imaging/priors/make_mask.hpp"
#include "processors/beamform/published_reference.hpp"
#include "processors/beamform/publisher.hpp"
#include "processors/beamform_support.hpp"

/// The largest value over planes, and its distance.
namespace nearfield {
namespace {

using far_field::Formulation;
using far_field::GridKind;
using test::Beamformer;
using test::busy_field;
using test::Complex;
using test::difference_of;

constexpr float kNothing = std::numeric_limits<float>::quiet_NaN();

std::size_t index_of(const Beamformer& beamformer, std::string_view name) {
  const ResultHeader header = header_of(beamformer.places());
  const auto found = std::find_if(header.products.begin(), header.products.end(),
                                  [&](const Product& product) { return product.name == name; });
  return static_cast<std::size_t>(found - header.products.begin());
}

/// [distance][y][x] of 24 x 24 microphones over 0.46 m, whose depths are trusted below 0.925 m at 6 kHz.
Beamformer deep_one(std::vector<double> frequencies_hz) {
  Beamformer beamformer(24, 24, std::move(frequencies_hz));
  beamformer.own.grid.distance_m = {0.2, 0.3, 0.45, 0.65, 0.9, 1.3};
  beamformer.own.grid.x_m = {0.04, 0.04};
  beamformer.own.grid.y_m = {-0.02, -0.02};
  beamformer.own.focus = Focus::kMax;
  return beamformer;
}

// Beside its own plane the phases of a monopole do not add up, whatever the formulation. At 1.3 m and at 1 kHz the
// depth of focus is larger than half the distance.
TEST(BeamformFocus, IsThePlaneOfAMonopole) {
  for (const Formulation formulation :
       {Formulation::kClassic, Formulation::kInverse, Formulation::kTrueLevel, Formulation::kTrueLocation}) {
    Beamformer beamformer = deep_one({6000.0, 1000.0});
    beamformer.own.steering.formulation = formulation;
    test::ReferenceMapper reference(beamformer);
    test::DeviceMapper device(beamformer);
    Beamformer all = beamformer;
    all.own.focus = Focus::kNone;
    test::ReferenceMapper of_all(all);
    ASSERT_EQ(index_of(beamformer, "focus_m"), 1U);
    for (std::size_t plane = 0; plane < 6; ++plane) {
      const double distance_m = beamformer.own.grid.distance_m[plane];
      const auto field = beamformer.monopole({0.04, -0.02, -distance_m});
      const auto planes = of_all.beams(field);  // [frequency][plane]
      for (test::Mapper* mapper : {static_cast<test::Mapper*>(&reference), static_cast<test::Mapper*>(&device)}) {
        const Products products = mapper->map(field);
        const auto map = values_of<std::complex<float>>(products[0]);
        const auto focus_m = values_of<float>(products[1]);
        ASSERT_EQ(map.size(), 2U);
        ASSERT_EQ(focus_m.size(), 2U);
        EXPECT_LT(std::abs(map[0] - planes[plane]), 1e-4F * std::abs(planes[plane])) << distance_m;
        if (plane == 5) {
          EXPECT_TRUE(std::isnan(focus_m[0]));
        } else {
          EXPECT_EQ(focus_m[0], static_cast<float>(distance_m)) << name_of(formulation);
        }
        EXPECT_TRUE(std::isnan(focus_m[1])) << "1 kHz";
      }
    }
  }
}

// Without the outer rows and columns the aperture is 0.34 m, and trusts depths below 0.506 m.
TEST(BeamformFocus, IsTrustedByTheMicrophonesThatAreUsed) {
  const Beamformer beamformer = deep_one({6000.0});
  std::vector<int> outer;
  for (int channel = 0; channel < 24 * 24; ++channel) {
    const int row = channel / 24;
    const int column = channel % 24;
    if (std::min(row, column) < 3 || std::max(row, column) > 20) {
      outer.push_back(channel);
    }
  }
  test::ReferenceMapper reference(beamformer);
  test::DeviceMapper device(beamformer);
  const auto near = beamformer.monopole({0.04, -0.02, -0.45});
  const auto far = beamformer.monopole({0.04, -0.02, -0.65});
  for (test::Mapper* mapper : {static_cast<test::Mapper*>(&reference), static_cast<test::Mapper*>(&device)}) {
    EXPECT_EQ(values_of<float>(mapper->map(far)[1])[0], 0.65F);
    mapper->use(make_mask(beamformer.array, outer));
    EXPECT_EQ(values_of<float>(mapper->map(near)[1])[0], 0.45F);
    EXPECT_TRUE(std::isnan(values_of<float>(mapper->map(far)[1])[0]));
    mapper->use(make_mask(beamformer.array, {}));
    EXPECT_EQ(values_of<float>(mapper->map(far)[1])[0], 0.65F);
  }
}

/// Ties, values that are not numbers, and silence, [plane][pixel].
const std::vector<float> kPlanesWithTies = {1.0F, 2.0F, kNothing, kNothing, 0.0F, 5.0F,  //
                                            1.0F, 3.0F, 4.0F,     kNothing, 0.0F, 2.0F,  //
                                            0.5F, 3.0F, kNothing, kNothing, 0.0F, 5.0F};

/// 2 x 3 pixels on planes at 0.2, 0.3 and 0.4 m.
Beamformer tied_one() {
  Beamformer beamformer = deep_one({6000.0});
  beamformer.own.grid.distance_m = {0.2, 0.3, 0.4};
  beamformer.own.grid.x_m = {0.0, 0.2};
  beamformer.own.grid.y_m = {0.0, 0.1};
  beamformer.own.grid.step_m = 0.1;
  return beamformer;
}

template <class Value>
void expect_ties(const std::vector<Value>& maps, const std::vector<Value>& expected, const BeamformPlan& plan) {
  const std::vector<float> expected_m = {0.2F, 0.3F, 0.3F, kNothing, kNothing, 0.2F};
  const MicrophoneMask mask = make_mask(plan.array, {});
  const ocl::Device& device = test::beamform_device();
  const auto on_device = device.upload<Value>(maps, "test");
  das::LargestPlane<Value> largest(device, plan, on_device, 1, {6000.0});
  largest.use(mask);
  largest.enqueue(1);
  const std::vector<Value> values = device.download(largest.maps(), "test");
  const std::vector<float> focus_m = device.download(largest.focus_m(), "test");
  reference::Array array(plan);
  array.use(mask);
  reference::Published<Value> reference(plan);
  reference.use(array, mask);
  const reference::OwnedProducts products = reference.products(maps, 1.0F);
  const std::size_t first = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const auto is_same = [](auto one, auto other) {
      return one == other || (std::isnan(std::abs(one)) && std::isnan(std::abs(other)));
    };
    EXPECT_TRUE(is_same(values[i], expected[i])) << i;
    EXPECT_TRUE(is_same(values_of<Value>(products[first])[i], expected[i])) << i;
    EXPECT_TRUE(is_same(focus_m[i], expected_m[i])) << i;
    EXPECT_TRUE(is_same(values_of<float>(products[first + 1])[i], expected_m[i])) << i;
  }
}

// Of equal values the first plane's counts; what is not a number counts where there is nothing else; silence has no
// place.
TEST(BeamformFocus, OfTiesAndOfWhatIsNotANumber) {
  Beamformer beamformer = tied_one();
  const std::vector<float> expected = {1.0F, 3.0F, 4.0F, kNothing, 0.0F, 5.0F};
  std::vector<std::complex<float>> pressures;
  for (const float value : kPlanesWithTies) {
    pressures.emplace_back(0.0F, -value);
  }
  std::vector<std::complex<float>> expected_pressures;
  for (const float value : expected) {
    expected_pressures.emplace_back(0.0F, -value);
  }
  expect_ties<std::complex<float>>(pressures, expected_pressures, beamformer.places());
  beamformer.own.average.kind = AverageKind::kLinear;
  expect_ties<float>(kPlanesWithTies, expected, beamformer.places());
}

struct FocusCase {
  std::string name;
  GridKind grid;
  Method method;
  AverageKind average;
  bool has_bands;
};

const std::vector<FocusCase> kFocusCases = {
    {"Plane", GridKind::kPlane, Method::kDas, AverageKind::kNone, false},
    {"PlaneAveraged", GridKind::kPlane, Method::kDas, AverageKind::kLinear, false},
    {"Volume", GridKind::kVolume, Method::kDas, AverageKind::kNone, false},
    {"Angles", GridKind::kAngles, Method::kDas, AverageKind::kLinear, false},
    {"Line", GridKind::kLine, Method::kDas, AverageKind::kNone, false},
    {"Sphere", GridKind::kSphere, Method::kDas, AverageKind::kLinear, false},
    {"Bands", GridKind::kPlane, Method::kDas, AverageKind::kLinear, true},
    {"Functional", GridKind::kPlane, Method::kFunctional, AverageKind::kNone, false},
    {"CleanSc", GridKind::kAngles, Method::kCleanSc, AverageKind::kNone, false}};

class BeamformFocusKinds : public testing::TestWithParam<FocusCase> {};

Beamformer beamformer_of(const FocusCase& one) {
  const double bin_hz = 46875.0 / 1024.0;
  Beamformer beamformer(9, 11, {150 * bin_hz, 151 * bin_hz, 152 * bin_hz, 20 * bin_hz});
  if (one.has_bands) {
    beamformer.settings.front_end.bands_hz = {{.low_hz = 149.5 * bin_hz, .high_hz = 152.5 * bin_hz}};
  }
  beamformer.settings.front_end.hop_samples = beamformer.settings.front_end.window_samples / 2;
  beamformer.own.average.kind = one.average;
  beamformer.own.average.seconds = 1e-6;
  beamformer.own.average.snapshots = 8;
  beamformer.own.method = one.method;
  beamformer.own.map_rate_hz = 1000.0;
  beamformer.own.grid.kind = one.grid;
  beamformer.own.grid.distance_m = {0.1, 0.25, 0.4};
  if (one.grid == GridKind::kVolume) {
    beamformer.own.grid.distance_m = {0.1, 0.38};
  }
  beamformer.own.grid.radius_m = {0.15, 0.4};
  beamformer.own.grid.step_m = 0.07;
  beamformer.own.grid.step_deg = 13.0;
  beamformer.own.grid.azimuth_deg = {-80.0, 80.0};
  beamformer.own.grid.elevation_deg = {-70.0, 80.0};
  beamformer.own.grid.count = 133;
  return beamformer;
}

template <class Value>
std::vector<double> powers_of(std::span<const Value> values) {
  std::vector<double> powers;
  for (const Value value : values) {
    if constexpr (std::is_same_v<Value, float>) {
      powers.push_back(static_cast<double>(value));
    } else {
      powers.push_back(std::norm(Complex(value)));
    }
  }
  return powers;
}

/// By how much the power of the plane that was chosen is below the largest one's, over the largest of the map.
template <class Value>
double loss_of(std::span<const Value> chosen, std::span<const Value> all, const BeamformPlan& plan) {
  const std::vector<double> of_chosen = powers_of(chosen);
  const std::vector<double> of_all = powers_of(all);
  double largest = 0.0;
  double loss = 0.0;
  for (std::size_t i = 0; i < of_chosen.size(); ++i) {
    const std::size_t image = i / plan.plane_pixels();
    double most = std::nan("");
    for (std::size_t plane = 0; plane < plan.planes(); ++plane) {
      const double power = of_all[(image * plan.planes() + plane) * plan.plane_pixels() + i % plan.plane_pixels()];
      most = std::isnan(most) || power > most ? power : most;
    }
    if (std::isnan(most) != std::isnan(of_chosen[i])) {
      return std::numeric_limits<double>::infinity();
    }
    if (!std::isnan(most)) {
      largest = std::max(largest, most);
      loss = std::max(loss, std::abs(most - of_chosen[i]));
    }
  }
  return largest > 0.0 ? loss / largest : 0.0;  // nothing yet
}

/// The products `name` and `name`'s focus of device and reference, and the reference's of all planes.
template <class Value>
void expect_agreement(const Beamformer& beamformer, test::Mapper& device, test::Mapper& reference, test::Mapper& of_all,
                      const std::vector<Complex>& field, std::string_view map, std::string_view focus) {
  Beamformer all = beamformer;
  all.own.focus = Focus::kNone;
  const BeamformPlan plan = beamformer.places();
  const Products found = device.map(field);
  const Products expected = reference.map(field);
  const Products planes = of_all.map(field);
  const auto found_map = values_of<Value>(found[index_of(beamformer, map)]);
  const auto expected_map = values_of<Value>(expected[index_of(beamformer, map)]);
  const auto all_maps = values_of<Value>(planes[index_of(all, map)]);
  ASSERT_EQ(all_maps.size(), expected_map.size() * plan.planes());
  EXPECT_EQ(loss_of(expected_map, all_maps, plan), 0.0) << "the reference's largest";
  EXPECT_LE(loss_of(found_map, all_maps, plan), 1e-4) << "as maps agree";
  const auto found_m = values_of<float>(found[index_of(beamformer, focus)]);
  const auto expected_m = values_of<float>(expected[index_of(beamformer, focus)]);
  ASSERT_EQ(found_m.size(), expected_m.size());
  std::size_t different = 0;
  std::size_t trusted = 0;
  for (std::size_t i = 0; i < found_m.size(); ++i) {
    const bool is_same = found_m[i] == expected_m[i] || (std::isnan(found_m[i]) && std::isnan(expected_m[i]));
    different += is_same ? 0U : 1U;
    trusted += std::isnan(expected_m[i]) ? 0U : 1U;
  }
  EXPECT_LE(different, found_m.size() / 100) << "ties within rounding alone";
  EXPECT_GT(trusted + (std::isnan(powers_of(expected_map).front()) ? 1U : 0U), 0U);
}

TEST_P(BeamformFocusKinds, DeviceAndReferenceAgree) {
  const FocusCase& one = GetParam();
  const Beamformer beamformer = beamformer_of(one);
  ASSERT_EQ(flaw_of(header_of(beamformer.places())), "");
  Beamformer all = beamformer;
  all.own.focus = Focus::kNone;
  Beamformer focused = beamformer;
  focused.own.focus = Focus::kMax;
  ASSERT_EQ(flaw_of(header_of(focused.places())), "");
  test::DeviceMapper device(focused);
  test::ReferenceMapper reference(focused);
  test::ReferenceMapper of_all(all);
  for (unsigned window = 0; window < (one.method == Method::kDas ? 2U : 9U); ++window) {
    const auto field = test::widen(test::narrow(busy_field(beamformer, 5U + window)));
    if (window == 1) {
      for (test::Mapper* mapper : {static_cast<test::Mapper*>(&device), static_cast<test::Mapper*>(&reference),
                                   static_cast<test::Mapper*>(&of_all)}) {
        mapper->use(make_mask(beamformer.array, {3, 40, 41}));
      }
    }
    if (one.average == AverageKind::kNone && one.method == Method::kDas) {
      expect_agreement<std::complex<float>>(focused, device, reference, of_all, field, "map", "focus_m");
    } else if (one.has_bands) {
      expect_agreement<float>(focused, device, reference, of_all, field, "bands", "bands_focus_m");
    } else {
      expect_agreement<float>(focused, device, reference, of_all, field, "map", "focus_m");
    }
  }
  const Products last = reference.map(busy_field(beamformer, 3U));
  const auto focus_m = values_of<float>(last[index_of(focused, "focus_m")]);
  EXPECT_TRUE(std::any_of(focus_m.begin(), focus_m.end(), [](float value) { return value > 0.0F; }));
}

INSTANTIATE_TEST_SUITE_P(All, BeamformFocusKinds, testing::ValuesIn(kFocusCases),
                         [](const auto& instance) { return instance.param.name; });

TEST(BeamformFocus, NeedsPlanes) {
  Beamformer beamformer = deep_one({6000.0});
  beamformer.own.grid.distance_m = {0.4};
  EXPECT_THROW((void)beamformer.places(), ConfigError);
}

}  // namespace
}  // namespace nearfield
