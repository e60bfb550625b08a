#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "bench/common/outputs.hpp"
#include "bench/srp_trials/srp_trials.hpp"
#include "bench/srp_trials/trial_array.hpp"

namespace nearfield::bench {

NoiseFigures try_noise(const ocl::Device& device, const SrpTrialOptions& options) {
  const std::unique_ptr<TrialArray> array = array_before(sixty_four_microphones());
  array->open(device);
  NormalNumbers numbers(options.seed, 1);
  NoiseFigures figures = {.frames = options.frames};
  std::set<std::uint32_t> ids;
  show_progress(fmt::format("noise: {} windows", options.frames));
  for (int frame = 0; frame < options.frames; ++frame) {
    array->fill_with_noise(numbers);
    double largest = 0.0;
    for (const FoundSource& found : array->find()) {
      ids.insert(found.id);
      largest = std::max(largest, found.id == 0 ? found.significance : 0.0);
    }
    for (std::size_t i = 0; i < figures.false_frames.size(); ++i) {
      figures.false_frames[i] += largest >= static_cast<double>(i + 1) ? 1 : 0;
    }
    figures.largest = std::max(figures.largest, largest);
  }
  ids.erase(0U);
  figures.confirmed = static_cast<int>(ids.size());
  return figures;
}

}  // namespace nearfield::bench
