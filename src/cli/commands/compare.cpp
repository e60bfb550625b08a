#include <fmt/format.h>

#include <memory>
#include <optional>

#include "cli/command.hpp"
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
};

void run(const CompareArguments& arguments) {
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
      app.add_subcommand("compare", "Compare images with a reference: another images file, or a simulation's truth");
  command
      ->add_option("reference", arguments->reference,
                   "images, HDF5; with --truth a simulated capture or file of spectra")
      ->required();
  command->add_option("other", arguments->other, "images, HDF5")->required();
  command->add_flag("--truth", arguments->truth,
                    "the reference is the true field on z = 0 that a simulated capture or file of spectra has");
  command->add_option("--most-l2", arguments->most_l2,
                      "end with 1 where the relative L2 of an image or of a product is above this");
  command->add_flag("--json", arguments->json, "print JSON");
  command->callback([arguments] { run(*arguments); });
}

}  // namespace nearfield::cli
