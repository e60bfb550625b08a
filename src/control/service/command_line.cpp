#include "control/service/command_line.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <exception>
#include <memory>
#include <new>
#include <nlohmann/json.hpp>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "config/words.hpp"
#include "control/service/log.hpp"
#include "core/error.hpp"
#include "core/system/host.hpp"
#include "core/text.hpp"

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

/// Description of a program's command line for cmake/make_manual.py, which makes man pages, completions and
/// docs/reference/cli.md from it. An object with `name`, `about`, `footer`, `options`, `commands` (each such an object
/// again), and at the top also `version` and `exit_codes`. An option has `names` ("-o", "--output"; for an argument
/// without dashes its name), `positional`, `value` (empty for a flag), `optional_value`, `choices`, `range`, `default`,
/// `required`, `repeats`, `excludes`, `needs` and `about`. Options and commands without a group are hidden, like in
/// --help.
Json describe_command_line(CLI::App& app, const std::string& program) {
  Json all = describe_command(app, program);
  all["version"] = app.version();
  all["exit_codes"] = Json::array();
  for (const auto& [code, meaning] : kExitCodes) {
    all["exit_codes"].push_back({{"code", static_cast<int>(code)}, {"meaning", meaning}});
  }
  return all;
}

/// The innermost command that was typed, and its full name: "nearfield ctl record".
const CLI::App* innermost(const CLI::App& app, std::string& name) {
  const CLI::App* command = &app;
  while (!command->get_subcommands().empty()) {
    command = command->get_subcommands().front();
    name += " " + command->get_name();
  }
  return command;
}

/// Subcommands that --help lists.
std::vector<const CLI::App*> listed_commands(const CLI::App& command) {
  std::vector<const CLI::App*> listed;
  for (const CLI::App* below : command.get_subcommands([](const CLI::App*) { return true; })) {
    if (!below->get_group().empty()) {
      listed.push_back(below);
    }
  }
  return listed;
}

/// Command that prints the help of "nearfield ctl record": "nearfield help ctl record".
std::string help_of(const std::string& name) {
  const std::size_t space = name.find(' ');
  if (space == std::string::npos && name != "nearfield") {
    return name + " --help";
  }
  const bool is_whole = space == std::string::npos || name == "nearfield help";
  return "nearfield help" + (is_whole ? "" : name.substr(space));
}

/// Option nearest to a misspelt one, of the command or of parents whose options it accepts; empty if none is near.
std::string nearest_option(const CLI::App& command, const std::string& misspelt) {
  Suggestion suggestion(misspelt);
  for (const CLI::App* one = &command; one != nullptr; one = one->get_fallthrough() ? one->get_parent() : nullptr) {
    for (const CLI::Option* option : one->get_options()) {
      for (const std::string& name : option->get_lnames()) {
        suggestion.offer("--" + name, "--" + name);
      }
    }
  }
  return suggestion.best();
}

std::string unknown_command(const CLI::App& command, const std::string& found) {
  Suggestion suggestion(found);
  std::vector<std::string> names;
  for (const CLI::App* below : listed_commands(command)) {
    names.push_back(below->get_name());
    suggestion.offer(below->get_name(), below->get_name());
  }
  return fmt::format("expected a command, one of {}; found \"{}\"{}", fmt::join(names, ", "), found,
                     suggestion.best().empty() ? "" : fmt::format("; did you mean {}?", suggestion.best()));
}

/// Excludes negative numbers such as "-1".
bool looks_like_option(const std::string& argument) {
  return argument.size() > 1 && argument[0] == '-' && (argument[1] < '0' || argument[1] > '9');
}

std::string surplus(const CLI::App& command, const std::vector<std::string>& arguments) {
  if (looks_like_option(arguments.front())) {
    const std::string name = arguments.front().substr(0, arguments.front().find('='));
    const std::string nearest = nearest_option(command, name);
    if (nearest == name) {
      return fmt::format("{}: expected behind the command, {}, found before it", name, command.get_name());
    }
    return fmt::format("{}: unknown option{}", name, nearest.empty() ? "" : fmt::format("; did you mean {}?", nearest));
  }
  if (!listed_commands(command).empty()) {
    return unknown_command(command, arguments.front());
  }
  return fmt::format("unexpected argument{} {}", arguments.size() == 1 ? "" : "s", fmt::join(arguments, " "));
}

/// Refuses - as a value unless the option's help says that it is standard input or output.
void refuse_dashes(CLI::App& command) {
  for (CLI::Option* option : command.get_options([](const CLI::Option*) { return true; })) {
    if (option->get_items_expected_max() > 0 && option->get_description().find("- is standard") == std::string::npos) {
      option->check([](const std::string& value) {
        return value == "-" ? std::string(
                                  "expected a file or a value, found -, which can stand for standard input and "
                                  "output only where the help says so: HDF5 and the like need a file")
                            : std::string();
      });
    }
  }
  for (CLI::App* below : command.get_subcommands([](const CLI::App*) { return true; })) {
    refuse_dashes(*below);
  }
}

/// Adds options to the command and to subcommands that do not pass theirs on to a parent.
void add_verbosity(CLI::App& command) {
  command.add_flag_callback(
      "-v,--verbose", [] { spdlog::set_level(spdlog::level::debug); },
      "also say on standard error what is done, and how long it took");
  command.add_flag_callback(
      "-q,--quiet", [] { spdlog::set_level(spdlog::level::warn); },
      "no progress and no notes on standard error; warnings, errors and results stay");
}

void add_verbosity_to_all(CLI::App& app) {
  const auto all = [](const CLI::App*) { return true; };
  if (app.get_require_subcommand_min() == 0 && app.get_option_no_throw("--verbose") == nullptr) {
    add_verbosity(app);
  }
  for (CLI::App* command : app.get_subcommands(all)) {
    if (!command->get_prefix_command() && !command->get_group().empty()) {
      add_verbosity(*command);
    }
  }
}

/// Formats help without "...", which means several values, after an option that takes one value each time it is given.
class HelpFormatter : public CLI::Formatter {
 public:
  std::string make_option_opts(const CLI::Option* option) const override {
    constexpr std::string_view kSeveral = " ...";
    std::string text = CLI::Formatter::make_option_opts(option);
    if (const std::size_t at = text.find(kSeveral); at != std::string::npos && !option->get_allow_extra_args()) {
      text.erase(at, kSeveral.size());
    }
    return text;
  }
};

void set_formatter(CLI::App& command, const std::shared_ptr<HelpFormatter>& formatter) {
  command.formatter(formatter);
  for (CLI::App* below : command.get_subcommands([](const CLI::App*) { return true; })) {
    set_formatter(*below, formatter);
  }
}

/// Text of an error. Lines are kept for problems of a configuration and for messages of a kernel compiler; otherwise a
/// line end belongs to a file's name and is escaped.
std::string text_of_error(const Error& error) {
  const bool has_lines = error.exit_code() == ExitCode::kBadConfig || error.exit_code() == ExitCode::kNoDevice;
  return printable(message_for_owner(error), has_lines ? LineEnds::kKept : LineEnds::kEscaped);
}

/// True if standard output is a pipe that is no longer read, such as in `nearfield demo | head -n 1`.
bool has_reader_ended() {
  pollfd output{.fd = STDOUT_FILENO, .events = 0, .revents = 0};
  return poll(&output, 1, 0) == 1 && (output.revents & POLLERR) != 0;
}

/// errno of a failed write to standard output; 0 if all was written.
int flush_stdout() {
  if (std::fflush(stdout) != 0) {
    return errno;
  }
  return std::ferror(stdout) == 0 ? 0 : has_reader_ended() ? EPIPE : EIO;
}

/// Exit code of a program that ended with `code` and whose output failed with `error`.
int report_stdout(int error, int code) {
  if (error == EPIPE) {
    return code;
  }
  spdlog::error("standard output: can't write");
  return code != static_cast<int>(ExitCode::kOk) ? code : static_cast<int>(ExitCode::kIo);
}

/// Reports errors of the system: refused file names, threads and descriptors that it does not provide.
int report_system_error(const std::system_error& error) {
  if (std::ferror(stdout) != 0) {  // fmt throws its write errors
    return report_stdout(error.code().value(), static_cast<int>(ExitCode::kOk));
  }
  if (error.code() == std::errc::resource_unavailable_try_again) {
    spdlog::error(
        "the system gives this process no further thread: expected room in its limits of processes and memory "
        "(ulimit -u, ulimit -v, TasksMax of systemd), found none");
  } else {
    spdlog::error("{}", printable(error.what()));
  }
  return static_cast<int>(ExitCode::kIo);
}

void set_up_log(const std::string& name) {
  auto log = spdlog::stderr_color_mt(
      name, takes_colours(STDERR_FILENO) ? spdlog::color_mode::always : spdlog::color_mode::never);
  log->set_formatter(printable_lines(name + ": %^%l%$: "));
  spdlog::set_default_logger(std::move(log));
}

}  // namespace

std::string usage_problem(const CLI::App& app, const CLI::ParseError& error, const std::string& program) {
  std::string name = program;
  const CLI::App* command = innermost(app, name);
  const std::vector<std::string> remaining = app.remaining(true);
  const std::string problem = remaining.empty() ? error.what() : surplus(*command, remaining);
  return fmt::format("{} (see {})", problem, help_of(name));
}

int parse_command_line(CLI::App& app, int argc, char** argv, const std::string& program) {
  set_formatter(app, std::make_shared<HelpFormatter>());
  add_verbosity_to_all(app);
  refuse_dashes(app);
  if (argc == 2 && std::string_view(argv[1]) == "--describe-cli") {
    fmt::print("{}\n", describe_command_line(app, program).dump(1));
    return static_cast<int>(ExitCode::kOk);
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& request) {
    return app.exit(request);  // handles --help and --version
  } catch (const CLI::ParseError& error) {
    throw UsageError(usage_problem(app, error, program));
  } catch (const UsageError& error) {
    std::string name = program;
    innermost(app, name);
    throw UsageError(fmt::format("{} (see {})", error.what(), help_of(name)));
  }
  return static_cast<int>(ExitCode::kOk);
}

void print_help(const CLI::App& app, const std::string& program, const std::vector<std::string>& words) {
  const CLI::App* command = &app;
  std::string name = program;
  for (const std::string& word : words) {
    const std::vector<const CLI::App*> below = listed_commands(*command);
    const auto found =
        std::find_if(below.begin(), below.end(), [&](const CLI::App* one) { return one->get_name() == word; });
    if (found == below.end()) {
      throw UsageError(below.empty() ? fmt::format("{} has no commands of its own, found \"{}\"", name, word)
                                     : unknown_command(*command, word));
    }
    command = *found;
    name += " " + word;
  }
  fmt::print("{}", command->get_formatter()->make_help(command, name, CLI::AppFormatMode::Normal));
}

int run_program(const std::function<int()>& program, const std::string& name) {
  set_up_log(name);
  std::signal(SIGXFSZ, SIG_IGN);  // makes a file at its size limit a reported error
  const auto begun = std::chrono::steady_clock::now();
  try {
    const int code = program();
    if (const int error = flush_stdout(); error != 0) {
      return report_stdout(error, code);
    }
    spdlog::debug("done in {:.3f} s", std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count());
    return code;
  } catch (const Error& error) {
    spdlog::error("{}", text_of_error(error));
    return static_cast<int>(error.exit_code());
  } catch (const std::system_error& error) {
    return report_system_error(error);
  } catch (const std::bad_alloc&) {
    spdlog::error("out of memory");
    return static_cast<int>(ExitCode::kInternal);
  } catch (const std::exception& error) {
    spdlog::error("internal error: {}", error.what());
    return static_cast<int>(ExitCode::kInternal);
  }
}

}  // namespace nearfield::control
