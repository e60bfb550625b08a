#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "bench/common/outputs.hpp"
#include "bench/srp_trials/noise_stream.hpp"
#include "bench/srp_trials/srp_trials.hpp"
#include "bench/srp_trials/trial_array.hpp"

namespace nearfield::bench {

StreamFigures try_stream(const ocl::Device& device, const SrpTrialOptions& options) {
  constexpr int kHop_samples = 32;
  constexpr int kEveryHops = NoiseStream::kStep / kHop_samples;
  const std::unique_ptr<TrialArray> array = array_before(sixty_four_microphones());
  array->settings.front_end.hop_samples = kHop_samples;
  array->plan.every_hops = kEveryHops;
  array->open(device);
  const double bin_hz = array->plan.sample_rate_hz / static_cast<double>(NoiseStream::kWindow);
  const auto first_bin = static_cast<std::size_t>(std::lround(array->plan.frequencies_hz.front() / bin_hz));
  NoiseStream noise(static_cast<std::size_t>(array->plan.array.geometry.channels()), first_bin,
                    array->plan.frequencies_hz.size(), options.seed);
  const double frame_s = static_cast<double>(NoiseStream::kStep) / array->plan.sample_rate_hz;
  StreamFigures figures = {.frames = static_cast<int>(std::ceil(60.0 * options.minutes / frame_s))};
  figures.seconds = figures.frames * frame_s;
  std::set<std::uint32_t> ids;
  for (int frame = 0; frame < figures.frames; ++frame) {
    if (frame % static_cast<int>(60.0 / frame_s) == 0) {
      show_progress(fmt::format("stream: {:.0f} of {:.0f} s", frame * frame_s, figures.seconds));
    }
    array->fill_with(noise.next());
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
