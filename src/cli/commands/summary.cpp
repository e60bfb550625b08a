#include <memory>
#include <string>

#include "cli/command.hpp"
#include "cli/python.hpp"

namespace nearfield::cli {
namespace {

struct SummaryArguments {
  std::string input;
  std::string other;
  std::string output;
  std::string title;
  std::string processor;
  std::string average;
  double range_db = 0.0;
  int pictures = 0;
};

}  // namespace

void add_summary(CLI::App& app) {
  const auto arguments = std::make_shared<SummaryArguments>();
  CLI::App* command = app.add_subcommand(
      "summary", "Write a run, or what changed from one to another, as a page for somebody without Nearfield");
  command->add_option("input", arguments->input, "images, HDF5, or a recording with images (.nfr)")->required();
  command->add_option("other", arguments->other,
                      "a later run of the same frequencies and grid, of any length: the page has the difference");
  command->add_option("-o,--output", arguments->output, "page, HTML, one file that needs nothing beside it")
      ->required();
  command->add_option("--title", arguments->title, "of the page; without it the names of the files");
  command->add_option("--processor", arguments->processor, "whose maps, by its name; without it the first with some");
  command
      ->add_option("--average", arguments->average,
                   "over the frames, of powers: energetic, their mean, which holds without it, or median")
      ->check(CLI::IsMember({"energetic", "median"}));
  command->add_option("--range", arguments->range_db,
                      "dB from the top of a map's colours to their bottom; 40 without it");
  command->add_option("--pictures", arguments->pictures,
                      "most maps that are drawn, the loudest; 24 without it; tables have all");
  command->callback([arguments, command] {
    require_own_output(arguments->output, {arguments->input, arguments->other});
    become_python({.command = "summary", .module = "nearfield.summary"}, words_of(*command));
  });
}

}  // namespace nearfield::cli
