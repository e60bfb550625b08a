#include "processors/images/image_processor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <set>
#include <string>
#include <utility>

#include "core/images.hpp"
#include "core/numerics.hpp"
#include "core/text.hpp"
#include "imaging/imager_table.hpp"
#include "imaging/operators/operator_space.hpp"
#include "imaging/pnah/pnah.hpp"
#include "imaging/priors/make_mask.hpp"
#include "processors/images/settings.hpp"

namespace nearfield {
namespace {

constexpr std::size_t kMostPixels = 16;
/// Share of the microphones' Nyquist wavenumber that is interpolated well: the pass band of a cut-off.
constexpr double kBand = 0.8;
/// Power of noise relative to the field's, which keeps the weights small where waves are nearly indistinguishable.
constexpr double kNoise = 1e-4;
constexpr double kOnPixel = 1e-6;  ///< pixels

double sinc(double x) { return x == 0.0 ? 1.0 : std::sin(std::numbers::pi * x) / (std::numbers::pi * x); }

/// Position in pixels from the first one's centre.
double position_of(double at_m, const std::vector<double>& axis_m) {
  if (axis_m.size() == 1) {
    return 0.0;
  }
  const double last = static_cast<double>(axis_m.size() - 1);
  return std::clamp((at_m - axis_m.front()) / (axis_m.back() - axis_m.front()) * last, 0.0, last);
}

}  // namespace

AxisWeights band_limited_weights(double position, std::size_t pixels, double band) {
  const auto nearest = static_cast<std::size_t>(std::lround(position));
  if (std::abs(position - static_cast<double>(nearest)) < kOnPixel) {
    return {.first = nearest, .weights = {1.0}};
  }
  const std::size_t count = std::min(pixels, kMostPixels);
  const auto below = static_cast<std::size_t>(position) + 1;
  const std::size_t first = std::min(below > count / 2 ? below - count / 2 : 0, pixels - count);
  std::vector<double> gram(count * count);
  std::vector<double> weights(count);
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t j = 0; j < count; ++j) {
      gram[i * count + j] = sinc(band * (static_cast<double>(i) - static_cast<double>(j))) + (i == j ? kNoise : 0.0);
    }
    weights[i] = sinc(band * (position - static_cast<double>(first + i)));
  }
  solve_cholesky(gram, weights);
  return {.first = first, .weights = std::move(weights)};
}

PointSampler::PointSampler(const ResultHeader& header, const HolographySettings& holography)
    : columns_(header.coordinates("x").size()), pixels_(image_pixels(header)) {
  const std::vector<double>& x_m = header.coordinates("x");
  const std::vector<double>& y_m = header.coordinates("y");
  // A product of two fields has twice their band.
  const double fields = holography.quantity == Quantity::kActiveIntensity ? 2.0 : 1.0;
  const double band = std::min(1.0, kBand * fields / holography.upsample);
  for (const PlanePoint& point : holography.points) {
    places_.push_back({.rows = band_limited_weights(position_of(point.y_m, y_m), y_m.size(), band),
                       .columns = band_limited_weights(position_of(point.x_m, x_m), x_m.size(), band)});
  }
}

void PointSampler::sample(std::span<const std::complex<float>> images, std::span<std::complex<float>> values) const {
  auto to = values.begin();
  for (std::size_t image = 0; image + pixels_ <= images.size(); image += pixels_) {
    for (const Place& place : places_) {
      std::complex<double> value;
      for (std::size_t r = 0; r < place.rows.weights.size(); ++r) {
        const std::size_t row = image + (place.rows.first + r) * columns_ + place.columns.first;
        for (std::size_t c = 0; c < place.columns.weights.size(); ++c) {
          value += place.rows.weights[r] * place.columns.weights[c] * std::complex<double>(images[row + c]);
        }
      }
      *to++ = std::complex<float>(value);
    }
  }
}

ImageProducts::ImageProducts(ResultHeader header, const HolographySettings& holography, BandPlan bands,
                             std::size_t computed)
    : header_(std::move(header)),
      bands_(std::move(bands)),
      computed_(computed),
      points_(header_, holography),
      frame_(header_),
      cutoff_rad_per_m_(frame_.values<float>(header_, "cutoff_rad_per_m")),
      slope_(frame_.values<float>(header_, "slope")),
      noise_pa_(frame_.values<float>(header_, "noise_pa")),
      error_estimate_(frame_.values<float>(header_, "error_estimate")),
      radiated_power_w_(frame_.values<float>(header_, "radiated_power_w")),
      points_values_(frame_.values<std::complex<float>>(header_, "points")),
      images_(frame_.values<std::complex<float>>(header_, "images")),
      behind_(frame_.values<std::complex<float>>(header_, "behind")),
      bands_values_(frame_.values<float>(header_, "bands")),
      products_(frame_.frame.products.begin(), frame_.frame.products.end()),
      images_at_(header_.index("images").value()),
      behind_at_(header_.index("behind").value_or(0)) {}

/// The images of the requested frequencies, without those computed for bands alone; copied to `lines` if there are any.
std::span<const std::complex<float>> ImageProducts::lines_of(std::span<const std::complex<float>> computed,
                                                             std::span<std::complex<float>> lines) const {
  if (bands_.bands.empty()) {
    return computed;
  }
  const std::size_t pixels = image_pixels(header_);
  const std::size_t line_values = cutoff_rad_per_m_.size() * pixels;
  const std::size_t plane_values = computed_ * pixels;
  auto to = lines.begin();
  for (std::size_t first = 0; first < computed.size(); first += plane_values) {
    const auto of_plane = computed.subspan(first, line_values);
    to = std::copy(of_plane.begin(), of_plane.end(), to);
  }
  return lines;
}

std::span<const std::span<const std::byte>> ImageProducts::of_window(std::size_t window,
                                                                     std::span<const std::complex<float>> images,
                                                                     std::span<const FilterReport> reports,
                                                                     std::span<const double> missing) {
  const std::size_t frequencies = cutoff_rad_per_m_.size();
  for (std::size_t f = 0; f < frequencies; ++f) {
    const FilterReport& report = reports[window * computed_ + f];
    cutoff_rad_per_m_[f] = report.cutoff_rad_per_m;
    const bool has_slope = report.slope > 0.0F;
    slope_[f] = has_slope ? report.slope : std::numeric_limits<float>::quiet_NaN();
    noise_pa_[f] = report.noise_pa;
    const double of_sources = report.slope <= 0.0F ? static_cast<double>(-report.slope) : 0.0;
    error_estimate_[f] = error_with_missing(report.error_estimate, missing[f], of_sources);
  }
  const std::size_t values = images_.size() / frequencies * computed_;
  const std::size_t stride = behind_.empty() ? values : 2 * values;
  const std::span<const std::complex<float>> computed = images.subspan(window * stride, values);
  const std::span<const std::complex<float>> lines = lines_of(computed, images_);
  if (!bands_.bands.empty()) {
    sum_bands(bands_, computed, image_pixels(header_), bands_values_);
  }
  if (!behind_.empty()) {
    products_[behind_at_] = std::as_bytes(lines_of(images.subspan(window * stride + values, values), behind_));
  }
  points_.sample(lines, points_values_);
  radiated_power_w(header_, lines, radiated_power_w_);
  products_[images_at_] = std::as_bytes(lines);
  return products_;
}

namespace {

/// Falls back to pnah if the settings name no imager, the array is a grid without a surface, and this device can't run
/// the preferred one.
ImagePlan possible_here(const ocl::Device& device, const ProcessorPlan& plan) {
  ImagePlan wanted = image_plan(plan);
  const bool is_free = dynamic_cast<const ImageKindSettings&>(*plan.own).images.imager == ImagerKind::kAuto;
  if (is_free && !wanted.surface && wanted.geometry.is_grid() &&
      !imager_entry(wanted.holography.imager).obstacle(device.info(), wanted).empty()) {
    wanted.holography.imager = ImagerKind::kPnah;
    validate(wanted);
  }
  return wanted;
}

ImageProducts image_products_of(const ProcessorPlan& plan, const ImagePlan& images) {
  return ImageProducts(images_header(plan, images), images.holography,
                       plan_bands(plan.settings->front_end, images.holography.quantity, plan.sample_rate_hz),
                       images.frequencies_hz.size());
}

/// Notes on facts that the settings do not state: positions of irregular arrays' images and of a file's sources, and
/// the reason why no points are searched.
Remarks remarks_of_images(const ProcessorPlan& plan) {
  Remarks remarks;
  const HolographySettings& images = dynamic_cast<const ImageKindSettings&>(*plan.own).images;
  if (!plan.array.geometry.is_grid() && images.surface_path.empty()) {
    remarks.notes.push_back(fmt::format("{}: {} microphones on no regular grid are imaged on a grid of their own: {}",
                                        plan.name, plan.array.geometry.channels(),
                                        text_of(image_grid(plan.array.geometry, images.upsample))));
  }
  const ImagePlan wanted = image_plan(plan);
  if (wanted.sources) {
    std::vector<double> xyz_m;
    for (const Eigen::Vector3d& place : wanted.sources->places_m) {
      xyz_m.insert(xyz_m.end(), place.begin(), place.end());
    }
    remarks.notes.push_back(fmt::format("{}: its sources have {} places, {}", plan.name,
                                        wanted.sources->places_m.size(), text_of_extent(xyz_m)));
  }
  if (wanted.searches) {
    const bool is_operators = wanted.holography.imager == ImagerKind::kOperators;
    if (const std::string reason = is_operators ? reason_for_no_points(wanted) : ""; !reason.empty()) {
      remarks.notes.push_back(fmt::format("{}: {}", plan.name, reason));
    }
  }
  return remarks;
}

/// Ascending, each once.
std::vector<std::int32_t> dead_of(const ArrayPlan& plan) {
  const std::set<int> dead(plan.dead_channels.begin(), plan.dead_channels.end());
  return {dead.begin(), dead.end()};
}

ProcessorEntry entry_of(std::string_view kind, WorkModel (*work)(const ProcessorPlan&)) {
  return {.kind = kind,
          .make = [](const ocl::Device& device, const ProcessorPlan& plan) -> std::unique_ptr<Processor> {
            return std::make_unique<ImageProcessor>(device, plan, possible_here(device, plan));
          },
          .make_reference = [](const ProcessorPlan& plan) -> std::unique_ptr<reference::Processor> {
            return std::make_unique<reference::ImageProcessor>(plan, image_plan(plan));
          },
          .remarks = remarks_of_images,
          .work = work,
          .takes_turns = true};
}

}  // namespace

ProcessorEntry pnah_entry() {
  return entry_of("pnah", [](const ProcessorPlan& plan) {
    return work::pnah(plan.array, dynamic_cast<const ImageKindSettings&>(*plan.own).images, plan.batch);
  });
}

/// The stages at the microphones alone: the size of the matrices of each frequency is known only with the models.
ProcessorEntry sonah_entry() {
  return entry_of("sonah", [](const ProcessorPlan& plan) { return work::microphones(plan.array, plan.batch); });
}

ProcessorEntry operators_entry() {
  return entry_of("operators", [](const ProcessorPlan& plan) { return work::microphones(plan.array, plan.batch); });
}

MissingOfImages::MissingOfImages(const ImagePlan& plan)
    : in_model_(plan.holography.imager == ImagerKind::kOperators ? missing_information(plan, dead_of(plan))
                                                                 : MissingInformation()),
      microphones_(plan.geometry.channels()),
      used_(microphones_),
      masked_(plan.frequencies_hz.size()),
      all_(masked_.size()) {
  MicrophoneMask mask;
  mask.channels = dead_of(plan);
  mask.missing = missing_information(plan, mask.channels);
  use(mask);
}

void MissingOfImages::use(const MicrophoneMask& mask) {
  used_ = microphones_ - static_cast<int>(mask.channels.size());
  for (std::size_t f = 0; f < masked_.size(); ++f) {
    const double in_model = in_model_.at(f);
    const double left = 1.0 - mask.missing.at(f);
    masked_[f] = in_model < 1.0 ? std::clamp(1.0 - left / (1.0 - in_model), 0.0, 1.0) : 1.0;
  }
}

std::span<const double> MissingOfImages::with(int non_finite) {
  std::transform(masked_.begin(), masked_.end(), all_.begin(),
                 [&](double missing) { return missing_with(missing, non_finite, used_); });
  return all_;
}

template <typename Base, typename AnyImager>
ImageProcessorBase<Base, AnyImager>::ImageProcessorBase(const ProcessorPlan& plan, const ImagePlan& images,
                                                        std::unique_ptr<AnyImager> imager)
    : Base(images_header(plan, images)),
      plan_(images),
      imager_(std::move(imager)),
      products_(image_products_of(plan, plan_)),
      missing_(plan_) {}

ImageProcessor::ImageProcessor(const ocl::Device& device, const ProcessorPlan& plan, const ImagePlan& images)
    : ImageProcessorBase(plan, images, make_imager(device, images)) {}

void ImageProcessor::enqueue(const BatchInput& input) {
  imager_->use_results(input.place);
  imager_->set_hops(input.hops);
  imager_->enqueue(input.spectra, input.status, input.windows);
  imager_->enqueue_fetch(input.windows);
}

WindowProducts ImageProcessor::products(const WindowToRead& of) {
  const auto non_finite = static_cast<int>(imager_->host_status(of.place)[of.window * kStatusWords + 1]);
  return {.products = products_.of_window(of.window, imager_->host_images(of.place), imager_->host_reports(of.place),
                                          missing_.with(non_finite))};
}

namespace reference {

ImageProcessor::ImageProcessor(const ProcessorPlan& plan, const ImagePlan& images)
    : ImageProcessorBase(plan, images, imager_entry(images.holography.imager).make_reference(images)) {}

WindowResult ImageProcessor::compute(const WindowInput& window) {
  imager_->set_hop(window.hop, window.is_whole);
  const Images result = imager_->image(window.spectra);
  images_.assign(result.images.begin(), result.images.end());
  reports_.assign(result.reports.begin(), result.reports.end());
  WindowResult made = {.products = {},
                       .outcome = {.flags = result.flags, .non_finite_microphones = result.non_finite_channels}};
  for (const std::span<const std::byte> product :
       products_.of_window(0, images_, reports_, missing_.with(result.non_finite_channels))) {
    made.products.push_back(to_bytes(product));
  }
  return made;
}

}  // namespace reference

}  // namespace nearfield
