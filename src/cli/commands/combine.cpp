#include <memory>
#include <string>

#include "cli/command.hpp"
#include "cli/python.hpp"

namespace nearfield::cli {
namespace {

struct CombineArguments {
  std::string positions;
  std::string output;
};

}  // namespace

void add_combine(CLI::App& app) {
  const auto arguments = std::make_shared<CombineArguments>();
  CLI::App* command = app.add_subcommand(
      "combine", "Make one large array of recordings at several places, with references: spectra of partial fields");
  command
      ->add_option("positions", arguments->positions,
                   "the array, its references, and where each recording was made, YAML (docs/use/combine.md)")
      ->required();
  command
      ->add_option("-o,--output", arguments->output,
                   "spectra, HDF5: NAME.h5 stands for NAME_1.h5, NAME_2.h5 and so on, one a partial field")
      ->required();
  command->callback([arguments, command] {
    require_own_output(arguments->output, {arguments->positions});
    become_python({.command = "combine", .module = "nearfield.combine"}, words_of(*command));
  });
}

}  // namespace nearfield::cli
