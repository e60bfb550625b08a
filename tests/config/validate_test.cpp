#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "config/config.hpp"
#include "core/error.hpp"
#include "frontend/dot_product/settings.hpp"

namespace nearfield {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::string validation_error(const Settings& settings, double sample_rate_hz) {
  try {
    validate(settings, sample_rate_hz);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

TEST(Validate, HoldsFrequenciesBelowNyquist) {
  Settings settings;
  settings.front_end.frequencies_hz = {100.0, 23437.5, 23438.0};
  EXPECT_EQ(validation_error(settings, 46875.0),
            "front_end.frequencies_hz[2]: expected at most 23437.5 Hz, half of the 46875 Hz that remain after "
            "decimation, found 23438 Hz");
  EXPECT_EQ(validation_error(settings, 46876.0), "");
  EXPECT_EQ(validation_error(settings, 0.0), "");
  settings.front_end.frequencies_hz = {22.0};
  EXPECT_THAT(validation_error(settings, 46875.0),
              HasSubstr("front_end.frequencies_hz[0]: expected at least 22.8882 Hz"));
  EXPECT_EQ(validation_error(settings, 0.0), "");
}

// What a processor's own front end leaves out is the run's, and messages name the processor's keys.
TEST(Validate, HoldsTheFrequenciesOfAProcessorsOwnFrontEnd) {
  const auto error_with = [](const std::string& value) {
    return validation_error(load_settings("", {"processors.far.kind=beamform", "processors.far.front_end." + value}),
                            46875.0);
  };
  EXPECT_EQ(error_with("frequencies_hz=[100, 20000]"), "");
  EXPECT_EQ(error_with("frequencies_hz=[100, 23438]"),
            "processors.far.front_end.frequencies_hz[1]: expected at most 23437.5 Hz, half of the 46875 Hz that remain "
            "after decimation, found 23438 Hz");
  EXPECT_THAT(error_with("window_samples=16"),
              HasSubstr("processors.far.front_end.frequencies_hz[0]: expected at least 1464.84 Hz"));
}

TEST(Validate, HoldsABatchWithinTheWindowOfEachFrontEnd) {
  Settings settings =
      load_settings("", {"processors.far.kind=beamform", "processors.far.front_end.window_samples=512"});
  EXPECT_EQ(validation_error(settings, 46875.0), "");
  settings.device.batch = 20;
  EXPECT_EQ(
      validation_error(settings, 46875.0),
      "processors.far.front_end.window_samples: expected at least 608 samples, which the frames of device.batch 20 "
      "span at a hop of 32, found 512");
}

TEST(Validate, WantsABinInEveryBand) {
  Settings settings;
  settings.front_end.bands_hz = {{46.0, 91.0}, {0.0, 45.776}, {45.7763671875, 46.0}, {20000.0, 23437.5}};
  EXPECT_EQ(validation_error(settings, 46875.0),
            "front_end.bands_hz[0]: expected [low, high] with at least one multiple of 45.7764 Hz (the bins of 1024 "
            "samples at 46875 Hz) from low to below high, and high at most 23437.5 Hz, found [46, 91]\n"
            "front_end.bands_hz[1]: expected [low, high] with at least one multiple of 45.7764 Hz (the bins of 1024 "
            "samples at 46875 Hz) from low to below high, and high at most 23437.5 Hz, found [0, 45.776]");
  EXPECT_EQ(validation_error(settings, 0.0), "") << "spectra have no bins";
  settings.front_end.bands_hz = {{1.0, 23438.0}};
  EXPECT_THAT(validation_error(settings, 46875.0), HasSubstr("found [1, 23438]"));
  settings.front_end.bands_hz.assign(2, {1.0, 23437.0});  // 511 bins each
  EXPECT_THAT(validation_error(settings, 46875.0), HasSubstr("at most 1000 bins, frequencies_hz included, found 1024"));
}

TEST(Validate, TheSlidingDftLeavesNoKernelToChoose) {
  Settings settings;
  settings.front_end.kind = "dot_product";
  settings.front_end.incremental = Incremental::kAlways;
  EXPECT_EQ(validation_error(settings, 46875.0), "");
  settings.front_end.own.edit<DotProductSettings>().kernel = DotKernel::kTiled;
  EXPECT_EQ(validation_error(settings, 46875.0),
            "front_end.dot_kernel: expected auto with incremental: always, as all these kernels take whole windows, "
            "found tiled");
  settings.front_end.incremental = Incremental::kAuto;
  EXPECT_EQ(validation_error(settings, 46875.0), "");
  settings.front_end.incremental = Incremental::kAlways;
  settings.front_end.kind = "popcount";  // has no use for the key
  EXPECT_EQ(validation_error(settings, 46875.0), "");
}

TEST(Validate, JudgesTheGeometryOfTheInput) {
  Settings settings;
  settings.array.geometry.rows = 3;
  settings.array.dead_channels = {95, 96};
  settings.holography.planes_m = {0.0, 0.03};
  settings.holography.filter.cutoff_rule = CutoffRule::kGiven;
  settings.holography.filter.cutoff_rad_per_m = {1, 2, 3};
  EXPECT_THAT(validation_error(settings, 46875.0),
              AllOf(HasSubstr("array.dead_channels[1]: "), HasSubstr("holography.planes_m[1]: "),
                    HasSubstr("holography.extrapolation.method: "), HasSubstr("holography.filter.cutoff_rad_per_m: "),
                    testing::Not(HasSubstr("array.layout"))));
  settings.explicit_keys.insert("array.layout");
  EXPECT_THAT(validation_error(settings, 46875.0), HasSubstr("array.layout: sorama-cam expects 32 x 32"));
  EXPECT_EQ(validation_error(Settings{}, 46875.0), "");
}

// What no imager reads would be ignored without a word.
TEST(Validate, RefusesSettingsOfOperatorsUnderAnotherImager) {
  const std::vector<std::pair<std::string, std::string>> given = {
      {"source_depth_m", "0.02"}, {"sources", "/s.csv"}, {"templates", "/t.h5"},
      {"behind", "ignore"},       {"wall.y_m", "0.4"},   {"wall.reflection", "0.5"}};
  for (const std::string imager : {"pnah", "sonah", "auto", "none"}) {
    EXPECT_NO_THROW((void)load_settings("", {"holography.imager=" + imager}));
    for (const auto& [name, value] : given) {
      const std::string key = "holography.operators." + name;
      try {
        (void)load_settings("",
                            {"array.rows=32", "array.columns=32", "holography.imager=" + imager, key + "=" + value});
        ADD_FAILURE() << imager << " with " << key;
      } catch (const ConfigError& error) {
        EXPECT_THAT(error.what(), AllOf(HasSubstr(key + ": expected "), HasSubstr("holography.imager: " + imager),
                                        HasSubstr("operators alone reads it, found ")));
      }
    }
  }
  // Whether auto is operators depends on the microphones, which a recording describes.
  EXPECT_NO_THROW((void)load_settings("", {"holography.operators.source_depth_m=0.02"}));
  EXPECT_NO_THROW(
      (void)load_settings("", {"holography.imager=operators", "holography.operators.source_depth_m=0.02",
                               "holography.operators.wall.y_m=0.4", "holography.operators.wall.reflection=0.5"}));
}

// The prior of another imager, or of a processor beside the first one, is not chosen.
TEST(Validate, RefusesAPriorThatNothingReads) {
  for (const std::string prior : {"auto", "layer", "deep_layer", "patches", "bending_waves", "short_bending_waves"}) {
    const std::string setting = "holography.prior=" + prior;
    for (const std::string imager : {"sonah", "auto"}) {
      EXPECT_NO_THROW((void)load_settings("", {"holography.imager=" + imager, setting}));
    }
    for (const std::string imager : {"pnah", "operators", "none"}) {
      if (prior == "auto") {
        EXPECT_NO_THROW((void)load_settings("", {"holography.imager=" + imager, setting}));
        continue;
      }
      try {
        (void)load_settings("", {"holography.imager=" + imager, setting});
        ADD_FAILURE() << imager << " with " << setting;
      } catch (const ConfigError& error) {
        EXPECT_THAT(error.what(), HasSubstr("holography.prior: expected auto with holography.imager: " + imager +
                                            ", as sonah alone reads it, found " + prior));
      }
    }
  }
  EXPECT_THROW((void)load_settings("", {"processors.near.kind=sonah", "processors.near.prior=patches"}), ConfigError);
  try {
    (void)load_settings("", {"holography.prior=layer", "holography.quantity=active_intensity"});
    ADD_FAILURE() << "a prior of what sonah does not image";
  } catch (const ConfigError& error) {
    EXPECT_THAT(error.what(), HasSubstr("holography.prior: expected auto with holography.quantity: active_intensity"));
  }
  try {
    (void)load_settings("", {"holography.imager=sonah", "holography.prior=shallow"});
    ADD_FAILURE() << "no such prior";
  } catch (const ConfigError& error) {
    EXPECT_THAT(
        error.what(),
        HasSubstr(
            "expected one of auto, layer, deep_layer, patches, bending_waves, short_bending_waves, found \"shallow\""));
  }
}

TEST(Validate, RefusesTheReflectionOfNoWall) {
  for (const std::string path : {"holography.", "processors.near."}) {
    Settings settings = load_settings("", {"holography.imager=operators", "processors.near.kind=operators",
                                           path + "operators.wall.y_m=0.4", path + "operators.wall.reflection=0.5"});
    EXPECT_EQ(validation_error(settings, 0.0), "");
    try {
      (void)load_settings("", {"holography.imager=operators", "processors.near.kind=operators",
                               path + "operators.wall.reflection=0.5"});
      ADD_FAILURE() << path;
    } catch (const ConfigError& error) {
      EXPECT_THAT(error.what(), HasSubstr(path + "operators.wall.reflection: expected 1 without a wall"));
    }
  }
}

TEST(PathsOfProcessors, AreAllThatHolographyAndProcessorsRead) {
  const Settings settings = load_settings(
      "", {"holography.imager=operators", "holography.surface=/a.csv", "holography.operators.sources=/b.csv",
           "processors.near.kind=operators", "processors.near.operators.templates=/c.h5"});
  std::vector<std::string> found;
  for (const PathOfProcessor& one : paths_of_processors(settings)) {
    found.push_back(one.key + "=" + one.path);
  }
  EXPECT_THAT(found, testing::UnorderedElementsAre("holography.surface=/a.csv", "holography.operators.sources=/b.csv",
                                                   "processors.near.operators.templates=/c.h5"));
}

}  // namespace
}  // namespace nearfield
