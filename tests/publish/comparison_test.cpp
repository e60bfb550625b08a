#include "publish/comparison/comparison.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>

#include "core/error.hpp"
#include "support/outputs.hpp"

namespace nearfield {
namespace {

using ::testing::HasSubstr;

ImagesHeader header() {
  ImagesHeader header;
  header.quantity = "pressure";
  header.unit = "Pa";
  header.frequencies_hz = {500.0, 1007.1};
  header.planes_m = {0.0, -0.005};
  header.x_m = {-0.02, 0.0, 0.02};
  header.y_m = {-0.01, 0.01};
  return header;
}

/// Every value is a function of its index; `error` is added to the image of plane 1, frequency 0.
ImageFrame frame(float error) {
  ImageFrame frame;
  for (std::size_t i = 0; i < header().values_per_frame(); ++i) {
    frame.images.emplace_back(1.0F + static_cast<float>(i % 5), static_cast<float>(i % 3));
  }
  const std::size_t pixels = header().pixels();
  for (std::size_t i = 2 * pixels; i < 3 * pixels; ++i) {
    frame.images[i] += error;
  }
  return frame;
}

std::size_t metric_index(std::string_view key) {
  std::size_t index = 0;
  while (metric_definitions()[index].key != key) {
    ++index;
  }
  return index;
}

void add_pair(FrameComparer& comparer, const ImageFrame& reference, const ImageFrame& other) {
  const test::MadeFrame first(header(), reference);
  const test::MadeFrame second(header(), other);
  comparer.add(first.frame, second.frame);
}

Comparison compare(std::initializer_list<float> errors) {
  FrameComparer comparer("a.h5", header(), "b.h5", header());
  for (const float error : errors) {
    add_pair(comparer, frame(0.0F), frame(error));
  }
  return comparer.result();
}

TEST(FrameComparer, FindsTheWorstFrameOfTheRightPlaneAndFrequency) {
  const Comparison comparison = compare({0.1F, 0.4F, 0.2F});
  ASSERT_EQ(comparison.images.size(), 4U);
  EXPECT_EQ(comparison.frames, 3U);
  const std::size_t l2 = metric_index("relative_l2");
  for (const std::size_t clean : {0U, 1U, 3U}) {
    EXPECT_EQ(comparison.images[clean].metrics[l2].worst, 0.0);
  }
  const ComparisonRow& row = comparison.images[2];
  EXPECT_EQ(row.plane_m, -0.005);
  EXPECT_EQ(row.frequency_hz, 500.0);
  EXPECT_EQ(row.images, 3U);
  // The error is a constant e over N pixels: relative L2 = e sqrt(N) / |a|.
  double energy = 0.0;
  for (std::size_t i = 12; i < 18; ++i) {
    energy += std::norm(std::complex<double>(frame(0.0F).images[i]));
  }
  const double unit = std::sqrt(6.0 / energy);
  constexpr double kFloatInput = 1e-6;
  EXPECT_NEAR(row.metrics[l2].mean, unit * (0.1 + 0.4 + 0.2) / 3.0, kFloatInput);
  EXPECT_NEAR(row.metrics[l2].worst, unit * 0.4, kFloatInput);
  EXPECT_EQ(row.metrics[l2].worst_frame, 1U);
  EXPECT_EQ(row.metrics[metric_index("ncc")].worst_frame, 1U);
  EXPECT_LT(row.metrics[metric_index("ncc")].worst, row.metrics[metric_index("ncc")].mean);
  EXPECT_NEAR(comparison.overall.metrics[l2].mean, row.metrics[l2].mean / 4.0, kFloatInput);
  EXPECT_EQ(comparison.overall.metrics[l2].worst, row.metrics[l2].worst);
  EXPECT_EQ(comparison.overall.images, 12U);
}

TEST(FrameComparer, AveragesLevelsAsPowers) {
  const std::size_t nmse = metric_index("nmse_db");
  const double level_db = compare({0.4F}).images[2].metrics[nmse].mean;
  // One frame of two agrees exactly: half the power, 3 dB less, not minus infinity.
  EXPECT_NEAR(compare({0.4F, 0.0F}).images[2].metrics[nmse].mean, level_db - 10.0 * std::log10(2.0), 1e-9);
}

TEST(FrameComparer, SaysWhatDiffers) {
  struct Case {
    std::function<void(ImagesHeader&)> change;
    const char* expected;
  };
  const std::vector<Case> cases = {
      {[](ImagesHeader& h) { h.quantity = "normal_velocity"; },
       "b.h5: quantity: expected \"pressure\" as in a.h5, found \"normal_velocity\""},
      {[](ImagesHeader& h) { h.unit = "mPa"; }, "unit"},
      {[](ImagesHeader& h) { h.frequencies_hz[1] = 1008.0; }, "/frequencies_hz[1]: expected 1007.1 Hz"},
      {[](ImagesHeader& h) { h.frequencies_hz.pop_back(); }, "/frequencies_hz: expected 2 values as in a.h5, found 1"},
      {[](ImagesHeader& h) { h.planes_m[1] = 0.005; }, "/planes_m[1]"},
      {[](ImagesHeader& h) { h.x_m.push_back(0.04); }, "/x_m"},
      {[](ImagesHeader& h) { h.y_m[0] = -0.02; }, "/y_m[0]"},
      {[](ImagesHeader& h) { h.planes_m[0] = std::nan(""); }, "/planes_m[0]"},
  };
  for (const Case& one : cases) {
    ImagesHeader other = header();
    one.change(other);
    try {
      const FrameComparer comparer("a.h5", header(), "b.h5", other);
      ADD_FAILURE() << "accepted: " << one.expected;
    } catch (const DataError& error) {
      EXPECT_THAT(error.what(), HasSubstr(one.expected));
    }
  }
}

// The same places, imaged along other normals, are other values.
TEST(FrameComparer, NormalsOfASurfaceMustBeTheSame) {
  ImagesHeader reference = header();
  reference.surface_m.assign(3 * reference.pixels(), 0.01);
  for (std::size_t i = 0; i < reference.pixels(); ++i) {
    reference.normals.insert(reference.normals.end(), {0.0, 0.6, 0.8});
  }
  ImagesHeader other = reference;
  EXPECT_NO_THROW(FrameComparer("a.h5", reference, "b.h5", other));
  other.normals[4] = 0.61;
  try {
    const FrameComparer comparer("a.h5", reference, "b.h5", other);
    ADD_FAILURE() << "accepted";
  } catch (const DataError& error) {
    EXPECT_THAT(error.what(), HasSubstr("b.h5: /normal[4]: expected 0.6 of its length as in a.h5, found 0.61"));
  }
}

TEST(FrameComparer, AcceptsFrequenciesThatSnappedToTheGrid) {
  ImagesHeader other = header();
  other.frequencies_hz[1] = 1007.3;
  EXPECT_NO_THROW(FrameComparer("a.h5", header(), "b.h5", other));
}

TEST(FrameComparer, RefusesEmptyImagesAndShortFrames) {
  ImagesHeader empty = header();
  empty.planes_m.clear();
  EXPECT_THROW(FrameComparer("a.h5", empty, "b.h5", empty), DataError);
  FrameComparer comparer("a.h5", header(), "b.h5", header());
  ImageFrame short_frame = frame(0.0F);
  short_frame.images.pop_back();
  EXPECT_THROW(add_pair(comparer, frame(0.0F), short_frame), DataError);
}

TEST(ComparisonText, TableNamesFilesRowsAndRemarks) {
  FrameComparer comparer("a.h5", header(), "b.h5", header());
  ImageFrame other = frame(0.3F);
  other.first_sample = 7;
  other.images[0] = {std::numeric_limits<float>::quiet_NaN(), 0.0F};
  add_pair(comparer, frame(0.0F), frame(0.1F));
  add_pair(comparer, frame(0.0F), other);
  const std::string table = to_table(comparer.result());
  for (const char* part : {"reference  a.h5", "compared   b.h5", "pressure [Pa], 2 x 3 pixels, 2 frames", "RMSRE",
                           "NMSE [dB]", "1007.10", "-0.0050", "worst", "all", "-inf", "1 of 48 pixels are not finite",
                           "1 of 2 pairs of frames differ in first_sample"}) {
    EXPECT_THAT(table, HasSubstr(part));
  }
}

TEST(ComparisonText, JsonHoldsTheSameFigures) {
  const Comparison comparison = compare({0.1F, 0.4F});
  const auto json = nlohmann::json::parse(to_json(comparison));
  EXPECT_EQ(json["format"], "nearfield-comparison");
  EXPECT_EQ(json["frames"], 2);
  ASSERT_EQ(json["images"].size(), 4U);
  EXPECT_EQ(json["images"][2]["plane_m"], -0.005);
  const auto& l2 = json["images"][2]["metrics"]["relative_l2"];
  EXPECT_EQ(l2["worst"].get<double>(), comparison.images[2].metrics[metric_index("relative_l2")].worst);
  EXPECT_EQ(l2["worst_frame"], 1);
  EXPECT_EQ(json["images"][0]["metrics"]["nmse_db"]["mean"], "-Infinity");
  EXPECT_EQ(json["overall"]["images"], 8);
}

TEST(ComparisonText, UndefinedFiguresAreNull) {
  FrameComparer comparer("a.h5", header(), "b.h5", header());
  ImageFrame zero = frame(0.0F);
  std::fill(zero.images.begin(), zero.images.end(), std::complex<float>());
  add_pair(comparer, zero, zero);
  const auto json = nlohmann::json::parse(to_json(comparer.result()));
  EXPECT_TRUE(json["overall"]["metrics"]["ncc"]["mean"].is_null());
  EXPECT_TRUE(json["overall"]["metrics"]["ncc"]["worst_frame"].is_null());
  EXPECT_EQ(json["overall"]["metrics"]["ncc"]["undefined"], 4);
  EXPECT_THAT(to_table(comparer.result()), HasSubstr("4 of 4 images lack a figure"));
}

TEST(ComparisonText, JsonSurvivesFileNamesThatAreNotUtf8) {
  FrameComparer comparer("\xFF.h5", header(), "b.h5", header());
  add_pair(comparer, frame(0.0F), frame(0.1F));
  EXPECT_TRUE(nlohmann::json::accept(to_json(comparer.result())));
}

}  // namespace
}  // namespace nearfield
