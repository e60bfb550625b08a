#pragma once
#include <cstddef>
#include <span>
#include <vector>

#include "nearfield/frame.hpp"
#include "pipeline/engine.hpp"
#include "pipeline/points.hpp"

namespace nearfield {

/// The products of an engine's images, window by window. Allocates only when made.
class ImageResults {
 public:
  /// The engine must be made of this plan and live as long.
  ImageResults(const EnginePlan& plan, const Engine& engine);
  ImageResults(const ImageResults&) = delete;
  ImageResults& operator=(const ImageResults&) = delete;
  [[nodiscard]] const ResultHeader& header() const { return header_; }
  [[nodiscard]] const ImagesHeader& images_header() const { return images_header_; }
  /// Of one of the windows that the engine has computed last, [product]; they hold until it computes the next ones, or
  /// the next call. Images are copied only where bands are made of them.
  std::span<const std::span<const std::byte>> products(std::size_t window);

 private:
  [[nodiscard]] std::span<const std::complex<float>> images_of(std::size_t window);

  const Engine* engine_;
  ImagesHeader images_header_;
  ResultHeader header_;
  PointSampler points_;
  ImageFrame frame_;
  std::vector<std::span<const std::byte>> products_;
  std::size_t images_at_;  ///< index in products_
};

}  // namespace nearfield
