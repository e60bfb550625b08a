#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <limits>
#include <memory>
#include <optional>
#include <string>

#include "core/error.hpp"
#include "imaging/operators/operator_memory.hpp"
#include "imaging/operators/prior.hpp"

/// Sources of the prior of operators, a wall beside them, and the memory of their models.
namespace nearfield {
namespace {

constexpr double kWallAt = 0.12;  ///< m, 2 cm beside the microphones of plan_before()

/// 8 x 9 microphones, y from -0.0875 m to 0.0875 m.
ImagePlan plan_before(std::optional<double> wall_y_m) {
  ImagePlan plan;
  plan.geometry = {.rows = 8, .columns = 9, .pitch_x_m = 0.02, .pitch_y_m = 0.025};
  plan.holography.imager = ImagerKind::kOperators;
  plan.holography.quantity = Quantity::kPressure;
  plan.holography.operators.wall.y_m = wall_y_m;
  plan.frequencies_hz = {700.0, 1900.0};
  plan.cutoff_rad_per_m = {70.0, 70.0};
  return plan;
}

/// Empty where nothing is refused.
std::string refusal_of(const std::function<void()>& what) {
  try {
    what();
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

std::string refusal_of_sources(const ImagePlan& plan) {
  return refusal_of([&] { (void)prior_sources(plan); });
}

void expect_part(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << text;
}

std::shared_ptr<const OperatorSources> sources_at(const Eigen::Vector3d& place_m) {
  return std::make_shared<const OperatorSources>(OperatorSources{.places_m = {place_m}});
}

// The sheet is wider than the array. Of its sources those before the wall remain, in their order.
TEST(OperatorPrior, NoSourceOfASheetIsBehindTheWall) {
  const std::vector<Eigen::Vector3d> all = prior_sources(plan_before(std::nullopt));
  for (const double side : {-1.0, 1.0}) {
    std::vector<Eigen::Vector3d> before;
    std::copy_if(all.begin(), all.end(), std::back_inserter(before), [&](const Eigen::Vector3d& source) {
      return side < 0.0 ? source.y() <= kWallAt : source.y() >= -kWallAt;
    });
    ASSERT_LT(before.size(), all.size());
    EXPECT_EQ(prior_sources(plan_before(-side * kWallAt)), before);
  }
}

TEST(OperatorPrior, AWallIsBesideMicrophonesAndImages) {
  for (const double wall_y_m : {0.0, 0.0875, -0.08}) {
    expect_part(refusal_of_sources(plan_before(wall_y_m)),
                "holography.operators.wall.y_m: expected a wall beside all microphones and imaged places, below "
                "-0.0875 m or above 0.0875 m, found");
  }
}

TEST(OperatorPrior, GivenSourcesAreBeforeTheWall) {
  ImagePlan plan = plan_before(kWallAt);
  plan.section = "processors.hull.";
  plan.sources = sources_at({0.0, 0.13, -0.02});
  expect_part(refusal_of_sources(plan),
              "processors.hull.operators.sources: expected sources on the microphones' side of the wall y = 0.12 m, "
              "found one at (0, 0.13, -0.02) m");
  plan.sources = sources_at({0.0, 0.11, -0.02});
  EXPECT_EQ(refusal_of_sources(plan), "");
}

TEST(OperatorPrior, ErrorsNameTheProcessorsOwnSetting) {
  ImagePlan plan = plan_before(std::nullopt);
  for (const std::string section : {"holography.", "processors.hull."}) {
    plan.section = section;
    plan.sources = nullptr;
    plan.holography.operators.source_depth_m = 1e-4;
    EXPECT_TRUE(refusal_of_sources(plan).starts_with(section + "operators.source_depth_m: expected a depth whose"));
    plan.holography.operators.source_depth_m = std::nullopt;
    plan.sources = sources_at({0.0, 0.0125, 0.0});
    EXPECT_TRUE(refusal_of_sources(plan).starts_with(section + "operators.sources: expected sources at least 0.001 m "
                                                               "from each place of an image, found one at"));
  }
}

TEST(OperatorPrior, SourcesThatNoMicrophoneHearsAreRefused) {
  for (const double value : {0.0, std::numeric_limits<double>::quiet_NaN()}) {
    ImagePlan plan = plan_before(std::nullopt);
    OperatorSources sources{.places_m = {{0.0, 0.0, -0.02}}};
    sources.templates.assign(2 * 72, {value, 0.0});
    plan.sources = std::make_shared<const OperatorSources>(sources);
    expect_part(refusal_of([&] { (void)make_covariances(plan, sources.places_m, 1, unfolded(plan)); }),
                "holography.operators.templates: expected finite pressures of sources at microphones, not all of them "
                "0, found a sum of their squares of");
  }
}

// By hand: 72 microphones, 2 planes of 72 pixels, 500 sources, 2 frequencies; 20 microphones and pixels of each of four
// parity classes, or all of them in one class beside a wall.
TEST(OperatorMemory, IsThatOfTablesAndModels) {
  ImagePlan plan = plan_before(std::nullopt);
  plan.holography.planes_m = {0.0, 0.01};
  const OperatorMemory memory = operator_memory(plan, 500);
  const double of_sources = 4.0 * (8.0 + 8.0 * (4.0 * 72.0 + 2.0 * (8.0 + 144.0)));
  EXPECT_EQ(memory.tables_bytes, 2.0 * (8.0 * 80.0 * (20.0 + 40.0) + of_sources));
  EXPECT_EQ(memory.model_bytes, 16.0 * (80.0 * (20.0 + 40.0) + 2.0 * 500.0 * (20.0 + 40.0)));
  EXPECT_EQ(operator_memory(plan, 1).model_bytes, 16.0 * (2.0 * 80.0 * (20.0 + 40.0) + 5.0 * 20.0 * 20.0));
  EXPECT_EQ(memory.search_bytes, (2.0 + 2.0) * 16.0 * 72.0 * 72.0);
  plan.holography.search_every_frames = 0;
  EXPECT_EQ(operator_memory(plan, 500).search_bytes, 0.0);
  plan.holography.upsample = 3;
  EXPECT_EQ(operator_memory(plan, 1).tables_bytes, 2.0 * 8.0 * 80.0 * (20.0 + 2.0 * 11.0 * 13.0));

  plan = plan_before(kWallAt);
  plan.holography.planes_m = {0.0, 0.01};
  const OperatorMemory dense = operator_memory(plan, 500);
  EXPECT_EQ(dense.tables_bytes, 2.0 * (8.0 * 72.0 * (72.0 + 144.0) + of_sources));
  EXPECT_EQ(dense.model_bytes, 16.0 * (72.0 * (72.0 + 144.0) + 500.0 * (72.0 + 144.0)));
  EXPECT_EQ(operator_memory(plan, 1).model_bytes, 16.0 * (2.0 * 72.0 * (72.0 + 144.0) + 5.0 * 72.0 * 72.0));
}

TEST(OperatorMemory, WhatDoesNotFitIsRefusedByItsSetting) {
  ImagePlan plan = plan_before(std::nullopt);
  const OperatorMemory need{.tables_bytes = 2e6, .model_bytes = 1e7};  // of the host: 16e6 together, 13e6 of one
  const auto refusal = [&](double device_bytes, double free_bytes) {
    return refusal_of([&] { require_memory(plan, need, {.device_bytes = device_bytes, .free_bytes = free_bytes}); });
  };
  EXPECT_EQ(refusal(2e6, 16e6), "");
  EXPECT_TRUE(refusal(1.9e6, 1e9).starts_with("front_end.frequencies_hz: "));
  EXPECT_TRUE(refusal(2e6, 15.9e6).starts_with("front_end.frequencies_hz: "));
  expect_part(refusal(2e6, 15.9e6), "which may take 16 MB; image fewer frequencies");
  EXPECT_TRUE(refusal(2e6, 12.9e6).starts_with("holography.operators.source_depth_m: "));
  const OperatorMemory searched{.tables_bytes = 2e6, .search_bytes = 2e7, .model_bytes = 1e7};
  EXPECT_TRUE(refusal_of([&] {
                require_memory(plan, searched, {.device_bytes = 2e6, .free_bytes = 25.9e6});
              }).starts_with("front_end.frequencies_hz: "));
  plan.holography.upsample = 2;
  EXPECT_TRUE(refusal(2e6, 12.9e6).starts_with("holography.upsample: "));
  EXPECT_TRUE(refusal(0.9e6, 1e9).starts_with("holography.upsample: "));
}

TEST(OperatorMemory, AsManyModelsAreMadeTogetherAsFit) {
  const OperatorMemory need{.tables_bytes = 1e6, .model_bytes = 1e7};
  EXPECT_EQ(models_together(need, 20, 8, 1e9), 8U);
  EXPECT_EQ(models_together(need, 5, 8, 1e9), 5U);
  EXPECT_EQ(models_together(need, 20, 8, 43.1e6), 4U);
  EXPECT_EQ(models_together(need, 20, 8, 42.9e6), 3U);
  EXPECT_EQ(models_together(need, 20, 8, 0.0), 1U);
  EXPECT_EQ(models_together(need, 20, 0, 1e9), 1U) << "an unknown number of processors";
  EXPECT_EQ(models_together(need, 20, 8, std::numeric_limits<double>::infinity()), 8U);
}

}  // namespace
}  // namespace nearfield
