#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include "core/error.hpp"
#include "imaging/priors/make_mask.hpp"
#include "processors/beamform_support.hpp"

/// Methods that map the last snapshots together: the device, which has no matrix of cross-spectra, against the
/// reference, which is written from it; and closed truths of sources.
namespace nearfield {
namespace {

using far_field::Formulation;
using far_field::GridKind;
using far_field::Position;
using test::Beamformer;
using test::Complex;
using test::difference_of;
using test::noise;

/// Windows come half a window apart: each is a snapshot, and has a map that comes with the next one (with clean_sc,
/// its own).
Beamformer with_snapshots(Beamformer beamformer, Method method, int snapshots) {
  beamformer.settings.front_end.hop_samples = beamformer.settings.front_end.window_samples / 2;
  beamformer.own.method = method;
  beamformer.own.average.snapshots = snapshots;
  beamformer.own.map_rate_hz = 1000.0;
  beamformer.own.functional_exponent = 16.0;
  return beamformer;
}

/// Sources that are incoherent with each other, in noise of the microphones.
class Sources {
 public:
  struct Source {
    Position place;
    double level_db = 0.0;  ///< of its pressure at the array's centre, re 1 Pa rms of its amplitude
  };
  /// `snr_db`: of the first source over the noise, at a microphone.
  Sources(const Beamformer& beamformer, const std::vector<Source>& sources, double snr_db, unsigned seed)
      : values_(beamformer.array.frequencies_hz.size()),
        channels_(beamformer.array.geometry.rows * beamformer.array.geometry.columns),
        noise_(std::pow(10.0, -snr_db / 20.0)),
        generator_(seed) {
    for (const Source& source : sources) {
      std::vector<Complex> field = beamformer.monopole(source.place);
      for (Complex& value : field) {
        value *= norm(source.place) * std::pow(10.0, source.level_db / 20.0);
      }
      fields_.push_back(std::move(field));
    }
    powers_.resize(fields_.size());
  }
  /// [frequency][channel], with amplitudes of their own at each frequency; of float32, as a front end has them.
  std::vector<Complex> next() {
    std::vector<Complex> spectra = noise(values_ * static_cast<std::size_t>(channels_), generator_);
    for (Complex& value : spectra) {
      value *= noise_ / std::sqrt(2.0);
    }
    const auto channels = static_cast<std::size_t>(channels_);
    for (std::size_t source = 0; source < fields_.size(); ++source) {
      for (std::size_t f = 0; f < values_; ++f) {
        const Complex amplitude = noise(1, generator_).front() / std::sqrt(2.0);
        powers_[source] += f == 0 ? std::norm(amplitude) : 0.0;
        for (std::size_t i = f * channels; i < (f + 1) * channels; ++i) {
          spectra[i] += amplitude * fields_[source][i];
        }
      }
    }
    ++snapshots_;
    return test::widen(test::narrow(spectra));
  }
  /// Of a source at the first frequency, over all snapshots: what its fluctuation made of its level.
  [[nodiscard]] double fluctuation_db(std::size_t source) const {
    return test::in_db(powers_[source] / static_cast<double>(snapshots_));
  }

 private:
  std::size_t values_;
  int channels_;
  double noise_;
  std::mt19937 generator_;
  std::vector<std::vector<Complex>> fields_;
  std::vector<double> powers_;  ///< [source], sums of squared amplitudes
  int snapshots_ = 0;
};

struct Case {
  std::string name;
  Method method;
  GridKind grid;
  double distance_m;
  Formulation formulation;
  double reference_m;
  far_field::Shading shading;
  PathChoice path;
  std::size_t frequencies;
  bool removal = false;
};

constexpr double kFarAway = far_field::kInfinitelyFar;
const std::vector<Case> kHistoryCases = {
    {"Functional", Method::kFunctional, GridKind::kPlane, 0.4, Formulation::kTrueLevel, 0.0,
     far_field::Shading::kUniform, PathChoice::kDirect, 1},
    {"FunctionalConvolved", Method::kFunctional, GridKind::kPlane, 0.4, Formulation::kTrueLocation, 0.0,
     far_field::Shading::kHann, PathChoice::kConvolve, 3},
    {"FunctionalAngles", Method::kFunctional, GridKind::kAngles, kFarAway, Formulation::kTrueLevel, 0.0,
     far_field::Shading::kUniform, PathChoice::kSeparable, 2},
    {"Capon", Method::kCapon, GridKind::kPlane, 0.4, Formulation::kTrueLevel, 1.0, far_field::Shading::kUniform,
     PathChoice::kDirect, 2},
    {"CaponShaded", Method::kCapon, GridKind::kVolume, 0.3, Formulation::kTrueLocation, 0.0,
     far_field::Shading::kHamming, PathChoice::kConvolve, 1},
    {"Music", Method::kMusic, GridKind::kLine, 0.7, Formulation::kTrueLevel, 0.0, far_field::Shading::kUniform,
     PathChoice::kDirect, 2},
    {"MusicAngles", Method::kMusic, GridKind::kAngles, kFarAway, Formulation::kTrueLevel, 0.0,
     far_field::Shading::kHamming, PathChoice::kSeparable, 1},
    {"Orthogonal", Method::kOrthogonal, GridKind::kPlane, 0.4, Formulation::kTrueLevel, 0.5,
     far_field::Shading::kUniform, PathChoice::kDirect, 3},
    {"OrthogonalConvolved", Method::kOrthogonal, GridKind::kPlane, 0.4, Formulation::kTrueLocation, 0.0,
     far_field::Shading::kHamming, PathChoice::kConvolve, 1},
    {"CleanSc", Method::kCleanSc, GridKind::kPlane, 0.4, Formulation::kTrueLevel, 0.0, far_field::Shading::kUniform,
     PathChoice::kDirect, 2},
    {"CleanScConvolved", Method::kCleanSc, GridKind::kPlane, 0.4, Formulation::kTrueLocation, 0.0,
     far_field::Shading::kHann, PathChoice::kConvolve, 1},
    {"CleanScWithoutOwnNoise", Method::kCleanSc, GridKind::kPlane, 0.4, Formulation::kTrueLevel, 0.0,
     far_field::Shading::kUniform, PathChoice::kDirect, 2, true},
    {"CleanScConvolvedWithoutOwnNoise", Method::kCleanSc, GridKind::kPlane, 0.4, Formulation::kTrueLocation, 0.0,
     far_field::Shading::kHann, PathChoice::kConvolve, 3, true},
    {"CleanScAngles", Method::kCleanSc, GridKind::kAngles, kFarAway, Formulation::kTrueLevel, 0.0,
     far_field::Shading::kUniform, PathChoice::kSeparable, 2},
};

class BeamformHistory : public testing::TestWithParam<Case> {
 protected:
  [[nodiscard]] static Beamformer beamformer() {
    const Case& one = GetParam();
    std::vector<double> frequencies_hz;
    for (std::size_t f = 0; f < one.frequencies; ++f) {
      frequencies_hz.push_back(2500.0 + 1500.0 * static_cast<double>(f));
    }
    Beamformer beamformer = with_snapshots(Beamformer(7, 9, frequencies_hz), one.method, 12);
    beamformer.own.grid.kind = one.grid;
    beamformer.own.grid.distance_m = {one.distance_m};
    if (one.grid == GridKind::kVolume) {
      beamformer.own.grid.distance_m = {one.distance_m, one.distance_m + 0.12};
    }
    beamformer.own.grid.x_m = {-0.3, 0.3};
    beamformer.own.grid.y_m = {-0.24, 0.24};
    beamformer.own.grid.step_m = 0.06;
    beamformer.own.grid.step_deg = 11.0;
    beamformer.own.grid.azimuth_deg = {-80.0, 80.0};
    beamformer.own.grid.elevation_deg = {-70.0, 80.0};
    beamformer.own.grid.count = 67;
    beamformer.own.steering.formulation = one.formulation;
    beamformer.own.steering.reference_m = one.reference_m;
    beamformer.own.steering.shading = one.shading;
    beamformer.own.path_choice = one.path;
    beamformer.own.clean.stop_db = 20.0;
    beamformer.own.diagonal_removal = one.removal;
    return beamformer;
  }
};

// 1e-4 of the maximum, as for delay and sum. Capon and MUSIC divide by 1 minus a sum near 1, whose rounding is 1e-6; in
// noise of 0 dB the difference is 1e-2 and more. Until there are five snapshots maps are NaN; the ring of twelve comes
// round twice; a mask begins anew.
TEST_P(BeamformHistory, WithoutCrossSpectraIsAsFromThem) {
  const Beamformer of_case = beamformer();
  test::ReferenceMapper reference(of_case);
  test::DeviceMapper device(of_case);
  Sources sources(of_case, {{{0.1, -0.06, -0.4}, 0.0}, {{-0.14, 0.1, -0.5}, -3.0}}, 0.0, 3U);
  const int first_map = GetParam().method == Method::kCleanSc && !GetParam().removal ? 5 : 6;
  for (const std::vector<int>& masked : {std::vector<int>(), std::vector<int>({3, 40, 41})}) {
    reference.use(make_mask(of_case.array, masked));
    device.use(make_mask(of_case.array, masked));
    const bool is_first = masked.empty();
    for (int snapshot = 1; snapshot <= 26; ++snapshot) {
      std::vector<Complex> spectra = sources.next();
      if (snapshot == 9) {
        spectra[17] = std::nan("");  // a microphone that is silent in one snapshot
      }
      const Products of_reference = reference.map(spectra);
      const float effective = values_of<float>(of_reference.back())[0];
      const auto expected_values = values_of<float>(of_reference.front());
      const std::vector<float> expected(expected_values.begin(), expected_values.end());
      const Products of_device = device.map(spectra);
      EXPECT_EQ(values_of<float>(of_device.back())[0], effective);
      const auto found_values = values_of<float>(of_device.front());
      const std::vector<float> found(found_values.begin(), found_values.end());
      EXPECT_EQ(device.flags(), reference.flags());
      const bool is_there = !is_first || snapshot >= first_map;
      ASSERT_EQ(std::any_of(found.begin(), found.end(), [](float value) { return !std::isnan(value); }), is_there);
      if (is_there) {
        EXPECT_LE(difference_of(found, expected), 1e-4) << snapshot << ", " << masked.size();
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, BeamformHistory, testing::ValuesIn(kHistoryCases),
                         [](const auto& instance) { return instance.param.name; });

// A snapshot each 512 samples, 91.6 a second: 30 maps a second are one each fourth snapshot, 22.9 a second, published
// with the map after it.
TEST(BeamformHistoryMaps, ComeAtTheirRate) {
  Beamformer beamformer = with_snapshots(Beamformer(6, 8, {4000.0}), Method::kFunctional, 8);
  beamformer.own.grid.step_m = 0.2;
  beamformer.own.map_rate_hz = 30.0;
  beamformer.settings.front_end.hop_samples = 256;
  test::ReferenceMapper reference(beamformer);
  test::DeviceMapper device(beamformer);
  Sources sources(beamformer, {{{0.1, -0.06, -0.4}, 0.0}}, 10.0, 3U);
  std::vector<float> before;
  for (int window = 0; window < 60; ++window) {
    const std::vector<Complex> spectra = sources.next();
    const std::vector<float> expected = reference.powers(spectra);
    const std::vector<float> found = device.powers(spectra);
    // Snapshots are the even windows; the fifth one, window 8, begins the first map.
    const bool is_new = window >= 16 && (window - 16) % 8 == 0;
    if (window >= 16) {
      EXPECT_LE(difference_of(found, expected), 1e-4) << window;
      EXPECT_EQ(found != before, is_new) << window;
    } else {
      EXPECT_TRUE(std::isnan(found.front())) << window;
    }
    before = found;
  }
}

// The last window of a run has the map of all snapshots up to it, whenever a map was begun last: that which a map of
// each snapshot has there, which comes with the next one.
TEST(BeamformHistoryMaps, OfTheLastWindowAreOfItsSnapshots) {
  for (const Method method : {Method::kFunctional, Method::kOrthogonal, Method::kCleanSc}) {
    Beamformer beamformer = with_snapshots(Beamformer(6, 8, {2500.0, 4000.0}), method, 8);
    beamformer.own.grid.step_m = 0.2;
    test::DeviceMapper of_each(beamformer);
    beamformer.own.map_rate_hz = 20.0;
    test::ReferenceMapper reference(beamformer);
    test::DeviceMapper device(beamformer);
    Sources sources(beamformer, {{{0.1, -0.06, -0.4}, 0.0}}, 10.0, 3U);
    std::vector<float> expected;
    for (int window = 0; window < 15; ++window) {
      const std::vector<Complex> spectra = sources.next();
      if (window < 14 || method != Method::kCleanSc) {
        expected = of_each.powers(spectra);
      }
      if (window < 14) {
        (void)reference.map(spectra);
        (void)device.map(spectra);
      }
    }
    for (test::Mapper* mapper : {static_cast<test::Mapper*>(&reference), static_cast<test::Mapper*>(&device)}) {
      const Products products = mapper->publish_last();
      const auto found = values_of<float>(products.front());
      EXPECT_LE(difference_of(std::vector<float>(found.begin(), found.end()), expected), 1e-4) << name_of(method);
      EXPECT_GT(values_of<float>(products.back())[0], 4.0F) << "of eight snapshots half a window apart";
    }
  }
}

// A batch gives each window the map of its own time, as one window after the other does.
TEST(BeamformHistoryMaps, OfABatchAreAsOneWindowAfterTheOther) {
  for (const Method method : {Method::kFunctional, Method::kOrthogonal, Method::kCleanSc}) {
    Beamformer beamformer = with_snapshots(Beamformer(6, 8, {2500.0, 4000.0}), method, 8);
    beamformer.own.grid.step_m = 0.2;
    beamformer.settings.front_end.hop_samples = 256;  // every second window is a snapshot
    test::DeviceMapper one_by_one(beamformer);
    Sources sources(beamformer, {{{0.1, -0.06, -0.4}, 0.0}}, 10.0, 3U);
    beamformer.batch = 7;
    const auto batched = processor_entry("beamform").make(test::beamform_device(), beamformer.plan());
    for (int round = 0; round < 5; ++round) {
      std::vector<Complex> all;
      std::vector<std::vector<Complex>> windows;
      for (int window = 0; window < 7; ++window) {
        windows.push_back(sources.next());
        all.insert(all.end(), windows.back().begin(), windows.back().end());
      }
      const auto input = test::beamform_device().upload<std::complex<float>>(test::narrow(all), "test");
      const auto status =
          test::beamform_device().upload<std::uint32_t>(std::vector<std::uint32_t>(7 * kStatusWords), "test");
      batched->enqueue({.spectra = input, .status = status, .windows = 7});
      test::beamform_device().wait();
      for (std::size_t window = 0; window < 7; ++window) {
        const std::vector<float> expected = one_by_one.powers(windows[window]);
        const auto values = values_of<float>(batched->products({.window = window}).products.front());
        const std::vector<float> found(values.begin(), values.end());
        if (std::isnan(expected.front())) {
          EXPECT_TRUE(std::isnan(found.front()));
        } else {
          EXPECT_EQ(found, expected) << name_of(method) << ", round " << round << ", window " << window;
        }
      }
    }
  }
}

TEST(BeamformHistoryMaps, ForgetTheStreamBefore) {
  for (const Method method : {Method::kCapon, Method::kCleanSc}) {
    Beamformer beamformer = with_snapshots(Beamformer(6, 8, {4000.0}), method, 8);
    beamformer.own.grid.step_m = 0.2;
    test::ReferenceMapper reference(beamformer);
    test::DeviceMapper device(beamformer);
    for (test::Mapper* mapper : {static_cast<test::Mapper*>(&reference), static_cast<test::Mapper*>(&device)}) {
      const auto map_of_ten = [&] {
        Sources sources(beamformer, {{{0.1, -0.06, -0.4}, 0.0}}, 10.0, 3U);
        std::vector<float> map;
        for (int snapshot = 0; snapshot < 10; ++snapshot) {
          map = mapper->powers(sources.next());
          EXPECT_EQ(std::isnan(map.front()), snapshot < (method == Method::kCleanSc ? 4 : 5));
        }
        return map;
      };
      const std::vector<float> first = map_of_ten();
      mapper->forget();
      EXPECT_EQ(map_of_ten(), first);
    }
  }
}

// One source in little noise has its level at its pixel, whatever the method, at the reference that is asked for.
TEST(BeamformHistoryMaps, KeepTheLevelOfOneSource) {
  for (const Method method : {Method::kFunctional, Method::kCapon, Method::kOrthogonal, Method::kCleanSc}) {
    SCOPED_TRACE(name_of(method));
    for (const double reference_m : {0.0, 1.0}) {
      Beamformer beamformer = with_snapshots(Beamformer(16, 16, {3000.0}), method, 16);
      beamformer.own.grid.distance_m = {0.5};
      beamformer.own.grid.step_m = 0.1;
      beamformer.own.steering.reference_m = reference_m;
      const Position place = {0.1, -0.2, -0.5};  // pixel (row 3, column 6) of 11 x 11
      const auto field = beamformer.monopole(place);
      test::DeviceMapper device(beamformer);
      std::mt19937 generator(5U);
      std::vector<float> map;
      double mean = 0.0;
      for (int snapshot = 0; snapshot < 17; ++snapshot) {
        const double amplitude = std::abs(noise(1, generator).front());
        // Of clean_sc the last sixteen, of the others those before the last.
        const bool counts = method == Method::kCleanSc ? snapshot > 0 : snapshot < 16;
        mean += counts ? amplitude * amplitude / 32.0 : 0.0;
        std::vector<Complex> spectra = noise(field.size(), generator);
        for (std::size_t i = 0; i < field.size(); ++i) {
          spectra[i] = 1e-3 * spectra[i] + amplitude * field[i];
        }
        map = device.powers(spectra);
      }
      const double distance_m = reference_m > 0.0 ? reference_m : norm(place);
      const double found_db = test::in_db(static_cast<double>(map[3 * 11 + 6]) * distance_m * distance_m / mean);
      // Capon's loading is a hundredth of a microphone's power, 1/25600 of the source's beam.
      EXPECT_NEAR(found_db, 0.0, method == Method::kCapon ? 0.1 : 0.01);
      EXPECT_EQ(std::max_element(map.begin(), map.end()) - map.begin(), 3 * 11 + 6);
    }
  }
}

/// Before 32 x 32 microphones at 1 m and 4 kHz, 64 snapshots: the map after the last of them.
struct Line {
  Method method = Method::kDas;
  std::vector<Sources::Source> sources = {};
  double snr_db = 20.0;
  double step_m = 0.01;

  struct Result {
    std::vector<float> map;
    std::vector<double> levels_db;  ///< of the sources in these snapshots
  };
  [[nodiscard]] Result result() const {
    Beamformer beamformer = with_snapshots(Beamformer(32, 32, {4000.0}), method, 64);
    beamformer.own.sources = static_cast<int>(sources.size());
    beamformer.own.grid.x_m = {-0.2, 0.2};
    beamformer.own.grid.y_m = {-0.02, 0.02};
    beamformer.own.grid.step_m = step_m;
    if (method == Method::kDas) {
      beamformer.own.average = {.kind = AverageKind::kLinear, .seconds = 64.0 * 512.0 / 46875.0};
    }
    test::DeviceMapper device(beamformer);
    Sources field(beamformer, sources, snr_db, 21U);
    Result result;
    for (int snapshot = 0; snapshot < 64; ++snapshot) {
      result.map = device.powers(field.next());
    }
    for (std::size_t i = 0; i < sources.size(); ++i) {
      result.levels_db.push_back(sources[i].level_db + field.fluctuation_db(i));
    }
    if (method != Method::kDas && method != Method::kCleanSc) {  // it comes with the snapshot after
      result.map = device.powers(field.next());
    }
    return result;
  }
};

std::vector<Sources::Source> pair_of_sources(double apart_m) {
  return {{{-apart_m / 2.0, 0.0, -1.0}, 0.0}, {{apart_m / 2.0, 0.0, -1.0}, 0.0}};
}

/// How far the middle of the row through both sources lies below the lower one of the two maxima beside it.
double dip_db(const std::vector<float>& map, std::size_t columns) {
  const auto row = map.begin() + static_cast<std::ptrdiff_t>(map.size() / columns / 2 * columns);
  const auto middle = row + static_cast<std::ptrdiff_t>(columns / 2);
  const float left = *std::max_element(row, middle);
  const float right = *std::max_element(middle + 1, row + static_cast<std::ptrdiff_t>(columns));
  return test::in_db(static_cast<double>(std::min(left, right) / *middle));
}

// The half-power width of the beam is 0.886 lambda d / D = 118.7 mm. Delay and sum has one maximum of two sources at
// 120 mm; the others resolve what it cannot.
TEST(BeamformResolution, OfTwoSources) {
  const auto dip_of = [](Method method, double apart_m) {
    return dip_db(Line{.method = method, .sources = pair_of_sources(apart_m)}.result().map, 41);
  };
  EXPECT_GE(dip_of(Method::kDas, 0.16), 0.3);
  EXPECT_LE(dip_of(Method::kDas, 0.12), 0.0);
  EXPECT_GE(dip_of(Method::kFunctional, 0.16), 15.0);
  EXPECT_GE(dip_of(Method::kCapon, 0.10), 15.0);
  EXPECT_GE(dip_of(Method::kMusic, 0.10), 15.0);
}

/// Of the row through the sources.
double level_db(const std::vector<float>& map, std::size_t columns, std::size_t column) {
  return test::in_db(2.0 * static_cast<double>(map[map.size() / columns / 2 * columns + column]));
}

/// From the highest down.
std::vector<std::size_t> highest(const std::vector<float>& map, std::size_t count) {
  std::vector<std::size_t> order(map.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return map[a] > map[b]; });
  order.resize(count);
  return order;
}

/// Expects the sources to be the highest pixels of a grid of 20 mm, 21 columns, from the first down, with their levels.
void expect_sources(const Line& line, const std::vector<std::size_t>& columns, double tolerance_db) {
  const Line::Result result = line.result();
  const std::vector<std::size_t> places = highest(result.map, columns.size());
  for (std::size_t i = 0; i < columns.size(); ++i) {
    EXPECT_NE(std::find(places.begin(), places.end(), 21 + columns[i]), places.end()) << columns[i];
    EXPECT_NEAR(level_db(result.map, 21, columns[i]), result.levels_db[i], tolerance_db) << columns[i];
  }
}

// Sources that fluctuate are a little coherent in 64 snapshots, by 1/8.
TEST(BeamformResolution, CleanScHasThePlacesAndLevelsOfTwoSources) {
  for (const double snr_db : {20.0, 0.0}) {
    SCOPED_TRACE(snr_db);
    expect_sources({.method = Method::kCleanSc, .sources = pair_of_sources(0.16), .snr_db = snr_db, .step_m = 0.02},
                   {6, 14}, 1.0);
  }
}

TEST(BeamformResolution, CleanScHasThePlacesAndLevelsOfThreeSources) {
  expect_sources({.method = Method::kCleanSc,
                  .sources = {{{-0.16, 0.0, -1.0}, 0.0}, {{0.0, 0.0, -1.0}, -6.0}, {{0.16, 0.0, -1.0}, -12.0}},
                  .step_m = 0.02},
                 {2, 10, 18}, 0.5);
}

// Eigenvectors of sources of like levels are mixtures; of levels that differ they are the sources.
TEST(BeamformResolution, OrthogonalHasTwoSourcesThatAreFarApart) {
  expect_sources(
      {.method = Method::kOrthogonal, .sources = {{{-0.2, 0.0, -1.0}, 0.0}, {{0.2, 0.0, -1.0}, -10.0}}, .step_m = 0.02},
      {0, 20}, 0.5);
}

// Six of 64 microphones have noise of their own 20 dB above the loudest source, the others 20 dB below it. Factor
// analysis finds both; without it CLEAN-SC takes the noise for a part of each source. Levels are over those that the
// same snapshots without noise have, means of four draws of 64 snapshots.
TEST(BeamformOwnNoise, LeavesTheLevelsOfSources) {
  const std::vector<Sources::Source> places = {
      {{-0.3, -0.2, -1.0}, 0.0}, {{0.2, 0.0, -1.0}, -6.0}, {{-0.1, 0.3, -1.0}, -12.0}};
  const std::vector<std::size_t> pixels = {3 * 11 + 2, 5 * 11 + 7, 8 * 11 + 4};
  const auto levels_db = [&](bool removes, bool is_loud, unsigned seed) {
    Beamformer beamformer = with_snapshots(Beamformer(8, 8, {4000.0}), Method::kCleanSc, 64);
    beamformer.array.geometry.pitch_x_m = beamformer.array.geometry.pitch_y_m = 0.1;
    beamformer.own.grid.distance_m = {1.0};
    beamformer.own.grid.x_m = beamformer.own.grid.y_m = {-0.5, 0.5};
    beamformer.own.grid.step_m = 0.1;
    beamformer.own.diagonal_removal = removes;
    test::DeviceMapper device(beamformer);
    Sources sources(beamformer, places, is_loud ? 20.0 : 200.0, seed);
    std::mt19937 generator(seed + 100);
    std::vector<float> map;
    for (int snapshot = 0; snapshot < 65; ++snapshot) {
      std::vector<Complex> spectra = sources.next();
      const std::vector<Complex> more = noise(6, generator);
      for (std::size_t i = 0; i < 6; ++i) {
        spectra[5 + 11 * i] += is_loud ? 10.0 / std::sqrt(2.0) * more[i] : 0.0;
      }
      if (snapshot < 64 || removes) {  // without removal the map has its own snapshot
        map = device.powers(spectra);
      }
    }
    std::vector<double> levels;
    for (const std::size_t pixel : pixels) {
      levels.push_back(test::in_db(static_cast<double>(map[pixel]) + 1e-12));
    }
    return levels;
  };
  std::vector<double> found(3);
  std::vector<double> kept(3);
  for (unsigned draw = 0; draw < 4; ++draw) {
    const std::vector<double> truth = levels_db(false, false, draw);
    const std::vector<double> without = levels_db(true, true, draw);
    const std::vector<double> with = levels_db(false, true, draw);
    for (std::size_t i = 0; i < 3; ++i) {
      found[i] += (without[i] - truth[i]) / 4.0;
      kept[i] += (with[i] - truth[i]) / 4.0;
    }
  }
  std::printf("CLEAN-SC without own noise %.2f %.2f %.2f dB, with it %.2f %.2f %.2f dB\n", found[0], found[1], found[2],
              kept[0], kept[1], kept[2]);
  EXPECT_LT(std::abs(found[0]), 0.5);
  EXPECT_LT(std::abs(found[1]), 0.8);
  EXPECT_GT(kept[1], 1.0);
}

}  // namespace
}  // namespace nearfield
