#include <cstdio>
#include <memory>
#include <string>

#include "cli/command.hpp"
#include "config/schema/pages.hpp"

namespace nearfield::cli {

void add_settings(CLI::App& app) {
  CLI::App* command = app.add_subcommand(
      "settings", "Print every setting with its default, unit, range and meaning, as a configuration");
  const auto json = std::make_shared<bool>(false);
  const auto markdown = std::make_shared<bool>(false);
  CLI::Option* const as_json = command->add_flag("--json", *json, "As JSON, for programs");
  command->add_flag("--markdown", *markdown, "As a page of tables, docs/settings.md")->excludes(as_json);
  command->callback([json, markdown] {
    const std::string text = *json       ? schema::settings_json()
                             : *markdown ? schema::settings_page()
                                         : schema::annotated_defaults();
    std::fputs(text.c_str(), stdout);  // what cannot be written is seen at the end, as of every command
  });
}

}  // namespace nearfield::cli
