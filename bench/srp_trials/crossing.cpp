#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "bench/common/outputs.hpp"
#include "bench/srp_trials/srp_trials.hpp"
#include "bench/srp_trials/trial_array.hpp"
#include "processors/srp_phat/sources.hpp"

namespace nearfield::bench {
namespace {

using far_field::Position;

constexpr double kCrossingDegreesPerSecond = 20.0;
constexpr double kCrossingFromDegrees = 20.0;  ///< on the left of one source and the right of the other
constexpr double kLouderSource_db = 10.0;      ///< above noise, at a microphone
constexpr double kSeparationDegrees = 10.0;

/// Those of the tracks that are nearest to two sources, 0 where a source has no track that is seen within 5 degrees.
using CrossingIds = std::array<std::uint32_t, 2>;

struct CrossingRun {
  CrossingIds before{};  ///< a quarter of a second before the sources are kSeparationDegrees apart
  CrossingIds after{};   ///< likewise after
  double squares = 0.0;
  int count = 0;
};

double crossing_azimuth_deg(std::size_t source, double time_s) {
  const double way_deg = -kCrossingFromDegrees + kCrossingDegreesPerSecond * time_s;
  return source == 0 ? way_deg : -way_deg;
}

/// The track nearest to a place that has a source in the frame, or 0; its error is added where `run` is given.
std::uint32_t id_of_track_at(const std::vector<FoundSource>& found, const Position& place, CrossingRun* run) {
  constexpr double kNearDegrees = 5.0;
  double nearest_deg = kNearDegrees;
  std::uint32_t id = 0;
  for (const FoundSource& one : found) {
    const double apart_deg = angle_deg(one.place, place);
    if (one.state == kSourceConfirmed && apart_deg < nearest_deg) {
      nearest_deg = apart_deg;
      id = one.id;
    }
  }
  if (id != 0 && run != nullptr) {
    run->squares += nearest_deg * nearest_deg;
    ++run->count;
  }
  return id;
}

CrossingRun cross_once(TrialArray& array, NormalNumbers& numbers) {
  const double frame_s = array.settings.front_end.hop_samples / array.plan.sample_rate_hz;
  const double elevation_deg = numbers.between(-20.0, 20.0);
  const double crossing_s = kCrossingFromDegrees / kCrossingDegreesPerSecond;
  const double close_s = kSeparationDegrees / (2.0 * kCrossingDegreesPerSecond);
  constexpr double kMargin_s = 0.25;
  const std::array<double, 2> powers = {power_of_db(kLouderSource_db), power_of_db(kLouderSource_db - 3.0)};
  CrossingRun run;
  for (double time_s = 0.0; time_s < 2.0 * crossing_s; time_s += frame_s) {
    array.fill_with_noise(numbers);
    std::array<Position, 2> places;
    for (std::size_t source = 0; source < places.size(); ++source) {
      places.at(source) = at_angles(crossing_azimuth_deg(source, time_s), elevation_deg);
      array.add_source(places.at(source), powers.at(source), numbers);
    }
    const std::vector<FoundSource> found = array.find();
    const double from_crossing_s = time_s - crossing_s;
    const bool is_apart = std::abs(from_crossing_s) > close_s + kMargin_s;
    for (std::size_t source = 0; source < places.size(); ++source) {
      const std::uint32_t id =
          id_of_track_at(found, places.at(source), is_apart && time_s > kMargin_s ? &run : nullptr);
      if (from_crossing_s < -close_s - kMargin_s) {
        run.before.at(source) = id;
      } else if (from_crossing_s < close_s + kMargin_s) {
        run.after.at(source) = id;
      }
    }
  }
  return run;
}

}  // namespace

CrossingFigures try_crossing(const ocl::Device& device, const SrpTrialOptions& options) {
  NormalNumbers numbers(options.seed, 2);
  CrossingFigures figures = {.runs = options.runs};
  double squares = 0.0;
  int count = 0;
  show_progress(fmt::format("crossing: {} runs", options.runs));
  for (int i = 0; i < options.runs; ++i) {
    const std::unique_ptr<TrialArray> array =
        array_before({.rows = 16, .columns = 16, .pitch_x_m = 0.62 / 15.0, .pitch_y_m = 0.62 / 15.0});
    array->own.sources = 2;
    array->own.separation_deg = kSeparationDegrees;
    array->open(device);
    const CrossingRun run = cross_once(*array, numbers);
    const auto is_seen = [](const CrossingIds& ids) { return ids[0] != 0 && ids[1] != 0 && ids[0] != ids[1]; };
    if (!is_seen(run.before) || !is_seen(run.after)) {
      ++figures.unseen;
    } else if (run.after[0] == run.before[1] && run.after[1] == run.before[0]) {
      ++figures.swapped;
    } else if (run.after != run.before) {
      ++figures.changed;
    }
    squares += run.squares;
    count += run.count;
  }
  figures.rms_deg = std::sqrt(squares / std::max(count, 1));
  return figures;
}

}  // namespace nearfield::bench
