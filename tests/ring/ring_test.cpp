#include <fcntl.h>
#include <gtest/gtest.h>
#include <isa-l/crc.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <atomic>
#include <cstring>
#include <limits>
#include <thread>

#include "core/error.hpp"
#include "ring/ring_output.hpp"
#include "ring/ring_support.hpp"
#include "support/images.hpp"

namespace nearfield::ring {
namespace {

constexpr std::int64_t kSecondNs = 1'000'000'000;
constexpr std::int64_t kForeverNs = std::numeric_limits<std::int64_t>::max();

class Ring : public testing::Test {
 protected:
  explicit Ring(std::uint32_t slots = 8) {
    output_ = std::make_unique<RingOutput>(RingOptions{.slots = slots}, ServerOptions{.socket = socket_});
    output_->begin(result_header(header_), {.epoch = 3});
  }
  void publish(std::uint64_t from, std::uint64_t count) {
    for (std::uint64_t sequence = from; sequence < from + count; ++sequence) {
      output_->write(frame_.make(sequence));
    }
  }
  test::SocketFolder folder_;
  std::string socket_ = folder_ / "ring.sock";
  ImagesHeader header_ = test::ring_header();
  test::TestFrame frame_{header_};
  std::unique_ptr<RingOutput> output_;
  nf_frame got_{};
  std::uint64_t skipped_ = 99;
};

TEST_F(Ring, HandsOverLayoutAndFrame) {
  const auto ring = test::open_ring(socket_);
  const nf_ring_layout& layout = *nf_ring_get_layout(ring.get());
  EXPECT_EQ(layout.planes, 1U);
  EXPECT_EQ(layout.frequencies, 2U);
  EXPECT_EQ(layout.rows, 4U);
  EXPECT_EQ(layout.columns, 3U);
  EXPECT_EQ(layout.frequencies_hz[1], 750.25);
  EXPECT_EQ(layout.planes_m[0], 0.0);
  EXPECT_EQ(layout.x_m[2], header_.x_m[2]);
  EXPECT_EQ(layout.y_m[3], header_.y_m[3]);
  EXPECT_STREQ(layout.quantity, "normal_velocity");
  EXPECT_STREQ(layout.unit, "m/s");
  EXPECT_EQ(layout.bit_rate_hz, 1'500'000U);
  EXPECT_EQ(layout.phase_reference, std::uint32_t{NF_PHASE_OF_WINDOW});
  EXPECT_EQ(nf_ring_read_latest(ring.get(), kForeverNs, &got_), NF_RING_NONE);

  const std::int64_t before_ns = nf_ring_now_ns();
  publish(41, 2);
  nf_ring_check_crc(ring.get(), 1);
  ASSERT_EQ(nf_ring_read_latest(ring.get(), kForeverNs, &got_), NF_RING_OK);
  EXPECT_TRUE(test::is_whole(layout, got_));
  EXPECT_EQ(got_.number, 2U);
  EXPECT_EQ(got_.sequence, 42U);
  EXPECT_EQ(got_.window_centre_bit_time, 42U * 1024 + 16384);
  EXPECT_EQ(got_.window_bit_times, 32768U);
  EXPECT_EQ(got_.group_delay_ns, 10'922'667U);  // 16384 / 1.5 MHz
  EXPECT_EQ(got_.stream_id, 77U);
  EXPECT_EQ(got_.valid_microphones, 1021U);
  EXPECT_EQ(got_.epoch, 3U);
  EXPECT_EQ(got_.cutoff_rad_per_m[1], 80.5F);
  EXPECT_EQ(got_.slope[0], 0.1F);
  EXPECT_EQ(got_.noise_pa[1], 1e-3F);
  EXPECT_EQ(got_.error_estimate[0], 0.04F);
  EXPECT_TRUE(std::isnan(got_.error_estimate[1]));
  EXPECT_EQ(got_.capture_tai_ns, got_.capture_mono_ns + 5);
  EXPECT_GE(got_.capture_mono_ns, before_ns);
  EXPECT_GE(got_.publish_mono_ns, got_.capture_mono_ns);
  EXPECT_GE(got_.read_mono_ns, got_.publish_mono_ns);
  EXPECT_EQ(got_.age_ns, got_.read_mono_ns - got_.capture_mono_ns);
}

TEST_F(Ring, SaysHowManyHopsAFrameDependsOn) {
  const auto memory_of = [&](std::optional<std::int64_t> memory_hops) {
    ResultHeader header = result_header(header_);
    header.memory_hops = memory_hops;
    output_->begin(header, {.epoch = 5});
    return nf_ring_get_layout(test::open_ring(socket_).get())->memory_hops;
  };
  EXPECT_EQ(memory_of(std::nullopt), NF_MEMORY_UNKNOWN);
  EXPECT_EQ(memory_of(0), 0);
  EXPECT_EQ(memory_of(60), 60);
  EXPECT_EQ(memory_of(kUnboundedMemory), NF_MEMORY_UNBOUNDED);
}

TEST_F(Ring, FindsImagesAndPixels) {
  const auto ring = test::open_ring(socket_);
  const nf_ring_layout& layout = *nf_ring_get_layout(ring.get());
  publish(5, 1);
  ASSERT_EQ(nf_ring_read_latest(ring.get(), kForeverNs, &got_), NF_RING_OK);
  const std::size_t pixel = nf_ring_pixel_at(&layout, 0.0301, 0.0449);
  EXPECT_EQ(pixel, 1U * 3 + 2);  // columns are 20 mm apart, rows 30 mm
  EXPECT_EQ(nf_ring_image(&layout, &got_, 0, 1)[pixel].re, test::expected_value(5, 12 + pixel).re);
  EXPECT_EQ(nf_ring_pixel_at(&layout, -1.0, 9.0), 3U * 3);
  EXPECT_TRUE(std::isnan(nf_ring_radiated_power_w(&layout, &got_, 0, 0))) << "of a velocity";
}

class RingWithPoints : public Ring {
 protected:
  RingWithPoints() { output_->begin(result_header(header_), {.epoch = 4}); }
  ImagesHeader header_ = test::ring_header_with_points();
  test::TestFrame frame_{header_};
};

TEST_F(RingWithPoints, HandsThemOverBesideTheImages) {
  const auto ring = test::open_ring(socket_);
  const nf_ring_layout& layout = *nf_ring_get_layout(ring.get());
  ASSERT_EQ(layout.points, 3U);
  EXPECT_EQ(layout.points_xy_m[0], 0.01);
  EXPECT_EQ(layout.points_xy_m[5], 0.09);
  output_->write(frame_.make(6));
  nf_ring_check_crc(ring.get(), 1);
  ASSERT_EQ(nf_ring_read_latest(ring.get(), kForeverNs, &got_), NF_RING_OK);
  EXPECT_TRUE(test::is_whole(layout, got_));
  EXPECT_EQ(nf_ring_points(&layout, &got_, 1, 0)[2].im, test::expected_value(6, test::kPointsFrom + 8).im);
  ASSERT_NE(got_.images, nullptr);
  EXPECT_EQ(got_.error_estimate[0], 0.04F);
}

TEST_F(RingWithPoints, ImagesStayUnreadWhenAsked) {
  const auto ring = test::open_ring(socket_);
  const nf_ring_layout& layout = *nf_ring_get_layout(ring.get());
  nf_ring_check_crc(ring.get(), 1);
  nf_ring_points_only(ring.get(), 1);
  output_->write(frame_.make(7));
  ASSERT_EQ(nf_ring_read_next(ring.get(), 0, &got_, &skipped_), NF_RING_OK);
  EXPECT_EQ(got_.images, nullptr);
  EXPECT_EQ(nf_ring_image(&layout, &got_, 1, 1), nullptr);
  EXPECT_TRUE(std::isnan(nf_ring_radiated_power_w(&layout, &got_, 0, 0)));
  EXPECT_TRUE(test::is_whole(layout, got_));
  EXPECT_EQ(got_.noise_pa[1], 1e-3F);
  ASSERT_EQ(nf_ring_reopen(ring.get()), NF_RING_OK);
  ASSERT_EQ(nf_ring_read_latest(ring.get(), kForeverNs, &got_), NF_RING_OK);
  EXPECT_EQ(got_.images, nullptr);
  nf_ring_points_only(ring.get(), 0);
  ASSERT_EQ(nf_ring_read_latest(ring.get(), kForeverNs, &got_), NF_RING_OK);
  ASSERT_NE(got_.images, nullptr);
  EXPECT_TRUE(test::is_whole(layout, got_));
}

TEST_F(RingWithPoints, OtherPointsAreAnotherRing) {
  const auto ring = test::open_ring(socket_);
  output_->begin(result_header(header_), {.epoch = 5});
  EXPECT_EQ(nf_ring_read_latest(ring.get(), kForeverNs, &got_), NF_RING_NONE);
  header_.points[1].x_m = 0.015;
  output_->begin(result_header(header_), {.epoch = 6});
  EXPECT_EQ(nf_ring_read_latest(ring.get(), kForeverNs, &got_), NF_RING_RETIRED);
  Frame frame = frame_.make(1);
  std::vector<std::span<const std::byte>> products(frame.products.begin(), frame.products.end());
  frame.products = products;
  EXPECT_NO_THROW(output_->write(frame));
  products[4] = products[4].first(products[4].size() - 8);
  EXPECT_THROW(output_->write(frame), std::invalid_argument);
  frame.products = frame_.frame.products.first(5);
  EXPECT_THROW(output_->write(frame), std::invalid_argument);
}

TEST_F(Ring, ReadsNextInOrderThenTimesOut) {
  const auto ring = test::open_ring(socket_);
  publish(100, 3);
  for (std::uint64_t sequence = 100; sequence < 103; ++sequence) {
    ASSERT_EQ(nf_ring_read_next(ring.get(), 0, &got_, &skipped_), NF_RING_OK);
    EXPECT_EQ(got_.sequence, sequence);
    EXPECT_EQ(skipped_, 0U);
  }
  EXPECT_EQ(nf_ring_read_next(ring.get(), 0, &got_, &skipped_), NF_RING_TIMEOUT);
  const std::int64_t start_ns = nf_ring_now_ns();
  EXPECT_EQ(nf_ring_read_next(ring.get(), 2'000'000, &got_, nullptr), NF_RING_TIMEOUT);
  EXPECT_GE(nf_ring_now_ns() - start_ns, 2'000'000);
}

TEST_F(Ring, CountsWhatAReaderSkipped) {
  const auto ring = test::open_ring(socket_);
  publish(0, 7);  // of 8 slots the one after the newest is the writer's
  ASSERT_EQ(nf_ring_read_next(ring.get(), 0, &got_, &skipped_), NF_RING_OK);
  EXPECT_EQ(skipped_, 0U);
  EXPECT_EQ(got_.number, 1U);
  publish(7, 100);
  ASSERT_EQ(nf_ring_read_next(ring.get(), 0, &got_, &skipped_), NF_RING_OK);
  EXPECT_EQ(got_.number, 107U - 4 + 1);  // the ring's middle
  EXPECT_EQ(skipped_, got_.number - 2);
  ASSERT_EQ(nf_ring_read_latest(ring.get(), kForeverNs, &got_), NF_RING_OK);
  EXPECT_EQ(got_.number, 107U);
  publish(107, 1);
  ASSERT_EQ(nf_ring_read_next(ring.get(), 0, &got_, &skipped_), NF_RING_OK);
  EXPECT_EQ(skipped_, 0U);
}

TEST_F(Ring, NeverDeliversAFrameOlderThanAsked) {
  const auto ring = test::open_ring(socket_);
  test::TestFrame frame(header_);
  Frame old = frame.make(1);
  old.capture_mono_ns -= kSecondNs;
  output_->write(old);
  EXPECT_EQ(nf_ring_read_latest(ring.get(), kSecondNs, &got_), NF_RING_TOO_OLD);
  EXPECT_EQ(nf_ring_read_latest(ring.get(), 3600 * kSecondNs, &got_), NF_RING_OK);
  EXPECT_GE(got_.age_ns, kSecondNs);
}

TEST_F(Ring, WakesAWaitingReader) {
  const auto ring = test::open_ring(socket_);
  std::atomic<std::uint64_t> read = 0;
  std::thread reader([&] {
    nf_frame frame;
    while (read < 200 && nf_ring_read_next(ring.get(), -1, &frame, nullptr) == NF_RING_OK) {
      read = frame.number;
    }
  });
  for (std::uint64_t sequence = 1; sequence <= 200; ++sequence) {  // the next one only when this one was read
    publish(sequence, 1);
    while (read < sequence) {
      std::this_thread::yield();
    }
  }
  reader.join();
  EXPECT_EQ(read, 200U);
}

TEST_F(Ring, ThreadsReadWholeFramesWhileItIsWritten) {
  std::atomic<bool> stop = false;
  std::atomic<std::uint64_t> whole = 0, torn = 0;
  std::vector<std::thread> readers;
  for (int i = 0; i < 3; ++i) {
    readers.emplace_back([&, i] {
      const auto ring = test::open_ring(socket_);
      const nf_ring_layout& layout = *nf_ring_get_layout(ring.get());
      nf_frame frame;
      while (!stop) {
        const nf_ring_status status = i == 0 ? nf_ring_read_latest(ring.get(), kForeverNs, &frame)
                                             : nf_ring_read_next(ring.get(), 1'000'000, &frame, nullptr);
        if (status == NF_RING_OK) {
          ++(test::is_whole(layout, frame) ? whole : torn);
        }
      }
    });
  }
  for (std::uint64_t sequence = 1; whole < 3000 || sequence < 20000; ++sequence) {
    publish(sequence, 1);
  }
  stop = true;
  for (std::thread& reader : readers) {
    reader.join();
  }
  EXPECT_EQ(torn, 0U);
}

TEST_F(Ring, CannotBeWrittenOrResizedByReaders) {
  const int memory = output_->writer()->memory();
  const std::size_t bytes = output_->writer()->bytes();
  EXPECT_EQ(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0), MAP_FAILED);
  EXPECT_EQ(write(memory, "x", 1), -1);
  EXPECT_EQ(ftruncate(memory, 0), -1);
  const int seals = fcntl(memory, F_GET_SEALS);
  EXPECT_EQ(seals & (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL), F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
  // Opened again for writing, as root or the same user could: the seal on future writes still holds.
  const FileDescriptor writable(open(("/proc/self/fd/" + std::to_string(memory)).c_str(), O_RDWR | O_CLOEXEC));
  if (writable.valid()) {
    EXPECT_EQ(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, writable.get(), 0), MAP_FAILED);
    EXPECT_EQ(write(writable.get(), "x", 1), -1);
  }
}

TEST_F(Ring, SameLayoutGoesOnInTheSameRing) {
  const auto ring = test::open_ring(socket_);
  publish(1, 1);
  ImagesHeader other_config = header_;
  other_config.config = "version: 1\n";
  output_->begin(result_header(other_config), {.epoch = 4});
  publish(2, 1);
  ASSERT_EQ(nf_ring_read_next(ring.get(), 0, &got_, nullptr), NF_RING_OK);
  ASSERT_EQ(nf_ring_read_next(ring.get(), 0, &got_, nullptr), NF_RING_OK);
  EXPECT_EQ(got_.sequence, 2U);
}

TEST_F(Ring, OtherSizesRetireTheRing) {
  const auto ring = test::open_ring(socket_);
  publish(1, 2);
  const ImagesHeader larger = test::ring_header(5, 8, 8);
  output_->begin(result_header(larger), {.epoch = 4});
  EXPECT_EQ(nf_ring_read_latest(ring.get(), kForeverNs, &got_), NF_RING_RETIRED);
  ASSERT_EQ(nf_ring_read_next(ring.get(), -1, &got_, nullptr), NF_RING_OK);
  ASSERT_EQ(nf_ring_read_next(ring.get(), -1, &got_, nullptr), NF_RING_OK);
  EXPECT_EQ(got_.sequence, 2U);
  EXPECT_EQ(nf_ring_read_next(ring.get(), -1, &got_, nullptr), NF_RING_RETIRED);
  ASSERT_EQ(nf_ring_reopen(ring.get()), NF_RING_OK);
  EXPECT_EQ(nf_ring_get_layout(ring.get())->frequencies, 5U);
  test::TestFrame frame(larger);
  output_->write(frame.make(3));
  ASSERT_EQ(nf_ring_read_next(ring.get(), -1, &got_, nullptr), NF_RING_OK);
  EXPECT_TRUE(test::is_whole(*nf_ring_get_layout(ring.get()), got_));
}

TEST_F(Ring, SurvivesARestartOfTheWriter) {
  const auto ring = test::open_ring(socket_);
  publish(1, 1);
  output_.reset();
  EXPECT_EQ(nf_ring_read_latest(ring.get(), kForeverNs, &got_), NF_RING_RETIRED);
  EXPECT_EQ(nf_ring_reopen(ring.get()), NF_RING_NO_SOCKET);
  EXPECT_EQ(nf_ring_read_latest(ring.get(), kForeverNs, &got_), NF_RING_RETIRED);  // the handle is as it was
  output_ = std::make_unique<RingOutput>(RingOptions{.slots = 8}, ServerOptions{.socket = socket_});
  EXPECT_EQ(nf_ring_reopen(ring.get()), NF_RING_NOT_READY);
  output_->begin(result_header(header_), {.epoch = 1});
  ASSERT_EQ(nf_ring_reopen(ring.get()), NF_RING_OK);
  publish(9, 1);
  ASSERT_EQ(nf_ring_read_next(ring.get(), -1, &got_, nullptr), NF_RING_OK);
  EXPECT_EQ(got_.sequence, 9U);
}

/// As its header says.
std::uint64_t epoch_of(const RingWriter& writer) {
  nf_ring_header header;
  EXPECT_EQ(pread(writer.memory(), &header, sizeof header, 0), static_cast<ssize_t>(sizeof header));
  return header.epoch;
}

TEST_F(Ring, AReaderMissesNoFrameWhenAnotherRingTakesThePlace) {
  const auto ring = test::open_ring(socket_);
  publish(1, 1);
  ASSERT_EQ(nf_ring_read_next(ring.get(), -1, &got_, nullptr), NF_RING_OK);
  const ImagesHeader larger = test::ring_header(3, 4, 4);
  output_->prepare(result_header(larger), {.epoch = 2});
  publish(2, 1);  // the epoch before goes on while the next one is prepared
  const RingWriter* const before = output_->writer();
  output_->begin(result_header(larger), {.epoch = 3});
  EXPECT_NE(output_->writer(), before);
  EXPECT_EQ(epoch_of(*output_->writer()), 2U) << "the ring that was prepared is the one that is written";
  output_->free_unused();
  test::TestFrame frame(larger);
  constexpr std::uint64_t kLast = 3 + 6;  // more than half of eight slots
  for (std::uint64_t sequence = 3; sequence <= kLast; ++sequence) {
    output_->write(frame.make(sequence));
  }
  ASSERT_EQ(nf_ring_read_next(ring.get(), -1, &got_, nullptr), NF_RING_OK);
  EXPECT_EQ(got_.sequence, 2U);
  ASSERT_EQ(nf_ring_read_next(ring.get(), -1, &got_, nullptr), NF_RING_RETIRED);
  ASSERT_EQ(nf_ring_reopen(ring.get()), NF_RING_OK);
  for (std::uint64_t sequence = 3; sequence <= kLast; ++sequence) {
    std::uint64_t skipped = 1;
    ASSERT_EQ(nf_ring_read_next(ring.get(), -1, &got_, &skipped), NF_RING_OK);
    EXPECT_EQ(got_.sequence, sequence);
    EXPECT_EQ(skipped, 0U);
  }
  ASSERT_EQ(nf_ring_reopen(ring.get()), NF_RING_OK);  // the same ring: nothing in it is new
  EXPECT_EQ(nf_ring_read_next(ring.get(), 0, &got_, nullptr), NF_RING_TIMEOUT);
}

TEST_F(Ring, APreparedRingOfOtherSizesIsNotTaken) {
  output_->prepare(result_header(test::ring_header(3, 4, 4)), {.epoch = 2});
  const ImagesHeader wanted = test::ring_header(2, 6, 4);
  output_->begin(result_header(wanted), {.epoch = 2});
  EXPECT_TRUE(output_->writer()->fits(result_header(wanted)));
}

TEST_F(Ring, AFrameOfAnotherSizeIsADefect) {
  test::TestFrame other(test::ring_header(2, 4, 4));
  EXPECT_THROW(output_->write(other.make(1)), std::invalid_argument);
}

constexpr const char* kFigures[] = {"cutoff_rad_per_m", "slope", "noise_pa", "error_estimate"};

/// The layout as a program without the library would read it.
TEST_F(Ring, LiesAsTheHeaderSays) {
  publish(11, 9);  // the ninth lies in slot 0 again
  const std::size_t bytes = output_->writer()->bytes();
  void* map = mmap(nullptr, bytes, PROT_READ, MAP_SHARED, output_->writer()->memory(), 0);
  ASSERT_NE(map, MAP_FAILED);
  const auto* base = static_cast<const unsigned char*>(map);
  nf_ring_header header;
  nf_ring_slot slot;
  std::memcpy(&header, base, sizeof header);
  std::memcpy(&slot, base + header.header_bytes, sizeof slot);
  EXPECT_EQ(std::memcmp(base, "NFFRING1", 8), 0);
  EXPECT_EQ(header.version, 3U);
  EXPECT_EQ(header.published, 9U);
  EXPECT_EQ(header.epoch, 3U);
  EXPECT_EQ(slot.lock, 18U);
  EXPECT_EQ(slot.sequence, 19U);
  EXPECT_EQ(header.header_bytes + header.slot_count * header.slot_bytes, bytes);
  EXPECT_STREQ(reinterpret_cast<const char*>(base) + header.processor, "surface");
  EXPECT_EQ(header.axes, 4U);
  ASSERT_EQ(header.products, 5U);
  const std::size_t head_bytes = header.slot_head_bytes + 6 * sizeof(std::uint32_t);  // five CRCs, padded
  std::vector<unsigned char> head(base + header.header_bytes + 16, base + header.header_bytes + head_bytes);
  EXPECT_EQ(slot.crc32c, ~crc32_iscsi(head.data(), static_cast<int>(head.size()), ~0U));
  std::size_t end = head_bytes;
  for (std::size_t i = 0; i < header.products; ++i) {
    nf_ring_product product;
    std::memcpy(&product, base + header.products_offset + i * header.product_bytes, sizeof product);
    EXPECT_EQ(product.offset, end);
    end = (product.offset + product.bytes + 7) / 8 * 8;
    const unsigned char* const values = base + header.header_bytes + product.offset;
    std::vector<unsigned char> covered(values, values + product.bytes);
    std::uint32_t crc = 0;
    std::memcpy(&crc, base + header.header_bytes + header.slot_head_bytes + i * sizeof crc, sizeof crc);
    EXPECT_EQ(crc, ~crc32_iscsi(covered.data(), static_cast<int>(covered.size()), ~0U)) << i;
    const bool is_last = i + 1 == header.products;
    EXPECT_STREQ(reinterpret_cast<const char*>(base) + product.name, is_last ? "images" : kFigures[i]);
    EXPECT_EQ(product.bytes, is_last ? 8U * 2 * 4 * 3 : 4U * 2);
  }
  EXPECT_LE(end, header.slot_bytes);
  munmap(map, bytes);
}

TEST(RingOptionsTest, LargeImagesTakeFewerSlots) {
  const RingOptions options{.slots = 64, .most_bytes = 1 << 20};
  EXPECT_EQ(RingWriter(result_header(test::ring_header(5, 32, 32)), 1, options).slots(), (1U << 20U) / 41216);
  EXPECT_EQ(RingWriter(result_header(test::ring_header(40, 64, 64)), 1, options).slots(), 4U);
  EXPECT_THROW(RingWriter(result_header(test::ring_header()), 1, {.slots = 3}), ConfigError);
  EXPECT_THROW(RingWriter(result_header(test::ring_header(0)), 1, {}), ConfigError);
}

}  // namespace
}  // namespace nearfield::ring
