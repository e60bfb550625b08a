#include "pipeline/image_results.hpp"

#include <algorithm>

namespace nearfield {

ImageResults::ImageResults(const EnginePlan& plan, const Engine& engine)
    : engine_(&engine),
      images_header_(nearfield::images_header(plan, engine)),
      header_(result_header(images_header_)),
      points_(images_header_, plan.settings.holography),
      frame_(empty_frame(images_header_)),
      images_at_(static_cast<std::size_t>(header_.product("images") - header_.products.data())) {
  const std::size_t lines = images_header_.planes_m.size() * images_header_.frequencies_hz.size();
  frame_.points.resize(lines * images_header_.points.size());
  frame_.bands.resize(images_header_.planes_m.size() * images_header_.bands_hz.size() * images_header_.pixels());
  frame_.radiated_power_w = radiated_power_w(images_header_, frame_.images);
  products_ = products_of(images_header_, frame_);  // the vectors keep their sizes and places from here on
}

std::span<const std::complex<float>> ImageResults::images_of(std::size_t window) {
  if (!images_header_.bands_hz.empty()) {
    engine_->fill(window, frame_);
    return frame_.images;
  }
  engine_->fill_reports(window, frame_);
  const std::size_t values = images_header_.values_per_frame();
  return engine_->images().subspan(window * values, values);
}

std::span<const std::span<const std::byte>> ImageResults::products(std::size_t window) {
  const std::span<const std::complex<float>> images = images_of(window);
  points_.sample(images, frame_.points);
  const std::vector<float> power_w = radiated_power_w(images_header_, images);
  std::copy(power_w.begin(), power_w.end(), frame_.radiated_power_w.begin());
  products_[images_at_] = std::as_bytes(images);
  return products_;
}

}  // namespace nearfield
