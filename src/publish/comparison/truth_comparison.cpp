#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <numbers>
#include <vector>

#include "core/error.hpp"
#include "core/images.hpp"
#include "core/numerics.hpp"
#include "core/settings.hpp"
#include "files/files.hpp"
#include "publish/comparison/comparison.hpp"

namespace nearfield {
namespace {

using TrueField = std::vector<std::complex<float>>;

/// The plane z = 0 of the images, and the frequencies that both have.
struct SharedImages {
  std::size_t plane = 0;
  std::vector<std::size_t> of_images;  ///< indices of frequencies
  std::vector<std::size_t> of_truth;
};

SharedImages shared_images(const ResultHeader& header, const Truth& truth, const std::string& capture,
                           const std::string& images) {
  SharedImages shared;
  const std::vector<double>& planes_m = header.coordinates("z");
  const std::vector<double>& frequencies_hz = header.coordinates("frequency");
  if (header.axis("surface") != nullptr) {
    throw DataError(
        fmt::format("{}: expected images on the plane z = 0, where the truth is known, found images on a "
                    "surface",
                    images));
  }
  const auto plane =
      std::find_if(planes_m.begin(), planes_m.end(), [](double z_m) { return std::abs(z_m) <= kSamePositionM; });
  if (plane == planes_m.end()) {
    throw DataError(fmt::format("{}: expected a plane at z = 0, where the truth is known, found {} m", images,
                                fmt::join(planes_m, ", ")));
  }
  shared.plane = static_cast<std::size_t>(plane - planes_m.begin());
  for (std::size_t i = 0; i < frequencies_hz.size(); ++i) {
    for (std::size_t k = 0; k < truth.frequencies_hz.size(); ++k) {
      if (std::abs(frequencies_hz[i] - truth.frequencies_hz[k]) <= kSameFrequencyHz) {
        shared.of_images.push_back(i);
        shared.of_truth.push_back(k);
        break;
      }
    }
  }
  if (shared.of_images.empty()) {
    throw DataError(fmt::format("{}: expected images at {} Hz, of which {} has the truth, found {} Hz", images,
                                fmt::join(truth.frequencies_hz, ", "), capture, fmt::join(frequencies_hz, ", ")));
  }
  return shared;
}

/// Header of the shared images alone.
ResultHeader shared_part(const ResultHeader& header, const SharedImages& shared) {
  ResultHeader part = header;
  std::erase_if(part.products,
                [](const Product& product) { return product.name != "images" && product.name != "points"; });
  for (Axis& axis : part.axes) {
    if (axis.name == "z") {
      axis.values = {axis.values[shared.plane]};
    } else if (axis.name == "frequency") {
      std::vector<double> frequencies_hz;
      for (const std::size_t index : shared.of_images) {
        frequencies_hz.push_back(axis.values[index]);
      }
      axis.values = std::move(frequencies_hz);
    }
  }
  return part;
}

std::complex<double> true_value(const Truth& truth, Quantity quantity, std::size_t index, double frequency_hz) {
  const auto value_of = [index](const TrueField& field) { return std::complex<double>(field[index]); };
  switch (quantity) {
    case Quantity::kPressure:
      return value_of(truth.pressure);
    case Quantity::kNormalVelocity:
      return value_of(truth.normal_velocity);
    case Quantity::kDisplacement:
      return value_of(truth.normal_velocity) / std::complex<double>(0.0, 2.0 * std::numbers::pi * frequency_hz);
    case Quantity::kActiveIntensity:
      return (value_of(truth.pressure) * std::conj(value_of(truth.normal_velocity))).real() / 2.0;
  }
  return 0.0;
}

Quantity quantity_of(const std::string& name, const std::string& images) {
  for (const Quantity quantity :
       {Quantity::kPressure, Quantity::kNormalVelocity, Quantity::kDisplacement, Quantity::kActiveIntensity}) {
    if (name_of(quantity) == name) {
      return quantity;
    }
  }
  throw DataError(
      fmt::format("{}: expected images of a pressure, velocity, displacement or intensity, found {}", images, name));
}

void require_field(const TrueField& field, bool is_needed, std::string_view name, std::size_t values,
                   const std::string& capture) {
  if (is_needed && field.size() != values) {
    throw DataError(fmt::format("{}: expected /truth/{} of {} values, found {}", capture, name, values, field.size()));
  }
}

/// The truth of a recording, and the positions of its pixels.
struct KnownFields {
  std::optional<Truth> truth;
  ImageGrid grid;
};

/// Reads the truth of a capture or a file of spectra.
KnownFields read_known_fields(const std::filesystem::path& recording) {
  if (detect_file_kind(recording) == FileKind::kSpectra) {
    return {.truth = read_spectra_truth(recording), .grid = image_grid(read_spectra(recording).measurement.geometry)};
  }
  const CaptureReader reader(recording);
  return {.truth = reader.truth(), .grid = image_grid(reader.info().measurement.geometry)};
}

void require_truth(const KnownFields& known, Quantity quantity, const std::string& recording) {
  if (!known.truth || known.truth->frequencies_hz.empty()) {
    throw DataError(fmt::format(
        "{}: expected true fields in /truth, which captures and spectra of nearfield simulate have, found none",
        recording));
  }
  const std::size_t values = known.truth->frequencies_hz.size() * known.grid.pixels();
  const bool needs_pressure = quantity == Quantity::kPressure || quantity == Quantity::kActiveIntensity;
  require_field(known.truth->pressure, needs_pressure, "pressure", values, recording);
  require_field(known.truth->normal_velocity, quantity != Quantity::kPressure, "normal_velocity", values, recording);
}

/// Rotates `image` by the phase that brings it nearest to `reference`.
void turn_to(std::span<const std::complex<float>> reference, std::span<std::complex<float>> image) {
  std::complex<double> product = 0.0;
  for (std::size_t i = 0; i < image.size(); ++i) {
    const std::complex<double> term = std::complex<double>(reference[i]) * std::conj(std::complex<double>(image[i]));
    product += is_finite(term) ? term : 0.0;
  }
  if (std::abs(product) > 0.0) {
    const std::complex<double> turn = product / std::abs(product);
    std::transform(image.begin(), image.end(), image.begin(),
                   [&](std::complex<float> value) { return std::complex<float>(std::complex<double>(value) * turn); });
  }
}

}  // namespace

Comparison compare_with_truth(const std::filesystem::path& capture, const std::filesystem::path& images) {
  const KnownFields known = read_known_fields(capture);
  const ResultsReader reader = open_images(images);
  const ResultHeader& header = reader.header(0);
  const Quantity quantity = quantity_of(images_or_points_of(header)->quantity, images.string());
  require_truth(known, quantity, capture.string());
  const Truth& truth = *known.truth;
  const SharedImages shared = shared_images(header, truth, capture.string(), images.string());

  const ResultHeader common = shared_part(header, shared);
  ResultHeader expected = common;
  for (Axis& axis : expected.axes) {
    if (axis.name == "x") {
      axis.values = known.grid.x_m();
    } else if (axis.name == "y") {
      axis.values = known.grid.y_m();
    }
  }
  FrameComparer comparer(capture.string(), expected, images.string(), common);
  const std::uint64_t frames = reader.frames(0);
  if (frames == 0) {
    throw DataError(fmt::format("{}: expected at least one frame, found none", images.string()));
  }
  const std::size_t pixels = image_pixels(header);
  const std::size_t all_frequencies = header.coordinates("frequency").size();
  ResultFrame reference(common);
  const auto true_images = reference.values<std::complex<float>>(common, "images");
  for (std::size_t i = 0; i < shared.of_truth.size(); ++i) {
    for (std::size_t pixel = 0; pixel < pixels; ++pixel) {
      true_images[i * pixels + pixel] = std::complex<float>(
          true_value(truth, quantity, shared.of_truth[i] * pixels + pixel, truth.frequencies_hz[shared.of_truth[i]]));
    }
  }
  ResultFrame part(common);
  const auto found = part.values<std::complex<float>>(common, "images");
  for (std::uint64_t number = 0; number < frames; ++number) {
    const ResultFrame whole = reader.read(0, number);
    const auto all = values_in<std::complex<float>>(header, whole.frame.products, "images");
    for (std::size_t i = 0; i < shared.of_images.size(); ++i) {
      const auto image = found.subspan(i * pixels, pixels);
      std::ranges::copy(all.subspan((shared.plane * all_frequencies + shared.of_images[i]) * pixels, pixels),
                        image.begin());
      if (quantity != Quantity::kActiveIntensity) {
        turn_to(true_images.subspan(i * pixels, pixels), image);
      }
    }
    comparer.add(reference.frame, part.frame);
  }
  return comparer.result();
}

namespace {

std::optional<std::string> beyond_tolerance(const ProcessorDifference& processor, double most) {
  if (!processor.left_out.empty()) {
    return fmt::format("processor {}: not compared: {}", processor.processor, fmt::join(processor.left_out, "; "));
  }
  for (const ProductDifference& product : processor.products) {
    if (product.other_rows_frames > 0) {
      return fmt::format("processor {}: {} has another number of rows in {} frames", processor.processor, product.name,
                         product.other_rows_frames);
    }
    if (product.non_finite_apart > 0) {
      return fmt::format("processor {}: {} has {} values that are not finite in one of the files", processor.processor,
                         product.name, product.non_finite_apart);
    }
    if (!(product.relative_l2 <= most)) {
      return fmt::format("processor {}: {} has a relative L2 of {:.4g}, expected at most {:g}", processor.processor,
                         product.name, product.relative_l2, most);
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> beyond_tolerance(const Comparison& comparison, double most) {
  if (!comparison.unpaired_processors.empty()) {
    return fmt::format("not compared: processor {}", fmt::join(comparison.unpaired_processors, "; "));
  }
  if (comparison.frames > 0) {
    const std::span<const MetricDefinition> metrics = metric_definitions();
    const auto l2 = std::find_if(metrics.begin(), metrics.end(),
                                 [](const MetricDefinition& metric) { return metric.key == "relative_l2"; });
    const MetricSummary& summary = comparison.overall.metrics[static_cast<std::size_t>(l2 - metrics.begin())];
    if (summary.undefined > 0) {
      return fmt::format("{} images have no relative L2 (nothing finite), expected at most {:g}", summary.undefined,
                         most);
    }
    if (!(summary.worst <= most)) {
      return fmt::format("frame {} has a relative L2 of {:.4g}, expected at most {:g}", summary.worst_frame,
                         summary.worst, most);
    }
    if (comparison.overall.non_finite_pixels > 0) {
      return fmt::format("{} pixels are not finite", comparison.overall.non_finite_pixels);
    }
  }
  for (const ProcessorDifference& processor : comparison.processors) {
    if (std::optional<std::string> difference = beyond_tolerance(processor, most)) {
      return difference;
    }
  }
  return std::nullopt;
}

}  // namespace nearfield
