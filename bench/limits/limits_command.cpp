#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <complex>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "bench/commands.hpp"
#include "bench/common/figures.hpp"
#include "bench/common/outputs.hpp"
#include "bench/common/timing.hpp"
#include "core/daemon_settings.hpp"
#include "core/frame.hpp"
#include "core/images.hpp"
#include "core/numerics.hpp"
#include "limits/limit_watch.hpp"

/// `nearfield bench limits`: what limits take of the thread that publishes frames (docs/use/limits.md). No OpenCL.
namespace nearfield::bench {
namespace {

struct LimitsArguments {
  std::string json;
  int frequencies = 5;
  int repetitions = 2000;
};

struct LimitsRun {
  std::string what;
  std::size_t values = 0;
  Distribution time_s;
};

constexpr int kSideOfImages = 32;
constexpr double kPitchOfImages_m = 0.02;

std::vector<double> places_of_pixels() {
  std::vector<double> places_m;
  for (int i = 0; i < kSideOfImages; ++i) {
    places_m.push_back((i - (kSideOfImages - 1) / 2.0) * kPitchOfImages_m);
  }
  return places_m;
}

ResultHeader header_of_images(int frequencies) {
  std::vector<double> frequencies_hz;
  for (int i = 0; i < frequencies; ++i) {
    frequencies_hz.push_back(500.0 * (i + 1));
  }
  ResultHeader header;
  header.processor = kFirstProcessor;
  header.axes =
      image_axes({{"frequency", frequencies_hz}, {"z", {0.0}}, {"y", places_of_pixels()}, {"x", places_of_pixels()}});
  add_image_products(header, "pressure", "Pa");
  return header;
}

/// Frames of images below every limit but, where `exceeds`, with one pixel above them that is the largest so far.
LimitsRun time_limits(const std::string& what, std::vector<DaemonSettings::Limit> limits, bool exceeds,
                      const LimitsArguments& arguments) {
  const ResultHeader header = header_of_images(arguments.frequencies);
  const std::vector<const ResultHeader*> headers = {&header};
  std::vector<limits::LimitPlan> plans = limits::plan_limits(limits, headers);
  LimitsRun run{.what = what, .values = 0, .time_s = {}};
  for (const limits::LimitPlan& plan : plans) {
    run.values += plan.values();
  }
  limits::LimitWatch watch;
  watch.use(std::move(plans));
  ResultFrame made(header);
  const auto images = made.values<std::complex<float>>(header, "images");
  RandomStream random(1, 0);
  std::generate(images.begin(), images.end(), [&] {
    return std::complex<float>(static_cast<float>(random.uniform()), static_cast<float>(random.uniform()));
  });
  std::vector<double> times_s;
  for (int i = 0; i < std::max(arguments.repetitions, kLeastRepetitions); ++i) {
    if (exceeds) {
      images.back() = static_cast<float>(100 + i);
    }
    Frame& frame = made.frame;
    frame.capture_mono_ns = i;
    const auto begin = std::chrono::steady_clock::now();
    watch.look(frame);
    times_s.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  run.time_s = distribution(std::move(times_s));
  return run;
}

std::vector<LimitsRun> time_all(const LimitsArguments& arguments) {
  constexpr double kNever = 50.0;
  constexpr std::size_t kMany = 64;
  DaemonSettings::Limit everywhere{.name = "everywhere", .above = kNever};
  DaemonSettings::Limit mean = everywhere;
  mean.statistic = DaemonSettings::Statistic::kMean;
  DaemonSettings::Limit region = everywhere;
  region.region_m = std::vector<double>{-0.1, -0.1, 0.1, 0.1};
  region.frequency_hz = 500.0;
  DaemonSettings::Limit point = everywhere;
  point.point_m = std::vector<double>{0.01, 0.01};
  point.frequency_hz = 500.0;
  return {time_limits("none", {}, false, arguments),
          time_limits("a point", {point}, false, arguments),
          time_limits("64 points", std::vector<DaemonSettings::Limit>(kMany, point), false, arguments),
          time_limits("a region", {region}, false, arguments),
          time_limits("everywhere", {everywhere}, false, arguments),
          time_limits("everywhere, rising", {everywhere}, true, arguments),
          time_limits("everywhere, mean", {mean}, false, arguments)};
}

void run_limits(const LimitsArguments& arguments) {
  const std::vector<LimitsRun> runs = time_all(arguments);
  const bool is_table = arguments.json != kStandardOutput;
  std::string table = fmt::format(
      "images of {0} x {0} pixels, {1} frequencies; us a frame\n\n{2:<20}{3:>8}{4:>10}{5:>10}{6:>10}{7:>10}\n",
      kSideOfImages, arguments.frequencies, "limits", "values", "minimum", "median", "p99", "maximum");
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const LimitsRun& run : runs) {
    table += fmt::format("{:<20}{:>8}{:>10.3f}{:>10.3f}{:>10.3f}{:>10.3f}\n", run.what, run.values,
                         run.time_s.minimum * kMicro, run.time_s.median * kMicro, run.time_s.p99 * kMicro,
                         run.time_s.maximum * kMicro);
    list.push_back({{"what", run.what}, {"values", run.values}, {"time_s", to_json(run.time_s)}});
  }
  fmt::print("{}", is_table ? table : "");
  if (!arguments.json.empty()) {
    ocl::DeviceInfo host;
    host.platform = "host";
    nlohmann::ordered_json json = report_head("limits", host);
    json["frequencies"] = arguments.frequencies;
    json["runs"] = std::move(list);
    write_json(arguments.json, json.dump(2) + "\n");
  }
}

}  // namespace

void add_limits(CLI::App& bench) {
  auto arguments = std::make_shared<LimitsArguments>();
  CLI::App* command = bench.add_subcommand("limits", "What limits take of the thread that publishes frames");
  add_json(*command, arguments->json);
  command->add_option("--n", arguments->frequencies, "frequencies of the images")->check(CLI::Range(1, 64));
  command->add_option("--repetitions", arguments->repetitions, "frames that count")->check(CLI::Range(5, 1000000));
  command->callback([arguments] { run_limits(*arguments); });
}

}  // namespace nearfield::bench
