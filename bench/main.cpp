#include "bench/commands.hpp"
#include "control/service/command_line.hpp"

namespace nearfield::bench {
namespace {

/// As a user types it, because `nearfield bench` runs this program.
constexpr const char* kTyped = "nearfield bench";

int run(int argc, char** argv) {
  CLI::App app{"Measure this device: whole frames, front ends, imager, errors, fidelity, health, srp_phat, srp_trials",
               kTyped};
  app.require_subcommand(0, 1);
  add_frames(app);
  add_frames(*app.add_subcommand("frames", "What whole frames take, from bits to images; also without a name"));
  add_front_ends(app);
  add_errors(app);
  add_imager(app);
  add_fidelity(app);
  add_health(app);
  add_srp_phat(app);
  add_srp_trials(app);
  return control::parse_command_line(app, argc, argv, kTyped);
}

}  // namespace

}  // namespace nearfield::bench

int main(int argc, char** argv) {
  return nearfield::control::run_program([&] { return nearfield::bench::run(argc, argv); });
}
