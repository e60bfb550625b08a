#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <limits>
#include <thread>

#include "core/error.hpp"
#include "ring/ring_output.hpp"
#include "ring/ring_support.hpp"
#include "support/images.hpp"

namespace nearfield::ring {
namespace {

constexpr std::int64_t kForeverNs = std::numeric_limits<std::int64_t>::max();

test::RingHandle open_processor(const std::string& socket, const std::string& processor) {
  nf_ring* ring = nullptr;
  EXPECT_EQ(nf_ring_open_processor(socket.c_str(), processor.c_str(), &ring), NF_RING_OK);
  return test::RingHandle(ring);
}

/// A run of two processors: images, and powers of rows.
class Products : public testing::Test {
 protected:
  Products() {
    output_.begin(result_header(images_), {.processor = 0, .epoch = 1});
    output_.begin(powers_, {.processor = 1, .epoch = 1});
  }
  test::SocketFolder folder_;
  std::string socket_ = folder_ / "frames.sock";
  ImagesHeader images_ = test::ring_header_with_points();
  ResultHeader powers_ = test::row_power_header();
  test::TestFrame image_frame_{images_};
  test::RowPowerFrame power_frame_{powers_};
  RingOutput output_{{.slots = 8}, {.socket = socket_}};
  nf_frame got_{};
  std::uint64_t skipped_ = 99;
};

TEST_F(Products, AreDescribedAndReadByTheirNames) {
  const auto ring = test::open_ring(folder_ / "frames.row_power.sock");
  const nf_ring_layout& layout = *nf_ring_get_layout(ring.get());
  EXPECT_STREQ(layout.processor, "row_power");
  ASSERT_EQ(layout.axis_count, 2U);
  EXPECT_STREQ(layout.axes[1].name, "y");
  EXPECT_STREQ(layout.axes[1].unit, "m");
  EXPECT_EQ(layout.axes[1].components, 1U);
  ASSERT_EQ(layout.product_count, 3U);
  ASSERT_EQ(nf_ring_find_product(ring.get(), "row_power"), 0);
  const nf_product& power = *nf_ring_product_at(ring.get(), 0);
  EXPECT_STREQ(power.quantity, "power of a row");
  EXPECT_STREQ(power.unit, "W/m");
  EXPECT_EQ(power.form, std::uint32_t{NF_FORM_ARRAY});
  EXPECT_EQ(power.type, std::uint32_t{NF_TYPE_FLOAT32});
  ASSERT_EQ(power.axis_count, 2U);
  EXPECT_STREQ(power.axes[0]->name, "frequency");
  EXPECT_EQ(power.axes[0]->values[1], 750.25);
  EXPECT_EQ(power.axes[1]->size, 4U);
  EXPECT_EQ(power.values, 8U);
  const nf_product& loudest = *nf_ring_product_at(ring.get(), 1);
  EXPECT_EQ(loudest.form, std::uint32_t{NF_FORM_FIGURE});
  EXPECT_EQ(loudest.axis_count, 0U);
  EXPECT_EQ(loudest.values, 1U);
  const nf_product& peaks = *nf_ring_product_at(ring.get(), 2);
  EXPECT_EQ(peaks.form, std::uint32_t{NF_FORM_TABLE});
  EXPECT_EQ(peaks.most_rows, 3U);
  ASSERT_EQ(peaks.column_count, 2U);
  EXPECT_STREQ(peaks.columns[1].name, "power");
  EXPECT_STREQ(peaks.columns[1].unit, "W/m");
  EXPECT_EQ(peaks.columns[1].type, std::uint32_t{NF_TYPE_FLOAT64});
  EXPECT_EQ(nf_ring_product_at(ring.get(), 3), nullptr);
  EXPECT_EQ(nf_ring_find_product(ring.get(), "images"), -1);

  output_.write(power_frame_.make(6));
  nf_ring_check_crc(ring.get(), 1);
  ASSERT_EQ(nf_ring_read_next(ring.get(), 0, &got_, &skipped_), NF_RING_OK);
  EXPECT_EQ(got_.sequence, 6U);
  const auto* values = static_cast<const float*>(nf_frame_product(ring.get(), &got_, 0));
  for (std::size_t i = 0; i < power.values; ++i) {
    EXPECT_EQ(values[i], test::RowPowerFrame::value(6, i)) << i;
  }
  EXPECT_EQ(*static_cast<const double*>(nf_frame_product(ring.get(), &got_, 1)), 506.0);
  EXPECT_EQ(nf_frame_rows(ring.get(), &got_, 2), 2U);
  EXPECT_EQ(static_cast<const std::uint32_t*>(nf_frame_column(ring.get(), &got_, 2, 0))[1], 7U);
  EXPECT_EQ(static_cast<const double*>(nf_frame_column(ring.get(), &got_, 2, 1))[1], 6.5);
  EXPECT_EQ(nf_frame_column(ring.get(), &got_, 2, 2), nullptr);
  EXPECT_EQ(nf_frame_rows(ring.get(), &got_, 0), 0U) << "no table";
  EXPECT_EQ(nf_frame_column(ring.get(), &got_, 0, 0), nullptr);
  EXPECT_EQ(nf_frame_product(ring.get(), &got_, 3), nullptr);
}

TEST_F(Products, WithoutImagesHaveNoneOfTheirMembers) {
  const auto ring = open_processor(socket_, "row_power");
  const nf_ring_layout& layout = *nf_ring_get_layout(ring.get());
  EXPECT_EQ(layout.frequencies, 2U);
  EXPECT_EQ(layout.rows, 4U);
  EXPECT_EQ(layout.planes + layout.columns + layout.points, 0U);
  EXPECT_EQ(layout.x_m, nullptr);
  EXPECT_EQ(layout.points_xy_m, nullptr);
  EXPECT_STREQ(layout.quantity, "");
  output_.write(power_frame_.make(1));
  ASSERT_EQ(nf_ring_read_latest(ring.get(), kForeverNs, &got_), NF_RING_OK);
  EXPECT_EQ(got_.images, nullptr);
  EXPECT_EQ(got_.points, nullptr);
  EXPECT_EQ(got_.cutoff_rad_per_m, nullptr);
  EXPECT_EQ(got_.radiated_power_w, nullptr);
  EXPECT_EQ(nf_ring_image(&layout, &got_, 0, 0), nullptr);
  EXPECT_EQ(nf_ring_points(&layout, &got_, 0, 0), nullptr);
  EXPECT_TRUE(std::isnan(nf_ring_radiated_power_w(&layout, &got_, 0, 0)));
}

// A product of the name of an image's figure, but of other axes or another type, is no such figure.
TEST_F(Products, OfKnownNamesAreWhatTheyAreByAxesAndType) {
  ResultHeader header = test::row_power_header();
  header.products[0].name = "slope";
  header.products[1].name = "cutoff_rad_per_m";
  output_.begin(header, {.processor = 1, .epoch = 2});
  const auto ring = open_processor(socket_, "row_power");
  output_.write(power_frame_.make(1));
  ASSERT_EQ(nf_ring_read_latest(ring.get(), kForeverNs, &got_), NF_RING_OK);
  EXPECT_EQ(got_.slope, nullptr);
  EXPECT_EQ(got_.cutoff_rad_per_m, nullptr);
  EXPECT_NE(got_.products[0], nullptr);
}

TEST_F(Products, AreReadAloneWhenSelected) {
  const auto ring = open_processor(socket_, "row_power");
  nf_ring_check_crc(ring.get(), 1);
  output_.write(power_frame_.make(3));
  ASSERT_EQ(nf_ring_read_next(ring.get(), 0, &got_, nullptr), NF_RING_OK);
  std::string name = "peaks";
  const char* names[] = {name.c_str()};
  ASSERT_EQ(nf_ring_select(ring.get(), names, 1), NF_RING_OK);
  name = "xxxxx";  // they are copied
  EXPECT_NE(nf_frame_product(ring.get(), &got_, 0), nullptr) << "of a frame that was read before";
  output_.write(power_frame_.make(7));
  ASSERT_EQ(nf_ring_read_next(ring.get(), 0, &got_, nullptr), NF_RING_OK);
  EXPECT_EQ(nf_frame_product(ring.get(), &got_, 0), nullptr);
  EXPECT_EQ(nf_frame_product(ring.get(), &got_, 1), nullptr);
  EXPECT_EQ(nf_frame_rows(ring.get(), &got_, 2), 3U);
  EXPECT_EQ(got_.sequence, 7U);

  const char* unknown[] = {"row_power", "images"};
  EXPECT_EQ(nf_ring_select(ring.get(), unknown, 2), NF_RING_NO_PRODUCT);
  const std::vector<const char*> same(8, names[0]);
  EXPECT_EQ(nf_ring_select(ring.get(), same.data(), same.size()), NF_RING_NO_PRODUCT) << "more than there are";
  EXPECT_EQ(nf_ring_select(ring.get(), same.data(), std::size_t{1} << 61U), NF_RING_NO_PRODUCT);
  const char* none[] = {nullptr};
  EXPECT_EQ(nf_ring_select(ring.get(), none, 1), NF_RING_NO_PRODUCT);
  ASSERT_EQ(nf_ring_read_latest(ring.get(), kForeverNs, &got_), NF_RING_OK);
  EXPECT_EQ(got_.products[0], nullptr) << "as it was";
  EXPECT_NE(got_.products[2], nullptr);

  ResultHeader shorter = test::row_power_header(3);
  std::swap(shorter.products[1], shorter.products[2]);
  output_.begin(shorter, {.processor = 1, .epoch = 2});
  ASSERT_EQ(nf_ring_reopen(ring.get()), NF_RING_OK);
  ASSERT_EQ(nf_ring_select(ring.get(), names, 0), NF_RING_OK);
  test::RowPowerFrame frame(shorter);
  frame.swap_figure_and_table();
  output_.write(frame.make(8));
  ASSERT_EQ(nf_ring_read_latest(ring.get(), kForeverNs, &got_), NF_RING_OK);
  EXPECT_EQ(got_.products[1], nullptr) << "heads alone";
  ASSERT_EQ(nf_ring_select(ring.get(), nullptr, 0), NF_RING_OK);
  ASSERT_EQ(nf_ring_read_latest(ring.get(), kForeverNs, &got_), NF_RING_OK);
  EXPECT_NE(got_.products[0], nullptr);
  EXPECT_NE(got_.products[2], nullptr);
}

TEST_F(Products, StaySelectedByTheirNamesInTheNextRing) {
  const auto ring = open_processor(socket_, "row_power");
  const char* names[] = {"peaks", "loudest"};
  ASSERT_EQ(nf_ring_select(ring.get(), names, 2), NF_RING_OK);
  ResultHeader next = test::row_power_header(3);
  std::swap(next.products[1], next.products[2]);
  next.products[2].name = "quietest";
  output_.begin(next, {.processor = 1, .epoch = 2});
  ASSERT_EQ(nf_ring_reopen(ring.get()), NF_RING_OK);
  test::RowPowerFrame frame(next);
  frame.swap_figure_and_table();
  output_.write(frame.make(6));
  ASSERT_EQ(nf_ring_read_next(ring.get(), 0, &got_, nullptr), NF_RING_OK);
  EXPECT_EQ(got_.products[0], nullptr);
  EXPECT_EQ(nf_frame_rows(ring.get(), &got_, 1), 2U);
  EXPECT_EQ(got_.products[2], nullptr);
}

TEST_F(Products, OfImagesAreSelectedToo) {
  const auto ring = test::open_ring(socket_);
  const char* names[] = {"slope", "points"};
  ASSERT_EQ(nf_ring_select(ring.get(), names, 2), NF_RING_OK);
  nf_ring_check_crc(ring.get(), 1);
  output_.write(image_frame_.make(5));
  ASSERT_EQ(nf_ring_read_next(ring.get(), 0, &got_, nullptr), NF_RING_OK);
  EXPECT_EQ(got_.images, nullptr);
  EXPECT_EQ(got_.error_estimate, nullptr);
  EXPECT_EQ(got_.slope[1], 0.1F);
  EXPECT_TRUE(test::is_whole(*nf_ring_get_layout(ring.get()), got_));
}

TEST_F(Products, HaveTheRadiatedPowerWithAndWithoutImages) {
  ImagesHeader header = test::ring_header();
  header.quantity = "active_intensity";
  header.unit = "W/m^2";
  output_.begin(result_header(header), {.processor = 0, .epoch = 2});
  const auto ring = test::open_ring(socket_);
  const nf_ring_layout& layout = *nf_ring_get_layout(ring.get());
  test::TestFrame frame(header);
  output_.write(frame.make(5));
  ASSERT_EQ(nf_ring_read_latest(ring.get(), kForeverNs, &got_), NF_RING_OK);
  const double power_w = nf_ring_radiated_power_w(&layout, &got_, 0, 1);
  EXPECT_GT(power_w, 0.0);
  nf_ring_points_only(ring.get(), 1);
  ASSERT_EQ(nf_ring_read_latest(ring.get(), kForeverNs, &got_), NF_RING_OK);
  ASSERT_EQ(got_.images, nullptr);
  EXPECT_EQ(nf_ring_radiated_power_w(&layout, &got_, 0, 1), static_cast<double>(static_cast<float>(power_w)));
}

TEST_F(Products, ProcessorsAreFoundByTheirNames) {
  EXPECT_STREQ(nf_ring_get_layout(open_processor(socket_, "row_power").get())->processor, "row_power");
  EXPECT_STREQ(nf_ring_get_layout(open_processor(socket_, "surface").get())->processor, "surface");
  nf_ring* ring = nullptr;
  EXPECT_EQ(nf_ring_open_processor(socket_.c_str(), "sphere", &ring), NF_RING_NO_SOCKET);
  EXPECT_EQ(ring, nullptr);
  EXPECT_EQ(nf_ring_open_processor(socket_.c_str(), std::string(200, 'x').c_str(), &ring), NF_RING_SYSTEM);
  EXPECT_EQ(nf_ring_format_at(socket_.c_str()), NF_RING_VERSION);
  EXPECT_EQ(nf_ring_format_at((folder_ / "none.sock").c_str()), 0U);
}

TEST_F(Products, CountReadersOfAllProcessors) {
  const auto first = test::open_ring(socket_);
  const auto second = open_processor(socket_, "row_power");
  while (output_.readers() != 2) {
    std::this_thread::yield();
  }
}

// The one processor's new sizes are none of the other's business: its reader goes on in the same ring.
TEST_F(Products, AReaderMissesNoFrameWhenAnotherProcessorChanges) {
  const auto ring = open_processor(socket_, "row_power");
  const auto other = test::open_ring(socket_);
  const std::uint64_t ring_id = nf_ring_get_layout(ring.get())->ring_id;
  constexpr std::uint64_t kChange = 50;
  constexpr std::uint64_t kLast = 100;
  std::atomic<std::uint64_t> read = 0;
  std::thread reader([&] {
    nf_frame frame;
    std::uint64_t skipped = 0;
    while (read < kLast && nf_ring_read_next(ring.get(), 10'000'000'000, &frame, &skipped) == NF_RING_OK) {
      EXPECT_EQ(frame.sequence, read + 1);
      EXPECT_EQ(skipped, 0U);
      read = frame.sequence;
    }
  });
  const ImagesHeader larger = test::ring_header(5, 8, 8);
  test::TestFrame larger_frame(larger);
  for (std::uint64_t sequence = 1; sequence <= kLast; ++sequence) {
    if (sequence == kChange) {
      output_.prepare(result_header(larger), {.processor = 0, .epoch = 2});
      output_.prepare(powers_, {.processor = 1, .epoch = 2});
      output_.begin(result_header(larger), {.processor = 0, .epoch = 2});
      output_.begin(powers_, {.processor = 1, .epoch = 2});
      output_.free_unused();
    }
    output_.write(sequence < kChange ? image_frame_.make(sequence) : larger_frame.make(sequence));
    output_.write(power_frame_.make(sequence));
    while (sequence > read + 4 && read < kLast) {  // a reader that keeps up
      std::this_thread::yield();
    }
  }
  reader.join();
  EXPECT_EQ(read, kLast);
  nf_ring_status status = NF_RING_OK;
  while (status == NF_RING_OK) {
    status = nf_ring_read_next(other.get(), 0, &got_, nullptr);
  }
  EXPECT_EQ(status, NF_RING_RETIRED);
  EXPECT_EQ(got_.sequence, kChange - 1);
  ASSERT_EQ(nf_ring_reopen(ring.get()), NF_RING_OK);
  EXPECT_EQ(nf_ring_get_layout(ring.get())->ring_id, ring_id);
}

TEST_F(Products, AProcessorThatTheNextEpochLacksIsGone) {
  const auto ring = open_processor(socket_, "row_power");
  output_.write(power_frame_.make(1));
  output_.begin(result_header(images_), {.processor = 0, .epoch = 2});
  EXPECT_EQ(nf_ring_read_latest(ring.get(), kForeverNs, &got_), NF_RING_OK);
  output_.free_unused();
  EXPECT_EQ(nf_ring_read_latest(ring.get(), kForeverNs, &got_), NF_RING_RETIRED);
  EXPECT_EQ(nf_ring_reopen(ring.get()), NF_RING_NO_SOCKET);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "frames.row_power.sock"));
  EXPECT_THROW(output_.write(power_frame_.make(2)), std::logic_error);
  EXPECT_EQ(nf_ring_read_latest(test::open_ring(socket_).get(), kForeverNs, &got_), NF_RING_NONE);
}

TEST_F(Products, AProcessorThatWasPreparedInVainLeavesNothing) {
  ResultHeader sphere = test::row_power_header();
  sphere.processor = "sphere";
  output_.prepare(result_header(images_), {.processor = 0, .epoch = 2});
  output_.prepare(sphere, {.processor = 1, .epoch = 2});
  nf_ring* ring = nullptr;
  EXPECT_EQ(nf_ring_open_processor(socket_.c_str(), "sphere", &ring), NF_RING_NOT_READY);
  output_.free_unused();
  EXPECT_EQ(nf_ring_open_processor(socket_.c_str(), "sphere", &ring), NF_RING_NO_SOCKET);
  output_.write(power_frame_.make(1));
  EXPECT_EQ(nf_ring_read_latest(open_processor(socket_, "row_power").get(), kForeverNs, &got_), NF_RING_OK);
}

// Processors keep their sockets by their names, whatever their places in the run are; the first one has the first.
TEST_F(Products, ProcessorsMayChangePlaces) {
  ResultHeader sphere = test::row_power_header();
  sphere.processor = "sphere";
  output_.begin(sphere, {.processor = 2, .epoch = 1});
  const auto ring = open_processor(socket_, "row_power");
  output_.begin(result_header(images_), {.processor = 0, .epoch = 2});
  output_.begin(sphere, {.processor = 1, .epoch = 2});
  output_.begin(powers_, {.processor = 2, .epoch = 2});
  output_.free_unused();
  power_frame_.frame.processor = 2;
  output_.write(power_frame_.make(9));
  ASSERT_EQ(nf_ring_read_next(ring.get(), 0, &got_, nullptr), NF_RING_OK);
  EXPECT_EQ(got_.sequence, 9U);
  EXPECT_EQ(nf_ring_read_latest(open_processor(socket_, "sphere").get(), kForeverNs, &got_), NF_RING_NONE);
}

TEST_F(Products, ThatTheFormatHasNoRoomForAreRefused) {
  ResultHeader header = test::row_power_header(1);
  header.products[0].axes.assign(17, "y");
  EXPECT_THAT([&] { output_.begin(header, {.processor = 1, .epoch = 2}); },
              testing::ThrowsMessage<ConfigError>(testing::HasSubstr("at most 16 axes in row_power, found 17")));
  header = test::row_power_header();
  header.products[0].quantity = std::string(256, 'q');
  EXPECT_THROW(output_.begin(header, {.processor = 1, .epoch = 2}), ConfigError);
  header.products[0].quantity.pop_back();
  EXPECT_NO_THROW(output_.begin(header, {.processor = 1, .epoch = 2}));
  EXPECT_EQ(std::string(nf_ring_product_at(open_processor(socket_, "row_power").get(), 0)->quantity).size(), 255U);
  header.products[0].axes = {"z"};
  EXPECT_THROW(output_.begin(header, {.processor = 1, .epoch = 3}), ConfigError);
  header = test::row_power_header();
  header.processor = "../row";
  EXPECT_THROW(output_.begin(header, {.processor = 1, .epoch = 3}), ConfigError);
  output_.write(power_frame_.make(1));  // what was begun before goes on
}

TEST(SocketOfProcessor, LiesBesideTheFirst) {
  EXPECT_EQ(socket_of_processor("/run/nearfield/frames.sock", "row_power"), "/run/nearfield/frames.row_power.sock");
  EXPECT_EQ(socket_of_processor("ring", "a"), "ring.a");
  EXPECT_EQ(socket_of_processor(".sock", "a"), ".sock.a");
}

}  // namespace
}  // namespace nearfield::ring
