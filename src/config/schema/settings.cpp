#include "core/settings.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numbers>
#include <string_view>

#include "config/array_presets.hpp"
#include "config/schema/form.hpp"
#include "config/schema/section.hpp"
#include "core/text.hpp"

namespace nearfield::schema {
namespace {

constexpr int kMostDevices = 1024;
/// Limit of WAV files.
constexpr int kMostChannels = 65535;

/// The file's column for a name such as "-z", from 1; 0 if the name is invalid.
int column_of(const std::string& name) {
  const bool is_negative = name.starts_with('-');
  const std::string letter = name.substr(is_negative || name.starts_with('+') ? 1 : 0);
  const std::size_t at = letter.size() == 1 ? std::string_view("xyz").find(letter) : std::string_view::npos;
  return at == std::string_view::npos ? 0 : static_cast<int>(at + 1) * (is_negative ? -1 : 1);
}

std::optional<AxesOfFile> read_axes(YamlMap& map, const std::string& key) {
  const std::optional<std::vector<std::string>> names = map.texts(key);
  if (!names) {
    return std::nullopt;
  }
  std::vector<int> columns;
  std::transform(names->begin(), names->end(), std::back_inserter(columns), column_of);
  std::vector<int> each = columns;
  std::transform(each.begin(), each.end(), each.begin(), [](int column) { return std::abs(column); });
  std::sort(each.begin(), each.end());
  if (each != std::vector<int>{1, 2, 3}) {
    map.problem(key, "x, y and z, each once, with or without -, such as [x, -z, -y]");
    return std::nullopt;
  }
  return AxesOfFile{.x = columns[0], .y = columns[1], .z = columns[2]};
}

Form<AxesOfFile> axes_of_file() {
  Form<AxesOfFile> form;
  form.facts = {.type = "list of texts", .range = "x, y and z, each once, with or without -"};
  form.read = [](YamlMap& map, const std::string& key, const std::filesystem::path&) { return read_axes(map, key); };
  form.write = [](const AxesOfFile& axes) { return text_of(axes); };
  return form;
}
constexpr int kMostBatch = 1024;

/// Also accepts false and true, from before there were three values; shipped configurations contain the latter.
Form<HealthMask> health_mask() {
  Form<HealthMask> form =
      choice<HealthMask>({{HealthMask::kCertain,
                           "silent, stuck and copied ones, values that are not finite, and those without any part of "
                           "a field that all others have"},
                          {HealthMask::kAll, "those, too, that do not fit their neighbours"},
                          {HealthMask::kNone, "what is found is only reported"}});
  form.read = [read = std::move(form.read)](YamlMap& map, const std::string& key, const std::filesystem::path& folder) {
    const auto is_one_of = [&](auto... words) { return (map.is_word(key, words) || ...); };  // spellings of booleans
    if (is_one_of("true", "True", "TRUE")) {
      return std::optional(HealthMask::kCertain);
    }
    return is_one_of("false", "False", "FALSE") ? std::optional(HealthMask::kNone) : read(map, key, folder);
  };
  return form;
}

/// A factor, or the sensitivity of a digital microphone as its data sheet gives it, "-26 dBFS".
Form<double> pascals(const Range& range) {
  Form<double> form = number(range);
  form.facts.type = "number or level";
  form.read = [read = std::move(form.read)](YamlMap& map, const std::string& key,
                                            const std::filesystem::path& folder) -> std::optional<double> {
    constexpr std::string_view kUnit = "dBFS";
    constexpr double kWithin_db = 200.0;
    std::string text = map.scalar(key);
    if (!text.ends_with(kUnit)) {
      return read(map, key, folder);
    }
    text.resize(text.find_last_not_of(' ', text.size() - kUnit.size() - 1) + 1);
    double level_dbfs = 0.0;
    const auto [end, error] = number_from(text.data(), text.data() + text.size(), level_dbfs);
    if (error != std::errc() || end != text.data() + text.size() || !(std::abs(level_dbfs) <= kWithin_db)) {
      map.problem(key, "a level from -200 to 200 dBFS, such as -26 dBFS");
      return std::nullopt;
    }
    return std::numbers::sqrt2 * std::pow(10.0, -level_dbfs / 20.0);
  };
  return form;
}

void describe(Section& section, HealthSettings& health) {
  section.add("enabled", health.enabled, boolean(), "whether they are watched");
  section.add("mask", health.mask, health_mask(),
              "which of those that are found bad are replaced by a prediction from their neighbours");
  section.add("trusted_channels", health.trusted_channels, integers(0, kMaxSide * kMaxSide - 1),
              "row * columns + column of microphones to use whatever they look like");
}

}  // namespace

void describe(Section& section, ArraySettings& array) {
  ArrayGeometry& geometry = array.geometry;
  std::vector<Word> presets;
  for (const ArrayPreset& one : array_presets()) {
    presets.push_back({std::string(one.name), std::string(one.description)});
  }
  section.add(
      "preset", array.preset, or_null(word(std::move(presets)), "an array of the settings below"),
      "an array that can be bought: places and channels of its microphones, and the rate of live samples, where "
      "these are not given",
      Effect::kRestart);
  section.add("positions", array.positions_path, path_or_null("on the grid of the settings below, in its order"),
              "a file of where the microphone of each channel stands, CSV of x_m,y_m,z_m or Acoular's XML "
              "(docs/use/microphones.md); a relative path counts from the configuration's folder",
              Effect::kRestart);
  section.add(
      "axes", array.axes,
      or_none(axes_of_file(), "[x, y, z], and [x, y, -z] of Acoular's XML, whose z points to the sources"),
      "what that file, or positions in the input, call the axes of images: x to the right and y down, seen from "
      "the back of the array, and z away from the sources (docs/reference/axes.md)",
      Effect::kRestart);
  section.add("channels", array.channels, integers(0, kMostChannels),
              "which channels of an input of samples are the microphones, in their order; []: all", Effect::kRestart);
  // Irregular positions have none of these, and those of an input in another order are not described by them.
  if (geometry.is_grid() && !(geometry.is_reordered() && array.positions_path.empty())) {
    section.add("rows", geometry.rows, integer(1, kMaxSide), "microphones in a column of the array", Effect::kRestart);
    section.add("columns", geometry.columns, integer(1, kMaxSide), "microphones in a row of the array",
                Effect::kRestart);
    section.add("pitch_x_m", geometry.pitch_x_m, length_m(), "between neighbours in a row");
    section.add("pitch_y_m", geometry.pitch_y_m, length_m(), "between neighbours in a column");
  }
  section.add("layout", array.layout,
              choice<WireLayout>({{WireLayout::kSoramaCam, "32 x 32 only"}, {WireLayout::kRowMajor, ""}}),
              "order of the bits in a capture", Effect::kRestart);
  const auto get_clock = [&array] { return static_cast<int>(std::lround(array.clock_hz)); };
  const auto set_clock = [&array](int clock_hz) { array.clock_hz = clock_hz; };
  section.add("clock_hz", {get_clock, set_clock},
              integer(static_cast<int>(kSlowestClock_hz), static_cast<int>(kFastestClock_hz), "Hz"),
              "of the microphones' bits; of live samples daemon.source.sample_rate_hz says the rate", Effect::kRestart);
  section.add("sensitivity_dbfs", array.sensitivity_dbfs, number({"a level from", -200.0, 100.0, "dBFS"}),
              "level of a 1 Pa rms sine; gives bits their pascals");
  section.add(
      "pascal_per_unit", array.pascal_per_unit,
      or_none(pascals({"a factor from", 1e-12, 1e12, "Pa"}),
              "not given: a file that needs it is refused, and live samples are taken as pascal"),
      "of a value 1 of samples that do not say it: of a file (full scale of a WAV file of integers, 1 of a WAV or "
      "MATLAB file whose values are in Pa), or of live samples; or the level of a sine of 1 Pa rms, as -26 dBFS",
      Effect::kRestart);
  section.add("dead_channels", array.dead_channels, integers(0, kMaxSide * kMaxSide - 1),
              "row * columns + column of microphones to replace by their neighbours");
  section.add("calibration", array.calibration_path, path_or_null("none"),
              "a calibration file; a relative path counts from the configuration's folder");
  section.add(
      "fewest_valid_share", array.fewest_valid_share, number({"a share from", 0.0, 1.0}),
      "of the microphones that must be usable, neither dead nor without a gain, and in recordings neither masked "
      "nor without finite values: with fewer nothing starts, and a replay ends");
  section.add(
      "subset", array.subset, subset(),
      "which microphones processors that look far use, of those that are not masked at the start: all; grid RxC, "
      "the nearest to evenly spaced rows and columns; spiral N; random N; or these channels");
  describe(section.section("health", "Microphones are watched while they work: docs/use/health.md"), array.health);
}

void describe(Section& section, MediumSettings& medium) {
  section.add("sound_speed_m_s", medium.sound_speed_m_s, number({"a speed from", 1.0, 1e5, "m/s"}), "speed of sound");
  section.add("density_kg_m3", medium.density_kg_m3, number({"a density from", 1e-3, 1e5, "kg/m3"}),
              "density; scales velocity images only");
}

void describe(Section& section, DeviceSettings& device) {
  section.add(
      "platform", device.platform,
      naming(where(
                 text(), [](const std::string& name) { return !name.empty(); }, "auto or a part of a platform's name"),
             {"auto", "a GPU if there is one"}),
      "part of an OpenCL platform's name");
  section.add("index", device.index, integer(0, kMostDevices - 1), "which of the devices that remain");
  section.add("fft", device.fft,
              word({{"auto", "fused where they can"}, {"clfft", "clFFT's"}, {"fused", "the imager's own kernels"}}),
              "the imager's transforms");
  section.add("batch", device.batch, integer(1, kMostBatch),
              "frames that are computed together: more of them a second, each of them later; all together at most one "
              "window apart");
}

Section describe(Settings& settings) {
  Section all;
  describe(
      all.section("array",
                  "What a capture says of its own rows, columns, pitch, layout, sensitivity and standoff wins over "
                  "the defaults here and must agree with what you set."),
      settings.array);
  describe(all.section("medium", "What sound travels in."), settings.medium);
  describe(all.section("front_end", "From bits or samples to spectra."), settings.front_end);
  describe(all.section("holography", "From spectra to images."), settings.holography);
  describe(all.section(
               "processors",
               "What else is made of the same spectra, beside the images: a section a processor, under a name of your "
               "choice, with its kind and that kind's settings, such as "
               "{velocity: {kind: sonah, quantity: normal_velocity, every_hops: 8}} (docs/reference/processors.md)."),
           settings.processors);
  describe(all.section("device", "The OpenCL device that computes."), settings.device);
  describe(all.section("daemon",
                       "Of nearfieldd alone; other commands read it and pass it over. Relative paths count from this "
                       "file's folder."),
           *settings.daemon);
  return all;
}

}  // namespace nearfield::schema
