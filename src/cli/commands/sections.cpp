#include "publish/overviews/sections.hpp"

#include <fmt/format.h>

#include <limits>
#include <memory>

#include "cli/command.hpp"
#include "cli/picture_options.hpp"
#include "files/results_file.hpp"
#include "nearfield/error.hpp"
#include "pipeline/replay.hpp"
#include "publish/outputs.hpp"

namespace nearfield::cli {
namespace {

struct SectionsArguments {
  std::string input;
  std::string output;
  std::vector<double> at_m;
  std::string map;
  std::string frames;
  PictureArguments pictures;
};

void run(const SectionsArguments& arguments) {
  const FrameRange range = arguments.frames.empty() ? FrameRange{} : parse_frame_range(arguments.frames);
  const SectionOptions options = {.at_m = {arguments.at_m[0], arguments.at_m[1], arguments.at_m[2]},
                                  .map = arguments.map,
                                  .first_frame = range.first,
                                  .end_frame = range.end.value_or(std::numeric_limits<std::uint64_t>::max()),
                                  .scale = scale_of(arguments.pictures)};
  const ResultsReader reader(arguments.input);
  PictureOutput(arguments.output, options.scale).begin(reader.header(0), {});  // makes the folder
  const std::size_t written = write_sections(arguments.output, reader, options);
  if (written == 0) {
    throw DataError(
        fmt::format("{}: expected frames that can be drawn, found none of those that were asked for", arguments.input));
  }
  fmt::print("{}: {} picture{}\n", arguments.output, written, written == 1 ? "" : "s");
}

}  // namespace

void add_sections(CLI::App& app) {
  auto arguments = std::make_shared<SectionsArguments>();
  CLI::App* command = app.add_subcommand("sections", "Draw x-y, x-z and y-z cuts of a volume");
  command->add_option("input", arguments->input, "images, HDF5")->required();
  command->add_option("-o,--output", arguments->output, "folder for the pictures")->required();
  command->add_option("--at", arguments->at_m, "X,Y,Z in m where the cuts meet, in the axes of images")
      ->delimiter(',')
      ->expected(3)
      ->required();
  command->add_option("--map", arguments->map,
                      "PROCESSOR or PROCESSOR.PRODUCT; without it the first map over x, y and several depths");
  command->add_option("--frames", arguments->frames, "A:B, frames A to B-1, or N, the first N");
  add_picture_options(*command, arguments->pictures);
  command->callback([arguments] { run(*arguments); });
}

}  // namespace nearfield::cli
