#include <algorithm>
#include <string_view>
#include <vector>

#include "bench/commands.hpp"
#include "bench/here/here.hpp"
#include "control/service/command_line.hpp"
#include "version/version.hpp"

namespace nearfield::bench {
namespace {

/// Name that a user types, because `nearfield bench` runs this program.
constexpr const char* kTyped = "nearfield bench";

/// `nearfield bench --here ...` is the command `here`, wherever it stands.
std::vector<char*> with_here_first(int argc, char** argv) {
  static char name[] = "here";
  std::vector<char*> arguments(argv, argv + argc);
  const auto found = std::find_if(arguments.begin(), arguments.end(),
                                  [](const char* one) { return std::string_view(one) == "--here"; });
  if (found != arguments.end()) {
    arguments.erase(found);
    arguments.insert(arguments.begin() + 1, name);
  }
  return arguments;
}

int run(int argc, char** argv) {
  CLI::App app{
      "Measure this device: whole frames, front ends, imager, health, limits, several devices, srp_phat; "
      "--here: whether this machine holds a configuration live",
      kTyped};
  app.set_version_flag("--version", [] { return version_text("nearfield-bench"); });
  app.require_subcommand(0, 1);
  add_frames(app);
  add_frames(*app.add_subcommand("frames", "What whole frames take, from bits to images; also without a name"));
  add_here(app);
  add_front_ends(app);
  add_imager(app);
  add_health(app);
  add_limits(app);
  add_devices(app);
  add_srp_phat(app);
  std::vector<char*> arguments = with_here_first(argc, argv);
  return control::parse_command_line(app, static_cast<int>(arguments.size()), arguments.data(), kTyped);
}

}  // namespace

}  // namespace nearfield::bench

int main(int argc, char** argv) {
  return nearfield::control::run_program([&] { return nearfield::bench::run(argc, argv); });
}
