#include <fmt/format.h>

#include <memory>

#include "cli/command.hpp"
#include "publish/comparison/comparison.hpp"

namespace nearfield::cli {
namespace {

struct CompareArguments {
  std::string reference;
  std::string other;
  bool json = false;
};

void run(const CompareArguments& arguments) {
  const Comparison comparison = compare_image_files(arguments.reference, arguments.other);
  fmt::print("{}", arguments.json ? to_json(comparison) : to_table(comparison));
}

}  // namespace

void add_compare(CLI::App& app) {
  auto arguments = std::make_shared<CompareArguments>();
  CLI::App* command = app.add_subcommand("compare", "Compare two image files, the first being the reference");
  command->add_option("reference", arguments->reference, "images, HDF5")->required();
  command->add_option("other", arguments->other, "images, HDF5")->required();
  command->add_flag("--json", arguments->json, "print JSON");
  command->callback([arguments] { run(*arguments); });
}

}  // namespace nearfield::cli
