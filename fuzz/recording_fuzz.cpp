#include <algorithm>
#include <cstring>
#include <limits>
#include <vector>

#include "core/crc32c.hpp"
#include "core/error.hpp"
#include "files/nfr/nfr_reader.hpp"

namespace {

using nearfield::nfr::RecordHeader;

/// Every byte of a frame's products, which must be as long as the header says.
void read_frame(const nearfield::ResultHeader& header, const nearfield::Frame& frame) {
  if (frame.products.size() != header.products.size()) {
    __builtin_trap();
  }
  std::vector<std::byte> bytes;
  for (std::size_t i = 0; i < frame.products.size(); ++i) {
    if (frame.products[i].size() != header.bytes(header.products[i])) {
      __builtin_trap();
    }
    bytes.assign(frame.products[i].begin(), frame.products[i].end());
    if (header.products[i].form == nearfield::Product::Form::kTable &&
        nearfield::values_of<std::uint64_t>(frame.products[i]).front() > header.products[i].most_rows) {
      __builtin_trap();
    }
  }
}

/// All that a reader offers, on at most 4096 bit-times.
void read_all(std::span<const std::byte> bytes) {
  try {
    nearfield::nfr::Reader reader(bytes);
    const nearfield::nfr::BitsSummary& bits = reader.summary().bits;
    if (bits.sum() + bits.damaged != bits.expected()) {
      __builtin_trap();
    }
    const std::uint64_t count = std::min<std::uint64_t>(bits.expected(), 4096);
    std::vector<std::uint32_t> words(count * reader.words_per_bit_time());
    std::vector<nearfield::MissingRun> missing;
    reader.read_bits(bits.first_bit_time, words, missing);
    reader.read_bits(bits.end_bit_time - count, words, missing);
    for (const nearfield::nfr::EpochSummary& epoch : reader.epochs()) {
      (void)nearfield::nfr::for_each_frame(reader, epoch, 0, std::numeric_limits<std::uint64_t>::max(),
                                           [&](const nearfield::Frame& frame) { read_frame(epoch.header, frame); });
    }
    (void)nearfield::nfr::verify(reader);
  } catch (const nearfield::DataError&) {
  }
}

/// Makes the CRCs right, record by record, so that what lies behind them is reached.
std::vector<std::byte> repaired(std::span<const std::byte> input) {
  std::vector<std::byte> bytes(input.begin(), input.end());
  RecordHeader header;
  for (std::size_t at = 0; at + sizeof(header) <= bytes.size();) {
    std::memcpy(&header, bytes.data() + at, sizeof(header));
    const std::size_t room = bytes.size() - at - sizeof(header);
    const auto payload =
        std::span(bytes).subspan(at + sizeof(header), std::min<std::size_t>(room, header.payload_bytes));
    header.magic = nearfield::nfr::kMagic;
    header.version = std::clamp(header.version, nearfield::nfr::kOldestVersion, nearfield::nfr::kVersion);
    header.payload_crc = nearfield::crc32c(payload);
    header.header_crc = nearfield::nfr::header_crc(header);
    std::memcpy(bytes.data() + at, &header, sizeof(header));
    at += nearfield::nfr::record_bytes(header);
  }
  return bytes;
}

}  // namespace

// libFuzzer calls it by this name.
// NOLINTNEXTLINE(readability-identifier-naming)
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  read_all(bytes);
  read_all(repaired(bytes));
  return 0;
}
