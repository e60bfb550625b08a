#include "frontend/dot_product/sliding_dot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numbers>
#include <numeric>
#include <utility>

#include "frontend/common/bit_ring.hpp"

namespace nearfield {
namespace {

constexpr std::string_view kSlidingDotStage = "front_end/dot_product";
constexpr std::size_t kDotGroup = 64;
constexpr std::size_t kTermTile = 4;
/// Bound of a decimated sample, full scale 1: the filter's overshoot.
constexpr double kLargestSample = 2.0;

SlidingPlan sliding_plan_with(const FrontEndPlan& plan, const SampleSource& source) {
  SlidingPlan sliding = SlidingDot::sliding_plan(plan);
  for (std::size_t f = 0; f < sliding.scales_pa.size(); ++f) {
    sliding.scales_pa[f] = source.scale_pa(plan.settings.frequencies_hz[f]);
  }
  return sliding;
}

std::vector<std::complex<float>> block_coefficients(const SlidingPlan& plan) {
  std::vector<std::complex<float>> values;
  const std::vector<double> term_radians = plan.term_radians();
  for (std::size_t i = 0; i < plan.grid().block_words; ++i) {
    for (const double radians : term_radians) {
      values.emplace_back(std::polar(plan.integer_scale(), -radians * static_cast<double>(i)));
    }
  }
  return values;
}

}  // namespace

SlidingPlan SlidingDot::sliding_plan(const FrontEndPlan& plan) {
  const FrontEndSettings& settings = plan.settings;
  SlidingPlan sliding;
  sliding.window = settings.window;
  sliding.removes_dc = settings.remove_dc;
  sliding.window_words = static_cast<std::size_t>(settings.window_samples);
  sliding.hop_words = static_cast<std::size_t>(settings.hop_samples);
  sliding.channels = static_cast<std::size_t>(plan.geometry.channels());
  sliding.largest_per_word = kLargestSample;
  sliding.clip_run_words = 1;
  sliding.channel_of_lane.resize(sliding.channels);
  std::iota(sliding.channel_of_lane.begin(), sliding.channel_of_lane.end(), 0);
  sliding.is_alive = alive_channels(plan);
  for (const double frequency_hz : settings.frequencies_hz) {
    const double radians = 2.0 * std::numbers::pi * frequency_hz / plan.sample_rate_hz;
    sliding.vectors.push_back(analysis_vector(settings.window, sliding.window_words, radians, settings.remove_dc));
    sliding.scales_pa.emplace_back(1.0);
  }
  return sliding;
}

SlidingDot::SlidingDot(const ocl::Device& device, const FrontEndPlan& plan)
    : frequencies_hz_(plan.settings.frequencies_hz),
      grid_(sliding_plan(plan).grid()),
      terms_(sliding_plan(plan).terms()),
      source_(device, plan, std::string(kSlidingDotStage)),
      arena_(std::string(kSlidingDotStage)),
      sums_(sliding_plan(plan), std::string(kSlidingDotStage), arena_) {
  const SlidingPlan sliding = sliding_plan_with(plan, source_);
  arena_.allocate(device);
  sums_.take(device, sliding, arena_);
  coefficients_ = device.upload<std::complex<float>>(block_coefficients(sliding), kSlidingDotStage);
  ocl::Defines defines = SlidingDft::defines(sliding);
  defines["TERM_TILE"] = fmt::format("{}", kTermTile);
  defines["CLIP_LEVEL"] = source_.defines().at("CLIP_LEVEL");
  const ocl::Program program = device.build(kSlidingDotStage, "frontend/dot_product/sliding_dot.cl", defines);
  sums_.use(program);
  block_sums_ = program.kernel("sample_block_sums");
  block_sums_.set("samples", source_.samples().samples())
      .set("coefficients", coefficients_)
      .set("steps", sums_.steps())
      .set("is_alive", sums_.is_alive())
      .set("sums", sums_.sums())
      .set("slots", source_.samples().span().slots())
      .set("block_slots", sums_.span().slots());
  new_blocks_ = block_sums_.arguments("first_slot", "first_block_slot", "first_sample", "hop_block");
}

/// First block of a window.
std::uint64_t SlidingDot::first_block_of(std::uint64_t first_sample) const {
  return (first_sample - *origin_) / grid_.hop_words * grid_.hop_blocks();
}

/// True if the blocks so far, continued with the samples that the ring still holds, lead to this window.
bool SlidingDot::is_on_blocks(std::uint64_t first_sample) const {
  if (!origin_ || first_sample < *origin_ || (first_sample - *origin_) % grid_.hop_words != 0) {
    return false;
  }
  const std::uint64_t next_sample = *origin_ + grid_.begin(sums_.span().end());
  return first_block_of(first_sample) >= sums_.span().begin() && first_sample <= next_sample &&
         next_sample >= source_.samples().span().begin();
}

void SlidingDot::enqueue_spectra(std::uint64_t first_sample_index, const ocl::Buffer<std::complex<float>>& spectra,
                                 const ocl::Buffer<std::uint32_t>& status) {
  (void)source_.window_slot(first_sample_index);
  if (std::exchange(breaks_, source_.breaks()) != source_.breaks()) {
    origin_.reset();  // the sums belong to data before a gap
  }
  if (!is_on_blocks(first_sample_index)) {
    origin_ = first_sample_index;
    sums_.restart();
  }
  const std::uint64_t first_block = first_block_of(first_sample_index);
  const std::uint64_t end_block = first_block + grid_.window_blocks();
  if (end_block > sums_.span().end()) {
    enqueue_blocks(sums_.span().end(), end_block - sums_.span().end());
  }
  sums_.enqueue(first_block, first_sample_index, 1, spectra, status);
}

void SlidingDot::enqueue_blocks(std::uint64_t first_block, std::uint64_t blocks) {
  const std::uint64_t first_sample = *origin_ + grid_.begin(first_block);
  block_sums_.set(new_blocks_, source_.samples().span().slot_of(first_sample), sums_.span().slot_of(first_block),
                  first_sample, static_cast<std::uint32_t>(first_block % grid_.hop_blocks()));
  block_sums_.enqueue({.global_0 = ocl::round_up(sums_.lanes(), kDotGroup),
                       .local_0 = kDotGroup,
                       .global_1 = (terms_ + kTermTile - 1) / kTermTile,
                       .local_1 = 1,
                       .global_2 = blocks,
                       .local_2 = 1});
  sums_.append(first_block, blocks);
}

std::string SlidingDot::description() const {
  return fmt::format("dot_product (incremental, blocks of {} samples)", grid_.block_words);
}

}  // namespace nearfield
