#include "control/service/command_line_json.hpp"

#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include "core/error.hpp"

namespace nearfield::control {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::array<std::pair<ExitCode, std::string_view>, 12> kExitCodes = {{
    {ExitCode::kOk, "success"},
    {ExitCode::kDiffers,
     "a comparison found more than the tolerance that was asked for, a check of doctor failed, or bench --here found "
     "that this machine does not hold the configuration"},
    {ExitCode::kUsage, "the command line is wrong"},
    {ExitCode::kBadData, "the content of an input is not what was expected"},
    {ExitCode::kNoInput, "an input is missing or cannot be read, or no daemon answers"},
    {ExitCode::kNoDevice, "there is no OpenCL device, or it failed"},
    {ExitCode::kInternal, "a defect of Nearfield's own"},
    {ExitCode::kIo, "an output cannot be written"},
    {ExitCode::kHungFrame,
     "nearfieldd: a frame took longer than its deadline; bench --here: not measured within its time, try again"},
    {ExitCode::kNoPermission, "the daemon does not admit this user"},
    {ExitCode::kBadConfig, "a setting is wrong"},
    {ExitCode::kInterrupted, "the user stopped it (SIGINT)"},
}};

/// Parses the text that CLI11's validators append to the type's name: "{a,b}" for a choice, else a range.
void describe_values(const std::string& type, Json& option) {
  const std::size_t colon = type.find(':');
  const std::string checked = colon == std::string::npos ? "" : type.substr(colon + 1);
  option["value"] = type.substr(0, colon);
  option["choices"] = Json::array();
  option["range"] = "";
  if (!checked.starts_with('{')) {
    option["range"] = checked;
    return;
  }
  const std::string words = checked.substr(1, checked.rfind('}') - 1);
  for (std::size_t begin = 0; begin <= words.size();) {
    const std::size_t end = std::min(words.find(',', begin), words.size());
    option["choices"].push_back(words.substr(begin, end - begin));
    begin = end + 1;
  }
}

Json names_of(const CLI::Option& option) {
  Json names = Json::array();
  for (const std::string& name : option.get_snames()) {
    names.push_back("-" + name);
  }
  for (const std::string& name : option.get_lnames()) {
    names.push_back("--" + name);
  }
  if (option.get_positional()) {
    names.push_back(option.get_name(true));
  }
  return names;
}

/// The last name of each option: the long one.
Json last_names(const std::set<CLI::Option*>& options) {
  Json names = Json::array();
  for (const CLI::Option* option : options) {
    names.push_back(names_of(*option).back());
  }
  return names;
}

Json describe_option(const CLI::Option& option) {
  Json one = {{"names", names_of(option)}, {"positional", option.get_positional()}};
  const bool is_flag = option.get_items_expected_max() == 0;
  describe_values(is_flag ? "" : option.get_type_name(), one);
  one["optional_value"] = !is_flag && option.get_items_expected_min() == 0;
  one["default"] = is_flag ? "" : option.get_default_str();
  one["required"] = option.get_required();
  one["repeats"] = !is_flag && option.get_items_expected_max() >= CLI::detail::expected_max_vector_size;
  one["excludes"] = last_names(option.get_excludes());
  one["needs"] = last_names(option.get_needs());
  one["about"] = option.get_description();
  return one;
}

Json describe_command(const CLI::App& command, const std::string& name) {
  Json one = {{"name", name}, {"about", command.get_description()}, {"footer", command.get_footer()}};
  one["options"] = Json::array();
  for (const CLI::Option* option : command.get_options()) {
    if (!option->get_group().empty()) {
      one["options"].push_back(describe_option(*option));
    }
  }
  one["commands"] = Json::array();
  for (const CLI::App* below : command.get_subcommands({})) {
    if (!below->get_group().empty()) {
      one["commands"].push_back(describe_command(*below, below->get_name()));
    }
  }
  return one;
}

}  // namespace

Json describe_command_line(CLI::App& app, const std::string& program) {
  Json all = describe_command(app, program);
  all["version"] = app.version();
  all["exit_codes"] = Json::array();
  for (const auto& [code, meaning] : kExitCodes) {
    all["exit_codes"].push_back({{"code", static_cast<int>(code)}, {"meaning", meaning}});
  }
  return all;
}

}  // namespace nearfield::control
