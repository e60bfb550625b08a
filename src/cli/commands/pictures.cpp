#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>
#include <utility>

#include "cli/command.hpp"
#include "cli/picture_options.hpp"
#include "core/error.hpp"
#include "files/results_file.hpp"
#include "pipeline/replay.hpp"
#include "publish/outputs.hpp"

namespace nearfield::cli {
namespace {

struct PicturesArguments {
  std::string input;
  std::string output;
  std::string frames;
  std::vector<std::string> overlays;
  std::vector<double> cuts_m;
  std::string map;
  bool overviews_only = false;
  PictureArguments pictures;
};

void run(const PicturesArguments& arguments) {
  const ScaleChoice choice = scale_of(arguments.pictures);
  const FrameRange range = arguments.frames.empty() ? FrameRange{} : parse_frame_range(arguments.frames);
  const ResultsReader reader(arguments.input);
  const OverviewsCall overviews = {
      .command = "pictures", .input = arguments.input, .folder = arguments.output, .pictures = arguments.pictures};
  if (!arguments.overlays.empty()) {
    std::vector<std::string> words = {"--frames=" + arguments.frames};
    for (const std::string& overlay : arguments.overlays) {
      words.push_back("--overlay=" + overlay);
    }
    become_overviews(overviews, std::move(words));
  }
  if (!arguments.cuts_m.empty()) {
    become_overviews(overviews, {fmt::format("--at={}", fmt::join(arguments.cuts_m, ",")), "--map=" + arguments.map,
                                 "--frames=" + arguments.frames});
  }
  if (arguments.overviews_only) {
    become_overviews(overviews);
  }
  std::size_t written = 0;
  {
    Progress progress("pictures");
    const DrawnFrames frames = {.first = range.first, .end = range.end.value_or(DrawnFrames{}.end)};
    written = draw_results(arguments.output, reader, frames, choice, [&](double share) { progress.show(share); });
  }
  if (written == 0 && !has_overviews(reader)) {
    throw DataError(
        fmt::format("{}: expected frames that can be drawn, found none of those that were asked for", arguments.input));
  }
  fmt::print("{}: {} picture{}\n", arguments.output, written, written == 1 ? "" : "s");
  if (has_overviews(reader)) {
    become_overviews(overviews);
  }
}

}  // namespace

void add_pictures(CLI::App& app) {
  auto arguments = std::make_shared<PicturesArguments>();
  CLI::App* command = app.add_subcommand("pictures", "Draw the results of an images file");
  command->add_option("input", arguments->input, "images, HDF5")->required();
  command->add_option("-o,--output", arguments->output, "folder for the pictures")->required();
  command->add_option("--frames", arguments->frames, "A:B, frames A to B-1 of each processor, or N, the first N");
  CLI::Option* const overviews = command->add_flag("--overviews-only", arguments->overviews_only,
                                                   "tracks and bearings over time, and no pictures of frames");
  CLI::Option* const overlays =
      command
          ->add_option("--overlay", arguments->overlays,
                       "UPPER:LOWER, two processors (or PROCESSOR.PRODUCT): contours of the one over the colours of "
                       "the other, and nothing else; may be repeated")
          ->allow_extra_args(false)
          ->take_all()
          ->excludes(overviews);
  CLI::Option* const cuts =
      command
          ->add_option("--at", arguments->cuts_m,
                       "X,Y,Z in m, in the axes of images: x-y, x-z and y-z cuts of a volume that meet there, and "
                       "nothing else")
          ->delimiter(',')
          ->expected(3)
          ->excludes(overviews)
          ->excludes(overlays);
  command
      ->add_option("--map", arguments->map,
                   "PROCESSOR or PROCESSOR.PRODUCT that is cut; without it the first map over x, y and several depths")
      ->needs(cuts);
  add_picture_options(*command, arguments->pictures);
  command->callback([arguments] { run(*arguments); });
}

}  // namespace nearfield::cli
