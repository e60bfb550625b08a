#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <atomic>
#include <cstring>
#include <functional>
#include <limits>
#include <thread>

#include "ring/ring_server.hpp"
#include "ring/ring_writer.hpp"
#include "ring_support.hpp"

namespace nearfield::ring {
namespace {

constexpr std::int64_t kForeverNs = std::numeric_limits<std::int64_t>::max();

/// A copy of a true ring with five frames, which a test may spoil; the reader gets it as it gets a true one.
class ForgedRing : public testing::Test {
 protected:
  ForgedRing() {
    const ImagesHeader header = test::ring_header_with_points();
    RingWriter writer(result_header(header), 1, {.slots = 4});
    test::TestFrame frame(header);
    for (std::uint64_t sequence = 1; sequence <= 5; ++sequence) {
      writer.write(frame.make(sequence));
    }
    bytes_ = writer.bytes();
    memory_ = FileDescriptor(memfd_create("forged-ring", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    EXPECT_EQ(ftruncate(memory_.get(), static_cast<off_t>(bytes_)), 0);
    map_ = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, memory_.get(), 0);
    void* original = mmap(nullptr, bytes_, PROT_READ, MAP_SHARED, writer.memory(), 0);
    std::memcpy(map_, original, bytes_);
    munmap(original, bytes_);
  }
  ~ForgedRing() override { munmap(map_, bytes_); }

  nf_ring_status open() {
    server_ = std::make_unique<RingServer>(ServerOptions{.socket = socket_});
    server_->offer(memory_.get());
    nf_ring* ring = nullptr;
    const nf_ring_status status = nf_ring_open(socket_.c_str(), &ring);
    ring_.reset(ring);
    return status;
  }
  void seal() { EXPECT_EQ(fcntl(memory_.get(), F_ADD_SEALS, F_SEAL_SHRINK), 0); }
  nf_ring_header& header() { return *static_cast<nf_ring_header*>(map_); }
  nf_ring_slot& slot_of(std::uint64_t number) {
    auto* place = static_cast<std::byte*>(map_) + header().header_bytes + (number - 1) % 4 * header().slot_bytes;
    return *reinterpret_cast<nf_ring_slot*>(place);
  }
  test::SocketFolder folder_;
  std::string socket_ = folder_ / "ring.sock";
  std::size_t bytes_ = 0;
  FileDescriptor memory_;
  void* map_ = nullptr;
  std::unique_ptr<RingServer> server_;
  test::RingHandle ring_;
  nf_frame frame_{};
};

TEST_F(ForgedRing, ReadsTheCopyAsItStands) {
  seal();
  ASSERT_EQ(open(), NF_RING_OK);
  nf_ring_check_crc(ring_.get(), 1);
  ASSERT_EQ(nf_ring_read_latest(ring_.get(), kForeverNs, &frame_), NF_RING_OK);
  EXPECT_EQ(frame_.sequence, 5U);
}

TEST_F(ForgedRing, AFrameThatIsBeingWrittenIsNotAccepted) {
  seal();
  ASSERT_EQ(open(), NF_RING_OK);
  for (const std::uint64_t lock : {std::uint64_t{9}, std::uint64_t{17}, std::uint64_t{18}, std::uint64_t{2}}) {
    slot_of(5).lock = lock;  // in writing; overwritten in part; overwritten; not yet written
    EXPECT_EQ(nf_ring_read_latest(ring_.get(), kForeverNs, &frame_), NF_RING_TORN) << lock;
  }
  header().published = 6;
  EXPECT_EQ(nf_ring_read_next(ring_.get(), 0, &frame_, nullptr), NF_RING_TORN);
}

TEST_F(ForgedRing, TheCrcFindsOneBit) {
  seal();
  ASSERT_EQ(open(), NF_RING_OK);
  reinterpret_cast<unsigned char*>(&slot_of(5))[header().images_offset + 17] ^= 4U;
  EXPECT_EQ(nf_ring_read_latest(ring_.get(), kForeverNs, &frame_), NF_RING_OK);
  nf_ring_check_crc(ring_.get(), 1);
  EXPECT_EQ(nf_ring_read_latest(ring_.get(), kForeverNs, &frame_), NF_RING_CORRUPT);
  nf_ring_points_only(ring_.get(), 1);  // it lies in an image
  EXPECT_EQ(nf_ring_read_latest(ring_.get(), kForeverNs, &frame_), NF_RING_OK);
  reinterpret_cast<unsigned char*>(&slot_of(5))[header().points_offset + 17] ^= 4U;
  EXPECT_EQ(nf_ring_read_latest(ring_.get(), kForeverNs, &frame_), NF_RING_CORRUPT);
}

TEST_F(ForgedRing, MemoryThatCouldShrinkIsRefused) { EXPECT_EQ(open(), NF_RING_BAD); }

TEST_F(ForgedRing, SizesThatDoNotFitAreRefused) {
  seal();
  const nf_ring_header good = header();
  const std::vector<std::function<void(nf_ring_header&)>> spoils = {
      [](auto& h) { h.magic ^= 1U; },
      [](auto& h) { h.version = 1; },
      [](auto& h) { h.version = 3; },
      [](auto& h) { h.header_bytes += 64; },
      [](auto& h) { h.header_bytes = 0xFFFFFFC0U; },
      [](auto& h) { h.slot_bytes *= 2; },
      [](auto& h) { h.slot_bytes = ~std::uint64_t{63}; },
      [](auto& h) { h.slot_count = 1; },
      [](auto& h) { h.slot_count = 5; },
      [](auto& h) { h.planes = 0; },
      [](auto& h) { h.planes = 1U << 20U; },
      [](auto& h) { h.frequencies = 0xFFFFFFFFU; },
      [](auto& h) { h.rows = 500; },
      [](auto& h) { h.rows = h.columns = h.planes = h.frequencies = 1U << 16U; },
      [](auto& h) { h.x_offset = h.header_bytes; },
      [](auto& h) { h.y_offset = 8; },
      [](auto& h) { h.frequencies_offset = 0xFFFFFFF8U; },
      [](auto& h) { h.planes_offset += 4; },
      [](auto& h) { h.points = 1000; },
      [](auto& h) { h.points = 0xFFFFFFFFU; },
      [](auto& h) { h.points_xy_offset = h.header_bytes; },
      [](auto& h) { h.points_offset = 136; },
      [](auto& h) { h.points_offset += 4; },
      [](auto& h) { h.points_offset += 8; },
      [](auto& h) { h.images_offset = 120; },
      [](auto& h) { h.images_offset += 1U << 16U; },
  };
  for (std::size_t i = 0; i < spoils.size(); ++i) {
    header() = good;
    spoils[i](header());
    EXPECT_EQ(open(), NF_RING_BAD) << "spoil " << i;
    server_.reset();
  }
}

/// 2^32 - 1 slots of 2^34 + 64 bytes multiply to a small number in 64 bits; the memory is as large as that number says.
TEST_F(ForgedRing, SizesThatOverflowAreRefused) {
  constexpr std::uint64_t kSlotBytes = (std::uint64_t{1} << 34U) + 64;
  const std::uint32_t slots = 0xFFFFFFFFU;
  header().slot_bytes = kSlotBytes;
  header().slot_count = slots;
  const std::uint64_t wrapped = header().header_bytes + slots * kSlotBytes;
  ASSERT_GT(wrapped, kSlotBytes) << "else another check would refuse it";
  ASSERT_EQ(ftruncate(memory_.get(), static_cast<off_t>(wrapped)), 0) << "no page of it is ever touched";
  seal();
  EXPECT_EQ(open(), NF_RING_BAD);
}

// A ring that was never written would else cost the reader memory for each of its pages.
TEST_F(ForgedRing, HolesAreNotFilled) {
  constexpr std::uint32_t kSlots = 1U << 22U;
  header().slot_count = kSlots;
  const std::uint64_t bytes = header().header_bytes + kSlots * header().slot_bytes;
  ASSERT_EQ(ftruncate(memory_.get(), static_cast<off_t>(bytes)), 0);
  seal();
  ASSERT_EQ(open(), NF_RING_OK);
  struct stat status {};
  ASSERT_EQ(fstat(memory_.get(), &status), 0);
  EXPECT_LT(static_cast<std::uint64_t>(status.st_blocks) * 512, bytes / 100);
}

TEST_F(ForgedRing, ASmallFileIsNoRing) {
  memory_ = FileDescriptor(memfd_create("small", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  ASSERT_EQ(ftruncate(memory_.get(), 100), 0);
  seal();
  EXPECT_EQ(open(), NF_RING_BAD);
}

/// The odd lock while a slot changes: what a reader's first look goes by.
TEST(RingWriterTest, LocksTheSlotThatItWrites) {
  const ImagesHeader header = test::ring_header(5, 32, 32);
  RingWriter writer(result_header(header), 1, {.slots = 4});
  test::TestFrame frame(header);
  frame.make(1);
  void* map = mmap(nullptr, writer.bytes(), PROT_READ, MAP_SHARED, writer.memory(), 0);
  ASSERT_NE(map, MAP_FAILED);
  nf_ring_header h;
  std::memcpy(&h, map, offsetof(nf_ring_header, published));
  const auto* slot = static_cast<const std::byte*>(map) + h.header_bytes;
  const auto* lock = reinterpret_cast<const std::uint64_t*>(slot);
  std::atomic<bool> stop = false, seen_odd = false;
  std::thread watcher([&] {
    while (!stop && !seen_odd) {
      seen_odd = __atomic_load_n(lock, __ATOMIC_ACQUIRE) % 2 == 1;
    }
  });
  for (int i = 0; i < 400'000 && !seen_odd; ++i) {
    writer.store(frame.frame);
  }
  stop = true;
  watcher.join();
  EXPECT_TRUE(seen_odd);
  munmap(map, writer.bytes());
}

}  // namespace
}  // namespace nearfield::ring
