#include "processors/images/image_processor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "core/text.hpp"
#include "imaging/imager_table.hpp"
#include "imaging/operators/operator_space.hpp"
#include "imaging/pnah/pnah.hpp"
#include "imaging/priors/make_mask.hpp"
#include "processors/images/settings.hpp"

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

namespace {

/// Falls back to pnah if the settings name no imager and this device lacks memory for the preferred one.
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

ResultHeader header_of(const ImageProducts& products, const ImagePlan& images) {
  ResultHeader header = result_header(products.header());
  header.memory_hops = images.memory_hops();
  return header;
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
  if (plan.name == kFirstProcessor) {  // only the first one searches
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
            return std::make_unique<ImageProcessor>(device, plan);
          },
          .make_reference = [](const ProcessorPlan& plan) -> std::unique_ptr<reference::Processor> {
            return std::make_unique<reference::ImageProcessor>(plan);
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

/// Incomplete: the work of the products with its operators is unknown.
ProcessorEntry sonah_entry() {
  return entry_of("sonah", [](const ProcessorPlan& plan) { return work::microphones(plan.array, plan.batch); });
}

/// Incomplete likewise: the number of modes is known only with the models.
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

ImageProcessor::ImageProcessor(const ocl::Device& device, const ProcessorPlan& plan)
    : plan_(possible_here(device, plan)),
      imager_(make_imager(device, plan_)),
      products_(image_products_of(plan, plan_)),
      missing_(plan_) {}

ResultHeader ImageProcessor::header() const { return header_of(products_, plan_); }

void ImageProcessor::enqueue(const BatchInput& input) {
  windows_.at(input.place) = input.windows;
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

std::span<const std::complex<float>> ImageProcessor::images(std::size_t place) const {
  const std::span<const std::complex<float>> all = imager_->host_images(place);
  return all.first(imager_->images().size() / static_cast<std::size_t>(plan_.batch) * windows_.at(place));
}

namespace reference {

ImageProcessor::ImageProcessor(const ProcessorPlan& plan)
    : plan_(image_plan(plan)),
      imager_(imager_entry(plan_.holography.imager).make_reference(plan_)),
      products_(image_products_of(plan, plan_)),
      missing_(plan_) {}

ResultHeader ImageProcessor::header() const { return header_of(products_, plan_); }

void ImageProcessor::begin() {
  non_finite_.clear();
  images_.clear();
  reports_.clear();
}

Outcome ImageProcessor::add(const WindowInput& window) {
  imager_->set_hop(window.hop, window.is_whole);
  const Images result = imager_->image(window.spectra);
  images_.insert(images_.end(), result.images.begin(), result.images.end());
  reports_.insert(reports_.end(), result.reports.begin(), result.reports.end());
  non_finite_.push_back(result.non_finite_channels);
  return {.flags = result.flags, .non_finite_microphones = result.non_finite_channels};
}

}  // namespace reference
}  // namespace nearfield
