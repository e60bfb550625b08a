#pragma once
#include <algorithm>
#include <array>
#include <complex>
#include <cstring>
#include <span>
#include <vector>

#include "core/daemon_settings.hpp"
#include "core/frame.hpp"
#include "limits/limit_plan.hpp"

namespace nearfield::test {

/// Images of 500 and 1000 Hz over 3 x 4 pixels, 0.1 m apart, and a table of sources.
inline ResultHeader limit_header() {
  ResultHeader header;
  header.processor = "surface";
  header.axes = {{.name = "frequency", .unit = "Hz", .values = {500.0, 1000.0}},
                 {.name = "z", .unit = "m", .values = {0.0}},
                 {.name = "y", .unit = "m", .values = {-0.1, 0.0, 0.1}},
                 {.name = "x", .unit = "m", .values = {-0.15, -0.05, 0.05, 0.15}}};
  Product images{.name = "images", .quantity = "pressure", .unit = "Pa", .axes = {"z", "frequency", "y", "x"}};
  Product sources{.name = "sources", .quantity = "sources", .unit = "1", .form = Product::Form::kTable, .most_rows = 3};
  sources.columns = {{"id", "1", ElementType::kUint32},
                     {"x", "m", ElementType::kFloat32},
                     {"y", "m", ElementType::kFloat32},
                     {"level_db", "dB", ElementType::kFloat32}};
  header.products = {images, sources};
  return header;
}

constexpr std::size_t kLimitPixels = 12;

/// A frame of limit_header() whose values a test sets.
class LimitFrame {
 public:
  LimitFrame() : images_(2 * kLimitPixels), table_(limit_header().bytes(limit_header().products[1])) {
    products_ = {std::as_bytes(std::span(images_)), table_};
    frame.products = products_;
  }
  LimitFrame(const LimitFrame&) = delete;
  LimitFrame& operator=(const LimitFrame&) = delete;
  [[nodiscard]] std::complex<float>& image(std::size_t frequency, std::size_t row, std::size_t column) {
    return images_[frequency * kLimitPixels + row * 4 + column];
  }
  void set_all(float magnitude) { std::fill(images_.begin(), images_.end(), std::complex<float>(0.0F, magnitude)); }
  /// Rows of x, y and a level each.
  void set_rows(const std::vector<std::array<float, 3>>& rows) {
    const std::uint64_t count = rows.size();
    std::memcpy(table_.data(), &count, sizeof count);
    constexpr std::size_t kColumn = 16;  // three of 4 bytes, padded to 8
    for (std::size_t row = 0; row < rows.size(); ++row) {
      for (std::size_t column = 0; column < 3; ++column) {
        std::memcpy(table_.data() + 8 + (column + 1) * kColumn + row * 4, &rows[row][column], sizeof(float));
      }
    }
  }
  Frame frame;

 private:
  std::vector<std::complex<float>> images_;
  std::vector<std::byte> table_;
  std::vector<std::span<const std::byte>> products_;
};

inline limits::LimitPlan limit_plan(const DaemonSettings::Limit& limit) {
  static const ResultHeader kHeader = limit_header();
  const std::array<const ResultHeader*, 1> headers = {&kHeader};
  return {limit, headers};
}

}  // namespace nearfield::test
