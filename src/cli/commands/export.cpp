#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>
#include <string>
#include <vector>

#include "cli/command.hpp"
#include "cli/python.hpp"
#include "files/results_file.hpp"
#include "pipeline/replay.hpp"
#include "publish/exports/exports.hpp"

namespace nearfield::cli {
namespace {

struct ExportArguments {
  std::string input;
  std::string output;
  std::string format;
  std::string frames;
  ExportChoice choice;
};

void run(ExportArguments arguments, const CLI::App& command) {
  require_own_output(arguments.output, {arguments.input});
  const ExportFormat& format = export_format(arguments.format, arguments.output);
  if (format.write == nullptr) {
    become_python({.command = "export", .module = "nearfield.exports"}, words_of(command));
  }
  if (!arguments.frames.empty()) {
    const FrameRange range = parse_frame_range(arguments.frames);
    arguments.choice.first_frame = range.first;
    arguments.choice.end_frame = range.end.value_or(arguments.choice.end_frame);
  }
  const ResultsReader reader(arguments.input);
  const ExportSource source(reader, arguments.choice, arguments.input);
  format.write(arguments.output, source);
  if (arguments.output == kStandardOutput) {
    return;
  }
  const std::uint64_t frames = source.end_frame() - source.first_frame();
  fmt::print("{}: {} frame{} of {}, {} values each\n", arguments.output, frames, frames == 1 ? "" : "s", source.name(),
             source.entries().size() * source.places().size());
}

/// "csv (.csv): a line per value; vtk (.vti): ...".
std::string formats_for_help() {
  std::vector<std::string> words;
  for (const ExportFormat& format : export_formats()) {
    words.push_back(fmt::format("{} ({}): {}", format.name, format.ending, format.holds));
  }
  return fmt::format("{}", fmt::join(words, "; "));
}

}  // namespace

void add_export(CLI::App& app) {
  auto arguments = std::make_shared<ExportArguments>();
  ExportChoice& choice = arguments->choice;
  CLI::App* command = app.add_subcommand(
      "export", "Write results for other programs: " + [] {
        std::vector<std::string> own;
        std::vector<std::string> of_python;
        for (const ExportFormat& format : export_formats()) {
          (format.write != nullptr ? own : of_python).emplace_back(format.name);
        }
        return fmt::format("{}, and by the Python package nearfield {}", fmt::join(own, ", "),
                           fmt::join(of_python, ", "));
      }());
  command->add_option("input", arguments->input, "images, HDF5")->required();
  command
      ->add_option("-o,--output", arguments->output,
                   "file to write; its ending says the format; - is standard output, as csv")
      ->required();
  command->add_option("--format", arguments->format, formats_for_help());
  command->add_option("--processor", choice.processor, "by its name; without it the first with values at places");
  command->add_option("--product", choice.product,
                      "by its name; without it the images, else the first array over x and y or over points");
  command->add_option("--frames", arguments->frames, "A:B, frames A to B-1, or N, the first N");
  command->add_option("--frequency", choice.frequency_hz, "the one within 0.5 Hz of it, Hz");
  command->add_option("--plane", choice.plane_m, "the one of this z, or of this distance of a map over distances, m");
  command->add_option("--x", choice.x_m, "the pixels of the column nearest to it, m");
  command->add_option("--y", choice.y_m, "the pixels of the row nearest to it, m");
  command->callback([arguments, command] { run(*arguments, *command); });
}

}  // namespace nearfield::cli
