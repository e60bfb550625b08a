#pragma once
#include <cstddef>
#include <span>
#include <vector>

#include "core/frame.hpp"
#include "core/settings.hpp"
#include "processors/images/bands.hpp"
#include "processors/images/points.hpp"

namespace nearfield {

/// Makes the products of images from an imager's images and reports, window by window. Only the constructor allocates,
/// except with bands.
class ImageProducts {
 public:
  /// `computed` is the number of imaged frequencies: the header's, then those that bands are made of.
  ImageProducts(ImagesHeader header, const HolographySettings& holography, BandPlan bands, std::size_t computed);
  ImageProducts(const ImageProducts&) = delete;
  ImageProducts& operator=(const ImageProducts&) = delete;
  [[nodiscard]] const ImagesHeader& header() const { return header_; }
  /// images [window][plane][computed][row][column], reports [window][computed]. Returns [product], in the order of
  /// result_header(); valid until the next call, and as long as `images`, which is copied only for bands. `missing`:
  /// share of each frequency's information that the microphones lack (MissingInformation), by which its expected error
  /// grows.
  std::span<const std::span<const std::byte>> of_window(std::size_t window, std::span<const std::complex<float>> images,
                                                        std::span<const FilterReport> reports,
                                                        std::span<const double> missing);

 private:
  std::span<const std::complex<float>> lines_of(std::span<const std::complex<float>> computed);

  ImagesHeader header_;
  BandPlan bands_;
  std::size_t computed_;
  PointSampler points_;
  ImageFrame frame_;
  std::vector<std::span<const std::byte>> products_;
  std::size_t images_at_;  ///< index in products_
};

/// A frame with room for this header's images.
ImageFrame empty_frame(const ImagesHeader& header);

}  // namespace nearfield
