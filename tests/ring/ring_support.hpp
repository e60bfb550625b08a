#pragma once
#include <nearfield_ring.h>
#include <unistd.h>

#include <array>
#include <cmath>
#include <complex>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/frame.hpp"
#include "support/images.hpp"
#include "support/outputs.hpp"

/// Frames whose every value follows from their sequence, so that a torn one is certain to be noticed.
namespace nearfield::test {

inline ImagesHeader ring_header(std::size_t frequencies = 2, std::size_t rows = 4, std::size_t columns = 3) {
  ImagesHeader header;
  header.quantity = "normal_velocity";
  header.unit = "m/s";
  for (std::size_t i = 0; i < frequencies; ++i) {
    header.frequencies_hz.push_back(500.0 + 250.25 * static_cast<double>(i));
  }
  header.planes_m = {0.0};
  for (std::size_t i = 0; i < columns; ++i) {
    header.x_m.push_back(0.02 * static_cast<double>(i));
  }
  for (std::size_t i = 0; i < rows; ++i) {
    header.y_m.push_back(0.03 * static_cast<double>(i));
  }
  return header;
}

inline ImagesHeader ring_header_with_points() {
  ImagesHeader header = ring_header();
  header.planes_m = {0.0, 0.01};
  header.points = {{.x_m = 0.01, .y_m = 0.05}, {.x_m = 0.02, .y_m = 0.0}, {.x_m = 0.0, .y_m = 0.09}};
  return header;
}

/// Value `index` of frame `sequence`: whole numbers below 2^24, exact as floats, other ones in every frame and place.
inline nf_complex expected_value(std::uint64_t sequence, std::size_t index) {
  return {static_cast<float>((sequence * 7919 + index) % 16777213),
          static_cast<float>((sequence + 31 * index) % 8388593)};
}

/// Index of the first value at a point, for expected_value().
inline constexpr std::size_t kPointsFrom = 1'000'000;

/// Values of every product, with memory of their own.
inline ImageFrame ring_images(const ImagesHeader& header) {
  const std::size_t frequencies = header.frequencies_hz.size();
  ImageFrame values;
  values.cutoff_rad_per_m.assign(frequencies, 80.5F);
  values.slope.assign(frequencies, 0.1F);
  values.noise_pa.assign(frequencies, 1e-3F);
  values.error_estimate.assign(frequencies, std::nanf(""));
  values.error_estimate.front() = 0.04F;
  values.points.resize(header.planes_m.size() * frequencies * header.points.size());
  values.images.resize(header.values_per_frame());
  values.radiated_power_w = radiated_power_w(header, values.images);
  return values;
}

/// A frame with memory of its own.
class TestFrame : public MadeFrame {
 public:
  explicit TestFrame(const ImagesHeader& header) : MadeFrame(header, ring_images(header)), header_(header) {
    frame.window_bit_times = 32768;
    frame.stream_id = 77;
    frame.valid_microphones = 1021;
    frame.epoch = 3;
  }

  /// Becomes frame `sequence`, captured now.
  const Frame& make(std::uint64_t sequence) {
    frame.sequence = sequence;
    frame.first_bit_time = 1024 * sequence;
    frame.capture_mono_ns = nf_ring_now_ns();
    frame.capture_tai_ns = frame.capture_mono_ns + 5;
    frame.flags = static_cast<std::uint32_t>(sequence % 128);
    frame.missing_bit_times = 3 * sequence;
    frame.shed_hops = sequence % 5;
    for (std::size_t i = 0; i < images.points.size(); ++i) {
      const nf_complex value = expected_value(sequence, kPointsFrom + i);
      images.points[i] = {value.re, value.im};
    }
    for (std::size_t i = 0; i < images.images.size(); ++i) {
      const nf_complex value = expected_value(sequence, i);
      images.images[i] = {value.re, value.im};
    }
    const std::vector<float> power_w = radiated_power_w(header_, images.images);
    std::copy(power_w.begin(), power_w.end(), images.radiated_power_w.begin());
    return frame;
  }

 private:
  ImagesHeader header_;
};

/// A processor whose products are no images: an array, a figure and a table.
inline ResultHeader row_power_header(std::size_t rows = 4) {
  ResultHeader header;
  header.processor = "row_power";
  header.kind = "row_power";
  header.axes = {{.name = "frequency", .unit = "Hz", .values = {500.0, 750.25}},
                 {.name = "y", .unit = "m", .values = {}}};
  for (std::size_t i = 0; i < rows; ++i) {
    header.axes[1].values.push_back(0.03 * static_cast<double>(i));
  }
  header.products = {{.name = "row_power",
                      .quantity = "power of a row",
                      .unit = "W/m",
                      .type = ElementType::kFloat32,
                      .axes = {"frequency", "y"}},
                     {.name = "loudest",
                      .quantity = "loudest frequency",
                      .unit = "Hz",
                      .form = Product::Form::kFigure,
                      .type = ElementType::kFloat64},
                     {.name = "peaks",
                      .quantity = "peaks of rows",
                      .unit = "1",
                      .form = Product::Form::kTable,
                      .columns = {{.name = "row", .unit = "1", .type = ElementType::kUint32},
                                  {.name = "power", .unit = "W/m", .type = ElementType::kFloat64}},
                      .most_rows = 3}};
  return header;
}

/// A frame of row_power_header() with memory of its own.
class RowPowerFrame {
 public:
  explicit RowPowerFrame(const ResultHeader& header, std::size_t processor = 1)
      : values(header.values(header.products[0])) {
    frame.processor = processor;
    frame.epoch = 1;
    frame.products = products_;
    products_[0] = std::as_bytes(std::span(values));
  }
  RowPowerFrame(const RowPowerFrame&) = delete;
  RowPowerFrame& operator=(const RowPowerFrame&) = delete;

  /// Becomes frame `sequence`, captured now, with sequence % 4 peaks.
  const Frame& make(std::uint64_t sequence) {
    frame.sequence = sequence;
    frame.first_bit_time = 1024 * sequence;
    frame.capture_mono_ns = nf_ring_now_ns();
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = value(sequence, i);
    }
    loudest = 500.0 + static_cast<double>(sequence);
    peaks.rows = sequence % 4;
    for (std::uint32_t row = 0; row < 3; ++row) {
      peaks.row[row] = row + static_cast<std::uint32_t>(sequence);
      peaks.power[row] = 0.5 * static_cast<double>(row) + static_cast<double>(sequence);
    }
    return frame;
  }
  void swap_figure_and_table() { std::swap(products_[1], products_[2]); }
  static float value(std::uint64_t sequence, std::size_t index) { return expected_value(sequence, index).re; }

  /// As ResultHeader::bytes() says.
  struct Peaks {
    std::uint64_t rows = 0;
    std::array<std::uint32_t, 4> row{};  ///< three and what pads them
    std::array<double, 3> power{};
  };
  Frame frame;
  std::vector<float> values;
  double loudest = 0.0;
  Peaks peaks;

 private:
  std::array<std::span<const std::byte>, 3> products_{
      std::span<const std::byte>{}, std::as_bytes(std::span(&loudest, 1)), std::as_bytes(std::span(&peaks, 1))};
};

/// Whether images and head belong to one frame.
inline bool is_whole(const nf_ring_layout& layout, const nf_frame& frame) {
  const std::size_t values = std::size_t{layout.planes} * layout.frequencies * layout.rows * layout.columns;
  if (frame.first_bit_time != 1024 * frame.sequence || frame.missing_bit_times != 3 * frame.sequence ||
      frame.flags != frame.sequence % 128 || frame.shed_hops != frame.sequence % 5) {
    return false;
  }
  for (std::size_t i = 0; i < std::size_t{layout.planes} * layout.frequencies * layout.points; ++i) {
    const nf_complex value = expected_value(frame.sequence, kPointsFrom + i);
    if (frame.points[i].re != value.re || frame.points[i].im != value.im) {
      return false;
    }
  }
  for (std::size_t i = 0; frame.images != nullptr && i < values; ++i) {
    const nf_complex value = expected_value(frame.sequence, i);
    if (frame.images[i].re != value.re || frame.images[i].im != value.im) {
      return false;
    }
  }
  return true;
}

struct CloseRing {
  void operator()(nf_ring* ring) const { nf_ring_close(ring); }
};
using RingHandle = std::unique_ptr<nf_ring, CloseRing>;

inline RingHandle open_ring(const std::string& socket) {
  nf_ring* ring = nullptr;
  const nf_ring_status status = nf_ring_open(socket.c_str(), &ring);
  if (status != NF_RING_OK) {
    throw std::runtime_error(nf_ring_status_text(status));
  }
  return RingHandle(ring);
}

/// A folder of a test's own that goes away with it; its path is short enough for a socket.
class SocketFolder {
 public:
  SocketFolder() {
    if (mkdtemp(path_.data()) == nullptr) {
      throw std::runtime_error("can't make a temporary folder");
    }
  }
  SocketFolder(const SocketFolder&) = delete;
  SocketFolder& operator=(const SocketFolder&) = delete;
  ~SocketFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  [[nodiscard]] std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_ = "/tmp/nf-ring-XXXXXX";
};

}  // namespace nearfield::test
