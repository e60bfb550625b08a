#include "imaging/sonah/prior_finder.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <limits>
#include <map>
#include <numbers>
#include <random>
#include <string>
#include <tuple>

#include "imaging/imager_table.hpp"
#include "imaging/search_bench.hpp"
#include "imaging/sonah/prior_reference.hpp"
#include "imaging/sonah/sonah_arrays.hpp"
#include "imaging/sonah/sonah_reference.hpp"
#include "imaging/sources/source_table.hpp"
#include "support/fields.hpp"
#include "support/measures.hpp"

/// The priors that sonah chooses among: their models and the choice against the double-precision twin, how long a
/// choice holds, and the kernels with a prior that was chosen while they ran.
namespace nearfield {
namespace {

using test::Complex;
using test::kSonahPaths;
using test::Path;
using ComplexF = std::complex<float>;

/// Those that every array chooses among, and all.
constexpr std::array kPriors = {FieldPrior::kLayer, FieldPrior::kDeepLayer, FieldPrior::kPatches};
constexpr std::array kAllPriors = {FieldPrior::kLayer, FieldPrior::kDeepLayer, FieldPrior::kPatches,
                                   FieldPrior::kBendingWaves, FieldPrior::kShortBendingWaves};

ImagePlan plan_of(int rows, int columns, std::vector<double> frequencies_hz = {1000.0}) {
  ImagePlan plan = test::plan_of(frequencies_hz.front(), rows, columns);
  plan.frequencies_hz = std::move(frequencies_hz);
  plan.cutoff_rad_per_m.assign(plan.frequencies_hz.size(), 70.0);
  return plan;
}

/// Microphones so far apart that bending waves are among the priors.
ImagePlan wide_plan_of(int rows, int columns, std::vector<double> frequencies_hz = {1000.0}) {
  ImagePlan plan = plan_of(rows, columns, std::move(frequencies_hz));
  plan.geometry.pitch_x_m = 1.2 * plan.standoff_m;
  plan.geometry.pitch_y_m = 1.1 * plan.standoff_m;
  return plan;
}

/// A draw of what a prior expects, with noise 40 dB below it.
std::vector<Complex> drawn(const ImagePlan& plan, FieldPrior prior, unsigned seed, std::size_t frequency = 0) {
  const ArrayGeometry& g = plan.geometry;
  // The key has what plan_of() varies.
  static std::map<std::tuple<int, int, double, double, FieldPrior>, Eigen::MatrixXd> factors;
  Eigen::MatrixXd& factor = factors[{g.rows, g.columns, g.pitch_y_m, plan.frequencies_hz[frequency], prior}];
  if (factor.size() == 0) {
    Eigen::MatrixXd covariance = reference::microphone_covariance(with_prior(plan, prior), frequency);
    covariance.diagonal().array() += 1e-4;
    factor = covariance.llt().matrixL();
  }
  std::mt19937 generator(seed);
  std::normal_distribution<double> normal(0.0, std::sqrt(0.5));
  Eigen::VectorXcd white(factor.rows());
  for (Complex& value : white) {
    const double real = normal(generator);
    value = {real, normal(generator)};
  }
  const Eigen::VectorXcd field = factor.cast<Complex>() * white;
  return {field.begin(), field.end()};
}

std::vector<Complex> blend(const std::vector<Complex>& a, const std::vector<Complex>& b, double part_of_b) {
  std::vector<Complex> sum(a.size());
  std::transform(a.begin(), a.end(), b.begin(), sum.begin(), [&](const Complex& of_a, const Complex& of_b) {
    return std::sqrt(1.0 - part_of_b) * of_a + std::sqrt(part_of_b) * of_b;
  });
  return sum;
}

/// How much less probable than the layer patches are, nepers.
double patches_over_layer(const ImagePlan& plan, const std::vector<PriorModels>& candidates,
                          const std::vector<Complex>& field) {
  double layer = 0.0;
  double patches = 0.0;
  for (const PriorModels& candidate : candidates) {
    if (candidate.prior == FieldPrior::kDeepLayer) {
      continue;
    }
    WaveFinder finder(with_prior(plan, candidate.prior), 0, candidate.of_frequency[0]);
    (void)finder.find_from({}, field);
    layer = candidate.prior == FieldPrior::kLayer ? finder.criterion() : layer;
    patches = candidate.prior == FieldPrior::kPatches ? finder.criterion() : patches;
  }
  return patches - layer;
}

/// Findings of which each frequency has another prior, without sources.
std::shared_ptr<const Findings> only_priors(const std::vector<FieldPrior>& priors) {
  auto findings = std::make_shared<WaveFindings>();
  for (const FieldPrior prior : priors) {
    FoundWaves found;
    found.prior = prior;
    found.table.assign(SourceTable::kHeader, 0.0F);
    findings->waves.push_back(found);
  }
  return findings;
}

struct Shape {
  int rows;
  int columns;
  double pitch_y_m;
  std::vector<double> planes_m;
  Quantity quantity;
};

class PriorsInEveryShape : public testing::TestWithParam<Shape> {};

// Tolerances as in sonah_test.cpp.
TEST_P(PriorsInEveryShape, ModelsAgreeWithReference) {
  const Shape& shape = GetParam();
  ImagePlan plan = plan_of(shape.rows, shape.columns, {500.0, 3000.0});
  plan.geometry.pitch_y_m = shape.pitch_y_m;
  plan.holography.planes_m = shape.planes_m;
  plan.holography.quantity = shape.quantity;
  plan.holography.search_every_frames = 0;
  std::vector<Complex> field = drawn(plan, FieldPrior::kLayer, 1U, 0);
  const std::vector<Complex> second = drawn(plan, FieldPrior::kPatches, 2U, 1);
  field.insert(field.end(), second.begin(), second.end());
  const std::vector<ComplexF> spectra = test::narrow(field);
  std::vector<std::vector<Complex>> images;
  for (const FieldPrior prior : kAllPriors) {
    plan.holography.prior = prior;
    const reference::Images expected = reference::Sonah(plan).image(test::widen(spectra));
    images.push_back(expected.images);
    for (const Path& path : kSonahPaths) {
      const test::DeviceImages found = test::run_on_device(plan, spectra, path);
      EXPECT_LE(test::relative_l2(found.images, expected.images), 3e-4) << name_of(prior) << ' ' << path.name;
      for (std::size_t f = 0; f < 2; ++f) {
        EXPECT_NEAR(found.reports[f].noise_pa, expected.reports[f].noise_pa, 1e-3F * expected.reports[f].noise_pa);
        EXPECT_NEAR(found.reports[f].error_estimate, expected.reports[f].error_estimate,
                    1e-2F * expected.reports[f].error_estimate);
        EXPECT_NEAR(found.reports[f].cutoff_rad_per_m, expected.reports[f].cutoff_rad_per_m, 0.02F);
      }
    }
  }
  for (std::size_t i = 1; i < images.size(); ++i) {
    EXPECT_GT(test::relative_l2(test::narrow(images[i]), images[0]), 0.01) << "another prior has another image";
  }
}

// What a search chooses while frames are imaged: the model of each frequency is that of its own prior, whatever was in
// force before, to the last bit.
TEST_P(PriorsInEveryShape, ChosenPriorsAreTheirModels) {
  const Shape& shape = GetParam();
  ImagePlan plan = plan_of(shape.rows, shape.columns, {500.0, 3000.0});
  plan.geometry.pitch_y_m = shape.pitch_y_m;
  plan.holography.planes_m = shape.planes_m;
  plan.holography.quantity = shape.quantity;
  std::vector<Complex> field = drawn(plan, FieldPrior::kLayer, 3U, 0);
  const std::vector<Complex> second = drawn(plan, FieldPrior::kLayer, 4U, 1);
  field.insert(field.end(), second.begin(), second.end());
  const std::vector<ComplexF> spectra = test::narrow(field);
  const std::size_t pixels =
      static_cast<std::size_t>(plan.image_rows()) * static_cast<std::size_t>(plan.image_columns());
  const auto of_frequency = [&](const std::vector<ComplexF>& images, std::size_t frequency) {
    std::vector<ComplexF> found;
    for (std::size_t plane = 0; plane < shape.planes_m.size(); ++plane) {
      const auto first = images.begin() + static_cast<std::ptrdiff_t>((2 * plane + frequency) * pixels);
      found.insert(found.end(), first, first + static_cast<std::ptrdiff_t>(pixels));
    }
    return found;
  };
  for (const Path& path : kSonahPaths) {
    const std::vector<FieldPrior> priors = candidate_priors(plan);
    std::vector<std::vector<ComplexF>> alone;
    for (const FieldPrior prior : priors) {
      alone.push_back(test::run_on_device(with_prior(plan, prior), spectra, path).images);
    }
    const std::size_t last = priors.size() - 1;
    const std::optional<test::PlainWorkGroups> plain =
        path.as_gpu ? std::optional<test::PlainWorkGroups>(std::in_place) : std::nullopt;
    const ocl::Device on = test::device_of(path);
    const std::unique_ptr<Imager> sonah = make_imager(on, plan);
    const auto input = on.upload<ComplexF>(spectra, "test");
    const auto status = on.upload<std::uint32_t>(std::vector<std::uint32_t>(kStatusWords, 0U), "test");
    for (const auto& [first, next] : {std::pair<std::size_t, std::size_t>{0, last}, {last, 1}, {last, 0}, {0, 0}}) {
      sonah->adopt(only_priors({priors.at(first), priors.at(next)}));
      sonah->forget();
      sonah->enqueue(input, status);
      const std::vector<ComplexF> images = on.download(sonah->images(), "test");
      EXPECT_EQ(of_frequency(images, 0), of_frequency(alone.at(first), 0)) << path.name << ' ' << first << next;
      EXPECT_EQ(of_frequency(images, 1), of_frequency(alone.at(next), 1)) << path.name << ' ' << first << next;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Prior, PriorsInEveryShape,
                         testing::Values(Shape{12, 9, 0.025, {0.0, 0.01}, Quantity::kPressure},
                                         Shape{14, 14, 0.02, {0.0}, Quantity::kNormalVelocity},
                                         Shape{13, 13, 0.02, {0.0, -0.005}, Quantity::kPressure}));

// Masked microphones are those that the layer predicts, whatever prior is in force.
TEST(Prior, MaskedMicrophonesAreTheLayers) {
  ImagePlan plan = plan_of(12, 12);
  plan.fills_from_all = true;
  plan.dead_channels = {0, 40, 41, 52, 53, 131};
  const std::vector<ComplexF> spectra = test::narrow(drawn(plan, FieldPrior::kLayer, 7U));
  const auto chosen = only_priors({FieldPrior::kPatches});
  reference::Sonah sonah(plan);
  sonah.use(findings_as<WaveFindings>(chosen));
  const std::vector<Complex> expected = sonah.image(test::widen(spectra)).images;
  for (const Path& path : kSonahPaths) {
    EXPECT_LE(test::relative_l2(test::run_on_device(plan, spectra, path, chosen).images, expected), 3e-4) << path.name;
  }
}

// Both are sums of some hundred logarithms; their quadratures differ by 1e-8, which a mode of the least noise, 1e-7 of
// the prior's power, turns into 0.1 of a neper at most. Two candidates are told apart by kPriorPreference.
TEST(PriorFinder, CriterionIsTheReferences) {
  for (const ImagePlan& plan : {plan_of(10, 13, {700.0}), plan_of(12, 12, {700.0}), wide_plan_of(11, 12, {700.0})}) {
    const std::vector<PriorModels> candidates = make_candidate_models(plan);
    std::vector<Complex> sources = test::monopole_field({.x_m = 0.03, .y_m = -0.04, .z_m = -0.02}, plan.wavenumber(0),
                                                        plan.geometry, plan.standoff_m);
    std::mt19937 generator(5U);
    test::add_noise(sources, 30.0, generator);
    std::size_t found_sources = 0;
    for (const std::vector<Complex>& field :
         {sources, drawn(plan, FieldPrior::kPatches, 6U), drawn(plan, FieldPrior::kDeepLayer, 6U),
          drawn(plan, FieldPrior::kBendingWaves, 6U)}) {
      for (const PriorModels& candidate : candidates) {
        const ImagePlan of_prior = with_prior(plan, candidate.prior);
        WaveFinder finder(of_prior, 0, candidate.of_frequency[0]);
        const FoundWaves found = finder.find_from({}, field);
        found_sources += found.waves.size() + found.points.size();
        const Eigen::VectorXcd values =
            Eigen::Map<const Eigen::VectorXcd>(field.data(), static_cast<Eigen::Index>(field.size()));
        EXPECT_NEAR(finder.criterion(), reference::prior_criterion(of_prior, 0, values, found), 0.1)
            << name_of(candidate.prior);
      }
    }
    EXPECT_GE(found_sources, kPriors.size()) << "the monopole beside each prior, at least";
  }
}

// The truth is drawn from each prior in turn.
TEST(PriorFinder, ChoosesThePriorThatTheFieldIsFrom) {
  for (const ImagePlan& plan : {plan_of(24, 24), wide_plan_of(20, 22)}) {
    const std::vector<PriorModels> candidates = make_candidate_models(plan);
    PriorFinder finder(plan, 0, candidates);
    for (const PriorModels& candidate : candidates) {
      for (unsigned seed = 1; seed <= 2; ++seed) {
        finder.restart();
        EXPECT_EQ(finder.find(drawn(plan, candidate.prior, seed), 0, {}).prior, candidate.prior)
            << name_of(candidate.prior) << ' ' << seed;
      }
    }
  }
}

/// Waves along the surface in all directions, of wavenumbers between 1.5 and 2 over the standoff, 40 dB above the
/// noise.
struct Waves {
  std::vector<Complex> at_microphones;
  std::vector<Complex> on_surface;
};

Waves bending_waves(const ImagePlan& plan) {
  const ArrayGeometry& g = plan.geometry;
  Waves field{.at_microphones = std::vector<Complex>(static_cast<std::size_t>(g.channels())),
              .on_surface = std::vector<Complex>(static_cast<std::size_t>(g.channels()))};
  std::mt19937 generator(11U);
  std::uniform_real_distribution<double> unit(0.0, 1.0);
  constexpr int kWaves = 200;
  for (int wave = 0; wave < kWaves; ++wave) {
    const double kr = (1.5 + 0.5 * unit(generator)) / plan.standoff_m;
    const double direction = 2.0 * std::numbers::pi * unit(generator);
    const Complex amplitude = std::polar(1.0, 2.0 * std::numbers::pi * unit(generator));
    const double decay = std::sqrt(kr * kr - plan.wavenumber(0) * plan.wavenumber(0));
    for (int channel = 0; channel < g.channels(); ++channel) {
      const int row = channel / g.columns;
      const double phase = kr * (g.x_m(channel % g.columns) * std::cos(direction) + g.y_m(row) * std::sin(direction));
      const Complex value = amplitude * std::polar(1.0, phase);
      field.on_surface[static_cast<std::size_t>(channel)] += value;
      field.at_microphones[static_cast<std::size_t>(channel)] += value * std::exp(-decay * plan.standoff_m);
    }
  }
  test::add_noise(field.at_microphones, 40.0, generator);
  return field;
}

// What the prior is for: a wave near the array's Nyquist wavenumber, 2.6 / standoff, which the others take for noise.
TEST(PriorFinder, BendingWavesBeforeFewMicrophones) {
  ImagePlan plan = wide_plan_of(14, 14, {500.0});
  const Waves field = bending_waves(plan);
  const auto error = [&](const ImagePlan& of_plan) {
    test::SearchBench bench(of_plan);
    const std::vector<ComplexF> spectra = test::narrow(field.at_microphones);
    const auto found = bench.search(spectra);
    if (of_plan.holography.prior == FieldPrior::kAuto) {
      EXPECT_TRUE(is_bending(found->frequencies()[0].prior.value()));
    }
    return bench.error(spectra, field.on_surface, found);
  };
  const double chosen = error(plan);
  for (const FieldPrior prior : kPriors) {
    const double other = error(with_prior(plan, prior));
    EXPECT_LT(chosen, 0.7 * other) << name_of(prior);
  }
}

// A field between two priors keeps the one in force, whichever that is; a field of the other one does not. The choice
// is made at every fourth search alone.
TEST(PriorFinder, ThePriorInForceStaysUnlessClearlyWorse) {
  const ImagePlan plan = plan_of(24, 24);
  const std::vector<PriorModels> candidates = make_candidate_models(plan);
  const std::vector<Complex> layer = drawn(plan, FieldPrior::kLayer, 1U);
  const std::vector<Complex> patches = drawn(plan, FieldPrior::kPatches, 2U);
  double low = 0.0;
  double high = 1.0;
  ASSERT_GT(patches_over_layer(plan, candidates, layer), kPriorPreference);
  ASSERT_LT(patches_over_layer(plan, candidates, patches), -kPriorPreference);
  std::vector<Complex> between;
  double difference = std::numeric_limits<double>::infinity();
  for (int halving = 0; halving < 30 && std::abs(difference) > 0.5 * kPriorPreference; ++halving) {
    const double middle = 0.5 * (low + high);
    between = blend(layer, patches, middle);
    difference = patches_over_layer(plan, candidates, between);
    (difference > 0.0 ? low : high) = middle;
  }
  ASSERT_LE(std::abs(difference), 0.5 * kPriorPreference);
  for (const auto& [first, in_force] : {std::pair{layer, FieldPrior::kLayer}, {patches, FieldPrior::kPatches}}) {
    PriorFinder finder(plan, 0, candidates);
    EXPECT_EQ(finder.find(first, 0, {}).prior, in_force);
    const auto& other = in_force == FieldPrior::kLayer ? patches : layer;
    EXPECT_EQ(finder.find(other, 1, {}).prior, in_force) << "nothing is chosen by this search";
    EXPECT_EQ(finder.find(between, 4, {}).prior, in_force);
    EXPECT_EQ(finder.find(between, 5, {}).prior, in_force);
    EXPECT_NE(finder.find(other, 8, {}).prior, in_force);
  }
}

// What a search finds depends on what its memory has: searches from the half of a memory before its own on.
TEST(PriorFinder, RemembersAsSearchesDo) {
  const ImagePlan plan = plan_of(16, 16);
  const std::vector<PriorModels> candidates = make_candidate_models(plan);
  constexpr std::uint64_t kSearches = 17;
  const std::vector<Complex> source =
      test::monopole_field({.x_m = 0.05, .y_m = 0.01}, plan.wavenumber(0), plan.geometry, plan.standoff_m);
  std::vector<std::vector<Complex>> fields;
  for (std::uint64_t number = 0; number < kSearches; ++number) {
    const FieldPrior prior = kPriors.at(number / 3 % kPriors.size());
    fields.push_back(test::sum_of(drawn(plan, prior, static_cast<unsigned>(number)), source));
  }
  std::vector<FoundWaves> whole;
  PriorFinder finder(plan, 0, candidates);
  std::vector<std::size_t> chosen(kPriors.size());
  for (std::uint64_t number = 0; number < kSearches; ++number) {
    whole.push_back(finder.find(fields[number], number, {}));
    ++chosen.at(
        static_cast<std::size_t>(std::find(kPriors.begin(), kPriors.end(), whole.back().prior) - kPriors.begin()));
  }
  EXPECT_GE(std::count_if(chosen.begin(), chosen.end(), [](std::size_t count) { return count > 0; }), 2)
      << "the fields are of several priors";
  for (const std::uint64_t first : {1U, 6U}) {
    finder.restart();
    for (std::uint64_t number = first; number < kSearches; ++number) {
      const FoundWaves found = finder.find(fields[number], number, {});
      const std::uint64_t half = number / kSearchHalf;
      if (first <= (half > 0 ? half - 1 : 0) * kSearchHalf) {
        EXPECT_EQ(found.prior, whole[number].prior) << first << ' ' << number;
        EXPECT_EQ(found.table, whole[number].table) << first << ' ' << number;
      }
    }
  }
}

// Without searches, or with models beyond the limit, the layer is there alone; a prior that is set is not chosen.
TEST(PriorFinder, CandidatesArePriorsThatCanBeChosen) {
  ImagePlan plan = plan_of(32, 32);
  EXPECT_EQ(candidate_priors(plan), std::vector<FieldPrior>(kPriors.begin(), kPriors.end()));
  plan.holography.prior = FieldPrior::kPatches;
  EXPECT_EQ(candidate_priors(plan), std::vector{FieldPrior::kPatches});
  plan.holography.search_every_frames = 0;
  EXPECT_EQ(candidate_priors(plan), std::vector{FieldPrior::kPatches});
  plan.holography.prior = FieldPrior::kAuto;
  EXPECT_EQ(candidate_priors(plan), std::vector{FieldPrior::kLayer});
  plan.holography.search_every_frames = 1;
  while (3.0 * static_cast<double>(plan.frequencies_hz.size()) * model_bytes(plan) <= kMostPriorModelBytes) {
    EXPECT_EQ(candidate_priors(plan).size(), kPriors.size());
    plan.frequencies_hz.push_back(plan.frequencies_hz.back() + 100.0);
  }
  EXPECT_EQ(candidate_priors(plan), std::vector{FieldPrior::kLayer});
}

// Bending waves are chosen where the larger pitch calls for them and five models fit where three do; whoever sets them
// has them with any pitch.
TEST(PriorFinder, BendingWavesNeedALargePitchAndRoom) {
  ImagePlan plan = plan_of(32, 32);
  plan.geometry.pitch_y_m = 0.79 * plan.standoff_m;
  EXPECT_EQ(candidate_priors(plan).size(), kPriors.size());
  plan.geometry.pitch_y_m = 0.81 * plan.standoff_m;
  EXPECT_EQ(candidate_priors(plan), std::vector<FieldPrior>(kAllPriors.begin(), kAllPriors.end()));
  const auto bytes = [&] { return static_cast<double>(plan.frequencies_hz.size()) * model_bytes(plan); };
  while (5.0 * bytes() <= kMostPriorModelBytes) {
    EXPECT_EQ(candidate_priors(plan).size(), kAllPriors.size());
    plan.frequencies_hz.push_back(plan.frequencies_hz.back() + 100.0);
  }
  ASSERT_LE(3.0 * bytes(), kMostPriorModelBytes);
  EXPECT_EQ(candidate_priors(plan), std::vector<FieldPrior>(kPriors.begin(), kPriors.end()));
  plan = plan_of(8, 8);
  plan.holography.prior = FieldPrior::kBendingWaves;
  EXPECT_EQ(candidate_priors(plan), std::vector{FieldPrior::kBendingWaves});
}

// What point sources leave is not imaged as bending waves, though they make it the most probable.
TEST(PriorFinder, BendingWavesAreNotChosenBesidePoints) {
  const ImagePlan plan = wide_plan_of(14, 14, {500.0});
  const std::vector<PriorModels> candidates = make_candidate_models(plan);
  const std::vector<Complex> waves = bending_waves(plan).at_microphones;
  const std::vector<Complex> source = test::monopole_field({.x_m = 0.03, .y_m = -0.04, .z_m = -0.02},
                                                           plan.wavenumber(0), plan.geometry, plan.standoff_m);
  const auto power = [](const std::vector<Complex>& field) {
    return Eigen::Map<const Eigen::VectorXcd>(field.data(), static_cast<Eigen::Index>(field.size())).squaredNorm();
  };
  PriorFinder finder(plan, 0, candidates);
  EXPECT_TRUE(is_bending(finder.find(waves, 0, {}).prior.value()));
  int refused = 0;
  for (const double ratio : {1.0, 10.0, 100.0}) {  // of the source's power to that of the waves
    std::vector<Complex> field = source;
    for (Complex& value : field) {
      value *= std::sqrt(ratio * power(waves) / power(source));
    }
    field = test::sum_of(field, waves);
    double least = std::numeric_limits<double>::infinity();
    bool is_refused = false;
    for (const PriorModels& candidate : candidates) {
      WaveFinder alone(with_prior(plan, candidate.prior), 0, candidate.of_frequency[0]);
      const FoundWaves found = alone.find_from({}, field);
      if (alone.criterion() < least) {
        least = alone.criterion();
        is_refused = is_bending(candidate.prior) && !found.points.empty();
      }
    }
    if (is_refused) {
      ++refused;
      PriorFinder next(plan, 0, candidates);
      EXPECT_TRUE(is_bending(next.find(waves, 0, {}).prior.value()));
      EXPECT_FALSE(is_bending(next.find(field, 1, {}).prior.value())) << "not even until the next choice: " << ratio;
      EXPECT_FALSE(is_bending(finder.find(field, 4, {}).prior.value())) << "also where they were in force: " << ratio;
      finder.restart();
      EXPECT_FALSE(is_bending(finder.find(field, 0, {}).prior.value())) << ratio;
    }
  }
  EXPECT_GE(refused, 1) << "a field that is most probable as bending waves beside a point";
}

// Silence is as probable under each prior: none is chosen, and the next field finds the layer in force.
TEST(PriorFinder, SilenceChoosesNothing) {
  const ImagePlan plan = plan_of(24, 24);
  const std::vector<PriorModels> candidates = make_candidate_models(plan);
  PriorFinder finder(plan, 0, candidates);
  const std::vector<Complex> silence(static_cast<std::size_t>(plan.geometry.channels()));
  EXPECT_EQ(finder.find(silence, 1, {}).prior, FieldPrior::kLayer);
  EXPECT_EQ(finder.find(drawn(plan, FieldPrior::kPatches, 2U), 2, {}).prior, FieldPrior::kPatches);
}

SonahRoom room_of(const ImagePlan& plan, const std::vector<PriorModels>& candidates) {
  SonahRoom room;
  for (const PriorModels& candidate : candidates) {
    SonahArrays::reserve(plan, candidate.of_frequency, room);
  }
  return room;
}

// Who adopts findings gets what the device needs of a prior that was not in force, made by the search.
TEST(PriorFinder, ArraysAreMadeWhereThePriorChanges) {
  const ImagePlan plan = plan_of(24, 24);
  const std::vector<PriorModels> candidates = make_candidate_models(plan);
  std::vector<std::size_t> made;
  const SonahRoom room = room_of(plan, candidates);
  PriorFinder finder(plan, 0, candidates, [&](std::size_t candidate, std::size_t frequency) {
    made.push_back(candidate);
    return std::make_shared<const SonahArrays>(plan, candidates[candidate].of_frequency, SonahCut{}, room, frequency);
  });
  const std::vector<Complex> layer = drawn(plan, FieldPrior::kLayer, 1U);
  const std::vector<Complex> patches = drawn(plan, FieldPrior::kPatches, 2U);
  EXPECT_EQ(finder.find(layer, 0, {}).arrays, nullptr);
  EXPECT_EQ(finder.find(layer, 1, {}).arrays, nullptr);
  EXPECT_TRUE(made.empty()) << "the first prior is in force from the beginning";
  const FoundWaves changed = finder.find(patches, 4, {});
  ASSERT_EQ(changed.prior, FieldPrior::kPatches);
  ASSERT_NE(changed.arrays, nullptr);
  EXPECT_EQ(finder.find(patches, 5, {}).arrays, changed.arrays) << "findings in between may have been left out";
  const FoundWaves back = finder.find(layer, 8, {});
  ASSERT_EQ(back.prior, FieldPrior::kLayer);
  EXPECT_NE(back.arrays, changed.arrays);
  EXPECT_EQ(made, (std::vector<std::size_t>{2, 0}));
}

// The same to the last bit, whether a search brings what the device needs or the imager makes it: as for findings of
// the search of a device that cuts its groups otherwise.
TEST(Prior, ArraysOfASearchAreTheImagers) {
  ImagePlan plan = plan_of(14, 14, {500.0, 3000.0});
  plan.holography.planes_m = {0.0, 0.01};
  std::vector<Complex> field = drawn(plan, FieldPrior::kLayer, 1U, 0);
  const std::vector<Complex> second = drawn(plan, FieldPrior::kPatches, 2U, 1);
  field.insert(field.end(), second.begin(), second.end());
  const std::vector<ComplexF> spectra = test::narrow(field);
  const std::vector<PriorModels> candidates = make_candidate_models(plan);
  ASSERT_EQ(candidates[2].prior, FieldPrior::kPatches);
  const SonahRoom room = room_of(plan, candidates);
  const auto cut_otherwise = std::make_shared<const SonahArrays>(
      plan, std::span(candidates[2].of_frequency).subspan(1, 1), SonahCut{.part_blocks = 3}, room, 1);
  for (const Path& path : kSonahPaths) {
    const std::optional<test::PlainWorkGroups> plain =
        path.as_gpu ? std::optional<test::PlainWorkGroups>(std::in_place) : std::nullopt;
    const ocl::Device on = test::device_of(path);
    const auto input = on.upload<ComplexF>(spectra, "test");
    const auto status = on.upload<std::uint32_t>(std::vector<std::uint32_t>(kStatusWords, 0U), "test");
    const std::shared_ptr<const Findings> found = make_imager(on, plan)->make_search()->search(spectra, {}, 0);
    ASSERT_EQ(found->frequencies()[1].prior, FieldPrior::kPatches);
    ASSERT_NE(found->frequencies()[1].arrays, nullptr);
    const auto with_arrays = [&](const std::shared_ptr<const SonahArrays>& arrays) {
      const std::span<const FoundWaves> waves = found->frequencies();
      auto findings = std::make_shared<WaveFindings>();
      findings->waves.assign(waves.begin(), waves.end());
      findings->waves[1].arrays = arrays;
      return findings;
    };
    const auto images_with = [&](const std::shared_ptr<const Findings>& findings) {
      const std::unique_ptr<Imager> sonah = make_imager(on, plan);
      sonah->adopt(findings);
      sonah->enqueue(input, status);
      return on.download(sonah->images(), "test");
    };
    const std::vector<ComplexF> images = images_with(found);
    EXPECT_EQ(images_with(with_arrays(nullptr)), images) << path.name;
    const SonahCut& cut = found->frequencies()[1].arrays->cut();
    ASSERT_NE(cut_otherwise->cut(), cut);
    EXPECT_EQ(images_with(with_arrays(cut_otherwise)), images) << path.name;
    const auto of_deep_layer =
        std::make_shared<const SonahArrays>(plan, std::span(candidates[1].of_frequency).subspan(1, 1), cut, room, 1);
    EXPECT_NE(images_with(with_arrays(of_deep_layer)), images) << "those of the findings are not read";
  }
}

// What a search finds for status and log.
TEST(PriorFinder, FindingsNameThePriors) {
  const auto findings = only_priors({FieldPrior::kPatches, FieldPrior::kLayer});
  EXPECT_EQ(findings->frequencies()[0].prior, FieldPrior::kPatches);
  EXPECT_EQ(findings->frequencies()[1].prior, FieldPrior::kLayer);
}

}  // namespace
}  // namespace nearfield
