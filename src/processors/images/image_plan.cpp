#include "processors/images/image_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "config/config.hpp"
#include "core/error.hpp"
#include "core/images.hpp"
#include "core/microphones.hpp"
#include "core/system/files.hpp"
#include "core/text.hpp"
#include "imaging/operators/prior.hpp"
#include "imaging/shared/image_surface.hpp"
#include "processors/far_field/grid.hpp"
#include "processors/images/settings.hpp"

namespace nearfield {
namespace {

constexpr std::size_t kPlaceCoordinates = 3;

std::vector<Eigen::Vector3d> places_of(const std::vector<double>& xyz_m) {
  std::vector<Eigen::Vector3d> places_m;
  for (std::size_t i = 0; i + 2 < xyz_m.size(); i += kPlaceCoordinates) {
    places_m.emplace_back(xyz_m[i], xyz_m[i + 1], xyz_m[i + 2]);
  }
  return places_m;
}

/// Files may hold lengths as float32.
bool has_microphones_of(const Templates& templates, const ArrayPlan& array) {
  constexpr double kFloatRounding_m = 1e-5;
  const ArrayGeometry& of_file = templates.measurement.geometry;
  bool are_same = of_file.channels() == array.geometry.channels() &&
                  std::abs(templates.measurement.standoff_m - array.standoff_m) <= kFloatRounding_m;
  for (int channel = 0; are_same && channel < of_file.channels(); ++channel) {
    const MicrophonePosition one = of_file.position_m(channel);
    const MicrophonePosition other = array.geometry.position_m(channel);
    are_same = std::hypot(one.x_m - other.x_m, one.y_m - other.y_m, one.z_m - other.z_m) <= kFloatRounding_m;
  }
  return are_same;
}

void append_templates(OperatorSources& sources, const Templates& templates, double frequency_hz,
                      const std::string& key) {
  const std::vector<double>& known_hz = templates.frequencies_hz;
  constexpr double kFrequencyRounding = 1e-9;
  if (frequency_hz < known_hz.front() * (1.0 - kFrequencyRounding) ||
      frequency_hz > known_hz.back() * (1.0 + kFrequencyRounding)) {
    throw ConfigError(fmt::format("{}: expected templates at {} Hz, found some from {} to {} Hz", key, frequency_hz,
                                  known_hz.front(), known_hz.back()));
  }
  const auto above = std::lower_bound(known_hz.begin(), known_hz.end() - 1, frequency_hz);
  const auto high = static_cast<std::size_t>(above - known_hz.begin());
  const std::size_t low = high > 0 ? high - 1 : 0;
  const double span_hz = known_hz[high] - known_hz[low];
  const double weight = span_hz > 0.0 ? std::clamp((frequency_hz - known_hz[low]) / span_hz, 0.0, 1.0) : 0.0;
  const auto channels = static_cast<std::size_t>(templates.measurement.geometry.channels());
  for (std::size_t i = 0; i < templates.count(); ++i) {
    for (const std::size_t at : {low, high}) {
      const auto coherence = static_cast<double>(templates.coherence[at * templates.count() + i]);
      if (!(coherence >= kLeastTemplateCoherence)) {
        throw ConfigError(
            fmt::format("{}: expected templates with a coherence of at least {}, found {:.3g} of template "
                        "{} at {} Hz; measure it again, or leave it out of the file",
                        key, kLeastTemplateCoherence, coherence, i, known_hz[at]));
      }
    }
    for (std::size_t m = 0; m < channels; ++m) {
      const std::complex<double> of_low(templates.a[(low * templates.count() + i) * channels + m]);
      const std::complex<double> of_high(templates.a[(high * templates.count() + i) * channels + m]);
      sources.templates.push_back(of_low + weight * (of_high - of_low));
    }
  }
}

/// Reads the sources for the prior of operators that a processor's settings name by path: positions, or templates,
/// interpolated linearly between the frequencies of their file. `section` is that of their keys, ending in a dot. Null
/// if the settings name none. Throws ConfigError where templates are for another array, do not cover a frequency or
/// contain more noise than source, and what reading throws.
std::shared_ptr<const OperatorSources> read_sources(const ProcessorPlan& plan, const OperatorSettings& operators,
                                                    const std::string& section) {
  if (!operators.sources_path.empty()) {
    return std::make_shared<const OperatorSources>(
        OperatorSources{.places_m = places_of(far_field::read_points(operators.sources_path, kMostSources,
                                                                     section + "sources", plan.files.get()))});
  }
  if (operators.templates_path.empty()) {
    return nullptr;
  }
  const std::string key = section + "templates";
  if (plan.files == nullptr) {
    throw ConfigError(
        fmt::format("{}: expected null where no files are read, found {}", key, operators.templates_path));
  }
  const Templates templates = plan.files->templates(operators.templates_path);
  if (!has_microphones_of(templates, plan.array)) {
    throw ConfigError(fmt::format(
        "{}: expected templates of this array and standoff, found {} microphones at {} m in {}", key,
        text_of_size(templates.measurement.geometry), templates.measurement.standoff_m, operators.templates_path));
  }
  OperatorSources sources{.places_m = places_of(templates.positions_m)};
  for (const double frequency_hz : plan.array.frequencies_hz) {
    append_templates(sources, templates, frequency_hz, key);
  }
  return std::make_shared<const OperatorSources>(std::move(sources));
}

constexpr std::size_t kPlaceNumbers = 3;
constexpr std::size_t kNumbersWithNormal = 6;

constexpr std::size_t kMostTextBytes = std::size_t{64} << 20U;
constexpr std::size_t kMostLineBytes = 4096;
constexpr std::string_view kSurfaceBlanks = " \t\r\v\f";

std::string_view without_outer_blanks(std::string_view text) {
  const std::size_t first = text.find_first_not_of(kSurfaceBlanks);
  return first == std::string_view::npos ? "" : text.substr(first, text.find_last_not_of(kSurfaceBlanks) - first + 1);
}

/// Splits a line at commas, without comments (from '#') and outer blanks; empty for a line without cells.
std::vector<std::string_view> surface_cells(std::string_view line) {
  std::string_view rest = without_outer_blanks(line.substr(0, line.find('#')));
  std::vector<std::string_view> cells;
  while (!rest.empty()) {
    const std::size_t comma = rest.find(',');
    cells.push_back(without_outer_blanks(rest.substr(0, comma)));
    if (comma != std::string_view::npos && comma + 1 == rest.size()) {
      cells.emplace_back();  // a trailing comma: the number is missing
    }
    rest.remove_prefix(comma == std::string_view::npos ? rest.size() : comma + 1);
  }
  return cells;
}

bool is_surface_heading(const std::vector<std::string_view>& cells) {
  constexpr std::string_view kAxes = "xyz";
  return cells.size() >= kAxes.size() &&
         std::equal(kAxes.begin(), kAxes.end(), cells.begin(),
                    [](char axis, std::string_view cell) { return names_place(cell, axis); });
}

/// Finite numbers, three or six.
std::optional<std::vector<double>> surface_numbers(const std::vector<std::string_view>& cells) {
  if (cells.size() != kPlaceNumbers && cells.size() != kNumbersWithNormal) {
    return std::nullopt;
  }
  std::vector<double> numbers;
  for (const std::string_view cell : cells) {
    const char* const end = cell.data() + cell.size();
    const auto [next, error] = number_from(cell.data(), end, numbers.emplace_back());
    if (error != std::errc() || next != end || !std::isfinite(numbers.back())) {
      return std::nullopt;
    }
  }
  return numbers;
}

SurfaceData surface_of_text(std::string_view text, const std::string& path, const std::string& key) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  text.remove_prefix(text.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0);
  SurfaceData surface{.is_points = true, .xyz_m = {}, .z_m = {}, .normals = {}};
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    if (line.size() > kMostLineBytes) {
      throw DataError(fmt::format("{}: {}:{}: expected lines of at most {} bytes, found one of {}", key, path, number,
                                  kMostLineBytes, line.size()));
    }
    const std::vector<std::string_view> cells = surface_cells(line);
    if (cells.empty() || (surface.columns == 0 && is_surface_heading(cells))) {
      continue;
    }
    const std::optional<std::vector<double>> numbers = surface_numbers(cells);
    const bool fits =
        numbers && (surface.columns == 0 || surface.normals.empty() == (numbers->size() == kPlaceNumbers));
    if (!fits) {
      throw FileTextError([&](const FileTextStyle& shown) {
        return fmt::format(
            "{}: {}:{}: expected x_m,y_m,z_m or x_m,y_m,z_m,nx,ny,nz, finite numbers and as many in each line, found "
            "{}",
            key, path, number, shown(line));
      });
    }
    if (surface.columns == kMostSurfacePoints) {
      throw ConfigError(
          fmt::format("{}: expected a file of 1 to {} points, found more in {}", key, kMostSurfacePoints, path));
    }
    ++surface.columns;
    const auto normal = numbers->begin() + kPlaceNumbers;
    surface.xyz_m.insert(surface.xyz_m.end(), numbers->begin(), normal);
    surface.normals.insert(surface.normals.end(), normal, numbers->end());
  }
  if (surface.columns == 0) {
    throw ConfigError(
        fmt::format("{}: expected a file of 1 to {} points, found none in {}", key, kMostSurfacePoints, path));
  }
  return surface;
}

/// Reads the rest of a file. Throws DataError if it is too long.
std::string rest_of_surface_text(std::string text, const FileDescriptor& file, const std::string& path,
                                 const std::string& key) {
  constexpr std::size_t kPart = std::size_t{1} << 20U;
  std::string part;
  do {
    part = read_open_file(file, path, kPart);
    text += part;
    if (text.size() > kMostTextBytes) {
      throw DataError(fmt::format("{}: {}: expected at most {} bytes of text, found more", key, path, kMostTextBytes));
    }
  } while (part.size() == kPart);
  return text;
}

FileDescriptor open_surface(const std::string& path, const std::string& key) {
  try {
    return open_regular_file(path, "a CSV file of points or an HDF5 file of heights");
  } catch (const NoInputError& error) {
    throw NoInputError(fmt::format("{}: {}", key, error.what()));
  }
}

/// Reads a surface that settings name by `path`: points of a CSV file (x_m,y_m,z_m or x_m,y_m,z_m,nx,ny,nz per line, #
/// begins a comment), or heights of an HDF5 file, through `files`. `key` names the setting. Text is read once. Throws
/// NoInputError where there is no regular file, DataError where text is longer than 64 MiB, a line longer than 4096
/// bytes or no point, and ConfigError where there are too many points or none.
SurfaceData read_surface(const std::string& path, const std::string& key, const ArrayFiles* files) {
  constexpr std::string_view kHdf5Signature = "\x89HDF\r\n\x1a\n";
  const FileDescriptor file = open_surface(path, key);
  const std::string start = read_open_file(file, path, kHdf5Signature.size());
  if (start != kHdf5Signature) {
    return surface_of_text(rest_of_surface_text(start, file, path, key), path, key);
  }
  if (files == nullptr) {
    throw ConfigError(fmt::format("{}: expected null where no files are read, found {}", key, path));
  }
  return files->surface(path, key);
}

/// Section of the configuration with the settings of a processor's images, ending in a dot.
std::string section_of(const std::string& processor) {
  return processor == kFirstProcessor ? "holography." : fmt::format("processors.{}.", processor);
}

std::shared_ptr<const ImageSurface> surface_of(const ProcessorPlan& plan, const HolographySettings& holography) {
  if (holography.surface_path.empty()) {
    return nullptr;
  }
  const std::string key = section_of(plan.name) + "surface";
  const SurfaceData data = read_surface(holography.surface_path, key, plan.files.get());
  if (data.is_points && !holography.points.empty()) {
    throw ConfigError(
        fmt::format("{}: expected heights over the pixels beside points, as a surface of points is imaged "
                    "at its own places alone, found {} points of a surface in {}",
                    key, data.columns, holography.surface_path));
  }
  return std::make_shared<const ImageSurface>(
      make_image_surface(data, image_grid(plan.array.geometry, holography.upsample), plan.array.standoff_m, key));
}

/// Distances along the points of a surface from the first one: the columns of their images.
std::vector<double> way_along(const ImageSurface& surface) {
  std::vector<double> way_m = {0.0};
  for (std::size_t i = 1; i < surface.pixels(); ++i) {
    way_m.push_back(way_m.back() + (surface.places_m[i] - surface.places_m[i - 1]).norm());
  }
  return way_m;
}

}  // namespace

ImagePlan image_plan(const ProcessorPlan& plan) {
  ImagePlan out;
  static_cast<ArrayPlan&>(out) = plan.array;
  const auto& own = dynamic_cast<const ImageKindSettings&>(*plan.own);
  out.holography = own.images;
  out.searches = own.searches;
  out.holography.standoff_m = plan.array.standoff_m;
  out.section = section_of(plan.name);
  if (!own.searches) {
    out.holography.prior = FieldPrior::kLayer;
  }
  out.surface = surface_of(plan, out.holography);
  out.fft = plan.settings->device.fft;
  out.holography.imager = resolve_imager(out);
  out.fills_from_all = out.holography.imager == ImagerKind::kSonah;
  if (out.holography.imager == ImagerKind::kOperators) {
    out.sources = read_sources(plan, out.holography.operators, out.section + "operators.");
  }
  out.cutoff_rad_per_m =
      resolve_cutoffs(out.holography, plan.array.medium, plan.array.geometry, plan.array.frequencies_hz);
  out.batch = plan.batch;
  out.batches_in_flight = plan.batches_in_flight;
  out.input_is_finite = plan.input_is_finite;
  validate(out);
  return out;
}

std::vector<ProcessorSettings> processors_of(const Settings& settings, std::size_t frequencies) {
  const HolographySettings& holography = settings.holography;
  if (holography.imager == ImagerKind::kNone) {
    return settings.processors;
  }
  auto own = std::make_unique<ImageKindSettings>(holography.imager);
  own->images = holography;
  own->searches = true;
  std::vector<ProcessorSettings> processors(1);
  processors.front().name = kFirstProcessor;
  processors.front().kind = name_of(resolve_imager(
      holography, {.geometry = settings.array.geometry, .frequencies = frequencies, .fft = settings.device.fft}));
  processors.front().own = std::move(own);
  processors.insert(processors.end(), settings.processors.begin(), settings.processors.end());
  return processors;
}

bool fills_from_all(std::string_view kind) { return kind == name_of(ImagerKind::kSonah); }

ResultHeader images_header(const ProcessorPlan& plan, const ImagePlan& images) {
  const HolographySettings& holography = images.holography;
  const ImageGrid grid = images.grid();
  const bool are_points = images.surface && images.surface->is_points;
  std::vector<double> points;
  for (const PlanePoint& point : holography.points) {
    points.insert(points.end(), {point.x_m, point.y_m});
  }
  std::vector<double> bands;
  for (const Band& band : bands_of(plan.settings->front_end)) {
    bands.insert(bands.end(), {band.low_hz, band.high_hz});
  }
  std::vector<double> surface_m;
  std::vector<double> normals;
  for (std::size_t i = 0; images.surface && i < images.surface->pixels(); ++i) {
    const Eigen::Vector3d& place = images.surface->places_m[i];
    const Eigen::Vector3d& normal = images.surface->normals[i];
    surface_m.insert(surface_m.end(), place.begin(), place.end());
    normals.insert(normals.end(), normal.begin(), normal.end());
  }
  ResultHeader header;
  header.processor = plan.name;
  header.kind = name_of(holography.imager);
  header.axes = image_axes({{"frequency", plan.frequencies_hz},
                            {"z", holography.planes_m},
                            {"y", are_points ? std::vector{0.0} : grid.y_m()},
                            {"x", are_points ? way_along(*images.surface) : grid.x_m()},
                            {"point", points},
                            {"band", bands},
                            {"surface", surface_m},
                            {"normal", normals}});
  add_image_products(header, std::string(name_of(holography.quantity)), std::string(unit_of(holography.quantity)));
  if (images.separates()) {
    Product behind = *images_of(header);
    behind.name = "behind";
    header.products.push_back(std::move(behind));
  }
  for (Product& product : header.products) {
    product.quantity += product.name == "bands" ? words_of(plan.settings->front_end.weighting) : "";
  }
  header.memory_hops = images.memory_hops();
  return header;
}

}  // namespace nearfield
