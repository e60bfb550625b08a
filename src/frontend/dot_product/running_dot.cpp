#include "frontend/dot_product/running_dot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numbers>
#include <numeric>

#include "frontend/common/clipping.hpp"

namespace nearfield {
namespace {

constexpr std::string_view kRunningDotStage = "front_end/dot_product";
constexpr std::size_t kDotGroup = 64;
constexpr std::size_t kTermTile = 4;
/// Bound of a decimated sample, full scale 1: the filter's overshoot.
constexpr double kLargestSample = 2.0;

RunningPlan running_plan_with(const FrontEndPlan& plan, const SampleSource& source) {
  RunningPlan running = RunningDot::running_plan(plan);
  for (std::size_t f = 0; f < running.scales_pa.size(); ++f) {
    running.scales_pa[f] = source.scale_pa(plan.settings.frequencies_hz[f]);
  }
  return running;
}

std::vector<std::complex<float>> block_coefficients(const RunningPlan& plan) {
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

RunningPlan RunningDot::running_plan(const FrontEndPlan& plan) {
  const FrontEndSettings& settings = plan.settings;
  RunningPlan running;
  running.window = settings.window;
  running.removes_dc = settings.remove_dc;
  running.window_words = static_cast<std::size_t>(settings.window_samples);
  running.hop_words = static_cast<std::size_t>(settings.hop_samples);
  running.channels = static_cast<std::size_t>(plan.geometry.channels());
  running.largest_per_word = kLargestSample;
  running.clip_run_words = 1;
  running.channel_of_lane.resize(running.channels);
  std::iota(running.channel_of_lane.begin(), running.channel_of_lane.end(), 0);
  running.is_alive = alive_channels(plan);
  for (const double frequency_hz : settings.frequencies_hz) {
    const double radians = 2.0 * std::numbers::pi * frequency_hz / plan.sample_rate_hz;
    running.vectors.push_back(analysis_vector(settings.window, running.window_words, radians, settings.remove_dc));
    running.scales_pa.emplace_back(1.0);
  }
  return running;
}

RunningDot::RunningDot(const ocl::Device& device, const FrontEndPlan& plan)
    : frequencies_hz_(plan.settings.frequencies_hz),
      grid_(running_plan(plan).grid()),
      terms_(running_plan(plan).terms()),
      source_(device, plan, std::string(kRunningDotStage)),
      arena_(std::string(kRunningDotStage)),
      sums_(running_plan(plan), std::string(kRunningDotStage), arena_) {
  const RunningPlan running = running_plan_with(plan, source_);
  arena_.allocate(device);
  sums_.take(device, running, arena_);
  coefficients_ = device.upload<std::complex<float>>(block_coefficients(running), kRunningDotStage);
  ocl::Defines defines = RunningSums::defines(running);
  defines["TERM_TILE"] = fmt::format("{}", kTermTile);
  defines["CLIP_LEVEL"] = source_.defines().at("CLIP_LEVEL");
  const ocl::Program program = device.build(kRunningDotStage, "frontend/running_dot.cl", defines);
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

void RunningDot::enqueue_bits(std::uint64_t first_word, std::span<const std::uint32_t> wire) {
  if (first_word != end_word_) {
    origin_.reset();  // what was summed is of another stretch
  }
  source_.enqueue_bits(first_word, wire);
  end_word_ = source_.samples().span().end();
}

/// Of a window.
std::uint64_t RunningDot::first_block_of(std::uint64_t first_sample) const {
  return (first_sample - *origin_) / grid_.hop_words * grid_.hop_blocks();
}

/// True when the blocks so far, with those that the sample ring still holds, lead to this window.
bool RunningDot::is_on_blocks(std::uint64_t first_sample) const {
  if (!origin_ || first_sample < *origin_ || (first_sample - *origin_) % grid_.hop_words != 0) {
    return false;
  }
  const std::uint64_t next_sample = *origin_ + grid_.begin(sums_.span().end());
  return first_block_of(first_sample) >= sums_.span().begin() && first_sample <= next_sample &&
         next_sample >= source_.samples().span().begin();
}

void RunningDot::enqueue_spectra(std::uint64_t first_sample_index, const ocl::Buffer<std::complex<float>>& spectra,
                                 const ocl::Buffer<std::uint32_t>& status) {
  (void)source_.window_slot(first_sample_index);
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

void RunningDot::enqueue_blocks(std::uint64_t first_block, std::uint64_t blocks) {
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

std::string RunningDot::description() const {
  return fmt::format("dot_product (incremental, blocks of {} samples)", grid_.block_words);
}

}  // namespace nearfield
