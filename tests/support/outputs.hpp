#pragma once
#include <complex>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "core/frame.hpp"
#include "support/images.hpp"

namespace nearfield::test {

/// A frame of images with memory of its own; figures that are not given are NaN. `frame` is valid while this stays
/// where it is and `images` keeps its sizes.
class MadeFrame {
 public:
  MadeFrame(const ImagesHeader& header, ImageFrame values)
      : images(with_figures(header, std::move(values))), products_(products_of(header, images)) {
    frame = frame_with(images, products_);
  }
  MadeFrame(const MadeFrame&) = delete;
  MadeFrame& operator=(const MadeFrame&) = delete;
  ImageFrame images;
  Frame frame;

 private:
  static ImageFrame with_figures(const ImagesHeader& header, ImageFrame values) {
    for (std::vector<float>* const figure :
         {&values.cutoff_rad_per_m, &values.slope, &values.noise_pa, &values.error_estimate}) {
      figure->resize(header.frequencies_hz.size(), std::numeric_limits<float>::quiet_NaN());
    }
    return values;
  }
  std::vector<std::span<const std::byte>> products_;
};

/// What an output got, in memory of its own; `frame.products` is empty.
struct KeptFrame {
  Frame frame;
  std::vector<std::complex<float>> images;
  std::vector<std::complex<float>> points;
  ImageFrame values;
};

/// Keeps all frames: those of images of the first processor with their values, of others the bytes of their products.
class KeepingOutput : public Output {
 public:
  struct Other {
    Frame frame;                                   ///< without products
    std::vector<std::vector<std::byte>> products;  ///< [product]
  };
  void begin(const ResultHeader& header, const Beginning& beginning) override {
    if (beginning.processor == 0) {
      header_ = images_header_of(header).value();
      epochs.push_back(beginning.epoch);
    }
  }
  void write(const Frame& frame) override {
    if (frame.processor > 0) {
      others.push_back({frame, {}});
      for (const std::span<const std::byte> product : frame.products) {
        others.back().products.emplace_back(product.begin(), product.end());
      }
      others.back().frame.products = {};
      return;
    }
    const ImageFrame values = image_frame_of(header_, frame);
    frames.push_back({frame, values.images, values.points, values});
    frames.back().frame.products = {};
  }
  /// Their images.
  [[nodiscard]] std::vector<ImageFrame> images() const {
    std::vector<ImageFrame> result;
    for (const KeptFrame& kept : frames) {
      result.push_back(kept.values);
    }
    return result;
  }
  std::vector<KeptFrame> frames;
  std::vector<Other> others;
  std::vector<std::uint64_t> epochs;

 private:
  ImagesHeader header_;
};

}  // namespace nearfield::test
