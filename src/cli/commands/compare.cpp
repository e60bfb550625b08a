#include <fmt/format.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/command.hpp"
#include "cli/python.hpp"
#include "core/error.hpp"
#include "publish/comparison/comparison.hpp"

namespace nearfield::cli {
namespace {

struct CompareArguments {
  std::string reference;
  std::string other;
  std::optional<double> most_l2;
  bool truth = false;
  bool json = false;
  std::string before;  ///< this and what follows goes to the Python package
  std::string after;
  std::string processor;
  std::string average;
};

void run(const CompareArguments& arguments, const CLI::App& command) {
  if (!arguments.before.empty()) {
    std::vector<std::string> words = words_of(command);
    if (arguments.json) {
      words.insert(words.begin(), "--json");
    }
    become_python({.command = "compare", .module = "nearfield.compare"}, std::move(words));
  }
  if (arguments.other.empty()) {
    throw UsageError("expected a reference and another images file, or --before and --after");
  }
  if (arguments.most_l2 && !(*arguments.most_l2 >= 0.0)) {
    throw UsageError(fmt::format("--most-l2: expected a number of at least 0, found {}", *arguments.most_l2));
  }
  const Comparison comparison = arguments.truth ? compare_with_truth(arguments.reference, arguments.other)
                                                : compare_image_files(arguments.reference, arguments.other);
  fmt::print("{}", arguments.json ? to_json(comparison) : to_table(comparison));
  if (!arguments.most_l2) {
    return;
  }
  if (const std::optional<std::string> difference = beyond_tolerance(comparison, *arguments.most_l2)) {
    throw Error(ExitCode::kDiffers, fmt::format("{}: {}", arguments.other, *difference));
  }
}

}  // namespace

void add_compare(CLI::App& app) {
  auto arguments = std::make_shared<CompareArguments>();
  CLI::App* command =
      app.add_subcommand("compare",
                         "Compare images with a reference: another images file, a simulation's truth, or with --before "
                         "a run of any length");
  CLI::Option* const reference = command->add_option(
      "reference", arguments->reference, "images, HDF5; with --truth a simulated capture or file of spectra");
  command->add_option("other", arguments->other, "images, HDF5");
  CLI::Option* const truth =
      command->add_flag("--truth", arguments->truth,
                        "the reference is the true field on z = 0 that a simulated capture or file of spectra has");
  CLI::Option* const most_l2 = command->add_option(
      "--most-l2", arguments->most_l2, "end with 1 where the relative L2 of an image or of a product is above this");
  command->add_flag("--json", arguments->json, "print JSON");
  CLI::Option* const before =
      command
          ->add_option("--before", arguments->before,
                       "images, HDF5, or a recording with images (.nfr): how many dB less or more there are after it, "
                       "and where, by the averages over all frames; by the Python package nearfield")
          ->excludes(reference)
          ->excludes(truth)
          ->excludes(most_l2);
  CLI::Option* const after =
      command->add_option("--after", arguments->after, "another run of the same frequencies and grid, of any length");
  before->needs(after);
  after->needs(before);
  command->add_option("--processor", arguments->processor, "whose maps, by its name; without it the first with some")
      ->needs(before);
  command
      ->add_option("--average", arguments->average,
                   "over the frames, of powers: energetic, their mean, which holds without it, or median")
      ->check(CLI::IsMember({"energetic", "median"}))
      ->needs(before);
  command->callback([arguments, command] { run(*arguments, *command); });
}

}  // namespace nearfield::cli
