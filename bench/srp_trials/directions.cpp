#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <memory>

#include "bench/common/outputs.hpp"
#include "bench/srp_trials/srp_trials.hpp"
#include "bench/srp_trials/trial_array.hpp"
#include "config/schema/subset.hpp"

namespace nearfield::bench {
namespace {

using far_field::Position;

constexpr double kGrossDegrees = 5.0;

DirectionFigures direction_figures(TrialArray& array, const std::string& name, double snr_db,
                                   const SrpTrialOptions& options) {
  constexpr double kFarthestDegrees = 40.0;
  NormalNumbers numbers(options.seed, 0);
  DirectionFigures figures = {.array = name, .snr_db = snr_db, .draws = options.draws};
  std::vector<double> errors_deg;
  std::vector<double> confidences;
  std::vector<double> squares;
  for (int draw = 0; draw < options.draws; ++draw) {
    const Position source = at_angles(numbers.between(-kFarthestDegrees, kFarthestDegrees),
                                      numbers.between(-kFarthestDegrees, kFarthestDegrees));
    array.fill_with_noise(numbers);
    array.add_source(source, power_of_db(snr_db), numbers);
    const FoundSource found = array.find().at(0);
    errors_deg.push_back(angle_deg(found.place, source));
    confidences.push_back(found.confidence);
    if (errors_deg.back() > kGrossDegrees) {
      ++figures.gross;
      continue;
    }
    squares.push_back(squared_error(found, source));
  }
  figures.median_deg = quantile(errors_deg, 0.5);
  figures.p95_deg = quantile(errors_deg, 0.95);
  figures.confidence = quantile(confidences, 0.5);
  figures.squared_error = mean_of(squares);
  return figures;
}

}  // namespace

std::vector<DirectionFigures> try_directions(const ocl::Device& device, const SrpTrialOptions& options) {
  std::vector<DirectionFigures> all;
  for (const std::string& name : options.arrays) {
    const std::unique_ptr<TrialArray> array = array_before(ArrayGeometry());
    array->own.subset = schema::subset_of(name);
    array->own.tracks.enabled = false;
    array->open(device);
    for (const double snr_db : options.snrs_db) {
      show_progress(fmt::format("directions: {}, {} dB", name, snr_db));
      all.push_back(direction_figures(*array, name, snr_db, options));
    }
  }
  return all;
}

}  // namespace nearfield::bench
