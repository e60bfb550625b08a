#pragma once
#include <complex>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/band.hpp"
#include "core/frame.hpp"
#include "core/geometry.hpp"
#include "core/images.hpp"
#include "files/results_file.hpp"

/// Results of images made from vectors, and read back into them.
namespace nearfield {

/// The images of one window.
struct ImageFrame {
  std::uint64_t first_sample = 0;
  std::int64_t timestamp_ns = 0;
  std::uint32_t flags = 0;
  std::uint64_t missing_bits = 0;
  std::vector<float> cutoff_rad_per_m;      ///< [frequency]
  std::vector<float> slope;                 ///< [frequency]
  std::vector<float> noise_pa;              ///< [frequency]
  std::vector<float> error_estimate;        ///< [frequency]
  std::vector<std::complex<float>> images;  ///< [plane][frequency][row][column]
  std::vector<float> radiated_power_w;      ///< [plane][frequency] for active intensities, else empty
  std::vector<std::complex<float>> points;  ///< [plane][frequency][point]
  std::vector<float> bands;                 ///< [plane][band][row][column]
};

/// What a ResultHeader of images says.
struct ImagesHeader {
  std::string quantity;
  std::string unit;
  std::string config;
  std::string device;
  std::string front_end;
  std::vector<double> frequencies_hz;
  std::vector<double> planes_m;
  std::vector<double> x_m;
  std::vector<double> y_m;
  std::vector<PlanePoint> points = {};
  std::vector<Band> bands_hz = {};
  bool holds_images = true;
  std::vector<double> surface_m = {};  ///< [row][column][x, y, z]
  std::vector<double> normals = {};
  std::string processor = std::string(kFirstProcessor);
  std::string kind = {};

  operator ResultHeader() const;  ///< for functions that take one
  [[nodiscard]] std::size_t pixels() const { return x_m.size() * y_m.size(); }
  [[nodiscard]] std::size_t values_per_frame() const { return planes_m.size() * frequencies_hz.size() * pixels(); }
};

inline ResultHeader result_header(const ImagesHeader& header) {
  std::vector<double> points;
  for (const PlanePoint& point : header.points) {
    points.insert(points.end(), {point.x_m, point.y_m});
  }
  std::vector<double> bands;
  for (const Band& band : header.bands_hz) {
    bands.insert(bands.end(), {band.low_hz, band.high_hz});
  }
  ResultHeader result;
  result.processor = header.processor;
  result.kind = header.kind;
  result.config = header.config;
  result.device = header.device;
  result.front_end = header.front_end;
  result.axes = image_axes({{"frequency", header.frequencies_hz},
                            {"z", header.planes_m},
                            {"y", header.y_m},
                            {"x", header.x_m},
                            {"point", points},
                            {"band", header.holds_images ? bands : std::vector<double>()},
                            {"surface", header.surface_m},
                            {"normal", header.normals}});
  add_image_products(result, header.quantity, header.unit, header.holds_images);
  return result;
}

inline ImagesHeader::operator ResultHeader() const { return result_header(*this); }

/// Nothing where there are neither images nor points.
inline std::optional<ImagesHeader> images_header_of(const ResultHeader& header) {
  const Product* const shown = images_or_points_of(header);
  if (shown == nullptr) {
    return std::nullopt;
  }
  ImagesHeader result{.quantity = shown->quantity,
                      .unit = shown->unit,
                      .config = header.config,
                      .device = header.device,
                      .front_end = header.front_end,
                      .frequencies_hz = header.coordinates("frequency"),
                      .planes_m = header.coordinates("z"),
                      .x_m = header.coordinates("x"),
                      .y_m = header.coordinates("y"),
                      .holds_images = images_of(header) != nullptr,
                      .surface_m = header.coordinates("surface"),
                      .normals = header.coordinates("normal"),
                      .processor = header.processor,
                      .kind = header.kind};
  const std::vector<double>& points = header.coordinates("point");
  for (std::size_t i = 0; i + 1 < points.size(); i += 2) {
    result.points.push_back({.x_m = points[i], .y_m = points[i + 1]});
  }
  const std::vector<double>& bands = header.coordinates("band");
  for (std::size_t i = 0; i + 1 < bands.size(); i += 2) {
    result.bands_hz.push_back({.low_hz = bands[i], .high_hz = bands[i + 1]});
  }
  return result;
}

/// Products of result_header(header), which refer to the vectors of `frame`.
inline std::vector<std::span<const std::byte>> products_of(const ImagesHeader& header, const ImageFrame& frame) {
  std::vector<std::span<const std::byte>> products;
  for (const Product& product : result_header(header).products) {
    const auto bytes = [&]() -> std::span<const std::byte> {
      if (product.name == "cutoff_rad_per_m") {
        return std::as_bytes(std::span(frame.cutoff_rad_per_m));
      }
      if (product.name == "slope") {
        return std::as_bytes(std::span(frame.slope));
      }
      if (product.name == "noise_pa") {
        return std::as_bytes(std::span(frame.noise_pa));
      }
      if (product.name == "error_estimate") {
        return std::as_bytes(std::span(frame.error_estimate));
      }
      if (product.name == "radiated_power_w") {
        return std::as_bytes(std::span(frame.radiated_power_w));
      }
      if (product.name == "bands") {
        return std::as_bytes(std::span(frame.bands));
      }
      return std::as_bytes(std::span(product.name == "points" ? frame.points : frame.images));
    };
    products.push_back(bytes());
  }
  return products;
}

/// Values of a frame of this header; figures that it lacks are NaN.
inline ImageFrame image_frame_of(const ResultHeader& header, const Frame& frame) {
  const auto values = [&]<class T>(std::string_view name, std::vector<T>& into) {
    const std::span<const T> found = values_in<T>(header, frame.products, name);
    into.assign(found.begin(), found.end());
  };
  ImageFrame result;
  result.first_sample = frame.first_bit_time;
  result.timestamp_ns = frame.timestamp_ns;
  result.flags = frame.flags;
  result.missing_bits = frame.missing_bit_times;
  for (const auto& [name, into] : {std::pair{"cutoff_rad_per_m", &result.cutoff_rad_per_m},
                                   {"slope", &result.slope},
                                   {"noise_pa", &result.noise_pa},
                                   {"error_estimate", &result.error_estimate}}) {
    values(name, *into);
    if (header.product(name) == nullptr) {
      into->assign(header.coordinates("frequency").size(), std::numeric_limits<float>::quiet_NaN());
    }
  }
  values("radiated_power_w", result.radiated_power_w);
  values("bands", result.bands);
  values("points", result.points);
  values("images", result.images);
  return result;
}
inline ImageFrame image_frame_of(const ImagesHeader& header, const Frame& frame) {
  return image_frame_of(result_header(header), frame);
}

/// [plane][frequency]; empty for other quantities than active intensity.
inline std::vector<float> radiated_power_w(const ImagesHeader& header, std::span<const std::complex<float>> images) {
  const ResultHeader result = result_header(header);
  const Product* const power = result.product("radiated_power_w");
  std::vector<float> power_w(power == nullptr ? 0 : result.values(*power));
  radiated_power_w(result, images, power_w);
  return power_w;
}

/// The frame with its stamp; it refers to `values` and `products`.
inline Frame frame_with(const ImageFrame& values, std::span<const std::span<const std::byte>> products) {
  Frame frame;
  frame.first_bit_time = values.first_sample;
  frame.timestamp_ns = values.timestamp_ns;
  frame.flags = values.flags;
  frame.missing_bit_times = values.missing_bits;
  frame.products = products;
  return frame;
}

/// Writes a file of one processor's images.
class ImagesWriter {
 public:
  ImagesWriter(const std::filesystem::path& path, const ImagesHeader& header, std::uint64_t frames)
      : header_(header), results_(path) {
    results_.begin(result_header(header), {.frames = frames});
  }
  void write(const ImageFrame& frame) { results_.write(frame_with(frame, products_of(header_, frame))); }
  void finish() { results_.finish(); }

 private:
  ImagesHeader header_;
  ResultsWriter results_;
};

/// Reads the images of a file's first processor.
class ImagesReader {
 public:
  explicit ImagesReader(const std::filesystem::path& path)
      : results_(open_images(path)), header_(images_header_of(results_.header(0)).value()) {}
  [[nodiscard]] const ImagesHeader& header() const { return header_; }
  [[nodiscard]] std::uint64_t frames() const { return results_.frames(0); }
  [[nodiscard]] ImageFrame read(std::uint64_t frame) const {
    return image_frame_of(results_.header(0), results_.read(0, frame).frame);
  }

 private:
  ResultsReader results_;
  ImagesHeader header_;
};

/// Images of a window by an engine's processor, in memory of their own.
template <class Engine, class Batch>
std::vector<std::complex<float>> images_in(Engine& engine, const Batch& batch, std::size_t window = 0,
                                           std::size_t processor = 0) {
  const auto images = values_in<std::complex<float>>(engine.header(processor),
                                                     engine.read(batch, processor, window).products, "images");
  return {images.begin(), images.end()};
}

}  // namespace nearfield
