#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <limits>
#include <numbers>
#include <numeric>
#include <random>
#include <stop_token>
#include <thread>

#include "core/system/threads.hpp"
#include "imaging/imager_paths.hpp"
#include "imaging/imager_table.hpp"
#include "imaging/pnah/cutoff_search.hpp"
#include "imaging/priors/make_mask.hpp"
#include "imaging/search_bench.hpp"
#include "imaging/sonah/prior_finder.hpp"
#include "imaging/sonah/sonah_reference.hpp"
#include "imaging/sources/source_table.hpp"
#include "support/draws.hpp"
#include "support/fields.hpp"
#include "support/measures.hpp"

/// Plane waves beside sonah's prior: the search on the host, the kernels, and the double-precision twin.
namespace nearfield {
namespace {

using test::Complex;
using test::kSonahPaths;
using test::Path;
using test::plan_of;
using test::sum_of;
using test::waves_in;
using Bench = test::SearchBench;
using ComplexF = std::complex<float>;

/// A plane wave and its amplitude at the microphones.
struct Wave {
  double kx_rad_per_m;
  double ky_rad_per_m;
  Complex amplitude_pa;
};

/// Pressure of plane waves at height z, of the plan's first frequency; pixels as of the plan's images.
std::vector<Complex> field_of(const std::vector<Wave>& waves, const ImagePlan& plan, double z_m, int upsample = 1) {
  const double k = plan.wavenumber(0);
  const ArrayGeometry& g = plan.geometry;
  const ImageGrid grid = image_grid(g, upsample);
  std::vector<Complex> field(grid.pixels());
  for (const Wave& wave : waves) {
    const double kr2 = wave.kx_rad_per_m * wave.kx_rad_per_m + wave.ky_rad_per_m * wave.ky_rad_per_m;
    const Complex kz = std::conj(std::sqrt(Complex(k * k - kr2)));
    const Complex here = wave.amplitude_pa * std::exp(Complex(0.0, 1.0) * kz * (plan.standoff_m - z_m));
    for (std::size_t i = 0; i < field.size(); ++i) {
      const int row = static_cast<int>(i) / grid.columns();
      const int column = static_cast<int>(i) % grid.columns();
      const double x_m = (column / static_cast<double>(upsample) - (g.columns - 1) / 2.0) * g.pitch_x_m;
      const double y_m = (row / static_cast<double>(upsample) - (g.rows - 1) / 2.0) * g.pitch_y_m;
      field[i] += here * std::polar(1.0, wave.kx_rad_per_m * x_m + wave.ky_rad_per_m * y_m);
    }
  }
  return field;
}

/// sin sin with wavelengths of 0.27 and 0.35 m: four plane waves.
std::vector<Wave> pattern() {
  const double kx = 2.0 * std::numbers::pi / 0.27;
  const double ky = 2.0 * std::numbers::pi / 0.35;
  std::vector<Wave> waves;
  for (const double sign_x : {1.0, -1.0}) {
    for (const double sign_y : {1.0, -1.0}) {
      const Complex turn = std::polar(1.0, sign_x * kx * 0.031 - sign_y * ky * 0.047);
      waves.push_back({sign_x * kx, sign_y * ky, -0.25 * sign_x * sign_y * turn});
    }
  }
  return waves;
}

// Wavenumbers off the grid, propagating and evanescent, two of them close to one another. What is left is the rounding
// of float32 spectra, 6e-8, and of the kernels' sums of a thousand terms, some 1e-6, amplified four times at most.
TEST(WaveSearch, WavesAloneAreExact) {
  ImagePlan plan = plan_of(2000.0);
  const std::vector<Wave> waves = {
      {11.3, -24.7, {1.0, 0.5}}, {19.9, -24.1, {-0.3, 0.2}}, {-51.2, 33.3, {0.02, -0.05}}, {0.0, 5.1, {0.4, 0.0}}};
  const auto spectra = test::narrow(field_of(waves, plan, plan.standoff_m));
  Bench bench(plan);
  const auto found = bench.search(spectra);
  ASSERT_EQ(waves_in(found), waves.size());
  for (const Wave& wave : waves) {
    double nearest = 1e9;
    for (const PlaneWave& other : findings_as<WaveFindings>(found).waves[0].waves) {
      nearest =
          std::min(nearest, std::hypot(other.kx_rad_per_m - wave.kx_rad_per_m, other.ky_rad_per_m - wave.ky_rad_per_m));
    }
    EXPECT_LE(nearest, 1e-4) << wave.kx_rad_per_m;
  }
  const auto truth = field_of(waves, plan, 0.0);
  const double error = bench.error(spectra, truth, found);
  std::printf("waves alone: error %.2g, without them %.2g\n", error, bench.error(spectra, truth, nullptr));
  EXPECT_LE(error, 2e-5);
}

struct Gate {
  double snr_db;
  double error;
};

// The two patterns of plane waves that sonah alone images with 3 to 7 %. docs/how/sonah.md has the figures.
TEST(WaveSearch, PatternsAreImaged) {
  for (const double frequency_hz : {500.0, 2000.0}) {
    const ImagePlan plan = plan_of(frequency_hz);
    Bench bench(plan);
    const auto truth = field_of(pattern(), plan, 0.0);
    std::mt19937 generator(3U);
    for (const auto& [snr_db, gate] : {Gate{40.0, 0.003}, Gate{30.0, 0.009}}) {
      for (int draw = 0; draw < 2; ++draw) {
        auto field = field_of(pattern(), plan, plan.standoff_m);
        test::add_noise(field, snr_db, generator);
        const auto spectra = test::narrow(field);
        const auto found = bench.search(spectra);
        EXPECT_EQ(waves_in(found), 4U);
        const double error = bench.error(spectra, truth, found);
        std::printf("%.0f Hz, %.0f dB: error %.2f %%\n", frequency_hz, snr_db, 100.0 * error);
        EXPECT_LE(error, gate);
      }
    }
  }
}

// A wave beside a monopole that is as strong. A period over the array is 9.8 rad/m.
TEST(WaveSearch, AWaveBesideAMonopole) {
  const ImagePlan plan = plan_of(2000.0);
  const std::vector<Wave> waves = {{-22.0, 13.0, {8.0, 6.0}}};
  const test::Monopole source{.x_m = 0.08, .y_m = -0.05, .z_m = -0.03};
  const auto at = [&](double z_m) {
    return sum_of(test::monopole_field(source, plan.wavenumber(0), plan.geometry, z_m), field_of(waves, plan, z_m));
  };
  auto field = at(plan.standoff_m);
  std::mt19937 generator(5U);
  test::add_noise(field, 40.0, generator);
  const auto spectra = test::narrow(field);
  Bench bench(plan);
  const auto found = bench.search(spectra);
  ASSERT_EQ(waves_in(found), 1U);
  EXPECT_NEAR(findings_as<WaveFindings>(found).waves[0].waves[0].kx_rad_per_m, -22.0, 0.5);
  EXPECT_NEAR(findings_as<WaveFindings>(found).waves[0].waves[0].ky_rad_per_m, 13.0, 0.5);
  const double error = bench.error(spectra, at(0.0), found);
  const double without = bench.error(spectra, at(0.0), nullptr);
  std::printf("wave and monopole: error %.2f %%, without waves %.2f %%\n", 100.0 * error, 100.0 * without);
  EXPECT_LE(error, 0.05);
  EXPECT_LE(error, 0.9 * without);
}

// Fields of one to three monopoles have no wave in them, and noise alone neither waves nor points. NEARFIELD_DRAWS sets
// more draws a frequency than one of each kind.
TEST(WaveSearch, NothingIsFoundInMonopolesAndNoise) {
  const int draws = test::draws(4);
  std::mt19937 generator(11U);
  std::uniform_real_distribution<double> place_m(-0.3, 0.3);
  std::uniform_real_distribution<double> depth_m(0.005, 0.1);
  std::uniform_real_distribution<double> level_db(15.0, 55.0);
  int searches = 0;
  int found = 0;
  for (const double frequency_hz : {500.0, 2000.0, 4000.0}) {
    const ImagePlan plan = plan_of(frequency_hz);
    const auto models = std::make_shared<const std::vector<PriorModels>>(make_candidate_models(plan));
    auto search = std::make_unique<WaveSearch>(plan, models);
    for (int draw = 0; draw < draws; ++draw) {
      std::vector<Complex> field(static_cast<std::size_t>(plan.geometry.channels()));
      for (int i = 0; i < draw % 4; ++i) {
        const test::Monopole source{.x_m = place_m(generator), .y_m = place_m(generator), .z_m = -depth_m(generator)};
        field = sum_of(field, test::monopole_field(source, plan.wavenumber(0), plan.geometry, 0.03));
      }
      if (draw % 4 == 0) {
        std::normal_distribution<double> normal;
        std::generate(field.begin(), field.end(), [&] { return Complex(normal(generator), normal(generator)); });
      }
      test::add_noise(field, level_db(generator), generator);
      const auto result = search->search(test::narrow(field), {});
      ++searches;
      EXPECT_TRUE(draw % 4 != 0 || test::points_in(result) == 0U) << "a point in noise";
      if (waves_in(result) > 0) {
        ++found;
        const PlaneWave& first = findings_as<WaveFindings>(result).waves[0].waves[0];
        std::printf("%.0f Hz, draw %d: a wave at (%.1f, %.1f) rad/m\n", frequency_hz, draw, first.kx_rad_per_m,
                    first.ky_rad_per_m);
      }
      search->restart();
    }
  }
  std::printf("waves in %d of %d fields that have none\n", found, searches);
  EXPECT_EQ(found, 0);
}

// Replaced microphones are as good as any for the search, which sees them as the imager does.
TEST(WaveSearch, MaskedMicrophonesDoNotHideWaves) {
  ImagePlan plan = plan_of(500.0);
  std::mt19937 generator(7U);
  for (int i = 0; i < 30; ++i) {
    plan.dead_channels.push_back(static_cast<int>(generator() % 1024U));
  }
  auto field = field_of(pattern(), plan, plan.standoff_m);
  test::add_noise(field, 40.0, generator);
  for (const int channel : plan.dead_channels) {
    field[static_cast<std::size_t>(channel)] = std::numeric_limits<double>::quiet_NaN();
  }
  const auto spectra = test::narrow(field);
  const MicrophoneMask mask = make_mask(plan, {});
  Bench bench(plan);
  const auto found = bench.new_search()->search(spectra, mask);
  ASSERT_TRUE(found);
  EXPECT_EQ(waves_in(found), 4U);
  const double error = bench.error(spectra, field_of(pattern(), plan, 0.0), found);
  std::printf("30 microphones masked: error %.2f %%\n", 100.0 * error);
  EXPECT_LE(error, 0.003);
  const int healthy = plan.dead_channels.front() == 0 ? 1 : 0;
  field[static_cast<std::size_t>(healthy)] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_FALSE(bench.new_search()->search(test::narrow(field), mask)) << "one that is not masked is not finite";
}

// A wave is taken when it is clear, kept while it is weaker than that, and left when it is gone.
TEST(WaveSearch, WavesStayUnlessClearlyGone) {
  const ImagePlan plan = plan_of(500.0);
  Bench bench(plan);
  const auto field = [&](double amplitude_pa, unsigned seed) {
    std::mt19937 generator(seed);
    auto noise = std::vector<Complex>(static_cast<std::size_t>(plan.geometry.channels()), 1.0);
    test::add_noise(noise, 0.0, generator);
    const auto wave = field_of({{30.0, 10.0, amplitude_pa}}, plan, plan.standoff_m);
    for (std::size_t i = 0; i < noise.size(); ++i) {
      noise[i] += wave[i] - 1.0;
    }
    return test::narrow(noise);
  };
  // |A|^2 over its variance is 1024 A^2: 700, 215 and 70 beside limits of 300 and 150.
  const double clear_pa = std::sqrt(700.0 / 1024.0);
  const double weak_pa = std::sqrt(215.0 / 1024.0);
  const auto search = bench.new_search();
  std::size_t without_memory = 0;
  std::size_t with_memory = 0;
  EXPECT_EQ(waves_in(search->search(field(clear_pa, 1U), {})), 1U);
  for (unsigned seed = 2; seed < 8; ++seed) {
    with_memory += waves_in(search->search(field(weak_pa, seed), {}));
    without_memory += waves_in(bench.search(field(weak_pa, seed)));
  }
  EXPECT_GE(with_memory, 5U);
  EXPECT_LE(without_memory, 2U);
  EXPECT_EQ(waves_in(search->search(field(std::sqrt(70.0 / 1024.0), 9U), {})), 0U);
}

TEST(WaveSearch, SilenceAndSmallArraysHaveNone) {
  const ImagePlan plan = plan_of(500.0);
  const auto silent = Bench(plan).search(std::vector<ComplexF>(1024));
  EXPECT_TRUE(findings_as<WaveFindings>(silent).waves[0].waves.empty());
  EXPECT_EQ(findings_as<WaveFindings>(silent).waves[0].table, std::vector<float>(SourceTable::kHeader));
  const ImagePlan small = plan_of(500.0, 7, 32);
  EXPECT_EQ(waves_in(Bench(small).search(test::narrow(field_of(pattern(), small, 0.03)))), 0U);
}

struct Case {
  int rows;
  int columns;
  std::vector<double> planes_m;
  int upsample;
  Quantity quantity;
  std::size_t waves;  ///< of the first frequency; the second has none
};

class WavesInEveryShape : public testing::TestWithParam<Case> {};

// Tolerances as in sonah_test.cpp.
TEST_P(WavesInEveryShape, KernelsAgreeWithReference) {
  const Case& c = GetParam();
  ImagePlan plan = plan_of(1500.0, c.rows, c.columns);
  plan.geometry.pitch_y_m = 0.025;
  plan.frequencies_hz = {1500.0, 700.0};
  plan.cutoff_rad_per_m = {70.0, 70.0};
  plan.holography.planes_m = c.planes_m;
  plan.holography.upsample = c.upsample;
  plan.holography.quantity = c.quantity;
  plan.batch = 2;
  const std::vector<Wave> all = {{14.0, -31.0, {1.0, 0.5}},
                                 {-40.0, 8.0, {0.5, 0.7}},
                                 {2.0, 20.0, {0.0, 1.3}},  // the one that does not decay
                                 {45.0, 40.0, {0.9, 0.0}},
                                 {-30.0, -40.0, {0.6, 0.6}}};
  const std::vector<Wave> waves(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(c.waves));
  std::vector<Complex> spectra;
  std::mt19937 generator(2U);
  for (int frame = 0; frame < plan.batch; ++frame) {
    for (std::size_t f = 0; f < 2; ++f) {
      const test::Monopole source{.x_m = 0.03, .y_m = -0.04 + 0.01 * frame, .z_m = -0.03};
      auto field = test::monopole_field(source, plan.wavenumber(f), plan.geometry, plan.standoff_m);
      if (f == 0) {
        field = sum_of(field, field_of(waves, plan, plan.standoff_m));
      }
      test::add_noise(field, 50.0, generator);
      spectra.insert(spectra.end(), field.begin(), field.end());
    }
  }
  const std::size_t values = 2U * static_cast<std::size_t>(plan.geometry.channels());
  const std::vector<ComplexF> narrow = test::narrow(spectra);
  // Found in the waves alone, so that all of them are; the images are of the whole.
  std::vector<Complex> quiet = field_of(waves, plan, plan.standoff_m);
  quiet.resize(values);
  const auto found = WaveSearch(plan, make_sonah_models(plan)).search(test::narrow(quiet), {});
  ASSERT_EQ(findings_as<WaveFindings>(found).waves[0].waves.size(), c.waves);
  ASSERT_TRUE(findings_as<WaveFindings>(found).waves[1].waves.empty());
  reference::Sonah sonah(plan);
  sonah.use(findings_as<WaveFindings>(found));
  std::vector<Complex> expected;
  std::vector<FilterReport> reports;
  for (std::size_t frame = 0; frame < 2; ++frame) {
    const auto one = test::widen({narrow.begin() + static_cast<std::ptrdiff_t>(frame * values),
                                  narrow.begin() + static_cast<std::ptrdiff_t>((frame + 1) * values)});
    const reference::Images images = sonah.image(one, plan, {.hop = frame});
    expected.insert(expected.end(), images.images.begin(), images.images.end());
    reports.insert(reports.end(), images.reports.begin(), images.reports.end());
  }
  for (const Path& path : kSonahPaths) {
    const test::DeviceImages images = test::run_on_device(plan, narrow, path, found);
    EXPECT_LE(test::relative_l2(images.images, expected), 3e-4) << path.name;
    for (std::size_t i = 0; i < reports.size(); ++i) {
      EXPECT_NEAR(images.reports[i].noise_pa, reports[i].noise_pa, 1e-3F * reports[i].noise_pa) << path.name << i;
      EXPECT_NEAR(images.reports[i].error_estimate, reports[i].error_estimate, 1e-2F * reports[i].error_estimate)
          << path.name << i;
      EXPECT_NEAR(images.reports[i].slope, reports[i].slope, 1e-3F) << path.name << i << ", share of the waves";
    }
    EXPECT_GT(test::relative_l2(test::run_on_device(plan, narrow, path).images, expected), 3e-3)
        << "without waves it is another image";
  }
}

INSTANTIATE_TEST_SUITE_P(WaveSearch, WavesInEveryShape,
                         testing::Values(Case{12, 16, {0.0}, 1, Quantity::kPressure, 3},
                                         Case{9, 15, {0.0, 0.01, -0.02}, 1, Quantity::kNormalVelocity, 2},
                                         Case{12, 12, {0.0}, 2, Quantity::kDisplacement, 5}));

double energy(const std::vector<Complex>& field) {
  return std::accumulate(field.begin(), field.end(), 0.0,
                         [](double sum, const Complex& value) { return sum + std::norm(value); });
}

// One plane of microphones does not tell a wave from behind from one of the surface: half of its energy is expected to
// be false. A wave that decays is one of the surface.
TEST(WaveSearch, AWaveThatMayComeFromBehindIsExpectedToBeWrong) {
  const ImagePlan plan = plan_of(2000.0, 16, 16);
  for (const bool decays : {false, true}) {
    std::mt19937 generator(4U);
    const std::vector<Wave> waves = {{decays ? 45.0 : 20.0, 8.0, {0.1, 0.0}}};
    const test::Monopole source{.x_m = 0.03, .y_m = -0.04, .z_m = -0.03};
    const auto of_source = test::monopole_field(source, plan.wavenumber(0), plan.geometry, plan.standoff_m);
    const double level = std::sqrt(energy(of_source) / 256.0);
    auto field = field_of(waves, plan, plan.standoff_m);
    for (std::size_t i = 0; i < field.size(); ++i) {
      field[i] = level * field[i] + of_source[i];
    }
    test::add_noise(field, 50.0, generator);
    const auto spectra = test::narrow(field);
    const auto found = WaveSearch(plan, make_sonah_models(plan)).search(spectra, {});
    const FoundWaves& of_field = findings_as<WaveFindings>(found).waves[0];
    ASSERT_EQ(of_field.waves.size(), 1U);
    const auto report = test::run_on_device(plan, spectra, kSonahPaths[0], found).reports[0];
    const auto surface = test::monopole_field(source, plan.wavenumber(0), plan.geometry, 0.0);
    const double of_wave = level * 0.1 / std::sqrt(energy(surface) / 256.0);
    if (decays) {
      EXPECT_LT(report.error_estimate, 0.1 * of_wave);
    } else {
      EXPECT_NEAR(report.error_estimate, std::sqrt(0.5) * of_wave, 0.05 * of_wave);
    }
  }
}

// Findings may come and go between frames; without waves the images are what they were.
TEST(WaveSearch, FindingsComeAndGo) {
  const ImagePlan plan = plan_of(500.0, 16, 16);
  const auto spectra = test::narrow(field_of(pattern(), plan, plan.standoff_m));
  const ocl::Device& on = test::device();
  const std::unique_ptr<Imager> sonah = make_imager(on, plan);
  const auto status = on.upload<std::uint32_t>(std::vector<std::uint32_t>(kStatusWords, 0U), "test");
  const auto input = on.upload<ComplexF>(spectra, "test");
  const auto image = [&] {
    sonah->enqueue(input, status);
    return on.download(sonah->images(), "test");
  };
  const auto search = sonah->make_search();
  ASSERT_TRUE(search);
  const auto before = image();
  const auto found = search->search(spectra, {});
  sonah->adopt(found);
  const auto with = image();
  EXPECT_LE(test::relative_l2(with, field_of(pattern(), plan, 0.0)), 2e-5);
  sonah->adopt(search->search(std::vector<ComplexF>(256), {}));
  EXPECT_EQ(image(), before);
  sonah->adopt(found);
  EXPECT_EQ(image(), with);
  ImagePlan off = plan;
  off.holography.search_every_frames = 0;
  EXPECT_FALSE(make_imager(on, off)->make_search());
  EXPECT_EQ(test::run_on_device(off, spectra, kSonahPaths[0]).images, before);
}

// What was masked before says nothing of what is found now: candidates are compared by the power of their field over
// the whole array. Two waves, one of them across the hole of the mask before, about as strong as one another, so that
// it is for that power to say which one is found first.
TEST(WaveSearch, FindingsDoNotDependOnTheMaskBefore) {
  const ImagePlan plan = plan_of(2000.0, 16, 16);
  std::vector<int> hole;
  for (int channel = 0; channel < plan.geometry.channels() / 2; ++channel) {
    if (channel % 16 < 10) {
      hole.push_back(channel);
    }
  }
  const MicrophoneMask mask = make_mask(plan, hole);
  const auto models = std::make_shared<const std::vector<PriorModels>>(make_candidate_models(plan));
  WaveSearch used(plan, models);
  for (int i = -8; i <= 8; ++i) {
    const std::vector<Wave> waves = {{11.3, -24.7, {1.0, 0.0}}, {-70.0, 55.0, {std::pow(1.1, i), 0.0}}};
    const auto spectra = test::narrow(field_of(waves, plan, plan.standoff_m));
    (void)used.search(spectra, mask);
    used.restart();
    const auto found = used.search(spectra, {});
    const auto expected = WaveSearch(plan, models).search(spectra, {});
    EXPECT_EQ(findings_as<WaveFindings>(found).waves[0].waves, findings_as<WaveFindings>(expected).waves[0].waves) << i;
    EXPECT_EQ(findings_as<WaveFindings>(found).waves[0].table, findings_as<WaveFindings>(expected).waves[0].table) << i;
    used.restart();
  }
}

// Whenever it comes, and whatever it left half done: what is searched for afterwards is found as if nothing had been.
TEST(WaveSearch, AStopEndsItAndLeavesNothingBehind) {
  const ImagePlan plan = plan_of(2000.0, 16, 16);
  const auto models = std::make_shared<const std::vector<PriorModels>>(make_candidate_models(plan));
  const std::vector<Wave> waves = {{11.3, -24.7, {1.0, 0.0}}, {-70.0, 55.0, {0.8, 0.0}}};
  const auto spectra = test::narrow(field_of(waves, plan, plan.standoff_m));
  const auto expected = WaveSearch(plan, models).search(spectra, {});
  WaveSearch search(plan, models);
  CutoffSearch of_cutoff(plan);
  {
    std::stop_source stopped;
    stopped.request_stop();
    const Stoppable stoppable(stopped.get_token());
    EXPECT_THROW((void)search.search(spectra, {}), Stopped);
    EXPECT_THROW((void)of_cutoff.search(spectra, {}), Stopped);
  }
  for (int tenths_ms = 0; tenths_ms < 40; tenths_ms += 4) {
    std::stop_source stop;
    std::thread stopping([&] {
      std::this_thread::sleep_for(std::chrono::microseconds(100 * tenths_ms));
      stop.request_stop();
    });
    try {
      const Stoppable stoppable(stop.get_token());
      (void)search.search(spectra, {});
    } catch (const Stopped&) {  // which of the two happens does not matter here
    }
    stopping.join();
    search.restart();
    const auto found = search.search(spectra, {});
    EXPECT_EQ(findings_as<WaveFindings>(found).waves[0].waves, findings_as<WaveFindings>(expected).waves[0].waves);
    EXPECT_EQ(findings_as<WaveFindings>(found).waves[0].table, findings_as<WaveFindings>(expected).waves[0].table);
    search.restart();
  }
}

}  // namespace
}  // namespace nearfield
