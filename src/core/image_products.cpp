#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "core/frame.hpp"
#include "core/settings.hpp"

namespace nearfield {
namespace {

constexpr std::string_view kFrequency = "frequency";
constexpr std::string_view kPlane = "z";
constexpr std::string_view kRow = "y";
constexpr std::string_view kColumn = "x";
constexpr std::string_view kPoint = "point";
constexpr std::string_view kBand = "band";
constexpr std::string_view kSurface = "surface";
constexpr std::string_view kNormal = "normal";

/// A product of images, and the vector of a frame that holds it.
struct Part {
  Product product;
  std::vector<float> ImageFrame::*floats = nullptr;
  std::vector<std::complex<float>> ImageFrame::*values = nullptr;
};

Part figure(std::string name, std::string quantity, std::string unit, std::vector<float> ImageFrame::*values,
            std::vector<std::string> axes = {std::string(kFrequency)}) {
  return {.product = {.name = std::move(name),
                      .quantity = std::move(quantity),
                      .unit = std::move(unit),
                      .form = Product::Form::kFigure,
                      .type = ElementType::kFloat32,
                      .axes = std::move(axes)},
          .floats = values};
}

std::vector<std::string> axes_of(std::initializer_list<std::string_view> names) { return {names.begin(), names.end()}; }

/// The products of images; one list for both directions of conversion.
std::vector<Part> parts_of(const ImagesHeader& header) {
  const auto images = [&](std::string name, std::vector<std::string> axes,
                          std::vector<std::complex<float>> ImageFrame::*values) {
    return Part{.product = {.name = std::move(name),
                            .quantity = header.quantity,
                            .unit = header.unit,
                            .type = ElementType::kComplex64,
                            .axes = std::move(axes)},
                .values = values};
  };
  std::vector<Part> parts;
  parts.push_back(figure("cutoff_rad_per_m", "cut-off wavenumber", "rad/m", &ImageFrame::cutoff_rad_per_m));
  parts.push_back(figure("slope", "slope of the filter", "1", &ImageFrame::slope));
  parts.push_back(figure("noise_pa", "noise of a microphone", "Pa", &ImageFrame::noise_pa));
  parts.push_back(figure("error_estimate", "relative error", "1", &ImageFrame::error_estimate));
  if (header.quantity == name_of(Quantity::kActiveIntensity)) {
    parts.push_back(figure("radiated_power_w", "radiated power", "W", &ImageFrame::radiated_power_w,
                           axes_of({kPlane, kFrequency})));
  }
  if (!header.points.empty()) {
    parts.push_back(images("points", axes_of({kPlane, kFrequency, kPoint}), &ImageFrame::points));
  }
  if (header.holds_images) {
    parts.push_back(images("images", axes_of({kPlane, kFrequency, kRow, kColumn}), &ImageFrame::images));
    if (!header.bands_hz.empty()) {
      parts.push_back({.product = {.name = "bands",
                                   .quantity = fmt::format("{} of bands", header.quantity),
                                   .unit = unit_of_bands(header),
                                   .type = ElementType::kFloat32,
                                   .axes = axes_of({kPlane, kBand, kRow, kColumn})},
                       .floats = &ImageFrame::bands});
    }
  }
  return parts;
}

/// True if frames of both have the same layout, ignoring the names of quantities.
bool is_alike(const ResultHeader& a, const ResultHeader& b) {
  const auto same = [](const Product& one, const Product& other) {
    return one.name == other.name && one.form == other.form && one.type == other.type && one.axes == other.axes;
  };
  return a.axes == b.axes &&
         std::equal(a.products.begin(), a.products.end(), b.products.begin(), b.products.end(), same);
}

std::vector<double> values_of_axis(const ResultHeader& header, std::string_view name) {
  const Axis* const axis = header.axis(name);
  return axis == nullptr ? std::vector<double>() : axis->values;
}

template <class T>
void copy_values(std::span<const std::byte> bytes, const Product& product, std::size_t expected,
                 std::vector<T>& values) {
  if (bytes.size() != expected) {
    throw std::invalid_argument(
        fmt::format("frame: expected {} bytes of {}, found {}", expected, product.name, bytes.size()));
  }
  values.resize(bytes.size() / sizeof(T));
  if (!bytes.empty()) {
    std::memcpy(values.data(), bytes.data(), bytes.size());
  }
}

}  // namespace

ResultHeader result_header(const ImagesHeader& header) {
  ResultHeader result;
  result.processor = header.processor;
  result.kind = header.kind;
  result.config = header.config;
  result.device = header.device;
  result.front_end = header.front_end;
  result.axes = {{.name = std::string(kFrequency), .unit = "Hz", .values = header.frequencies_hz},
                 {.name = std::string(kPlane), .unit = "m", .values = header.planes_m},
                 {.name = std::string(kRow), .unit = "m", .values = header.y_m},
                 {.name = std::string(kColumn), .unit = "m", .values = header.x_m}};
  if (!header.points.empty()) {
    Axis points{.name = std::string(kPoint), .unit = "m", .values = {}, .components = 2};
    for (const PlanePoint& point : header.points) {
      points.values.insert(points.values.end(), {point.x_m, point.y_m});
    }
    result.axes.push_back(std::move(points));
  }
  if (header.holds_images && !header.bands_hz.empty()) {
    Axis bands{.name = std::string(kBand), .unit = "Hz", .values = {}, .components = 2};
    for (const Band& band : header.bands_hz) {
      bands.values.insert(bands.values.end(), {band.low_hz, band.high_hz});
    }
    result.axes.push_back(std::move(bands));
  }
  if (!header.surface_m.empty()) {
    result.axes.push_back({.name = std::string(kSurface), .unit = "m", .values = header.surface_m, .components = 3});
    result.axes.push_back({.name = std::string(kNormal), .unit = "1", .values = header.normals, .components = 3});
  }
  for (Part& part : parts_of(header)) {
    result.products.push_back(std::move(part.product));
  }
  return result;
}

std::optional<ImagesHeader> images_header_of(const ResultHeader& header) {
  const Product* const images = header.product("images");
  const Product* const points = header.product("points");
  const Product* const values = images != nullptr ? images : points;
  if (values == nullptr) {
    return std::nullopt;
  }
  ImagesHeader result;
  result.quantity = values->quantity;
  result.unit = values->unit;
  result.config = header.config;
  result.device = header.device;
  result.front_end = header.front_end;
  result.processor = header.processor;
  result.kind = header.kind;
  result.holds_images = images != nullptr;
  result.frequencies_hz = values_of_axis(header, kFrequency);
  result.planes_m = values_of_axis(header, kPlane);
  result.y_m = values_of_axis(header, kRow);
  result.x_m = values_of_axis(header, kColumn);
  const std::vector<double> places = values_of_axis(header, kPoint);
  for (std::size_t i = 0; i + 1 < places.size(); i += 2) {
    result.points.push_back({.x_m = places[i], .y_m = places[i + 1]});
  }
  const std::vector<double> limits = values_of_axis(header, kBand);
  for (std::size_t i = 0; i + 1 < limits.size(); i += 2) {
    result.bands_hz.push_back({.low_hz = limits[i], .high_hz = limits[i + 1]});
  }
  result.surface_m = values_of_axis(header, kSurface);
  result.normals = values_of_axis(header, kNormal);
  return is_alike(result_header(result), header) ? std::optional(std::move(result)) : std::nullopt;
}

std::vector<std::span<const std::byte>> products_of(const ImagesHeader& header, const ImageFrame& frame) {
  std::vector<std::span<const std::byte>> products;
  for (const Part& part : parts_of(header)) {
    products.push_back(part.floats != nullptr ? std::as_bytes(std::span(frame.*part.floats))
                                              : std::as_bytes(std::span(frame.*part.values)));
  }
  return products;
}

ImageFrame image_frame_of(const ImagesHeader& header, const Frame& frame) {
  const std::vector<Part> parts = parts_of(header);
  if (frame.products.size() != parts.size()) {
    throw std::invalid_argument(
        fmt::format("frame: expected {} products of images, found {}", parts.size(), frame.products.size()));
  }
  const ResultHeader description = result_header(header);
  ImageFrame result;
  result.first_sample = frame.first_bit_time;
  result.timestamp_ns = frame.timestamp_ns;
  result.flags = frame.flags;
  result.missing_bits = frame.missing_bit_times;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::size_t bytes = description.bytes(parts[i].product);
    if (parts[i].floats != nullptr) {
      copy_values(frame.products[i], parts[i].product, bytes, result.*parts[i].floats);
    } else {
      copy_values(frame.products[i], parts[i].product, bytes, result.*parts[i].values);
    }
  }
  return result;
}

}  // namespace nearfield
