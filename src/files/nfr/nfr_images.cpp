#include "files/nfr/nfr_images.hpp"

#include <complex>
#include <cstring>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "files/nfr/nfr_json.hpp"

namespace nearfield::nfr {
namespace {

/// Longer than any axis of an image; a product of four such lengths fits in 64 bits.
constexpr std::size_t kLongestAxis = 32768;

bool is_possible(const ImagesHeader& header) {
  const auto fits = [](const std::vector<double>& axis) { return !axis.empty() && axis.size() <= kLongestAxis; };
  return header.points.size() <= kLongestAxis && fits(header.frequencies_hz) && fits(header.planes_m) &&
         fits(header.x_m) && fits(header.y_m);
}

bool has_error_estimates(const RecordHeader& header) { return header.version >= 2; }

std::size_t point_values(const ImagesHeader& images) {
  return images.planes_m.size() * images.frequencies_hz.size() * images.points.size();
}

/// Size of a result; is_possible() bounds the counts.
std::uint64_t payload_bytes(const RecordHeader& header, const ImagesHeader& images) {
  const std::uint64_t reports = has_error_estimates(header) ? 4 : 3;
  return sizeof(ImageFields) + images.frequencies_hz.size() * reports * sizeof(float) +
         (point_values(images) + images.values_per_frame()) * sizeof(std::complex<float>);
}

template <class T>
void take(std::span<const std::byte>& bytes, std::size_t count, std::vector<T>& values) {
  values.resize(count);
  if (!values.empty()) {  // memcpy() must not get a null pointer
    std::memcpy(values.data(), bytes.data(), count * sizeof(T));
  }
  bytes = bytes.subspan(count * sizeof(T));
}

}  // namespace

std::optional<ImagesEpoch> images_epoch_of(std::span<const std::byte> json) {
  const auto result = built(json, [](const Json& object) {
    std::vector<PlanePoint> points;
    for (const auto& [x_m, y_m] : object.value("points_xy_m", std::vector<std::pair<double, double>>())) {
      points.push_back({.x_m = x_m, .y_m = y_m});
    }
    return ImagesEpoch{.epoch = integer_at<std::uint64_t>(object, "epoch"),
                       .header = {.quantity = object.at("quantity").get<std::string>(),
                                  .unit = object.at("unit").get<std::string>(),
                                  .config = object.at("config").get<std::string>(),
                                  .device = object.at("device").get<std::string>(),
                                  .front_end = object.at("front_end").get<std::string>(),
                                  .frequencies_hz = object.at("frequencies_hz").get<std::vector<double>>(),
                                  .planes_m = object.at("planes_m").get<std::vector<double>>(),
                                  .x_m = object.at("x_m").get<std::vector<double>>(),
                                  .y_m = object.at("y_m").get<std::vector<double>>(),
                                  .points = std::move(points)}};
  });
  return result && is_possible(result->header) ? result : std::nullopt;
}

std::optional<ImageFields> image_fields_of(std::span<const std::byte> payload) {
  ImageFields fields;
  if (payload.size() < sizeof(fields)) {
    return std::nullopt;
  }
  std::memcpy(&fields, payload.data(), sizeof(fields));
  return fields;
}

std::optional<ImageFrame> image_values_of(const RecordHeader& header, std::span<const std::byte> payload,
                                          const ImagesHeader& images) {
  const std::optional<ImageFields> fields = image_fields_of(payload);
  const std::size_t frequencies = images.frequencies_hz.size();
  if (!fields || !is_possible(images) || fields->frequencies != frequencies ||
      fields->values != images.values_per_frame() || (!has_error_estimates(header) && !images.points.empty()) ||
      payload.size() != payload_bytes(header, images)) {
    return std::nullopt;
  }
  ImageFrame frame;
  payload = payload.subspan(sizeof(ImageFields));
  take(payload, frequencies, frame.cutoff_rad_per_m);
  take(payload, frequencies, frame.slope);
  take(payload, frequencies, frame.noise_pa);
  if (has_error_estimates(header)) {
    take(payload, frequencies, frame.error_estimate);
  } else {
    frame.error_estimate.assign(frequencies, std::numeric_limits<float>::quiet_NaN());
  }
  take(payload, point_values(images), frame.points);
  take(payload, images.values_per_frame(), frame.images);
  frame.radiated_power_w = radiated_power_w(images, frame.images);
  return frame;
}

}  // namespace nearfield::nfr
