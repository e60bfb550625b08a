#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "config/config.hpp"
#include "config/premises.hpp"
#include "config/schema/front_end_kinds.hpp"
#include "config/schema/processor_kinds.hpp"
#include "core/band.hpp"
#include "core/error.hpp"
#include "core/frame.hpp"
#include "core/geometry.hpp"
#include "core/images.hpp"
#include "core/microphones.hpp"

namespace nearfield {
namespace {

/// A predictor of order 1 or more needs a few equations per line.
constexpr int kFewestPredictable = 4;
constexpr std::size_t kMostSpectra = 1000;

using Contradictions = std::vector<Contradiction>;

std::string indexed(std::size_t index) { return fmt::format("[{}]", index); }

void check_channels(const char* key, const std::vector<int>& channels, const ArrayGeometry& geometry,
                    Contradictions& found) {
  for (std::size_t i = 0; i < channels.size(); ++i) {
    if (channels[i] >= geometry.channels()) {
      found.push_back({key, indexed(i),
                       fmt::format("expected a channel ({}) from 0 to {} in an array of {}, found {}",
                                   geometry.is_grid() ? "row * columns + column" : "a line of array.positions",
                                   geometry.channels() - 1, text_of_size(geometry), channels[i])});
    }
  }
}

void check_side(const char* name, int side, Extrapolation method, const std::string& path, Contradictions& found) {
  if (predicts(method) && side < kFewestPredictable) {
    found.push_back({path + "extrapolation.method", "",
                     fmt::format("{} expects at least {} {} of microphones, found {}; use edge or zero",
                                 name_of(method), kFewestPredictable, name, side)});
  }
}

void check_layout(const ArraySettings& array, Contradictions& found) {
  constexpr int kSoramaSide = 32;
  const ArrayGeometry& geometry = array.geometry;
  if (array.layout == WireLayout::kSoramaCam && (geometry.rows != kSoramaSide || geometry.columns != kSoramaSide)) {
    found.push_back(
        {"array.layout", "",
         fmt::format("sorama-cam expects 32 x 32 microphones, found {}; use row-major", text_of_size(geometry))});
  }
}

void check_cutoffs(const Settings& settings, const FilterSettings& filter, const std::string& path,
                   Contradictions& found) {
  const std::size_t frequencies = settings.front_end.frequencies_hz.size();
  const std::size_t cutoffs = filter.cutoff_rad_per_m.size();
  if (filter.cutoff_rule == CutoffRule::kGiven && cutoffs != 1 && cutoffs != frequencies) {
    found.push_back(
        {path + "filter.cutoff_rad_per_m", "",
         fmt::format("expected one cut-off, or one for each of {} frequencies, found {}", frequencies, cutoffs)});
  }
}

/// A list of cut-offs has one per line, and none for the additional bins of bands.
void check_cutoffs_of_bands(const Settings& settings, const FilterSettings& filter, const std::string& path,
                            Contradictions& found) {
  const std::size_t cutoffs = filter.cutoff_rad_per_m.size();
  if (!bands_of(settings.front_end).empty() && cutoffs > 1) {
    found.push_back({path + "filter.cutoff_rad_per_m", "",
                     fmt::format("expected one cut-off, or a rule, beside {}, found a list of {}",
                                 key_of_bands(settings.front_end), cutoffs)});
  }
}

void check_bands(const FrontEndSettings& front_end, double sample_rate_hz, Contradictions& found) {
  std::size_t spectra = front_end.frequencies_hz.size();
  const std::vector<Band> bands_hz = bands_of(front_end);
  const std::size_t octaves = front_end.bands_hz.size();
  const std::size_t thirds = octaves + front_end.octave_hz.size();
  for (std::size_t i = 0; i < bands_hz.size(); ++i) {
    const Band& band = bands_hz[i];
    const BinRange bins = bins_of(band, front_end, sample_rate_hz);
    spectra += bin_shares(band, front_end, sample_rate_hz).size();
    if (band.high_hz > sample_rate_hz / 2.0 || bins.first >= bins.end) {
      found.push_back(
          {i < octaves  ? "front_end.bands_hz"
           : i < thirds ? "front_end.octave"
                        : "front_end.third_octave",
           indexed(i < octaves  ? i
                   : i < thirds ? i - octaves
                                : i - thirds),
           fmt::format("expected [low, high] with at least one multiple of {:.6g} Hz (the bins of {} samples at {} Hz) "
                       "from low to below high, and high at most {} Hz, found [{}, {}]",
                       sample_rate_hz / front_end.window_samples, front_end.window_samples, sample_rate_hz,
                       sample_rate_hz / 2.0, band.low_hz, band.high_hz)});
    }
  }
  if (spectra > kMostSpectra) {
    found.push_back(
        {"front_end.bands_hz", "",
         fmt::format("expected bands of at most {} bins, frequencies_hz included, found {}", kMostSpectra, spectra)});
  }
}

/// `path` is the dotted name of the section, with the final point.
void check_tones(const FrontEndSettings& front_end, double sample_rate_hz, const std::string& path,
                 Contradictions& found) {
  const double half_bin_hz = sample_rate_hz / front_end.window_samples / 2.0;
  const double nyquist_hz = sample_rate_hz / 2.0;
  for (std::size_t i = 0; i < front_end.frequencies_hz.size(); ++i) {
    const double frequency_hz = front_end.frequencies_hz[i];
    if (frequency_hz > nyquist_hz) {
      found.push_back({path + "frequencies_hz", indexed(i),
                       fmt::format("expected at most {} Hz, half of the {} Hz that remain after decimation, found {} "
                                   "Hz",
                                   nyquist_hz, sample_rate_hz, frequency_hz)});
    } else if (frequency_hz < half_bin_hz) {
      found.push_back({path + "frequencies_hz", indexed(i),
                       fmt::format("expected at least {:.6g} Hz, half a bin of {} samples at {} Hz, found {} Hz",
                                   half_bin_hz, front_end.window_samples, sample_rate_hz, frequency_hz)});
    }
  }
}

bool is_processor_name(const std::string& name) {
  constexpr std::size_t kLongest = 31;
  const auto fits = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; };
  return !name.empty() && name.size() <= kLongest && name.front() >= 'a' && name.front() <= 'z' &&
         std::all_of(name.begin(), name.end(), fits) && name != kFirstProcessor;
}

/// A batch's windows must fit into the front end's buffer, which holds two of its windows.
void check_batch_of(const ProcessorSettings& processor, const Settings& settings, Contradictions& found) {
  const int window = settings_of(settings, processor).front_end.window_samples;
  const std::int64_t span = std::int64_t{settings.device.batch - 1} * settings.front_end.hop_samples;
  if (processor.front_end.any() && span > window) {
    found.push_back({fmt::format("processors.{}.front_end.window_samples", processor.name), "",
                     fmt::format("expected at least {} samples, which the frames of device.batch {} span at a hop of "
                                 "{}, found {}",
                                 span, settings.device.batch, settings.front_end.hop_samples, window)});
  }
}

/// Checks that the engine supports this combination of spectra and samples.
void check_needs(const ProcessorSettings& processor, const Settings& settings, Contradictions& found) {
  const ProcessorNeeds needs = needs_of(settings, processor);
  if (!needs.spectra && processor.front_end.any()) {
    found.push_back(
        {fmt::format("processors.{}.front_end", processor.name), "",
         fmt::format("expected nothing, as {} works on decimated samples and takes no spectra, found a front "
                     "end of its own",
                     processor.kind)});
  }
  const int window = settings_of(settings, processor).front_end.window_samples;
  if (needs.spectra && needs.sample_window > window) {
    found.push_back({fmt::format("processors.{}.front_end.window_samples", processor.name), "",
                     fmt::format("expected at least the {} samples that {} works on beside its spectra, found {}",
                                 needs.sample_window, processor.kind, window)});
  }
}

void check_processors(const Settings& settings, const IsSettled& is_settled, Contradictions& found) {
  for (const ProcessorSettings& processor : settings.processors) {
    const std::string path = fmt::format("processors.{}", processor.name);
    if (!is_processor_name(processor.name)) {
      found.push_back(
          {path, "",
           fmt::format("expected a name of at most 31 lower-case letters, digits and _, a letter first, and "
                       "not {}, which is the processor of holography",
                       kFirstProcessor)});
    }
    if (processor.kind.empty() && is_settled(path + ".kind")) {
      found.push_back({path + ".kind", "", "expected the kind of this processor, found nothing"});
    }
    check_batch_of(processor, settings, found);
    check_needs(processor, settings, found);
    if (processor.own) {
      processor.own->check(settings_of(settings, processor), path + ".", is_settled, found);
    }
  }
}

void check_batch(const Settings& settings, Contradictions& found) {
  const std::int64_t span = std::int64_t{settings.device.batch - 1} * settings.front_end.hop_samples;
  if (span > settings.front_end.window_samples) {
    found.push_back(
        {"device.batch", "",
         fmt::format("expected at most {}, whose frames span one window ({} samples at a hop of {}), found {}",
                     settings.front_end.window_samples / settings.front_end.hop_samples + 1,
                     settings.front_end.window_samples, settings.front_end.hop_samples, settings.device.batch)});
  }
}

void check_planes(const HolographySettings& holography, double standoff_m, const std::string& path,
                  Contradictions& found) {
  for (std::size_t i = 0; i < holography.planes_m.size(); ++i) {
    const double plane_m = holography.planes_m[i];
    if (plane_m >= standoff_m || plane_m < -standoff_m) {
      found.push_back({path + "planes_m", indexed(i),
                       fmt::format("expected a plane from {0} m (as far behind the surface as the microphones stand in "
                                   "front of it) to below the microphones at {1} m, found {2} m",
                                   -standoff_m, standoff_m, plane_m)});
    }
  }
}

/// Combinations that the prior of operators excludes.
void check_operators(const HolographySettings& images, const std::string& path, Contradictions& found) {
  const OperatorSettings& operators = images.operators;
  if (!operators.templates_path.empty() && !operators.sources_path.empty()) {
    found.push_back({path + "operators.sources", "",
                     fmt::format("expected null with {}operators.templates, whose file has the places of its sources, "
                                 "found {}",
                                 path, operators.sources_path)});
  }
  if (operators.source_depth_m && !(operators.templates_path.empty() && operators.sources_path.empty())) {
    found.push_back(
        {path + "operators.source_depth_m", "",
         fmt::format("expected auto where the places of sources are given, found {}", *operators.source_depth_m)});
  }
  if (!operators.templates_path.empty() && operators.wall.y_m) {
    found.push_back({path + "operators.wall.y_m", "",
                     fmt::format("expected null with {}operators.templates, which were measured beside whatever walls "
                                 "there are, found {}",
                                 path, *operators.wall.y_m)});
  }
  if (operators.behind == Behind::kSeparate && operators.wall.y_m) {
    found.push_back({path + "operators.behind", "",
                     fmt::format("expected ignore or auto beside a wall, as waves from behind have no image in it, "
                                 "found {}",
                                 name_of(operators.behind))});
  }
  const double without_wall = OperatorSettings{}.wall.reflection;
  if (!operators.wall.y_m && operators.wall.reflection != without_wall) {
    found.push_back({path + "operators.wall.reflection", "",
                     fmt::format("expected {} without a wall, as {}operators.wall.y_m is null, found {}", without_wall,
                                 path, operators.wall.reflection)});
  }
}

/// For holography, if its imager does not read the settings of operators.
void check_unread_operators(const HolographySettings& holography, const IsSettled& is_settled, Contradictions& found) {
  const OperatorSettings& given = holography.operators;
  const OperatorSettings unread;
  // auto resolves to operators depending on the array, which a recording may describe.
  const bool is_known =
      holography.imager != ImagerKind::kAuto || (is_settled("array.rows") && is_settled("array.columns"));
  const auto check = [&](const std::string& name, bool is_given, std::string_view expected, const auto& value) {
    const std::string key = "holography.operators." + name;
    if (is_known && is_given && is_settled(key) && is_settled("holography.imager")) {
      found.push_back({key, "",
                       fmt::format("expected {} with holography.imager: {}, as operators alone reads it, found {}",
                                   expected, name_of(holography.imager), value)});
    }
  };
  check("source_depth_m", given.source_depth_m.has_value(), "auto", given.source_depth_m.value_or(0.0));
  check("sources", !given.sources_path.empty(), "null", given.sources_path);
  check("templates", !given.templates_path.empty(), "null", given.templates_path);
  check("wall.y_m", given.wall.y_m.has_value(), "null", given.wall.y_m.value_or(0.0));
  check("behind", given.behind != unread.behind, name_of(unread.behind), name_of(given.behind));
  check("wall.reflection", given.wall.reflection != unread.wall.reflection, fmt::format("{}", unread.wall.reflection),
        given.wall.reflection);
}

/// For holography, if its imager has no such prior.
void check_unread_prior(const HolographySettings& holography, const ArrayGeometry& geometry,
                        const IsSettled& is_settled, Contradictions& found) {
  const FieldPrior unread = HolographySettings().prior;
  const bool is_other = holography.imager != ImagerKind::kAuto || !geometry.is_grid();
  if (is_other && holography.prior != unread && is_settled("holography.prior") && is_settled("holography.imager")) {
    found.push_back({"holography.prior", "",
                     fmt::format("expected {} with holography.imager: {}, as sonah alone reads it, found {}",
                                 name_of(unread), name_of(holography.imager), name_of(holography.prior))});
  }
  if (holography.prior != unread && holography.imager == ImagerKind::kAuto &&
      holography.quantity == Quantity::kActiveIntensity && is_settled("holography.prior") &&
      is_settled("holography.quantity")) {
    found.push_back({"holography.prior", "",
                     fmt::format("expected {} with holography.quantity: active_intensity, which sonah does not image, "
                                 "found {}",
                                 name_of(unread), name_of(holography.prior))});
  }
}

/// Settings that a surface excludes.
void check_surface(const HolographySettings& images, const std::string& path, Contradictions& found) {
  if (images.surface_path.empty()) {
    return;
  }
  if (images.imager == ImagerKind::kPnah) {
    found.push_back({path + "surface", "",
                     fmt::format("expected null with {}, which makes images on planes alone, found {}",
                                 name_of(images.imager), images.surface_path)});
  }
  if (images.quantity == Quantity::kActiveIntensity) {
    found.push_back({path + "quantity", "",
                     fmt::format("expected pressure, normal_velocity or displacement with {}surface, found {}", path,
                                 name_of(images.quantity))});
  }
  if (images.planes_m != std::vector<double>{0.0}) {
    found.push_back({path + "planes_m", "",
                     fmt::format("expected [0] with {}surface, which has heights of its own, found [{}]", path,
                                 fmt::join(images.planes_m, ", "))});
  }
}

void check_points(const ArrayGeometry& geometry, const std::vector<PlanePoint>& points, const std::string& path,
                  Contradictions& found) {
  constexpr double kRounding_m = 1e-9;
  const ImageGrid grid = image_grid(geometry);
  const double most_x_m = grid.x_m(grid.columns() - 1);
  const double most_y_m = grid.y_m(grid.rows() - 1);
  for (std::size_t i = 0; i < points.size(); ++i) {
    const PlanePoint& point = points[i];
    const bool fits_x = point.x_m >= grid.x_m(0) - kRounding_m && point.x_m <= most_x_m + kRounding_m;
    const bool fits_y = point.y_m >= grid.y_m(0) - kRounding_m && point.y_m <= most_y_m + kRounding_m;
    if (!fits_x || !fits_y) {
      found.push_back(
          {path + "points", indexed(i),
           fmt::format("expected a point of the aperture, x from {0:.6g} to {1:.6g} m and y from {2:.6g} to "
                       "{3:.6g} m, found x {4} m, y {5} m",
                       grid.x_m(0), most_x_m, grid.y_m(0), most_y_m, point.x_m, point.y_m)});
    }
  }
}

/// Settings that images of an irregular array exclude.
void check_irregular(const ArrayGeometry& geometry, const HolographySettings& images, const std::string& path,
                     Contradictions& found) {
  if (!geometry.is_grid() && images.quantity == Quantity::kActiveIntensity) {
    found.push_back({path + "quantity", "",
                     fmt::format("expected pressure, normal_velocity or displacement with microphones on no regular "
                                 "grid ({}), which operators alone images, found {}",
                                 text_of_size(geometry), name_of(images.quantity))});
  }
}

void check_weighting(const FrontEndSettings& front_end, Quantity quantity, const std::string& path,
                     Contradictions& found) {
  const bool is_sound = quantity == Quantity::kPressure || quantity == Quantity::kActiveIntensity;
  if (!is_sound && front_end.weighting != Weighting::kZ && !bands_of(front_end).empty()) {
    found.push_back({"front_end.weighting", "",
                     fmt::format("expected z with bands of {}quantity: {}, as weightings are of pressure and "
                                 "intensity, found {}",
                                 path, name_of(quantity), name_of(front_end.weighting))});
  }
}

/// For a weighting that is of no bands.
void check_unread_weighting(const Settings& settings, const IsSettled& is_settled, Contradictions& found) {
  const bool has_bands = !bands_of(settings.front_end).empty() ||
                         std::any_of(settings.processors.begin(), settings.processors.end(),
                                     [](const ProcessorSettings& one) { return !bands_of(one).bands_hz.empty(); });
  if (settings.front_end.weighting != Weighting::kZ && !has_bands && is_settled("front_end.weighting") &&
      is_settled("front_end.bands_hz")) {
    found.push_back({"front_end.weighting", "",
                     fmt::format("expected z without bands, such as front_end.octave: [500, 1000], found {}",
                                 name_of(settings.front_end.weighting))});
  }
}

/// For a processor that computes all bins of bands.
void check_bands_of(const ProcessorSettings& processor, const Settings& settings, double sample_rate_hz,
                    Contradictions& found) {
  const BandsOfProcessor bands = bands_of(processor);
  const FrontEndSettings front_end = settings_of(settings, processor).front_end;
  const std::string key = fmt::format("processors.{}.{}", processor.name, bands.key);
  const double bin_hz = sample_rate_hz / front_end.window_samples;
  std::size_t all_bins = 0;
  for (const Band& band : bands.bands_hz) {
    const std::size_t count = bins_of(bands, band, front_end, sample_rate_hz).size();
    const double width = (band.high_hz - band.low_hz) / bin_hz;
    all_bins += count;
    if (band.high_hz > sample_rate_hz / 2.0 || count == 0) {
      found.push_back(
          {key, "",
           fmt::format("expected [low, high] with at least one multiple of {:.6g} Hz (the bins of {} samples at {} Hz) "
                       "from low to below high, and high at most {} Hz, found [{:.6g}, {:.6g}]",
                       bin_hz, front_end.window_samples, sample_rate_hz, sample_rate_hz / 2.0, band.low_hz,
                       band.high_hz)});
    } else if (width < bands.fewest_bins) {
      found.push_back(
          {key, "",
           fmt::format("expected bands of at least {} bins: windows of {:.0f} samples or more for {:.6g} to {:.6g} Hz, "
                       "found {:.3g} bins of {} samples",
                       bands.fewest_bins, std::ceil(bands.fewest_bins * sample_rate_hz / (band.high_hz - band.low_hz)),
                       band.low_hz, band.high_hz, width, front_end.window_samples)});
    }
  }
  if (all_bins > kMostSpectra) {
    found.push_back(
        {key, "",
         fmt::format("expected a band of at most {} bins, found {} of {:.6g} Hz", kMostSpectra, all_bins, bin_hz)});
  }
}

/// For the first processor: its images, or the reason why there can be none.
void check_holography(const Settings& settings, const IsSettled& is_settled, Contradictions& found) {
  const ArrayGeometry& geometry = settings.array.geometry;
  const ImagerKind imager = settings.holography.imager;
  const bool takes_operators = imager == ImagerKind::kOperators || (imager == ImagerKind::kAuto && !geometry.is_grid());
  if (!takes_operators) {
    check_unread_operators(settings.holography, is_settled, found);
  }
  if (imager != ImagerKind::kSonah) {
    check_unread_prior(settings.holography, geometry, is_settled, found);
  }
  if (imager == ImagerKind::kNone) {
    const std::size_t bands = bands_of(settings.front_end).size();
    if (bands > 0 && is_settled(key_of_bands(settings.front_end))) {
      found.push_back(
          {key_of_bands(settings.front_end), "",
           fmt::format("expected none with holography.imager: none, as bands are of images, found {}", bands)});
    }
  } else if (!geometry.is_grid() && imager != ImagerKind::kOperators && imager != ImagerKind::kAuto) {
    if (is_settled("holography.imager")) {
      found.push_back({"holography.imager", "",
                       fmt::format("expected operators, auto or none, as images by {0} need a regular grid of "
                                   "microphones, which those of array.positions are not ({1}), found {0}",
                                   name_of(imager), text_of_size(geometry))});
    }
  } else {
    check_images(settings, settings.holography, "holography.", is_settled, found);
  }
}

}  // namespace

void check_images(const Settings& settings, const HolographySettings& images, const std::string& path,
                  const IsSettled& is_settled, std::vector<Contradiction>& found) {
  const auto settled = [&](std::initializer_list<std::string> keys) {
    return std::all_of(keys.begin(), keys.end(), is_settled);
  };
  const ArrayGeometry& geometry = settings.array.geometry;
  if (settled({"holography.standoff_m", path + "planes_m"})) {
    check_planes(images, settings.holography.standoff_m, path, found);
  }
  if (settled({path + "surface", path + "quantity", path + "planes_m"}) &&
      (path != "holography." || is_settled("holography.imager"))) {
    check_surface(images, path, found);
  }
  if (is_settled(path + "quantity")) {
    check_irregular(geometry, images, path, found);
  }
  if (settled({path + "quantity", "front_end.weighting"})) {
    check_weighting(settings.front_end, images.quantity, path, found);
  }
  const bool reads_operators =
      images.imager == ImagerKind::kOperators || (images.imager == ImagerKind::kAuto && !geometry.is_grid());
  if (reads_operators &&
      settled({path + "operators.templates", path + "operators.sources", path + "operators.source_depth_m",
               path + "operators.wall.y_m", path + "operators.wall.reflection", path + "operators.behind"})) {
    check_operators(images, path, found);
  }
  if (settled({"array.rows", "array.columns", "array.pitch_x_m", "array.pitch_y_m", path + "points"})) {
    check_points(geometry, images.points, path, found);
  }
  const bool extrapolates =
      geometry.is_grid() && (images.imager == ImagerKind::kPnah || images.imager == ImagerKind::kAuto);
  if (extrapolates && settled({"array.rows", path + "extrapolation.method"})) {
    check_side("rows", geometry.rows, images.extrapolation.method, path, found);
  }
  if (extrapolates && settled({"array.columns", path + "extrapolation.method"})) {
    check_side("columns", geometry.columns, images.extrapolation.method, path, found);
  }
  if (settled({"front_end.frequencies_hz", path + "filter.cutoff_rad_per_m"})) {
    check_cutoffs(settings, images.filter, path, found);
  }
  if (settled({key_of_bands(settings.front_end), path + "filter.cutoff_rad_per_m"})) {
    check_cutoffs_of_bands(settings, images.filter, path, found);
  }
}

Contradictions contradictions(const Settings& settings, const IsSettled& is_settled) {
  const auto settled = [&](std::initializer_list<std::string_view> keys) {
    return std::all_of(keys.begin(), keys.end(), is_settled);
  };
  Contradictions found;
  check_holography(settings, is_settled, found);
  if (settled({"array.rows", "array.columns", "array.dead_channels"})) {
    check_channels("array.dead_channels", settings.array.dead_channels, settings.array.geometry, found);
    const std::set<int> dead(settings.array.dead_channels.begin(), settings.array.dead_channels.end());
    const int valid = settings.array.geometry.channels() - static_cast<int>(dead.size());
    if (const std::string flaw = flaw_of_valid(settings.array, valid); !flaw.empty()) {
      found.push_back({"array.dead_channels", "", flaw});
    }
  }
  if (settled({"array.rows", "array.columns", "array.health.trusted_channels"})) {
    check_channels("array.health.trusted_channels", settings.array.health.trusted_channels, settings.array.geometry,
                   found);
  }
  if (settled({"array.rows", "array.columns", "array.layout"})) {
    check_layout(settings.array, found);
  }
  if (settled({"front_end.kind"})) {
    schema::front_end_kind(settings.front_end.kind).check(settings.front_end, is_settled, found);
  }
  if (settled({"front_end.window_samples", "front_end.hop_samples", "device.batch"})) {
    check_batch(settings, found);
  }
  check_processors(settings, is_settled, found);
  check_unread_weighting(settings, is_settled, found);
  check_daemon(*settings.daemon, is_settled, found);
  check_limits(settings, is_settled, found);
  return found;
}

void check_frequencies(const Settings& settings, double sample_rate_hz, Contradictions& found) {
  check_bands(settings.front_end, sample_rate_hz, found);
  check_tones(settings.front_end, sample_rate_hz, "front_end.", found);
  for (const ProcessorSettings& processor : settings.processors) {
    check_bands_of(processor, settings, sample_rate_hz, found);
    if (processor.front_end.any() && needs_of(settings, processor).spectra && bands_of(processor).bands_hz.empty()) {
      check_tones(settings_of(settings, processor).front_end, sample_rate_hz,
                  fmt::format("processors.{}.front_end.", processor.name), found);
    }
  }
}

void validate(const Settings& settings, double sample_rate_hz) {
  Contradictions found = contradictions(settings, [&](std::string_view key) {
    return key != "array.layout" || settings.explicit_keys.contains("array.layout");
  });
  if (sample_rate_hz > 0.0) {
    check_frequencies(settings, sample_rate_hz, found);
  }
  std::string message;
  for (const Contradiction& one : found) {
    message += fmt::format("{}{}{}: {}", message.empty() ? "" : "\n", one.key, one.element, one.message);
  }
  if (!message.empty()) {
    throw ConfigError(message);
  }
}

}  // namespace nearfield
