#include "page/picture_feed.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <complex>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "page/picture.hpp"
#include "ring/ring_output.hpp"
#include "ring/ring_support.hpp"
#include "support/images.hpp"

namespace nearfield::page {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

template <typename Value>
Value value_at(const std::string& bytes, std::size_t offset) {
  Value value{};
  EXPECT_LE(offset + sizeof value, bytes.size());
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

/// A part of a picture.
struct Part {
  std::uint32_t product = 0;
  std::uint32_t rows = 0;
  std::string bytes;
};

std::vector<Part> parts_of(const std::string& message) {
  std::vector<Part> parts;
  std::size_t at = 24 + value_at<std::uint32_t>(message, 8);
  for (std::uint32_t i = 0; i < value_at<std::uint32_t>(message, 12); ++i) {
    const auto bytes = value_at<std::uint32_t>(message, at + 8);
    parts.push_back({value_at<std::uint32_t>(message, at), value_at<std::uint32_t>(message, at + 4),
                     message.substr(at + 16, bytes)});
    at += 16 + (bytes + 7) / 8 * 8;
  }
  EXPECT_EQ(at, message.size());
  return parts;
}

/// Images as the first processor, and a processor with a figure and a table.
class PictureFeedTest : public testing::Test {
 protected:
  void begin() {
    output_ = std::make_unique<ring::RingOutput>(ring::RingOptions{.slots = 8}, ring::ServerOptions{.socket = socket_});
    images_.processor = "surface";
    output_->prepare(images_, {.processor = 0, .epoch = 1});
    output_->begin(images_, {.processor = 0, .epoch = 1});
    output_->prepare(powers_, {.processor = 1, .epoch = 1});
    output_->begin(powers_, {.processor = 1, .epoch = 1});
  }
  bool search() { return feed_.adopt(find_rings(socket_, feed_.open_rings()), nf_ring_now_ns()); }
  std::string picture_of(const std::string& processor, const std::string& product, const FixedAxes& fixed_axes) {
    PictureFeed::Ring& ring = *feed_.find(processor);
    feed_.want(ring, {product});
    feed_.read(ring, nf_ring_now_ns());
    EXPECT_TRUE(ring.has_frame);
    return PicturePlan(*nf_ring_get_layout(ring.handle.get()), product, fixed_axes)
        .encode(7, ring.handle.get(), ring.frame, 12345);
  }

  test::SocketFolder folder_;
  std::string socket_ = folder_ / "frames.sock";
  ImagesHeader geometry_ = test::ring_header(2, 4, 3);
  ResultHeader images_ = result_header(geometry_);
  ResultHeader powers_ = test::row_power_header();
  test::TestFrame image_{geometry_};
  test::RowPowerFrame power_{powers_};
  std::unique_ptr<ring::RingOutput> output_;
  PictureFeed feed_;
};

TEST_F(PictureFeedTest, FindsTheRingsOfAllProcessors) {
  EXPECT_FALSE(search());
  EXPECT_EQ(feed_.first_status(), NF_RING_NO_SOCKET);
  begin();
  EXPECT_TRUE(search());
  EXPECT_THAT(feed_.names(), ElementsAre("surface", "row_power")) << "the first processor first";
  EXPECT_EQ(feed_.find("surface")->status, NF_RING_NONE) << "no frame yet";
  EXPECT_FALSE(search()) << "nothing is new";
}

TEST_F(PictureFeedTest, AnEndedRingIsClosedAndFoundAgain) {
  begin();
  search();
  const std::uint64_t generation = feed_.find("surface")->generation;
  output_.reset();
  feed_.look(nf_ring_now_ns());
  EXPECT_EQ(feed_.find("surface")->handle, nullptr);
  EXPECT_THAT(feed_.find("surface")->status, testing::AnyOf(NF_RING_RETIRED, NF_RING_GONE));
  EXPECT_FALSE(search());
  EXPECT_THAT(feed_.names(), ElementsAre("surface", "row_power")) << "a daemon that is away may come back";
  begin();
  EXPECT_FALSE(search()) << "the same processors";
  EXPECT_NE(feed_.find("surface")->handle, nullptr);
  EXPECT_NE(feed_.find("surface")->generation, generation);
}

TEST_F(PictureFeedTest, TheNewestFrameIsRead) {
  begin();
  search();
  for (std::uint64_t sequence = 1; sequence <= 5; ++sequence) {
    output_->write(image_.make(sequence));
  }
  const std::string message = picture_of("surface", "images", {});
  EXPECT_EQ(value_at<std::uint32_t>(message, 0), 0x4950464EU);
  EXPECT_EQ(value_at<std::uint32_t>(message, 4), 7U);
  EXPECT_EQ(value_at<std::int64_t>(message, 16), 12345);
  const auto head = value_at<nf_ring_slot>(message, 24);
  EXPECT_EQ(head.lock, 2U * 5U) << "the number in the ring";
  EXPECT_EQ(head.sequence, 5U);
  EXPECT_EQ(head.capture_mono_ns, image_.frame.capture_mono_ns);
  EXPECT_EQ(head.valid_microphones, 1021U);
}

// The frames of half a second were counted: those of 1 Hz read 2, 0, 2, 0 a second, and the page turned red at each 0.
TEST_F(PictureFeedTest, ASlowProcessorKeepsItsRateBetweenItsFrames) {
  begin();
  search();
  constexpr std::int64_t kHalfSecondNs = 500'000'000;
  const std::int64_t begin_ns = nf_ring_now_ns() - 60'000'000'000;
  const PictureFeed::Ring& ring = *feed_.find("surface");
  std::int64_t look_ns = begin_ns;
  const auto look = [&] {
    feed_.look(look_ns);
    look_ns += kHalfSecondNs;
  };
  for (std::uint64_t sequence = 1; sequence <= 5; ++sequence) {
    image_.make(sequence);
    image_.frame.capture_mono_ns = begin_ns + static_cast<std::int64_t>(sequence) * 2 * kHalfSecondNs;
    output_->write(image_.frame);
    look();
    EXPECT_DOUBLE_EQ(ring.rate_hz, sequence == 1 ? 0.0 : 1.0) << "one frame has no interval";
    look();
    EXPECT_DOUBLE_EQ(ring.rate_hz, sequence == 1 ? 0.0 : 1.0) << sequence;
  }
  for (int i = 0; i < 3; ++i) {
    look();
    EXPECT_DOUBLE_EQ(ring.rate_hz, 1.0) << "up to 2 s after the newest frame was seen";
  }
  look();
  look();
  EXPECT_EQ(ring.rate_hz, 0.0) << "none come any more";
}

// Looks that come late do not change it: frames are measured by their capture.
TEST_F(PictureFeedTest, AFastProcessorsRateIsThatOfItsCaptures) {
  begin();
  search();
  const std::int64_t begin_ns = nf_ring_now_ns() - 60'000'000'000;
  const PictureFeed::Ring& ring = *feed_.find("surface");
  std::int64_t look_ns = begin_ns;
  for (std::uint64_t sequence = 1; sequence <= 60; ++sequence) {
    image_.make(sequence);
    image_.frame.capture_mono_ns = begin_ns + static_cast<std::int64_t>(sequence) * 8'000'000;
    output_->write(image_.frame);
    if (sequence % 20 == 0) {
      look_ns += static_cast<std::int64_t>(sequence) * 10'000'000;
      feed_.look(look_ns);
      EXPECT_DOUBLE_EQ(ring.rate_hz, sequence == 20 ? 0.0 : 125.0);
    }
  }
}

// Every way to fix some of the four axes, against an index computed from the formula of the array's order.
TEST_F(PictureFeedTest, SlicesAreTheValuesOfTheirAxes) {
  begin();
  search();
  output_->write(image_.make(9));
  const nf_ring_layout& layout = *nf_ring_get_layout(feed_.find("surface")->handle.get());
  const nf_product& product = layout.products[nf_ring_find_product(feed_.find("surface")->handle.get(), "images")];
  ASSERT_EQ(product.axis_count, 4U);
  for (unsigned fixed = 0; fixed < 16U; ++fixed) {
    FixedAxes fixed_axes;
    for (std::uint32_t axis = 0; axis < 4; ++axis) {
      if ((fixed >> axis & 1U) != 0U) {
        fixed_axes[product.axes[axis]->name] = product.axes[axis]->size - 1;
      }
    }
    std::vector<std::complex<float>> expected;
    for (std::size_t i = 0; i < product.values; ++i) {
      std::size_t rest = i;
      bool is_in = true;
      for (std::uint32_t axis = 4; axis-- > 0;) {
        const std::size_t index = rest % product.axes[axis]->size;
        rest /= product.axes[axis]->size;
        is_in = is_in && ((fixed >> axis & 1U) == 0U || index + 1 == product.axes[axis]->size);
      }
      if (is_in) {
        expected.push_back(image_.images.images[i]);
      }
    }
    const std::vector<Part> parts = parts_of(picture_of("surface", "images", fixed_axes));
    ASSERT_EQ(parts.front().bytes.size(), expected.size() * sizeof expected.front()) << fixed;
    EXPECT_EQ(std::memcmp(parts.front().bytes.data(), expected.data(), parts.front().bytes.size()), 0) << fixed;
  }
}

TEST_F(PictureFeedTest, TablesGoWholeWithTheirRowsAndFiguresAlong) {
  begin();
  search();
  output_->write(power_.make(7));  // three peaks
  const std::vector<Part> parts = parts_of(picture_of("row_power", "peaks", {}));
  ASSERT_EQ(parts.size(), 2U);
  EXPECT_EQ(parts[0].product, 2U);
  EXPECT_EQ(parts[0].rows, 3U);
  ASSERT_EQ(parts[0].bytes.size(), 16U + 24U) << "three uint32, padded, and three float64";
  for (std::size_t row = 0; row < 3; ++row) {
    EXPECT_EQ(value_at<std::uint32_t>(parts[0].bytes, 4 * row), power_.peaks.row[row]);
    EXPECT_EQ(value_at<double>(parts[0].bytes, 16 + 8 * row), power_.peaks.power[row]);
  }
  EXPECT_EQ(parts[1].product, 1U) << "the figure";
  EXPECT_EQ(value_at<double>(parts[1].bytes, 0), power_.loudest);
}

TEST_F(PictureFeedTest, WhatTheRingDoesNotHaveIsRefused) {
  begin();
  search();
  const nf_ring_layout& layout = *nf_ring_get_layout(feed_.find("surface")->handle.get());
  const auto refusal = [&](const std::string& product, const FixedAxes& fixed_axes) -> std::string {
    try {
      const PicturePlan plan(layout, product, fixed_axes);
    } catch (const UsageError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(refusal("nothing", {}), HasSubstr("product: expected one of surface, which has ["));
  EXPECT_THAT(refusal("images", {{"w", 0}}), HasSubstr("found \"w\""));
  EXPECT_THAT(refusal("images", {{"x", 3}}), HasSubstr("select.x: expected an index below 3, found 3"));
  EXPECT_EQ(refusal("images", {{"x", 2}}), "");
}

TEST_F(PictureFeedTest, TheLayoutDescribesAxesAndProducts) {
  begin();
  search();
  const nlohmann::json layout = layout_json(*nf_ring_get_layout(feed_.find("row_power")->handle.get()));
  EXPECT_EQ(layout["processor"], "row_power");
  EXPECT_EQ(layout["axes"][0],
            (nlohmann::json{{"name", "frequency"}, {"unit", "Hz"}, {"components", 1}, {"values", {500.0, 750.25}}}));
  EXPECT_EQ(layout["products"][0]["axes"], (nlohmann::json{"frequency", "y"}));
  EXPECT_EQ(layout["products"][0]["type"], "float32");
  EXPECT_EQ(layout["products"][1]["form"], "figure");
  EXPECT_EQ(layout["products"][2]["form"], "table");
  EXPECT_EQ(layout["products"][2]["most_rows"], 3);
  EXPECT_EQ(layout["products"][2]["columns"][1],
            (nlohmann::json{{"name", "power"}, {"unit", "W/m"}, {"type", "float64"}}));
}

}  // namespace
}  // namespace nearfield::page
