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
  const auto as_schema = std::make_shared<bool>(false);
  CLI::Option* const as_json = command->add_flag("--json", *json, "As JSON, for programs");
  CLI::Option* const as_markdown =
      command->add_flag("--markdown", *markdown, "As a page, docs/reference/settings.md")->excludes(as_json);
  command->add_flag("--schema", *as_schema, "As a JSON Schema (draft 7), with which editors complete and check")
      ->excludes(as_json)
      ->excludes(as_markdown);
  command->callback([json, markdown, as_schema] {
    const std::string text = *json        ? schema::settings_json()
                             : *as_schema ? schema::settings_schema()
                             : *markdown  ? schema::settings_page()
                                          : schema::annotated_defaults();
    std::fputs(text.c_str(), stdout);  // write errors are found at the end, like for every command
  });
}

}  // namespace nearfield::cli
