#include "processors/images/image_products.hpp"

#include <algorithm>
#include <utility>

#include "imaging/priors/missing_information.hpp"

namespace nearfield {
namespace {

std::size_t index_of_images(const ImagesHeader& header) {
  const ResultHeader result = result_header(header);
  return static_cast<std::size_t>(result.product("images") - result.products.data());
}

}  // namespace

ImageFrame empty_frame(const ImagesHeader& header) {
  ImageFrame frame;
  const std::size_t lines = header.planes_m.size() * header.frequencies_hz.size();
  frame.images.resize(header.values_per_frame());
  frame.cutoff_rad_per_m.resize(header.frequencies_hz.size());
  frame.slope.resize(header.frequencies_hz.size());
  frame.noise_pa.resize(header.frequencies_hz.size());
  frame.error_estimate.resize(header.frequencies_hz.size());
  frame.points.resize(lines * header.points.size());
  frame.bands.resize(header.planes_m.size() * header.bands_hz.size() * header.pixels());
  frame.radiated_power_w = radiated_power_w(header, frame.images);
  return frame;
}

ImageProducts::ImageProducts(ImagesHeader header, const HolographySettings& holography, BandPlan bands,
                             std::size_t computed)
    : header_(std::move(header)),
      bands_(std::move(bands)),
      computed_(computed),
      points_(header_, holography),
      frame_(empty_frame(header_)),
      products_(products_of(header_, frame_)),  // views of vectors that must keep their size from here on
      images_at_(index_of_images(header_)) {}

/// Removes the frequencies that only bands need.
std::span<const std::complex<float>> ImageProducts::lines_of(std::span<const std::complex<float>> computed) {
  if (bands_.bands.empty()) {
    return computed;
  }
  const std::size_t line_values = header_.frequencies_hz.size() * header_.pixels();
  const std::size_t plane_values = computed_ * header_.pixels();
  auto to = frame_.images.begin();
  for (std::size_t first = 0; first < computed.size(); first += plane_values) {
    const auto lines = computed.subspan(first, line_values);
    to = std::copy(lines.begin(), lines.end(), to);
  }
  sum_bands(bands_, computed, header_.pixels(), frame_.bands);
  return frame_.images;
}

std::span<const std::span<const std::byte>> ImageProducts::of_window(std::size_t window,
                                                                     std::span<const std::complex<float>> images,
                                                                     std::span<const FilterReport> reports,
                                                                     std::span<const double> missing) {
  for (std::size_t f = 0; f < header_.frequencies_hz.size(); ++f) {
    const FilterReport& report = reports[window * computed_ + f];
    frame_.cutoff_rad_per_m[f] = report.cutoff_rad_per_m;
    frame_.slope[f] = report.slope;
    frame_.noise_pa[f] = report.noise_pa;
    frame_.error_estimate[f] = error_with_missing(report.error_estimate, missing[f]);
  }
  const std::size_t values = header_.planes_m.size() * computed_ * header_.pixels();
  const std::span<const std::complex<float>> lines = lines_of(images.subspan(window * values, values));
  points_.sample(lines, frame_.points);
  radiated_power_w(header_, lines, frame_.radiated_power_w);
  products_[images_at_] = std::as_bytes(lines);
  return products_;
}

}  // namespace nearfield
