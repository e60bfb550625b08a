#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cli/command.hpp"
#include "cli/python.hpp"

namespace nearfield::cli {
namespace {

struct LevelsArguments {
  std::string input;
  std::string socket;
  std::string processor;
  std::string product;
  std::string weighting;
  std::string bands;
  std::string range;
  std::string at;
  std::string region;
  int entry = 0;
  double pascal_per_unit = 0.0;
  double duration_s = 0.0;
  bool json = false;
  bool csv = false;
};

}  // namespace

void add_levels(CLI::App& app) {
  const auto arguments = std::make_shared<LevelsArguments>();
  CLI::App* command = app.add_subcommand(
      "levels", "Print levels as a sound level meter has them: LAeq, F and S, percentiles, bands, sound power");
  CLI::Option* const input = command->add_option(
      "input", arguments->input,
      "images, HDF5, a recording (.nfr), or time data, HDF5 or WAV; without it a running daemon, a line a second");
  command->add_option("--socket", arguments->socket, "where the daemon hands over its ring")->excludes(input);
  command->add_option("--duration", arguments->duration_s, "end after so many seconds; without it by Ctrl-C")
      ->check(CLI::NonNegativeNumber)
      ->excludes(input);
  command->add_option("--processor", arguments->processor,
                      "whose results, by its name; without it the first with levels");
  command->add_option("--product", arguments->product, "which of them, by its name; without it the first with levels");
  command
      ->add_option("--weighting", arguments->weighting,
                   "of frequencies, IEC 61672-1: a, which holds without it, c or z; of data that are weighted, theirs")
      ->check(CLI::IsMember({"a", "c", "z"}));
  CLI::Option* const bands = command
                                 ->add_option("--bands", arguments->bands,
                                              "octave or third: also these bands of IEC 61260-1, or those of a product")
                                 ->check(CLI::IsMember({"octave", "third"}));
  command->add_option("--range", arguments->range, "LOW,HIGH: nominal centres of bands, Hz; 25,20000 without it")
      ->needs(bands);
  CLI::Option* const at = command->add_option(
      "--at", arguments->at, "X,Y: at the nearest pixel of a map, in the unit of its axes, m or degrees");
  command
      ->add_option("--region", arguments->region,
                   "X0,X1,Y0,Y1: over the pixels whose centres are in it: their mean square, or of intensities their "
                   "power; without it over all")
      ->excludes(at);
  command
      ->add_option("--entry", arguments->entry, "number of a microphone, point, beam or sector, from 0; without it all")
      ->check(CLI::NonNegativeNumber);
  command->add_option("--pascal-per-unit", arguments->pascal_per_unit,
                      "of time data without a unit: Pa of full scale of integers, or of the value 1");
  CLI::Option* const json = command->add_flag("--json", arguments->json, "print JSON");
  command->add_flag("--csv", arguments->csv, "print values with commas between them")->excludes(json);
  command->callback([arguments, command] {
    std::vector<std::string> words = words_of(*command);
    if (arguments->json || arguments->csv) {
      words.insert(words.begin(), arguments->json ? "--json" : "--csv");
    }
    become_python({.command = "levels", .module = "nearfield.sound_levels"}, std::move(words));
  });
}

}  // namespace nearfield::cli
