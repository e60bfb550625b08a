#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <array>
#include <atomic>
#include <cstring>
#include <functional>
#include <limits>
#include <random>
#include <thread>

#include "ring/ring_output.hpp"
#include "ring/ring_support.hpp"
#include "ring/ring_writer.hpp"
#include "support/images.hpp"

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
    copy(writer);
  }
  ~ForgedRing() override { munmap(map_, bytes_); }

  void copy(const RingWriter& writer) {
    if (map_ != nullptr) {
      munmap(map_, bytes_);
    }
    bytes_ = writer.bytes();
    memory_ = FileDescriptor(memfd_create("forged-ring", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    EXPECT_EQ(ftruncate(memory_.get(), static_cast<off_t>(bytes_)), 0);
    map_ = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, memory_.get(), 0);
    void* original = mmap(nullptr, bytes_, PROT_READ, MAP_SHARED, writer.memory(), 0);
    std::memcpy(map_, original, bytes_);
    munmap(original, bytes_);
  }
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
    return *at<nf_ring_slot>(header().header_bytes + (number - 1) % 4 * header().slot_bytes);
  }
  template <class T>
  T* at(std::size_t offset) {
    return reinterpret_cast<T*>(static_cast<std::byte*>(map_) + offset);
  }
  nf_ring_axis& axis(std::size_t i) { return at<nf_ring_axis>(header().axes_offset)[i]; }
  nf_ring_product& product(std::size_t i) { return at<nf_ring_product>(header().products_offset)[i]; }
  nf_ring_column& column(std::size_t i) { return at<nf_ring_column>(product(2).columns_offset)[i]; }
  std::uint32_t& axis_of_product(std::size_t i, std::size_t k) { return at<std::uint32_t>(product(i).axes_offset)[k]; }
  unsigned char& byte_of(std::uint64_t number, std::size_t of_product, std::size_t i) {
    return reinterpret_cast<unsigned char*>(&slot_of(number))[product(of_product).offset + i];
  }
  /// Each change alone, to a ring that is otherwise good, makes it no ring.
  void expect_refused(const std::vector<std::function<void()>>& spoils) {
    seal();
    EXPECT_EQ(open(), NF_RING_OK);
    server_.reset();
    const auto* const start = static_cast<const std::byte*>(map_);
    const std::vector<std::byte> good(start, start + header().header_bytes);
    for (std::size_t i = 0; i < spoils.size(); ++i) {
      spoils[i]();
      EXPECT_EQ(open(), NF_RING_BAD) << "spoil " << i;
      server_.reset();
      std::memcpy(map_, good.data(), good.size());
    }
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

constexpr std::size_t kCutoff = 0;
constexpr std::size_t kPoints = 4;
constexpr std::size_t kImages = 5;

TEST_F(ForgedRing, TheCrcFindsOneBit) {
  seal();
  ASSERT_EQ(open(), NF_RING_OK);
  byte_of(5, kImages, 17) ^= 4U;
  EXPECT_EQ(nf_ring_read_latest(ring_.get(), kForeverNs, &frame_), NF_RING_OK);
  nf_ring_check_crc(ring_.get(), 1);
  EXPECT_EQ(nf_ring_read_latest(ring_.get(), kForeverNs, &frame_), NF_RING_CORRUPT);
  nf_ring_points_only(ring_.get(), 1);  // it lies in an image
  EXPECT_EQ(nf_ring_read_latest(ring_.get(), kForeverNs, &frame_), NF_RING_OK);
  byte_of(5, kPoints, 17) ^= 4U;
  EXPECT_EQ(nf_ring_read_latest(ring_.get(), kForeverNs, &frame_), NF_RING_CORRUPT);
  const char* const slope = "slope";
  ASSERT_EQ(nf_ring_select(ring_.get(), &slope, 1), NF_RING_OK);
  EXPECT_EQ(nf_ring_read_latest(ring_.get(), kForeverNs, &frame_), NF_RING_OK);
  slot_of(5).shed_hops ^= 4U;
  EXPECT_EQ(nf_ring_read_latest(ring_.get(), kForeverNs, &frame_), NF_RING_CORRUPT) << "in the head";
  slot_of(5).shed_hops ^= 4U;
  EXPECT_EQ(nf_ring_read_latest(ring_.get(), kForeverNs, &frame_), NF_RING_OK);
  reinterpret_cast<unsigned char*>(&slot_of(5))[header().slot_head_bytes + 4 * kImages] ^= 1U;
  EXPECT_EQ(nf_ring_read_latest(ring_.get(), kForeverNs, &frame_), NF_RING_CORRUPT) << "in a CRC";
}

TEST_F(ForgedRing, MemoryThatCouldShrinkIsRefused) { EXPECT_EQ(open(), NF_RING_BAD); }

TEST_F(ForgedRing, SizesThatDoNotFitAreRefused) {
  expect_refused({
      [this] { header().magic ^= 1U; },
      [this] { header().version = 2; },
      [this] { header().version = 4; },
      [this] { header().header_bytes += 64; },
      [this] { header().header_bytes += 4; },
      [this] { header().header_bytes = 0xFFFFFFC0U; },
      [this] { header().header_bytes = 0; },
      [this] { header().slot_bytes *= 2; },
      [this] { header().slot_bytes = 0; },
      [this] { header().slot_bytes = 64; },
      [this] { header().slot_bytes = ~std::uint64_t{63}; },
      [this] { header().slot_count = 1; },
      [this] { header().slot_count = 5; },
      [this] { header().fields_bytes = 248; },
      [this] { header().fields_bytes = header().header_bytes + 8; },
      [this] { header().fields_bytes += 8; },  // a name would lie in the fields
      [this] { header().slot_head_bytes = 120; },
      [this] { header().slot_head_bytes += 8; },  // the first product would lie in it
      [this] { header().slot_head_bytes = 0xFFFFFFF8U; },
      [this] { header().axis_bytes = 16; },
      [this] { header().axis_bytes = 28; },
      [this] { header().axis_bytes = 0xFFFFFFF8U; },
      [this] { header().product_bytes = 56; },
      [this] { header().product_bytes = 0xFFFFFFF8U; },
      [this] { header().column_bytes = 0; },
      [this] { header().processor = header().header_bytes; },
      [this] { header().axes = 0xFFFFFFFFU; },
      [this] { header().axes = 1025; },
      [this] { header().axes = 4; },  // points have the fifth
      [this] { header().axes_offset = header().header_bytes; },
      [this] { header().axes_offset = 8; },
      [this] { header().axes_offset += 4; },
      [this] { header().axes_offset = 0xFFFFFFF8U; },
      [this] { header().products = 0; },
      [this] { header().products = 1025; },
      [this] { header().products = 0xFFFFFFFFU; },
      [this] { header().products_offset = header().header_bytes - 64; },
      [this] { header().products_offset = 0xFFFFFFF8U; },
  });
}

TEST_F(ForgedRing, DescriptionsThatDoNotFitAreRefused) {
  expect_refused({
      [this] { axis(0).name = header().header_bytes; },
      [this] { axis(0).name = 8; },  // in the fields
      [this] { axis(0).unit = 0xFFFFFFFFU; },
      [this] { axis(0).size = 0; },
      [this] { axis(0).size = 3; },  // images would be larger
      [this] { axis(0).size = 0xFFFFFFFFU; },
      [this] { axis(0).size = header().header_bytes / 8; },
      [this] { axis(0).components = 0; },
      [this] { axis(0).components = 0xFFFFFFFFU; },
      [this] { axis(0).size = axis(0).components = 1U << 31U; },
      [this] { axis(0).values_offset += 4; },
      [this] { axis(0).values_offset = 8; },
      [this] { axis(0).values_offset = header().header_bytes - 8; },
      [this] { product(kPoints).name = header().header_bytes; },
      [this] { product(kPoints).quantity = 0; },
      [this] { product(kPoints).unit = header().header_bytes + 1; },
      [this] { product(kPoints).form = 3; },
      [this] { product(kPoints).form = NF_FORM_TABLE; },
      [this] { product(kPoints).type = 5; },
      [this] { product(kPoints).type = NF_TYPE_FLOAT32; },
      [this] { product(kPoints).axes = 2; },
      [this] { product(kPoints).axes = 17; },
      [this] { product(kPoints).axes = 0xFFFFFFFFU; },
      [this] { product(kPoints).axes_offset += 2; },
      [this] { product(kPoints).axes_offset = header().header_bytes; },
      [this] { axis_of_product(kPoints, 2) = header().axes; },
      [this] { axis_of_product(kPoints, 2) = 0xFFFFFFFFU; },
      [this] { product(kPoints).columns = 1; },
      [this] { product(kPoints).columns = 0xFFFFFFFFU; },
      [this] { product(kPoints).offset += 4; },
      [this] { product(kPoints).offset += 8; },  // into the images
      [this] { product(kPoints).offset -= 8; },
      [this] { product(kPoints).offset = product(kCutoff).offset; },
      [this] { product(kCutoff).offset = 136; },  // in the CRCs
      [this] { product(kImages).offset = header().slot_bytes; },
      [this] { product(kImages).offset = ~std::uint64_t{7}; },
      [this] { product(kImages).bytes = 0; },
      [this] { product(kImages).bytes += 8; },
      [this] { product(kImages).bytes = ~std::uint64_t{0}; },
  });
}

TEST_F(ForgedRing, TextsThatDoNotEndAreRefused) {
  expect_refused({
      [this] {
        *at<char>(header().header_bytes - 1) = 'x';
        axis(0).name = header().header_bytes - 1;
      },
      [this] { std::memset(at<char>(header().processor), 'x', 256); },  // of 255 bytes at most
  });
}

class ForgedTable : public ForgedRing {
 protected:
  ForgedTable() {
    const ResultHeader header = test::row_power_header();
    RingWriter writer(header, 1, {.slots = 4});
    test::RowPowerFrame frame(header);
    for (std::uint64_t sequence = 1; sequence <= 5; ++sequence) {
      writer.write(frame.make(sequence));
    }
    copy(writer);
  }
  /// Reads all that the frame and the layout have.
  std::size_t bytes_read() {
    const nf_ring_layout& layout = *nf_ring_get_layout(ring_.get());
    std::size_t count = 0;
    const auto read = [&](const void* values, std::size_t bytes) {
      const auto* const first = static_cast<const volatile unsigned char*>(values);
      for (std::size_t i = 0; i < bytes; ++i, ++count) {
        static_cast<void>(first[i]);
      }
    };
    for (std::size_t i = 0; i < layout.axis_count; ++i) {
      read(layout.axes[i].name, std::strlen(layout.axes[i].name));
      read(layout.axes[i].values, sizeof(double) * layout.axes[i].size * layout.axes[i].components);
    }
    count = 0;
    for (std::size_t i = 0; i < layout.product_count; ++i) {
      const nf_product& product = layout.products[i];
      read(product.unit, 1);
      const bool is_narrow = product.type == NF_TYPE_FLOAT32 || product.type == NF_TYPE_UINT32;
      read(nf_frame_product(ring_.get(), &frame_, i), product.values * (is_narrow ? 4 : 8));
      for (std::size_t k = 0; k < product.column_count; ++k) {
        read(nf_frame_column(ring_.get(), &frame_, i, k), nf_frame_rows(ring_.get(), &frame_, i) * 4);
      }
    }
    return count;
  }
  static constexpr std::size_t kTable = 2;
};

TEST_F(ForgedTable, ColumnsThatDoNotFitAreRefused) {
  expect_refused({
      [this] { product(kTable).most_rows = 0; },
      [this] { product(kTable).most_rows = 4; },
      [this] { product(kTable).most_rows = ~std::uint64_t{0}; },
      [this] { product(kTable).most_rows = std::uint64_t{1} << 62U; },
      [this] { product(kTable).columns = 0; },
      [this] { product(kTable).columns = 3; },
      [this] { product(kTable).columns = 4097; },
      [this] { product(kTable).columns_offset += 4; },
      [this] { product(kTable).columns_offset = header().header_bytes; },
      [this] { product(kTable).axes = 1; },
      [this] { product(kTable).bytes -= 8; },
      [this] { product(kTable).form = NF_FORM_ARRAY; },
      [this] { column(0).name = header().header_bytes; },
      [this] { column(0).unit = 0xFFFFFFFFU; },
      [this] { column(0).type = NF_TYPE_COMPLEX64; },
      [this] { column(0).type = 5; },
      [this] { column(0).offset = 0; },  // in the number of rows
      [this] { column(0).offset = 12; },
      [this] { column(1).offset = 16; },  // in the column before
      [this] { column(1).offset += 8; },
      [this] { column(1).offset = ~std::uint64_t{7}; },
  });
}

// The number of rows lies in the frame, which is not checked before it is used.
TEST_F(ForgedTable, MoreRowsThanThereIsRoomForAreNotHandedOut) {
  seal();
  ASSERT_EQ(open(), NF_RING_OK);
  *reinterpret_cast<std::uint64_t*>(&byte_of(5, kTable, 0)) = ~std::uint64_t{0};
  ASSERT_EQ(nf_ring_read_latest(ring_.get(), kForeverNs, &frame_), NF_RING_OK);
  EXPECT_EQ(nf_frame_rows(ring_.get(), &frame_, kTable), 3U);
}

// Whatever is accepted can be read whole: sanitizers see a read outside.
TEST_F(ForgedTable, RandomChangesLeadNowhereElse) {
  seal();
  std::mt19937 random(20261122);
  const auto* const start = static_cast<const std::byte*>(map_);
  const std::vector<std::byte> good(start, start + header().header_bytes);
  const std::size_t words = good.size() / sizeof(std::uint32_t);
  std::size_t accepted = 0;
  for (int trial = 0; trial < 600; ++trial) {
    for (auto change = random() % 3; change < 3; ++change) {
      const std::array<std::uint32_t, 5> values = {0, 1, static_cast<std::uint32_t>(random() % 1024),
                                                   static_cast<std::uint32_t>(random()), 0xFFFFFFF8U};
      at<std::uint32_t>(0)[2 + random() % (words - 2)] = values[random() % values.size()];
    }
    header().published = 5;
    header().state = NF_RING_LIVE;
    const nf_ring_status status = open();
    if (status == NF_RING_OK && nf_ring_read_latest(ring_.get(), kForeverNs, &frame_) == NF_RING_OK) {
      ++accepted;
      EXPECT_LE(bytes_read(), bytes_);
    }
    server_.reset();
    std::memcpy(map_, good.data(), good.size());
  }
  EXPECT_GT(accepted, 50U) << "changes of values and of texts";
}

/// A later version of this format, which appends fields to every structure: a ring whose tables lie further apart.
class AppendedRing : public ForgedTable {
 protected:
  static constexpr std::uint32_t kMore = 16;
  AppendedRing() {
    const nf_ring_header h = header();
    std::vector<std::byte> block(static_cast<std::byte*>(map_), static_cast<std::byte*>(map_) + h.header_bytes);
    std::vector<std::byte> slots(static_cast<std::byte*>(map_) + h.header_bytes,
                                 static_cast<std::byte*>(map_) + bytes_);
    // Everything moves by what the header's own fields grow; the tables go behind it, with room between the structures.
    nf_ring_header now = h;
    now.fields_bytes += kMore;
    now.slot_head_bytes += kMore;
    now.axis_bytes += kMore;
    now.product_bytes += kMore;
    now.column_bytes += kMore;
    now.processor += kMore;
    const auto spread = [&](std::uint32_t offset, std::uint32_t count, std::uint32_t from, std::uint32_t to) {
      const auto first = static_cast<std::uint32_t>(block.size());
      for (std::uint32_t i = 0; i < count; ++i) {
        const auto start = block.begin() + static_cast<std::ptrdiff_t>(offset + i * from);
        std::vector<std::byte> one(start, start + from);
        one.resize(to, std::byte{0xEE});
        block.insert(block.end(), one.begin(), one.end());
      }
      return first;
    };
    for (std::uint32_t i = 0; i < h.axes; ++i) {
      axis(i).name += kMore;
      axis(i).unit += kMore;
      axis(i).values_offset += kMore;
    }
    for (std::uint32_t i = 0; i < 2; ++i) {
      column(i).name += kMore;
      column(i).unit += kMore;
    }
    std::memcpy(block.data(), map_, h.header_bytes);
    const std::uint32_t columns = spread(product(kTable).columns_offset, 2, h.column_bytes, now.column_bytes) + kMore;
    for (std::uint32_t i = 0; i < h.products; ++i) {
      product(i).name += kMore;
      product(i).quantity += kMore;
      product(i).unit += kMore;
      product(i).axes_offset += kMore;
      product(i).columns_offset = columns;
      product(i).offset += kMore;
    }
    std::memcpy(block.data(), map_, h.header_bytes);
    now.axes_offset = spread(h.axes_offset, h.axes, h.axis_bytes, now.axis_bytes) + kMore;
    now.products_offset = spread(h.products_offset, h.products, h.product_bytes, now.product_bytes) + kMore;
    block.insert(block.begin() + h.fields_bytes, kMore, std::byte{0xEE});
    block.resize((block.size() + 63) / 64 * 64);
    now.header_bytes = static_cast<std::uint32_t>(block.size());
    now.slot_bytes += 64;
    std::memcpy(block.data(), &now, sizeof now);
    std::vector<std::byte> made = block;
    for (std::uint32_t i = 0; i < h.slot_count; ++i) {
      const auto start = slots.begin() + static_cast<std::ptrdiff_t>(i * h.slot_bytes);
      std::vector<std::byte> slot(start, start + static_cast<std::ptrdiff_t>(h.slot_bytes));
      slot.insert(slot.begin() + h.slot_head_bytes, kMore, std::byte{0xEE});
      slot.resize(now.slot_bytes);
      made.insert(made.end(), slot.begin(), slot.end());
    }
    munmap(map_, bytes_);
    bytes_ = made.size();
    memory_ = FileDescriptor(memfd_create("appended-ring", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    EXPECT_EQ(ftruncate(memory_.get(), static_cast<off_t>(bytes_)), 0);
    map_ = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, memory_.get(), 0);
    std::memcpy(map_, made.data(), made.size());
  }
};

TEST_F(AppendedRing, IsReadByAReaderThatDoesNotKnowTheNewFields) {
  seal();
  ASSERT_EQ(open(), NF_RING_OK);
  const ResultHeader expected = test::row_power_header();
  const nf_ring_layout& layout = *nf_ring_get_layout(ring_.get());
  ASSERT_EQ(layout.product_count, 3U);
  EXPECT_STREQ(layout.processor, "row_power");
  EXPECT_EQ(layout.y_m[3], expected.axes[1].values[3]);
  ASSERT_EQ(nf_ring_read_latest(ring_.get(), kForeverNs, &frame_), NF_RING_OK);
  EXPECT_EQ(frame_.sequence, 5U);
  EXPECT_EQ(static_cast<const float*>(nf_frame_product(ring_.get(), &frame_, 0))[7], test::RowPowerFrame::value(5, 7));
  EXPECT_EQ(nf_frame_rows(ring_.get(), &frame_, kTable), 1U);
  EXPECT_STREQ(layout.products[kTable].columns[1].name, "power");
  EXPECT_EQ(*static_cast<const double*>(nf_frame_column(ring_.get(), &frame_, kTable, 1)), 5.0);
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
