#pragma once
#include <cstdint>
#include <fstream>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "files/nfr/nfr_format.hpp"
#include "files/nfr/nfr_results.hpp"
#include "support/recordings.hpp"

/// Recordings (.nfr) that no recorder made.
namespace nearfield::test {

/// Of 8 x 8 microphones, at a tone of 1464.84375 Hz.
inline const std::string kRecordedSettings =
    "version: 1\n"
    "array: {rows: 8, columns: 8, pitch_x_m: 0.02, pitch_y_m: 0.02, layout: row-major}\n"
    "front_end: {window_samples: 128, hop_samples: 64, frequencies_hz: [1464.84375]}\n"
    "holography: {standoff_m: 0.03, quantity: displacement, extrapolation: {order: 4}}\n";

/// Random bits of 8 x 8 microphones, in a recording that carries these settings.
inline void write_recording_of_bits(const std::string& path, const std::string& settings, std::uint64_t bit_times,
                                    const std::string& notes = "") {
  constexpr std::uint64_t kWords = 2;
  constexpr std::int64_t kBeganNs = 1'700'000'000'000'000'000;
  std::vector<std::byte> bytes;
  std::uint64_t sequence = 0;
  const auto append = [&](nfr::RecordHeader header, std::span<const std::byte> payload) {
    header.recording_id = 7;
    header.sequence = sequence++;
    header.tai_ns = kBeganNs;
    nfr::append_record(bytes, header, payload);
  };
  const auto append_text = [&](nfr::Kind kind, const std::string& text) {
    append({.kind = kind}, std::as_bytes(std::span(text)));
  };
  nfr::FileInfo info;
  info.measurement = {.geometry = small_array(), .standoff_m = 0.03, .sensitivity_dbfs = -26.0};
  info.layout = WireLayout::kRowMajor;
  info.host = "lab";
  info.boot_id = "0";
  info.notes = notes;
  append_text(nfr::Kind::kFile, nfr::to_json(info));
  append_text(nfr::Kind::kFile, nfr::to_json(info));
  ResultHeader header;
  header.processor = "surface";
  header.kind = "pnah";
  header.config = settings;
  header.axes = {{.name = "point", .unit = "m", .values = {0.0, 0.0}, .components = 2}};
  header.products = {
      {.name = "level", .quantity = "level", .unit = "1", .type = ElementType::kFloat32, .axes = {"point"}}};
  append_text(nfr::Kind::kEpoch, nfr::to_json({.epoch = 1, .processor = 0, .header = header}));
  if (bit_times > 0) {
    std::mt19937 generator(5U);
    std::vector<std::uint32_t> words(bit_times * kWords);
    for (std::uint32_t& word : words) {
      word = static_cast<std::uint32_t>(generator());
    }
    append({.kind = nfr::Kind::kBits, .first_bit_time = 0, .bit_times = bit_times}, std::as_bytes(std::span(words)));
  }
  append_text(nfr::Kind::kEnd,
              nfr::to_json(nfr::EndInfo{.reason = "stopped", .seconds = static_cast<double>(bit_times) / kBitRateHz}));
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
}

}  // namespace nearfield::test
