#pragma once
#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/frame.hpp"
#include "core/settings.hpp"
#include "imaging/shared/imager.hpp"
#include "imaging/shared/imager_reference.hpp"
#include "processors/images/bands.hpp"
#include "processors/images/image_plan.hpp"
#include "processors/images/points.hpp"
#include "processors/processor.hpp"

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

/// Access to an imager's images before they become products.
class ImagesOnHost {
 public:
  virtual ~ImagesOnHost() = default;
  /// Images of the batch in a place, [window][plane][frequency][row][column], including frequencies that only bands
  /// need.
  [[nodiscard]] virtual std::span<const std::complex<float>> images(std::size_t place) const = 0;
  /// [window][frequency], likewise.
  [[nodiscard]] virtual std::span<const FilterReport> reports(std::size_t place) const = 0;
  [[nodiscard]] virtual const ImagePlan& plan() const = 0;
};

/// Share of the information in a window's images that the microphones in use do not provide.
class MissingOfImages {
 public:
  /// Starts with the microphones that the plan masks.
  explicit MissingOfImages(const ImagePlan& plan);
  void use(const MicrophoneMask& mask);
  /// [frequency], if `non_finite` of the used microphones are not finite; valid until the next call.
  std::span<const double> with(int non_finite);

 private:
  MissingInformation in_model_;  ///< part contained in the imager's own expected error
  int microphones_;
  int used_;
  std::vector<double> masked_;  ///< [frequency]
  std::vector<double> all_;     ///< [frequency] masked_ and non-finite ones
};

/// An imager as a processor.
class ImageProcessor : public Processor, public ImagesOnHost {
 public:
  ImageProcessor(const ocl::Device& device, const ProcessorPlan& plan);
  [[nodiscard]] ResultHeader header() const override;
  void enqueue(const BatchInput& input) override;
  WindowProducts products(const WindowToRead& of) override;
  [[nodiscard]] std::span<const std::uint32_t> host_status(std::size_t place) const override {
    return imager_->host_status(place);
  }
  void use(const MicrophoneMask& mask) override {
    imager_->use(mask);
    missing_.use(mask);
  }
  void adopt(const std::shared_ptr<const Findings>& findings) override { imager_->adopt(findings); }
  [[nodiscard]] std::unique_ptr<Search> make_search() const override { return imager_->make_search(); }
  void forget() override { imager_->forget(); }
  [[nodiscard]] std::string description() const override { return imager_->description(); }
  [[nodiscard]] std::span<const std::complex<float>> images(std::size_t place) const override;
  [[nodiscard]] std::span<const FilterReport> reports(std::size_t place) const override {
    return imager_->host_reports(place);
  }
  [[nodiscard]] const ImagePlan& plan() const override { return plan_; }

 private:
  ImagePlan plan_;
  std::unique_ptr<Imager> imager_;
  ImageProducts products_;
  MissingOfImages missing_;
  std::array<std::size_t, 2> windows_{};  ///< [place] number enqueued last
};

namespace reference {

class ImageProcessor : public Processor, public ImagesOnHost {
 public:
  explicit ImageProcessor(const ProcessorPlan& plan);
  [[nodiscard]] ResultHeader header() const override;
  void forget() override { imager_->forget(); }
  WindowProducts products(const WindowToRead& of) override {
    return {.products = products_.of_window(of.window, images_, reports_, missing_.with(non_finite_.at(of.window)))};
  }
  void use(const MicrophoneMask& mask) override {
    imager_->use(mask);
    missing_.use(mask);
  }
  void adopt(const std::shared_ptr<const Findings>& findings) override { imager_->adopt(findings); }
  [[nodiscard]] std::unique_ptr<Search> make_search() const override { return imager_->make_search(); }
  [[nodiscard]] std::span<const std::complex<float>> images(std::size_t /*place*/) const override { return images_; }
  [[nodiscard]] std::span<const FilterReport> reports(std::size_t /*place*/) const override { return reports_; }
  [[nodiscard]] const ImagePlan& plan() const override { return plan_; }

 private:
  void begin() override;
  Outcome add(const WindowInput& window) override;

  ImagePlan plan_;
  std::unique_ptr<Imager> imager_;
  ImageProducts products_;
  MissingOfImages missing_;
  std::vector<std::complex<float>> images_;
  std::vector<FilterReport> reports_;
  std::vector<int> non_finite_;  ///< [window]
};

}  // namespace reference
}  // namespace nearfield
