#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "ring/stress.hpp"

namespace nearfield::test {
namespace {

nlohmann::json to_json(const Percentiles& p) {
  return {{"count", p.count}, {"median_ns", p.median}, {"p99_ns", p.p99}, {"p99.9_ns", p.p999}, {"max_ns", p.most}};
}

nlohmann::json to_json(const StressReport& r) {
  return {{"published", r.published},
          {"kills", r.kills},
          {"kills_inside_a_read", r.kills_inside},
          {"stops", r.stops},
          {"frames_read", r.frames_read},
          {"torn_accepted", r.torn},
          {"older_than_max_age_delivered", r.too_old},
          {"held_up_after_the_look", r.held_up_after},
          {"out_of_order", r.out_of_order},
          {"failed", r.failed},
          {"refused_for_age", r.refused_for_age},
          {"timeouts", r.timeouts},
          {"skipped", r.skipped},
          {"overtaken", r.overtaken},
          {"store_alone", to_json(r.store_alone)},
          {"store_with_readers", to_json(r.store_with_readers)},
          {"wake_alone", to_json(r.wake_alone)},
          {"wake_with_readers", to_json(r.wake_with_readers)},
          {"read_latest", to_json(r.read_latest)},
          {"woken", to_json(r.woken)}};
}

bool is_clean(const StressReport& r) { return r.torn + r.too_old + r.out_of_order + r.failed == 0; }

}  // namespace
}  // namespace nearfield::test

/// Exit code 0 when nothing torn or old was handed out, 1 otherwise.
int main(int argc, char** argv) {
  nearfield::test::StressOptions options;
  options.baseline_frames = 10'000;
  double longest_stop_s = 3.0;
  double kill_interval_s = 0.25;
  CLI::App app{"Stops and kills readers of the ring while it is written; prints what came of it as JSON"};
  app.add_option("--kills", options.kills, "readers killed in the middle of a read");
  app.add_option("--readers", options.readers, "3 to 64");
  app.add_option("--slots", options.slots, "of the ring");
  app.add_option("--frequencies", options.frequencies, "images of 32 x 32 a frame");
  app.add_option("--baseline", options.baseline_frames, "frames published without readers, before and after");
  app.add_option("--undisturbed", options.undisturbed_frames,
                 "frames published to readers left alone, after the kills");
  app.add_option("--longest-stop", longest_stop_s, "s");
  app.add_option("--kill-interval", kill_interval_s, "s, on average");
  app.add_flag("--real-time", options.real_time, "the writer under SCHED_FIFO");
  CLI11_PARSE(app, argc, argv);
  options.longest_stop_ns = static_cast<std::uint64_t>(longest_stop_s * 1e9);
  options.kill_interval_ns = static_cast<std::uint64_t>(kill_interval_s * 1e9);
  const auto report = nearfield::test::run_stress(options);
  fmt::print("{}\n", nearfield::test::to_json(report).dump(2));
  return nearfield::test::is_clean(report) ? 0 : 1;
}
