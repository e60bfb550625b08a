#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "publish/comparison/comparison.hpp"
#include "support/command.hpp"
#include "support/two_processors.hpp"

namespace nearfield {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr double kFloats = 1e-6;  ///< of single precision

/// Two processors over 17 hops; `change` changes a frame of the second one, by its number.
template <class Change>
void write_changed(const std::string& path, const ResultHeader& header, const Change& change) {
  ResultsWriter writer(path);
  writer.begin(result_header(test::images_of_two()), {.processor = 0, .frames = 17});
  writer.begin(header, {.processor = 1, .frames = 3});
  for (std::uint64_t hop = 0; hop < 17; ++hop) {
    writer.write(test::images_frame(hop).frame);
  }
  for (std::uint64_t number = 0; number < 3; ++number) {
    ResultFrame frame = test::row_power_frame(number);
    change(number, frame);
    writer.write(frame.frame);
  }
  writer.finish();
}

const auto kUnchanged = [](std::uint64_t /*number*/, ResultFrame& /*frame*/) {};

const ProductDifference& named(const ProcessorDifference& processor, std::string_view name) {
  const auto found = std::find_if(processor.products.begin(), processor.products.end(),
                                  [&](const ProductDifference& product) { return product.name == name; });
  EXPECT_NE(found, processor.products.end()) << name;
  return *found;
}

TEST(CompareProcessors, SaysHowFarEachProductIsFromTheOther) {
  const test::TemporaryFolder folder;
  write_changed(folder / "a.h5", test::row_power_header(), kUnchanged);
  write_changed(folder / "b.h5", test::row_power_header(), [](std::uint64_t number, ResultFrame& frame) {
    if (number == 1) {
      test::put<float>(frame.product(0), 0, {2.0F, 4.0F, 6.5F});  // 6 before
      test::put<std::uint64_t>(frame.product(2), 24, {5});        // seen, 2^40 before
      frame.frame.flags = 0;
    } else if (number == 2) {
      test::put<std::uint64_t>(frame.product(2), 0, {1});  // rows, 2 before
    }
  });
  const Comparison comparison = compare_image_files(folder / "a.h5", folder / "b.h5");
  EXPECT_EQ(comparison.overall.metrics.back().worst, 0.0);
  ASSERT_EQ(comparison.processors.size(), 1U);
  const ProcessorDifference& found = comparison.processors[0];
  EXPECT_EQ(found.processor, "row_power");
  EXPECT_EQ(found.frames, 3U);
  EXPECT_EQ(found.frames_of_other_flags, 1U);
  EXPECT_EQ(found.frames_of_other_time, 0U);
  EXPECT_THAT(found.left_out, IsEmpty());
  EXPECT_EQ(found.products.size(), 6U) << "two arrays, four columns";
  const ProductDifference& rows = named(found, "row_power");
  EXPECT_NEAR(rows.largest, 0.5, kFloats);
  EXPECT_EQ(rows.largest_frame, 1U);
  EXPECT_NEAR(rows.relative_l2, 0.5 / std::sqrt(30.0 * (1.0 + 4.0 + 9.0)), kFloats);
  EXPECT_EQ(named(found, "beam").relative_l2, 0.0);
  EXPECT_EQ(named(found, "found.seen").largest, std::pow(2.0, 40.0) - 5.0);
  EXPECT_EQ(named(found, "found.seen").other_rows_frames, 1U);
  EXPECT_EQ(named(found, "found.level").largest, 0.0);
  EXPECT_EQ(named(found, "found.level").values, 1U) << "of the frame with one row in both";

  const std::string table = to_table(comparison);
  EXPECT_THAT(table, HasSubstr("pressure [Pa], 2 x 3 pixels, 17 frames"));
  EXPECT_THAT(table, HasSubstr("\nprocessor row_power, 3 frames\nproduct "));
  EXPECT_THAT(table, HasSubstr("row_power [Pa^2]"));
  EXPECT_THAT(table, HasSubstr("1 of 3 pairs of frames differ in their number of rows"));
  EXPECT_THAT(table, HasSubstr("1 of 3 pairs of frames differ in flags"));
  const auto json = nlohmann::json::parse(to_json(comparison));
  EXPECT_EQ(json["processors"][0]["products"][0]["product"], "row_power");
  EXPECT_EQ(json["processors"][0]["products"][0]["largest_frame"], 1);
}

TEST(CompareProcessors, LeavesOutWhatHasOtherAxes) {
  const test::TemporaryFolder folder;
  write_changed(folder / "a.h5", test::row_power_header(), kUnchanged);
  ResultHeader other = test::row_power_header();
  other.axes[0].values[0] += 0.4;  // a frequency that snapped to the grid
  other.axes[2].values[0] += 1.0;  // an azimuth
  other.products[2].name = "sources";
  write_changed(folder / "b.h5", other, kUnchanged);
  const ProcessorDifference found = compare_image_files(folder / "a.h5", folder / "b.h5").processors.at(0);
  ASSERT_EQ(found.products.size(), 1U);
  EXPECT_EQ(found.products[0].name, "row_power");
  EXPECT_EQ(found.products[0].relative_l2, 0.0);
  EXPECT_THAT(found.left_out, ElementsAre("beam: its axes differ", "found: the compared file does not have it",
                                          "sources: the reference does not have it"));
}

std::string fault_of(const Comparison& comparison) { return beyond_tolerance(comparison, 1e9).value_or(""); }

template <class Change>
Comparison compared_with(const Change& change) {
  const test::TemporaryFolder folder;
  write_changed(folder / "a.h5", test::row_power_header(), kUnchanged);
  write_changed(folder / "b.h5", test::row_power_header(), change);
  return compare_image_files(folder / "a.h5", folder / "b.h5");
}

// However large the tolerance is.
TEST(CompareProcessors, BrokenOutputIsBeyondEveryTolerance) {
  const float not_a_number = std::nanf("");
  EXPECT_EQ(fault_of(compared_with(kUnchanged)), "");
  const Comparison without_numbers = compared_with([&](std::uint64_t /*number*/, ResultFrame& frame) {
    test::put<float>(frame.product(0), 0, std::vector<float>(4, not_a_number));
  });
  EXPECT_TRUE(std::isnan(named(without_numbers.processors.at(0), "row_power").relative_l2));
  EXPECT_EQ(fault_of(without_numbers),
            "processor row_power: row_power has 12 values that are not finite in one of the files");
  const Comparison with_one = compared_with(
      [&](std::uint64_t /*number*/, ResultFrame& frame) { test::put<float>(frame.product(0), 0, {not_a_number}); });
  EXPECT_THAT(fault_of(with_one), HasSubstr("row_power has 3 values that are not finite"));
  const Comparison without_rows = compared_with(
      [](std::uint64_t /*number*/, ResultFrame& frame) { test::put<std::uint64_t>(frame.product(2), 0, {0}); });
  EXPECT_THAT(fault_of(without_rows), HasSubstr("has another number of rows in"));
}

TEST(CompareProcessors, NaNInBothFilesIsNoDifference) {
  const test::TemporaryFolder folder;
  for (const char* const name : {"a.h5", "b.h5"}) {
    write_changed(folder / name, test::row_power_header(), [](std::uint64_t /*number*/, ResultFrame& frame) {
      test::put<float>(frame.product(0), 0, std::vector<float>(4, std::nanf("")));
    });
  }
  const Comparison comparison = compare_image_files(folder / "a.h5", folder / "b.h5");
  EXPECT_EQ(named(comparison.processors.at(0), "row_power").non_finite, 12U);
  EXPECT_EQ(fault_of(comparison), "");
}

TEST(CompareProcessors, WhatIsNotComparedIsBeyondEveryTolerance) {
  const test::TemporaryFolder folder;
  write_changed(folder / "a.h5", test::row_power_header(), kUnchanged);
  ResultHeader other = test::row_power_header();
  other.axes[2].values[0] += 1.0;  // an azimuth
  write_changed(folder / "b.h5", other, kUnchanged);
  EXPECT_EQ(fault_of(compare_image_files(folder / "a.h5", folder / "b.h5")),
            "processor row_power: not compared: beam: its axes differ");
  other.processor = "another";
  write_changed(folder / "c.h5", other, kUnchanged);
  EXPECT_THAT(fault_of(compare_image_files(folder / "a.h5", folder / "c.h5")),
              HasSubstr("not compared: processor row_power: only in "));
}

TEST(CompareProcessors, SaysWhichProcessorsOnlyOneFileHas) {
  const test::TemporaryFolder folder;
  write_changed(folder / "a.h5", test::row_power_header(), kUnchanged);
  ResultHeader other = test::row_power_header();
  other.processor = "another";
  write_changed(folder / "b.h5", other, kUnchanged);
  const Comparison comparison = compare_image_files(folder / "a.h5", folder / "b.h5");
  EXPECT_THAT(comparison.processors, IsEmpty());
  EXPECT_THAT(comparison.unpaired_processors,
              ElementsAre("row_power: only in " + (folder / "a.h5"), "another: only in " + (folder / "b.h5")));
  EXPECT_THAT(to_table(comparison), HasSubstr("not compared: processor row_power: only in "));
}

TEST(CompareProcessors, ComparesFirstProcessorsWithoutImages) {
  const test::TemporaryFolder folder;
  for (const char* name : {"a.h5", "b.h5"}) {
    ResultsWriter writer(folder / name);
    writer.begin(test::row_power_header(), {.frames = 1});
    ResultFrame frame = test::row_power_frame(0);
    frame.frame.processor = 0;
    writer.write(frame.frame);
    writer.finish();
  }
  const Comparison comparison = compare_image_files(folder / "a.h5", folder / "b.h5");
  ASSERT_EQ(comparison.processors.size(), 1U);
  EXPECT_EQ(named(comparison.processors[0], "row_power").relative_l2, 0.0);
  EXPECT_THAT(to_table(comparison), HasSubstr("processor row_power, 1 frame\n"));
  EXPECT_TRUE(nlohmann::json::accept(to_json(comparison)));
}

// What compares files of images alone today finds its lines and keys, and no more.
TEST(CompareProcessors, AddNothingToFilesOfImagesAlone) {
  const test::TemporaryFolder folder;
  {
    ResultsWriter writer(folder / "a.h5");
    writer.begin(result_header(test::images_of_two()), {.frames = 1});
    writer.write(test::images_frame(0).frame);
    writer.finish();
  }
  const Comparison comparison = compare_image_files(folder / "a.h5", folder / "a.h5");
  EXPECT_THAT(to_table(comparison), Not(HasSubstr("processor")));
  EXPECT_THAT(to_json(comparison), Not(HasSubstr("processor")));
}

}  // namespace
}  // namespace nearfield
