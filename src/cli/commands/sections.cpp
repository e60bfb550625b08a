#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>
#include <string>
#include <vector>

#include "cli/command.hpp"
#include "cli/picture_options.hpp"
#include "files/results_file.hpp"
#include "pipeline/replay.hpp"

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
  (void)scale_of(arguments.pictures);  // throws on invalid options
  if (!arguments.frames.empty()) {
    (void)parse_frame_range(arguments.frames);
  }
  const ResultsReader reader(arguments.input);  // throws on other files
  // Replaces this process by one of Python, which draws.
  become_overviews(
      {.command = "sections", .input = arguments.input, .folder = arguments.output, .pictures = arguments.pictures},
      {fmt::format("--at={}", fmt::join(arguments.at_m, ",")), "--map=" + arguments.map,
       "--frames=" + arguments.frames});
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
