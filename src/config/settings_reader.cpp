#include "config/settings_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "nearfield/error.hpp"
#include "nearfield/fft_length.hpp"

namespace nearfield {
namespace {

constexpr double kShortestLengthM = 1e-6;
constexpr double kLongestLengthM = 100.0;
constexpr int kFewestWindowSamples = 16;
constexpr int kMostWindowSamples = 65536;
constexpr int kDecimation = 32;
constexpr std::size_t kMostFrequencies = 1000;
constexpr std::size_t kMostBands = 100;
constexpr std::size_t kMostPlanes = 64;
constexpr std::size_t kMostPoints = 1024;
constexpr int kMostUpsample = 8;
constexpr int kHighestOrder = kMaxSide - 2;
constexpr int kHighestMoment = 2;
constexpr int kMostDevices = 1024;
constexpr int kMostBatch = 1024;

constexpr NumberRule kLength{0.0, std::numeric_limits<double>::max(), true, "a length > 0 m"};
constexpr NumberRule kLevel{-200.0, 100.0, false, "a level from -200 to 100 dBFS"};
constexpr NumberRule kSpeed{1.0, 1e5, false, "a speed from 1 to 100000 m/s"};
constexpr NumberRule kDensity{1e-3, 1e5, false, "a density from 0.001 to 100000 kg/m3"};
constexpr NumberRule kFrequency{0.0, 1e9, true, "a frequency > 0 Hz"};
constexpr NumberRule kBandLimit{0.0, 1e9, false, "a frequency >= 0 Hz"};
constexpr NumberRule kPosition{-kLongestLengthM, kLongestLengthM, false, "a position from -100 to 100 m"};
constexpr NumberRule kFactor{1.0, 8.0, false, "a factor from 1 to 8"};
constexpr NumberRule kDynamicRange{0.0, 300.0, true, "a range > 0 dB, at most 300 dB"};
constexpr NumberRule kWalshThreshold{0.0, 2.0, false, "a threshold of 0 to 2"};
constexpr NumberRule kSlope{0.0, 2.0, true, "a slope > 0, at most 2"};
constexpr NumberRule kLambda{1e-30, 1e6, false, "a number of 1e-30 to 1e6"};
constexpr NumberRule kCutoff{0.0, 1e6, true, "a wavenumber > 0 rad/m (or auto, search or dynamic_range)"};
constexpr const char* kCutoffs =
    "a wavenumber > 0 rad/m, a list with one per frequency, or one of auto, search, dynamic_range";
/// Words in place of a cut-off.
constexpr std::array<std::pair<std::string_view, CutoffRule>, 3> kCutoffWords{
    {{"auto", CutoffRule::kAuto}, {"search", CutoffRule::kSearch}, {"dynamic_range", CutoffRule::kDynamicRange}}};

/// A length that floating point can square and divide by without harm.
std::optional<double> read_length(YamlMap& map, const std::string& key) {
  const std::optional<double> length_m = map.number(key, kLength);
  if (length_m && (*length_m < kShortestLengthM || *length_m > kLongestLengthM)) {
    map.problem(key, fmt::format("a length from {} to {} m", kShortestLengthM, kLongestLengthM));
    return std::nullopt;
  }
  return length_m;
}

/// Index of the first value that an earlier one equals.
std::optional<std::size_t> first_repeated(const std::vector<double>& values) {
  std::set<double> seen;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!seen.insert(values[i]).second) {
      return i;
    }
  }
  return std::nullopt;
}

}  // namespace

std::string SettingsReader::place(const std::string& key) const {
  const auto found = places_.find(key);
  return found == places_.end() ? "" : found->second;
}

void SettingsReader::read(const std::string& label, const std::filesystem::path& folder, const YAML::Node& node) {
  YamlMap map(label, "", node, *problems_);
  map.integer("version", 1, 1);
  read_array(map.map("array"), folder);
  read_medium(map.map("medium"));
  read_front_end(map.map("front_end"));
  read_holography(map.map("holography"));
  read_device(map.map("device"));
  read_daemon(map.map("daemon"), folder);
  map.finish();
}

void SettingsReader::read_array(YamlMap map, const std::filesystem::path& folder) {
  ArraySettings& array = settings_.array;
  take(map, "rows", map.integer("rows", 1, kMaxSide), array.geometry.rows);
  take(map, "columns", map.integer("columns", 1, kMaxSide), array.geometry.columns);
  take(map, "pitch_x_m", read_length(map, "pitch_x_m"), array.geometry.pitch_x_m);
  take(map, "pitch_y_m", read_length(map, "pitch_y_m"), array.geometry.pitch_y_m);
  take_choice(map, "layout", {WireLayout::kSoramaCam, WireLayout::kRowMajor}, array.layout);
  take(map, "sensitivity_dbfs", map.number("sensitivity_dbfs", kLevel), array.sensitivity_dbfs);
  take(map, "dead_channels", map.integers("dead_channels", 0, kMaxSide * kMaxSide - 1), array.dead_channels);
  read_calibration(map, folder);
  read_health(map.map("health"));
  map.finish();
}

void SettingsReader::read_health(YamlMap map) {
  HealthSettings& health = settings_.array.health;
  take(map, "enabled", map.boolean("enabled"), health.enabled);
  take(map, "mask", map.boolean("mask"), health.mask);
  take(map, "trusted_channels", map.integers("trusted_channels", 0, kMaxSide * kMaxSide - 1), health.trusted_channels);
  map.finish();
}

void SettingsReader::read_calibration(YamlMap& map, const std::filesystem::path& folder) {
  std::optional<std::string> path;
  if (map.is_null("calibration")) {
    path = "";
  } else if (map.is_word("calibration", "")) {
    map.problem("calibration", "a path or null");
  } else if (const std::optional<std::string> text = map.text("calibration")) {
    path = std::filesystem::absolute(folder / *text).lexically_normal().string();
  }
  take(map, "calibration", path, settings_.array.calibration_path);
}

void SettingsReader::read_medium(YamlMap map) {
  MediumSettings& medium = settings_.medium;
  take(map, "sound_speed_m_s", map.number("sound_speed_m_s", kSpeed), medium.sound_speed_m_s);
  take(map, "density_kg_m3", map.number("density_kg_m3", kDensity), medium.density_kg_m3);
  map.finish();
}

void SettingsReader::read_front_end(YamlMap map) {
  FrontEndSettings& front_end = settings_.front_end;
  take_choice(
      map, "kind",
      {FrontEndKind::kDecimatedFft, FrontEndKind::kDotProduct, FrontEndKind::kPopcount, FrontEndKind::kWalshFourier},
      front_end.kind);
  take(map, "remove_dc", map.boolean("remove_dc"), front_end.remove_dc);
  take_choice(map, "incremental", {Incremental::kAuto, Incremental::kAlways, Incremental::kNever},
              front_end.incremental);
  take_choice(map, "dot_kernel",
              {DotKernel::kAuto, DotKernel::kPlain, DotKernel::kMirrored, DotKernel::kFourOutput, DotKernel::kTiled,
               DotKernel::kGemm},
              front_end.dot_kernel);
  take_choice(map, "window", {WindowKind::kHann, WindowKind::kNone}, front_end.window);
  take(map, "decimation", map.integer("decimation", kDecimation, kDecimation), front_end.decimation);
  read_window_samples(map);
  take(map, "hop_samples", map.integer("hop_samples", 1, std::numeric_limits<int>::max()), front_end.hop_samples);
  read_frequencies(map);
  read_bands(map);
  read_popcount(map.map("popcount"));
  read_walsh_fourier(map.map("walsh_fourier"));
  map.finish();
}

void SettingsReader::read_popcount(YamlMap map) {
  PopcountSettings& popcount = settings_.front_end.popcount;
  take(map, "order", map.integer("order", 0, kHighestMoment), popcount.order);
  take_choice(map, "transform", {WordTransform::kDot, WordTransform::kFft}, popcount.transform);
  map.finish();
}

void SettingsReader::read_walsh_fourier(YamlMap map) {
  WalshFourierSettings& walsh = settings_.front_end.walsh_fourier;
  take_choice(map, "variant", {WalshVariant::kPrecomputed, WalshVariant::kComputed, WalshVariant::kFast},
              walsh.variant);
  take(map, "coefficients", map.integer("coefficients", 0, std::numeric_limits<int>::max()), walsh.coefficients);
  take(map, "threshold", map.number("threshold", kWalshThreshold), walsh.threshold);
  map.finish();
}

void SettingsReader::read_window_samples(YamlMap& map) {
  std::optional<int> samples = map.integer("window_samples", kFewestWindowSamples, kMostWindowSamples);
  if (samples && !is_fft_length(*samples)) {
    map.problem("window_samples",
                fmt::format("a product of powers of 2, 3, 5 and 7 (the next one is {})", next_fft_length(*samples)));
    samples.reset();
  }
  take(map, "window_samples", samples, settings_.front_end.window_samples);
}

void SettingsReader::read_frequencies(YamlMap& map) {
  std::optional<std::vector<double>> frequencies_hz = map.numbers("frequencies_hz", kFrequency);
  if (frequencies_hz && (frequencies_hz->empty() || frequencies_hz->size() > kMostFrequencies)) {
    map.problem("frequencies_hz", fmt::format("1 to {} frequencies", kMostFrequencies));
    frequencies_hz.reset();
  } else if (const auto repeated = first_repeated(frequencies_hz.value_or(std::vector<double>{}))) {
    problems_->add(fmt::format("{}: {}[{}]: expected each frequency once, found {} Hz again",
                               map.place("frequencies_hz"), map.dotted("frequencies_hz"), *repeated,
                               (*frequencies_hz)[*repeated]));
    frequencies_hz.reset();
  }
  take(map, "frequencies_hz", frequencies_hz, settings_.front_end.frequencies_hz);
}

void SettingsReader::read_bands(YamlMap& map) {
  const auto pairs = map.pairs("bands_hz", kBandLimit);
  std::optional<std::vector<Band>> bands_hz(std::in_place);
  for (const auto& [low_hz, high_hz] : pairs.value_or(std::vector<std::array<double, 2>>{})) {
    bands_hz->push_back({.low_hz = low_hz, .high_hz = high_hz});
  }
  if (!pairs || bands_hz->size() > kMostBands) {
    if (pairs) {
      map.problem("bands_hz", fmt::format("at most {} bands", kMostBands));
    }
    bands_hz.reset();
  }
  take(map, "bands_hz", bands_hz, settings_.front_end.bands_hz);
}

void SettingsReader::read_holography(YamlMap map) {
  HolographySettings& holography = settings_.holography;
  take_choice(map, "imager", {ImagerKind::kAuto, ImagerKind::kPnah, ImagerKind::kSonah}, holography.imager);
  take(map, "standoff_m", read_length(map, "standoff_m"), holography.standoff_m);
  read_planes(map);
  read_points(map);
  take_choice<Quantity>(map, "quantity", {kQuantities.begin(), kQuantities.end()}, holography.quantity);
  take(map, "upsample", map.integer("upsample", 1, kMostUpsample), holography.upsample);
  take(map, "search_every_frames", map.integer("search_every_frames", 0, std::numeric_limits<int>::max()),
       holography.search_every_frames);
  read_extrapolation(map.map("extrapolation"));
  read_filter(map.map("filter"));
  map.finish();
}

void SettingsReader::read_planes(YamlMap& map) {
  std::optional<std::vector<double>> planes_m = map.numbers("planes_m", kPosition);
  if (planes_m && (planes_m->empty() || planes_m->size() > kMostPlanes)) {
    map.problem("planes_m", fmt::format("1 to {} planes", kMostPlanes));
    planes_m.reset();
  }
  take(map, "planes_m", planes_m, settings_.holography.planes_m);
}

void SettingsReader::read_points(YamlMap& map) {
  std::vector<PlanePoint> points;
  for (YamlMap& element : map.maps("points")) {
    PlanePoint point;
    for (const auto& [key, target] : {std::pair{"x_m", &point.x_m}, {"y_m", &point.y_m}}) {
      if (!element.has(key)) {
        element.problem(key, std::string(kPosition.expected));
      }
      *target = element.number(key, kPosition).value_or(0.0);
    }
    element.finish();
    points.push_back(point);
  }
  if (points.size() > kMostPoints) {
    map.problem("points", fmt::format("at most {} points", kMostPoints));
  }
  take(map, "points", std::optional(points), settings_.holography.points);
}

void SettingsReader::read_extrapolation(YamlMap map) {
  ExtrapolationSettings& extrapolation = settings_.holography.extrapolation;
  take_choice(map, "method", {Extrapolation::kPlpbp, Extrapolation::kLpbp, Extrapolation::kEdge, Extrapolation::kZero},
              extrapolation.method);
  take(map, "order", map.integer("order", 1, kHighestOrder), extrapolation.order);
  take(map, "factor", map.number("factor", kFactor), extrapolation.factor);
  map.finish();
}

void SettingsReader::read_filter(YamlMap map) {
  FilterSettings& filter = settings_.holography.filter;
  take_choice(map, "kind", {FilterKind::kCos, FilterKind::kTikhonov, FilterKind::kNone}, filter.kind);
  read_cutoff(map);
  take(map, "dynamic_range_db", map.number("dynamic_range_db", kDynamicRange), filter.dynamic_range_db);
  take(map, "slope", map.number("slope", kSlope), filter.slope);
  take(map, "tikhonov_lambda", map.number("tikhonov_lambda", kLambda), filter.tikhonov_lambda);
  map.finish();
}

void SettingsReader::read_cutoff(YamlMap& map) {
  const std::string key = "cutoff_rad_per_m";
  FilterSettings& filter = settings_.holography.filter;
  std::optional<std::vector<double>> cutoffs;
  const auto* word = std::find_if(kCutoffWords.begin(), kCutoffWords.end(),
                                  [&](const auto& rule) { return map.is_word(key, rule.first); });
  if (word != kCutoffWords.end()) {
    filter.cutoff_rule = word->second;
    cutoffs.emplace();
  } else if (cutoffs = map.numbers(key, kCutoff); cutoffs && (cutoffs->empty() || cutoffs->size() > kMostFrequencies)) {
    map.problem(key, kCutoffs);
    cutoffs.reset();
  } else if (cutoffs) {
    filter.cutoff_rule = CutoffRule::kGiven;
  }
  take(map, key, cutoffs, filter.cutoff_rad_per_m);
}

void SettingsReader::read_device(YamlMap map) {
  DeviceSettings& device = settings_.device;
  std::optional<std::string> platform = map.text("platform");
  if (platform && platform->empty()) {
    map.problem("platform", "auto or a part of a platform's name");
    platform.reset();
  }
  take(map, "platform", platform, device.platform);
  take(map, "index", map.integer("index", 0, kMostDevices - 1), device.index);
  const std::vector<std::string_view> libraries = {"auto", "clfft", "fused"};
  const std::optional<std::size_t> fft = map.choice("fft", libraries);
  take(map, "fft", fft ? std::optional<std::string>(libraries[*fft]) : std::nullopt, device.fft);
  take(map, "batch", map.integer("batch", 1, kMostBatch), device.batch);
  map.finish();
}

}  // namespace nearfield
