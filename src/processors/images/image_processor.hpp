#pragma once
#include <complex>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/frame.hpp"
#include "core/product.hpp"
#include "core/settings.hpp"
#include "imaging/shared/imager.hpp"
#include "imaging/shared/imager_reference.hpp"
#include "processors/images/bands.hpp"
#include "processors/images/image_plan.hpp"
#include "processors/processor.hpp"

namespace nearfield {

/// Pixels of one axis from which a position is interpolated, and their weights.
struct AxisWeights {
  std::size_t first = 0;
  std::vector<double> weights;
};

/// Weights for a position in pixels, 0 to `pixels` - 1: those with the least mean square error over all waves up to
/// `band` of the pixels' Nyquist wavenumber, from the nearest 16 pixels. A position on a pixel gives that pixel alone.
AxisWeights band_limited_weights(double position, std::size_t pixels, double band);

/// Samples images at the points that the settings name.
class PointSampler {
 public:
  /// The header must be for images with these settings.
  PointSampler(const ResultHeader& header, const HolographySettings& holography);
  /// Interpolates images [plane][frequency][row][column] to values [plane][frequency][point].
  void sample(std::span<const std::complex<float>> images, std::span<std::complex<float>> values) const;

 private:
  struct Place {
    AxisWeights rows;
    AxisWeights columns;
  };
  std::size_t columns_;
  std::size_t pixels_;
  std::vector<Place> places_;
};

/// Makes the products of images from an imager's images and reports, window by window. Only the constructor allocates,
/// except with bands.
class ImageProducts {
 public:
  /// `computed` is the number of imaged frequencies: the header's, then those that bands are made of.
  ImageProducts(ResultHeader header, const HolographySettings& holography, BandPlan bands, std::size_t computed);
  ImageProducts(const ImageProducts&) = delete;
  ImageProducts& operator=(const ImageProducts&) = delete;
  [[nodiscard]] const ResultHeader& header() const { return header_; }
  /// images [window][plane][computed][row][column], those of the surface's planes before those of what comes from
  /// behind, if the header has these; reports [window][computed]. Returns [product], in the order of
  /// header(); valid until the next call, and as long as `images`, which is copied only for bands. `missing`:
  /// share of each frequency's information that the microphones lack (MissingInformation), by which its expected error
  /// grows.
  std::span<const std::span<const std::byte>> of_window(std::size_t window, std::span<const std::complex<float>> images,
                                                        std::span<const FilterReport> reports,
                                                        std::span<const double> missing);

 private:
  std::span<const std::complex<float>> lines_of(std::span<const std::complex<float>> computed,
                                                std::span<std::complex<float>> lines) const;

  ResultHeader header_;
  BandPlan bands_;
  std::size_t computed_;
  PointSampler points_;
  ResultFrame frame_;
  // Values of frame_.
  std::span<float> cutoff_rad_per_m_;
  std::span<float> slope_;
  std::span<float> noise_pa_;
  std::span<float> error_estimate_;
  std::span<float> radiated_power_w_;
  std::span<std::complex<float>> points_values_;
  std::span<std::complex<float>> images_;  ///< at the requested frequencies, where others were computed for bands
  std::span<std::complex<float>> behind_;  ///< likewise; empty: what comes from behind is not told apart
  std::span<float> bands_values_;
  std::vector<std::span<const std::byte>> products_;
  std::size_t images_at_;  ///< index in products_
  std::size_t behind_at_;  ///< index in products_ of what comes from behind
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
  /// Part that the imager's own expected error contains: that of the configured dead channels.
  MissingInformation in_model_;
  int microphones_;
  int used_;
  std::vector<double> masked_;  ///< [frequency]
  std::vector<double> all_;     ///< [frequency] masked_ and non-finite ones
};

/// An imager as a processor, on a device or as a reference.
template <typename Base, typename AnyImager>
class ImageProcessorBase : public Base, public Searching {
 public:
  void use(const MicrophoneMask& mask) override {
    imager_->use(mask);
    missing_.use(mask);
  }
  void adopt(const std::shared_ptr<const Findings>& findings) override { imager_->adopt(findings); }
  [[nodiscard]] std::unique_ptr<Search> make_search() const override {
    return plan_.searches ? imager_->make_search() : nullptr;
  }
  [[nodiscard]] int search_every_hops() const override { return plan_.search_every_hops(); }
  void forget() override { imager_->forget(); }

 protected:
  ImageProcessorBase(const ProcessorPlan& plan, const ImagePlan& images, std::unique_ptr<AnyImager> imager);

  ImagePlan plan_;
  std::unique_ptr<AnyImager> imager_;
  ImageProducts products_;
  MissingOfImages missing_;
};

class ImageProcessor : public ImageProcessorBase<Processor, Imager> {
 public:
  ImageProcessor(const ocl::Device& device, const ProcessorPlan& plan, const ImagePlan& images);
  void enqueue(const BatchInput& input) override;
  WindowProducts products(const WindowToRead& of) override;
  [[nodiscard]] std::span<const std::uint32_t> host_status(std::size_t place) const override {
    return imager_->host_status(place);
  }
  [[nodiscard]] std::string description() const override { return imager_->description(); }
};

namespace reference {

class ImageProcessor : public ImageProcessorBase<Processor, Imager> {
 public:
  ImageProcessor(const ProcessorPlan& plan, const ImagePlan& images);
  WindowResult compute(const WindowInput& window) override;

 private:
  std::vector<std::complex<float>> images_;
  std::vector<FilterReport> reports_;
};

}  // namespace reference

}  // namespace nearfield
