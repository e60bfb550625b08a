#include "files/nfr/nfr_reader.hpp"

#include <gtest/gtest.h>

#include <random>

#include "core/error.hpp"
#include "recording/recording_support.hpp"

namespace nearfield::test {
namespace {

FileBuilder small_file() {
  FileBuilder file;
  file.add_bits(100, 32);
  file.add_bits(132, 32);
  file.add_epoch({.epoch = 3, .processor = 0, .header = result_header(small_header())});
  file.add({.kind = nfr::Kind::kBits,
            .first_bit_time = 164,
            .bit_times = 1000,
            .missing_bit_times = 1000,
            .flags = nfr::kNotStored | nfr::kDropped},
           {});
  file.add_bits(1164, 17);
  const std::string end = nfr::to_json(nfr::EndInfo{.reason = "stopped", .dropped_bit_times = 1000});
  file.add({.kind = nfr::Kind::kEnd}, std::as_bytes(std::span(end)));
  return file;
}

std::string replaced(std::string text, const std::string& found, const std::string& by) {
  const std::size_t at = text.find(found);
  return at == std::string::npos ? "" : text.replace(at, found.size(), by);
}

template <class T>
auto bytes_of(const T& text) {
  return std::as_bytes(std::span(text));
}

TEST(NfrReader, TakesNoNumberForAnIntegerThatIsNone) {
  const std::string info = nfr::to_json(small_info());
  ASSERT_TRUE(nfr::file_info_of(bytes_of(info)).has_value());
  for (const char* rows : {"5.55556e+21", "-1e300", "8.5", "8.0", "-8", "4294967304", "18446744073709551615", "true"}) {
    const std::string forged = replaced(info, "\"rows\": 8", std::string("\"rows\": ") + rows);
    ASSERT_FALSE(forged.empty());
    EXPECT_FALSE(nfr::file_info_of(bytes_of(forged)).has_value()) << rows;
  }
  const std::string end = nfr::to_json(nfr::EndInfo{.reason = "stopped", .dropped_bit_times = 1000});
  ASSERT_TRUE(nfr::end_info_of(bytes_of(end)).has_value());
  for (const char* count : {"1e30", "-1", "0.5"}) {
    const std::string forged = replaced(end, "1000", count);
    ASSERT_FALSE(forged.empty());
    EXPECT_FALSE(nfr::end_info_of(bytes_of(forged)).has_value()) << count;
  }
}

TEST(NfrReader, AccountsForEveryBitTime) {
  const FileBuilder file = small_file();
  nfr::Reader reader{std::span<const std::byte>(file.bytes)};
  const nfr::BitsSummary& bits = reader.summary().bits;
  EXPECT_EQ(bits.first_bit_time, 100U);
  EXPECT_EQ(bits.end_bit_time, 1181U);
  EXPECT_EQ(bits.received, 81U);
  EXPECT_EQ(bits.dropped, 1000U);
  EXPECT_EQ(bits.received + bits.not_sent + bits.dropped + bits.damaged, bits.expected());
  EXPECT_EQ(reader.summary().tail_bytes, 0U);
  ASSERT_TRUE(reader.summary().end.has_value());
  EXPECT_EQ(reader.summary().end->reason, "stopped");
  ASSERT_EQ(reader.epochs().size(), 1U);
  EXPECT_EQ(reader.epochs()[0].header.config, small_header().config);
  EXPECT_EQ(reader.info().measurement.geometry.pitch_y_m, 0.03);
  const BitsCheck check = check_bits(reader);
  EXPECT_EQ(check.wrong_words, 0U);
  EXPECT_EQ(check.received, 81U);
  EXPECT_EQ(check.missing, 1000U);
}

TEST(NfrReader, ReadsBackwardsAndBeyondTheEndAsSilence) {
  const FileBuilder file = small_file();
  nfr::Reader reader{std::span<const std::byte>(file.bytes)};
  for (const std::uint64_t first : {1150U, 90U, 150U, 1170U}) {
    std::vector<std::uint32_t> words(40 * kWords);
    std::vector<MissingRun> missing;
    reader.read_bits(first, words, missing);
    std::vector<std::uint32_t> expected = words_of(first, 40);
    for (std::uint64_t t = first; t < first + 40; ++t) {
      if (t < 100 || (t >= 164 && t < 1164) || t >= 1181) {
        make_silent(expected, first, {.first_bit_time = t, .bit_times = 1});
      }
    }
    EXPECT_EQ(words, expected) << first;
  }
}

TEST(NfrReader, TruncatedAnywhereGivesTheRecordsBefore) {
  const FileBuilder file = small_file();
  for (std::size_t size = 0; size < file.bytes.size(); ++size) {
    const std::span<const std::byte> part = std::span(file.bytes).first(size);
    const auto complete = static_cast<std::size_t>(std::upper_bound(file.starts.begin() + 1, file.starts.end(), size) -
                                                   file.starts.begin() - 1);
    if (size < file.starts[1] - 7) {  // the padding of the first record may be missing
      EXPECT_THROW(nfr::Reader{part}, DataError) << size;
      continue;
    }
    nfr::Reader reader(part);
    if (size < file.starts[1]) {
      EXPECT_LE(reader.summary().records, 1U) << size;
      continue;
    }
    EXPECT_EQ(reader.summary().records, complete) << size;
    EXPECT_EQ(reader.summary().tail_bytes, size - file.starts[complete]) << size;
    EXPECT_EQ(reader.summary().damaged_places, 0U) << size;
    EXPECT_EQ(check_bits(reader).wrong_words, 0U) << size;
  }
}

TEST(NfrReader, AFlippedBitNeverGivesAWrongRecord) {
  const FileBuilder file = small_file();
  const std::size_t records = file.starts.size();
  for (std::size_t bit = 0; bit < file.bytes.size() * 8; ++bit) {
    std::vector<std::byte> bytes = file.bytes;
    bytes[bit / 8] ^= std::byte{static_cast<unsigned char>(1U << (bit % 8))};
    nfr::Reader reader{std::span<const std::byte>(bytes)};
    const BitsCheck check = check_bits(reader);
    const nfr::Summary& summary = reader.summary();
    ASSERT_EQ(check.wrong_words, 0U) << bit;
    ASSERT_EQ(check.received + check.missing, summary.bits.expected()) << bit;
    ASSERT_GE(summary.records + 1, records) << bit;  // one damaged place costs one record at most
    ASSERT_EQ(summary.records + summary.lost_records + (summary.tail_bytes > 0 ? 1 : 0), records) << bit;
    const nfr::Verification found = nfr::verify(reader);
    ASSERT_LE(found.damaged_payloads + (records - summary.records), 1U) << bit;
    ASSERT_GE(check.received, summary.bits.received - found.damaged_bit_times) << bit;
  }
}

TEST(NfrReader, GoesOnAfterRubbishInTheMiddle) {
  FileBuilder file = small_file();
  std::mt19937 random(5);
  const std::size_t from = file.starts[3] - 100;  // the end of one record and the start of the next
  for (std::size_t i = from; i < from + 150; ++i) {
    file.bytes[i] = static_cast<std::byte>(random());
  }
  nfr::Reader reader{std::span<const std::byte>(file.bytes)};
  EXPECT_EQ(reader.summary().lost_records, 1U);
  EXPECT_EQ(reader.summary().bits.damaged, 32U);
  EXPECT_EQ(nfr::verify(reader).damaged_bit_times, 32U);
  const BitsCheck check = check_bits(reader);
  EXPECT_EQ(check.wrong_words, 0U);
  EXPECT_EQ(check.received, 17U);
  EXPECT_EQ(check.missing, 1064U);
}

TEST(NfrReader, ARecordOfAnotherRecordingInsideABitRecordIsNotTaken) {
  FileBuilder inner(1234);
  inner.add_bits(5000, 16);
  inner.bytes.resize((inner.bytes.size() + 31) / 32 * 32);
  FileBuilder file;
  const auto bit_times = static_cast<std::uint64_t>(inner.bytes.size() / (kWords * 4));
  file.add({.kind = nfr::Kind::kBits, .first_bit_time = 0, .bit_times = bit_times}, inner.bytes);
  file.add_bits(bit_times, 8);
  file.bytes[file.starts[2] + 40] ^= std::byte{1};  // its header, so that the search goes through its payload
  const nfr::Reader reader{std::span<const std::byte>(file.bytes)};
  EXPECT_EQ(reader.summary().records, 3U);
  EXPECT_EQ(reader.summary().bits.first_bit_time, bit_times);
  EXPECT_EQ(reader.summary().lost_records, 1U);
}

TEST(NfrReader, CountsDamagedHeadersAndRecordsThatCannotBe) {
  FileBuilder file;
  file.add_bits(100, 32);
  file.add_bits(110, 32);  // reaches back before the end of the one before
  file.add({.kind = nfr::Kind::kEpoch}, bytes_of(std::string("{}")));
  file.add_bits(132, 8);
  file.add_bits(140, 8);
  EXPECT_EQ(nfr::Reader{std::span<const std::byte>(file.bytes)}.summary().damaged_places, 2U);
  file.bytes[file.starts[5] + 40] ^= std::byte{1};  // the header of the bits from 132 on
  const nfr::Reader reader{std::span<const std::byte>(file.bytes)};
  EXPECT_EQ(reader.summary().damaged_places, 3U);
  EXPECT_EQ(reader.summary().lost_records, 1U);
}

TEST(NfrReader, ALongFileIsReadThroughItsIndex) {
  FileBuilder file;
  for (std::uint64_t piece = 0; piece < 300; ++piece) {  // 3 MB: three entries of the index
    file.add_bits(piece * 1280, 1280);
  }
  nfr::Reader reader{std::span<const std::byte>(file.bytes)};
  std::mt19937 random(9);
  for (int i = 0; i < 200; ++i) {
    const std::uint64_t first = random() % (300 * 1280 - 2000);
    std::vector<std::uint32_t> words(2000 * kWords);
    std::vector<MissingRun> missing;
    reader.read_bits(first, words, missing);
    ASSERT_EQ(words, words_of(first, 2000));
    ASSERT_TRUE(missing.empty());
  }
}

}  // namespace
}  // namespace nearfield::test
