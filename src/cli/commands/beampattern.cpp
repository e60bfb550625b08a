#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <memory>
#include <span>
#include <string>
#include <system_error>
#include <vector>

#include "cli/command.hpp"
#include "cli/own_daemon.hpp"
#include "cli/picture_options.hpp"
#include "config/config.hpp"
#include "core/error.hpp"
#include "core/text.hpp"
#include "files/files.hpp"
#include "processors/beamform/beam_pattern.hpp"
#include "publish/outputs.hpp"

namespace nearfield::cli {
namespace {

constexpr double kHighest_hz = 1e6;
constexpr double kFarthest_m = 1000.0;
constexpr double kRightAngleDeg = 90.0;

struct BeampatternArguments {
  std::string config;
  std::vector<std::string> overrides;
  std::string processor;
  std::string source;
  double frequency_hz = 0.0;
  std::string output;
  std::string pictures_folder;
  PictureArguments pictures;
};

const ProcessorSettings& beamformer_of(const Settings& settings, const std::string& name) {
  const ProcessorSettings* found = nullptr;
  std::size_t count = 0;
  for (const ProcessorSettings& processor : settings.processors) {
    const bool is_it = processor.kind == "beamform" && (name.empty() || processor.name == name);
    found = is_it ? &processor : found;
    count += is_it ? 1 : 0;
  }
  if (count == 1) {
    return *found;
  }
  if (name.empty()) {
    throw ConfigError(fmt::format("processors: expected one of kind beamform{}, found {}",
                                  count > 1 ? ", or --processor" : "", count));
  }
  throw ConfigError(fmt::format("--processor: expected the name of one of kind beamform, found \"{}\"", name));
}

/// Parses "x,y,z" or "azimuth,elevation".
std::vector<double> parse_source(const std::string& text) {
  std::vector<double> values;
  const char* at = text.data();
  const char* const end = at + text.size();
  bool is_good = true;
  while (is_good && values.size() < 4) {
    const auto [next, error] = number_from(at, end, values.emplace_back());
    is_good = error == std::errc();
    if (next == end) {
      break;
    }
    is_good = is_good && *next == ',';
    at = next + 1;
  }
  if (!is_good || values.size() < 2 || values.size() > 3) {
    throw UsageError(fmt::format("--source: expected X,Y,Z in m or AZIMUTH,ELEVATION in degrees, found \"{}\"", text));
  }
  return values;
}

PatternSource source_of(const std::string& text, double standoff_m) {
  constexpr double kRounding = 1e-12;
  const std::vector<double> values = parse_source(text);
  const bool are_finite = std::all_of(values.begin(), values.end(), [](double value) { return std::isfinite(value); });
  if (values.size() == 3) {
    if (!are_finite || std::hypot(values[0], values[1], values[2]) > kFarthest_m || !(values[2] < standoff_m)) {
      throw UsageError(
          fmt::format("--source: expected X,Y,Z at most {} m away with Z below the microphones at {} m, found {}",
                      kFarthest_m, standoff_m, text));
    }
    return {.place_m = {{values[0], values[1], values[2]}}};
  }
  const double degree = std::acos(-1.0) / (2.0 * kRightAngleDeg);
  const double x = std::sin(values[0] * degree);
  const double y = std::sin(values[1] * degree);
  if (!are_finite || std::abs(values[0]) > kRightAngleDeg || std::abs(values[1]) > kRightAngleDeg ||
      x * x + y * y > 1.0 + kRounding) {
    throw UsageError(
        fmt::format("--source: expected AZIMUTH,ELEVATION from -90 to 90 deg, the squares of whose sines add up to at "
                    "most 1, found {}",
                    text));
  }
  return {.place_m = {}, .direction_deg = {values[0], values[1]}};
}

/// "angle 59.8826 deg", for all axes.
std::string place_in_words(const ResultHeader& header, const std::vector<double>& places) {
  std::string text;
  const std::vector<std::string>& axes = header.products.front().axes;
  for (std::size_t i = 0; i < places.size(); ++i) {
    const Axis& axis = *header.axis(axes[i + 1]);
    text += fmt::format("{}{} {:.6g}{}", i == 0 ? "" : ", ", axis.name, places[i] + 0.0,
                        axis.components == 1 ? " " + axis.unit : "");
  }
  return text;
}

void print(const BeamPattern& pattern, const PatternSource& source) {
  const ResultHeader& header = pattern.header;
  const PatternFigures& figures = pattern.figures;
  fmt::print("{}: {} microphones, {} pixels, {:.6g} Hz, ", header.processor, figures.microphones,
             pattern.pattern.size(), header.axis("frequency")->values.front());
  if (source.place_m) {
    const auto& [x, y, z] = *source.place_m;
    fmt::print("a point at ({}, {}, {}) m\n", x, y, z);
  } else {
    fmt::print("a plane wave from azimuth {} deg, elevation {} deg\n", source.direction_deg[0],
               source.direction_deg[1]);
  }
  fmt::print("maximum              {}\n", place_in_words(header, figures.peak));
  const std::vector<std::string>& axes = header.products.front().axes;
  for (std::size_t i = 0; i < figures.half_power_width.size(); ++i) {
    const Axis& axis = *header.axis(axes[i + 1]);
    if (axis.components != 1 || axis.size() < 2) {
      continue;
    }
    const double width = figures.half_power_width[i];
    fmt::print("half-power width     {}\n", std::isnan(width)
                                                ? fmt::format("{}: not within the grid", axis.name)
                                                : fmt::format("{} {:.4g} {}", axis.name, width, axis.unit));
  }
  fmt::print("highest side lobe    {}\n",
             std::isnan(figures.side_lobe_db)
                 ? "none within the grid"
                 : fmt::format("{:.2f} dB at {}", figures.side_lobe_db, place_in_words(header, figures.side_lobe)));
  fmt::print("white-noise gain     {:.2f} dB\ndirectivity          {:.2f} dB\n", figures.white_noise_gain_db,
             figures.directivity_db);
}

/// Writes one frame, with the product and the figures.
void write(Output& output, const BeamPattern& pattern) {
  std::vector<std::span<const std::byte>> products = {std::as_bytes(std::span(pattern.pattern))};
  std::vector<double> aligned(pattern.figure_values.size());  // each figure at 8 bytes, like in frames
  for (std::size_t i = 0; i < aligned.size(); ++i) {
    std::copy_n(&pattern.figure_values[i], 1, reinterpret_cast<float*>(&aligned[i]));
    products.push_back(std::as_bytes(std::span(&aligned[i], 1)).first(sizeof(float)));
  }
  Frame frame;
  frame.valid_microphones = static_cast<std::uint32_t>(pattern.figures.microphones);
  frame.flags = pattern.flags;
  frame.products = products;
  output.begin(pattern.header, {.processor = 0, .frames = 1});
  output.write(frame);
  output.finish();
}

/// A file of the pattern that Python can open after this process has become it, and that has no name in any folder.
std::string unnamed_file_of(const BeamPattern& pattern) {
  const OwnFolder folder(temporary_folder(), "beampattern");
  const std::string path = folder.path() / "pattern.h5";
  ImagesFileOutput output(path);
  write(output, pattern);
  const int file = ::open(path.c_str(), O_RDONLY);  // stays open
  if (file < 0) {
    throw IoError(fmt::format("{}: can't read it: {}", path, std::generic_category().message(errno)));
  }
  return fmt::format("/dev/fd/{}", file);
}

/// Draws a curve for one axis, else pictures of planes.
void draw(const BeamPattern& pattern, const BeampatternArguments& arguments, const ScaleChoice& scale) {
  std::vector<const Axis*> axes;
  for (const std::string& name : pattern.header.products.front().axes) {
    const Axis* const axis = pattern.header.axis(name);
    if (axis->name != "frequency" && axis->size() > 1) {
      axes.push_back(axis);
    }
  }
  if (axes.size() == 1 && axes.front()->components == 1) {
    become_overviews({.command = "beampattern",
                      .input = arguments.output.empty() ? unnamed_file_of(pattern) : arguments.output,
                      .folder = arguments.pictures_folder,
                      .pictures = arguments.pictures},
                     {"--pattern"});
  }
  PictureOutput output(arguments.pictures_folder, scale);
  write(output, pattern);
  fmt::print("{}: {} picture{}\n", arguments.pictures_folder, output.written(), output.written() == 1 ? "" : "s");
}

void run(const BeampatternArguments& arguments) {
  const ScaleChoice scale = scale_of(arguments.pictures);
  if (!(arguments.frequency_hz > 0.0 && arguments.frequency_hz <= kHighest_hz)) {
    throw UsageError(fmt::format("--frequency: expected a frequency > 0 Hz, at most {:.0f} Hz, found {}", kHighest_hz,
                                 arguments.frequency_hz));
  }
  if (!arguments.output.empty()) {
    require_own_output(arguments.output, {arguments.config});
  }
  std::vector<std::string> overrides = arguments.overrides;
  // Disables images, which this array may not support; bands require images.
  overrides.insert(overrides.end(), {"holography.imager=none", "front_end.bands_hz=[]", "front_end.octave=[]",
                                     "front_end.third_octave=[]"});
  const Settings settings = load_settings(arguments.config, overrides);
  const ProcessorSettings& processor = beamformer_of(settings, arguments.processor);
  const PatternSource source = source_of(arguments.source, settings.holography.standoff_m);
  ProcessorPlan plan;
  plan.name = processor.name;
  plan.settings = &settings;
  plan.own = processor.own.get();
  plan.array = {.geometry = settings.array.geometry,
                .medium = settings.medium,
                .standoff_m = settings.holography.standoff_m,
                .frequencies_hz = {arguments.frequency_hz},
                .dead_channels = settings.array.dead_channels,
                .gains = {}};
  plan.frequencies_hz = {arguments.frequency_hz};
  plan.files = array_files_on_disk();
  BeamPattern pattern;
  {
    Progress progress("beampattern");
    pattern = beam_pattern(plan, source, [&](double share) { progress.show(share); });
  }
  pattern.header.config = to_yaml(settings);
  pattern.header.device = "double precision on the host";
  pattern.header.front_end = "none (a computed field)";
  print(pattern, source);
  if (!arguments.output.empty()) {
    ImagesFileOutput output(arguments.output);
    write(output, pattern);
  }
  if (!arguments.pictures_folder.empty()) {
    draw(pattern, arguments, scale);
  }
}

}  // namespace

void add_beampattern(CLI::App& app) {
  auto arguments = std::make_shared<BeampatternArguments>();
  CLI::App* command =
      app.add_subcommand("beampattern", "Show what a beamformer makes of a single source, without data");
  command->footer(
      "Computes, in double precision, the power that one source has on the map of a processor of kind beamform: delay\n"
      "and sum with its grid, steering, shading, subset of microphones and removal of the diagonal. Averages, bands,\n"
      "focus, sectors and other methods than das are passed over, and so is a calibration. Values are re the largest.\n"
      "\n"
      "Prints where the largest value is, between which places along each axis the power is half of it, the highest\n"
      "local maximum that does not hang together with it above half power, and the gains of the beam at the maximum\n"
      "over noise of the microphones (white-noise gain) and over noise from all directions alike (directivity).\n"
      "\n"
      "Example: 64 microphones in a line, 0.375 m apart in water, and a wave from 60 degrees against the line:\n"
      "  nearfield beampattern --set array.rows=1 --set array.columns=64 --set array.pitch_x_m=0.375 \\\n"
      "    --set medium.sound_speed_m_s=1500 --set processors.line.kind=beamform \\\n"
      "    --set processors.line.grid.kind=line --set processors.line.grid.distance_m=inf \\\n"
      "    --source 30,0 --frequency 2000 --png pictures --db -o pattern.h5\n"
      "\n"
      "Exit codes: 0, 64 (options), 66 (no such file, or no Python package for the curve), 74 (output), 78 "
      "(configuration).");
  command->add_option("-c,--config", arguments->config, "settings, YAML (- is standard input)");
  command->add_option("--set", arguments->overrides, "one setting, KEY=VALUE; may be repeated")
      ->allow_extra_args(false)
      ->take_all();
  command->add_option("--processor", arguments->processor,
                      "which processor of kind beamform; not needed where there is one");
  command
      ->add_option("--source", arguments->source,
                   "X,Y,Z of a point in m, in the axes of images, or AZIMUTH,ELEVATION in degrees that a plane wave "
                   "comes from, towards +x and +y")
      ->required();
  command->add_option("--frequency", arguments->frequency_hz, "of the source, Hz")->required();
  command->add_option("-o,--output", arguments->output, "pattern as an images file, HDF5");
  command->add_option("--png", arguments->pictures_folder, "folder for pictures: a curve over one axis, else maps");
  add_picture_options(*command, arguments->pictures);
  command->callback([arguments] { run(*arguments); });
}

}  // namespace nearfield::cli
