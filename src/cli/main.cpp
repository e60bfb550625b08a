#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "cli/command.hpp"
#include "control/service/command_line.hpp"
#include "core/error.hpp"
#include "version/version.hpp"

namespace {

using namespace nearfield::cli;

using AddCommand = void (*)(CLI::App&);

/// Commands that the help lists together.
struct Group {
  const char* title;
  std::vector<AddCommand> commands;
};

const std::array kGroups = {
    Group{"Make a recording", {add_simulate, add_encode, add_combine}},
    Group{"See what it holds",
          {add_inspect, add_replay, add_pictures, add_levels, add_compare, add_summary, add_export, add_csm,
           add_convert}},
    Group{"Live", {add_demo, add_page, add_tap, add_ctl, add_send, add_play, add_bridge}},
    Group{"The array", {add_new, add_calibrate, add_masks, add_templates, add_beampattern}},
    Group{"The machine", {add_doctor, add_bench, add_devices, add_settings, add_bugreport}},
};

/// Commands of earlier versions and what stands for them.
constexpr std::array<std::pair<std::string_view, std::string_view>, 2> kFormerCommands = {{
    {"points", "export IMAGES -o FILE.csv --product points"},
    {"sections", "pictures IMAGES -o FOLDER --at X,Y,Z"},
}};

/// Commands that have another name now; the old one works and is in no help.
constexpr std::array<std::pair<std::string_view, const char*>, 1> kRenamedCommands = {{{"report", "bugreport"}}};

constexpr const char* kProgram = "nearfield";
constexpr const char* kHelp = "Help";

std::vector<const CLI::App*> commands_of(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

/// True for `nearfield FILE`. Throws NoInputError and UsageError for what looks like a file and is none.
bool is_file_alone(const CLI::App& app, const std::string& first) {
  const std::vector<const CLI::App*> commands = commands_of(app);
  if (first.empty() || first.starts_with('-') ||
      std::any_of(commands.begin(), commands.end(), [&](const CLI::App* one) { return one->get_name() == first; })) {
    return false;
  }
  std::error_code error;
  std::error_code ignored;
  if (std::filesystem::is_directory(first, ignored)) {
    throw nearfield::UsageError(fmt::format("{}: expected a file or a command, found a folder", first));
  }
  if (std::filesystem::exists(first, error)) {
    return true;
  }
  if (error || std::filesystem::is_symlink(first, ignored) || first.find('/') != std::string::npos ||
      std::filesystem::path(first).has_extension()) {
    throw nearfield::NoInputError(fmt::format("{}: {}", first, error ? error.message() : "no such file"));
  }
  return false;
}

void refuse_former(std::string_view first) {
  for (const auto& [name, now] : kFormerCommands) {
    if (first == name) {
      throw nearfield::UsageError(fmt::format("{}: no command of this version, which has nearfield {}", name, now));
    }
  }
}

/// The name of today of a command that has another one, with a warning.
std::string present_name(const std::string& first) {
  for (const auto& [former, present] : kRenamedCommands) {
    if (first == former) {
      spdlog::warn("{}: its name is {} now", former, present);
      return present;
    }
  }
  return first;
}

void add_help(CLI::App& app) {
  const auto words = std::make_shared<std::vector<std::string>>();
  CLI::App* help = app.add_subcommand("help", "Say how a command is used")->group(kHelp);
  help->add_option("command", *words, "which one, such as ctl record; without it all are listed");
  help->callback([&app, words] {
    if (!words->empty()) {
      refuse_former(words->front());
      words->front() = present_name(words->front());
    }
    if (!words->empty() && words->front() == nearfield::cli::kBench) {
      std::vector<std::string> of_bench(words->begin() + 1, words->end());
      of_bench.emplace_back("--help");
      nearfield::cli::become_bench(of_bench);
    }
    nearfield::control::print_help(app, kProgram, *words);
  });
}

void add_version(CLI::App& app) {
  app.add_subcommand("version", "Print the version, as --version does")->group(kHelp)->callback([&app] {
    fmt::print("{}\n", app.version());
  });
}

int run(int argc, char** argv) {
  CLI::App app{
      "Planar near-field acoustic holography: from microphones to the sound pressure and velocity on a surface"};
  app.set_version_flag("--version", [] { return nearfield::version_text("nearfield"); });
  app.require_subcommand(1);
  for (const Group& group : kGroups) {
    for (const AddCommand add : group.commands) {
      add(app);
      app.get_subcommands([](const CLI::App*) { return true; }).back()->group(group.title);
    }
  }
  add_help(app);
  add_version(app);
  std::vector<char*> words(argv, argv + argc);
  std::string inspect = "inspect";
  if (words.size() < 2) {
    throw nearfield::UsageError(
        "expected a command or a file, found nothing: nearfield help lists the commands, "
        "nearfield demo shows a moving hologram");
  }
  std::string first = present_name(words[1]);
  words[1] = first.data();
  if (is_file_alone(app, first)) {
    words.insert(words.begin() + 1, inspect.data());
  }
  refuse_former(words[1]);
  try {
    return nearfield::control::parse_command_line(app, static_cast<int>(words.size()), words.data(), kProgram);
  } catch (const nearfield::DeviceError& error) {
    // An OpenCL compiler that is running removes its files at SIGINT and reports that as an error.
    if (nearfield::cli::StopSignal::raised()) {
      spdlog::debug("{}", error.what());
      throw nearfield::Error(nearfield::ExitCode::kInterrupted, "stopped while programs were compiled");
    }
    throw;
  }
}

}  // namespace

int main(int argc, char** argv) {
  return nearfield::control::run_program([&] { return run(argc, argv); });
}
