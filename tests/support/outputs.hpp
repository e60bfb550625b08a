#pragma once
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "nearfield/output.hpp"

namespace nearfield::test {

/// A frame of images with memory of its own. `frame` is valid while this stays where it is and `images` keeps its
/// sizes.
class MadeFrame {
 public:
  MadeFrame(const ImagesHeader& header, ImageFrame values)
      : images(std::move(values)), products_(products_of(header, images)) {
    frame.flags = images.flags;
    frame.products = products_;
  }
  MadeFrame(const MadeFrame&) = delete;
  MadeFrame& operator=(const MadeFrame&) = delete;
  ImageFrame images;
  Frame frame;

 private:
  std::vector<std::span<const std::byte>> products_;
};

/// What an output got, in memory of its own; `frame.products` is empty.
struct KeptFrame {
  Frame frame;
  std::vector<std::complex<float>> images;
  std::vector<std::complex<float>> points;
  ImageFrame values;
};

/// Keeps all frames of images.
class KeepingOutput : public Output {
 public:
  void begin(const ResultHeader& header, const Beginning& beginning) override {
    header_ = images_header_of(header).value();
    epochs.push_back(beginning.epoch);
  }
  void write(const Frame& frame) override {
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
  std::vector<std::uint64_t> epochs;

 private:
  ImagesHeader header_;
};

}  // namespace nearfield::test
