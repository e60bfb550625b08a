#pragma once
#include <complex>
#include <cstring>
#include <filesystem>
#include <limits>
#include <utility>
#include <vector>

#include "files/results_file.hpp"
#include "support/images.hpp"

/// Results of two processors: images at every hop, and others at every eighth.
namespace nearfield::test {

inline constexpr std::uint64_t kEvery = 8;

inline ImagesHeader images_of_two() {
  return {.quantity = "pressure",
          .unit = "Pa",
          .config = "version: 1\n",
          .device = "a device",
          .front_end = "popcount",
          .frequencies_hz = {500.0, 1000.0},
          .planes_m = {0.0},
          .x_m = {-0.01, 0.0, 0.01},
          .y_m = {-0.01, 0.01},
          .kind = "pnah"};
}

/// row_power over frequency and y, beam over an axis of its own, and a table with columns of all types.
inline ResultHeader row_power_header() {
  ResultHeader header;
  header.processor = "row_power";
  header.kind = "mean_power";
  header.config = "version: 1\n";
  header.device = "another device";
  header.front_end = "popcount";
  header.axes = {{.name = "frequency", .unit = "Hz", .values = {500.0, 1000.0}},
                 {.name = "y", .unit = "m", .values = {-0.01, 0.01}},
                 {.name = "azimuth", .unit = "deg", .values = {-90.0, 0.0, 90.0}}};
  header.products = {{.name = "row_power",
                      .quantity = "mean power of a row",
                      .unit = "Pa^2",
                      .type = ElementType::kFloat32,
                      .axes = {"frequency", "y"}},
                     {.name = "beam", .quantity = "pressure", .unit = "Pa", .axes = {"frequency", "azimuth"}},
                     {.name = "found",
                      .quantity = "sources",
                      .unit = "",
                      .form = Product::Form::kTable,
                      .columns = {{.name = "id", .unit = "1", .type = ElementType::kUint32},
                                  {.name = "seen", .unit = "1", .type = ElementType::kUint64},
                                  {.name = "level", .unit = "Pa", .type = ElementType::kFloat32},
                                  {.name = "x_m", .unit = "m", .type = ElementType::kFloat64}},
                      .most_rows = 3}};
  header.memory_hops = kUnboundedMemory;
  return header;
}

template <class T>
void put(std::span<std::byte> bytes, std::size_t offset, const std::vector<T>& values) {
  std::memcpy(bytes.data() + offset, values.data(), values.size() * sizeof(T));
}

/// A frame of row_power_header() that its number determines; it has 0 to 3 found sources in turn.
inline ResultFrame row_power_frame(std::uint64_t number) {
  ResultFrame made(row_power_header());
  const auto value = static_cast<float>(number + 1);
  made.frame.processor = 1;
  made.frame.sequence = kEvery * number;
  made.frame.first_bit_time = 1024 * kEvery * number;
  made.frame.timestamp_ns = static_cast<std::int64_t>(1'000'000 * kEvery * number);
  made.frame.flags = number == 1 ? static_cast<std::uint32_t>(kFlagClipped) : 0U;
  made.frame.missing_bit_times = number;
  put<float>(made.product(0), 0, {value, 2.0F * value, 3.0F * value, 4.0F * value});
  put<std::complex<float>>(made.product(1), 0, {{3.0F, 4.0F}, {value, 0.0F}, {0.0F, value}, {}, {1.0F, 1.0F}, {}});
  // The number of rows, then columns with room for three values, padded to 8 bytes.
  const std::span<std::byte> table = made.product(2);
  put<std::uint64_t>(table, 0, {number % 4});
  put<std::uint32_t>(table, 8, {7, 8, 9});
  put<std::uint64_t>(table, 24, {std::uint64_t{1} << 40U, number, 2});
  put<float>(table, 48, {value, 0.5F, 0.25F});
  put<double>(table, 64, {0.01 * static_cast<double>(number + 1), -0.02, 0.03});
  return made;
}

/// A frame of images_of_two() that its number determines.
inline ResultFrame images_frame(std::uint64_t number) {
  ResultFrame made(result_header(images_of_two()));
  made.frame.sequence = number;
  made.frame.first_bit_time = 1024 * number;
  made.frame.timestamp_ns = static_cast<std::int64_t>(1'000'000 * number);
  for (std::size_t i = 0; i < 5; ++i) {
    std::vector<float> values(made.product(i).size() / sizeof(float));
    for (std::size_t k = 0; k < values.size(); ++k) {
      values[k] = static_cast<float>(number + 1) + static_cast<float>(k % 7);
    }
    put(made.product(i), 0, values);
  }
  return made;
}

/// Puts the frames of `hops` hops into anything with begin() and write().
template <class Output>
void write_two_processors(Output& output, std::uint64_t hops) {
  output.begin(result_header(images_of_two()), {.processor = 0, .frames = hops});
  output.begin(row_power_header(), {.processor = 1, .frames = (hops + kEvery - 1) / kEvery});
  for (std::uint64_t hop = 0; hop < hops; ++hop) {
    output.write(images_frame(hop).frame);
    if (hop % kEvery == 0) {
      output.write(row_power_frame(hop / kEvery).frame);
    }
  }
}

inline void write_two_processors_to(const std::filesystem::path& path, std::uint64_t hops) {
  ResultsWriter writer(path);
  write_two_processors(writer, hops);
  writer.finish();
}

}  // namespace nearfield::test
