#include "frontend/common/sliding_dft.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "core/error.hpp"
#include "core/frame.hpp"
#include "frontend/common/bit_ring.hpp"

namespace nearfield {
namespace {

/// Lanes per work-group of `slide`, by the number of parts of a batch.
constexpr std::size_t slide_lanes(std::size_t segments) { return segments > 1 ? 32 : 64; }
/// Vectors of lanes that an item of `slide_vectors` updates: it computes the phasors of a window once for all of them.
constexpr std::size_t kSlideVectors = 8;
/// Bound of a window's sum, two bits below the range of an integer.
constexpr double kLargestSum = 0x1p29;
/// A hop must be this many times shorter than the window for the sliding DFT to cost less.
constexpr std::size_t kWorthHops = 4;

std::size_t frequency_terms(const SlidingPlan& plan) { return plan.window == WindowKind::kHann ? 3 : 1; }
std::size_t offset_terms(const SlidingPlan& plan) {
  if (!plan.removes_dc) {
    return 0;
  }
  return plan.window == WindowKind::kHann ? 2 : 1;
}

/// Turns per word times 2^64; negative radians wrap.
std::uint64_t turns_per_word(double radians_per_step, int steps_per_word) {
  const double turns = radians_per_step * steps_per_word / (2.0 * std::numbers::pi);
  const double within = turns - std::floor(turns);
  return static_cast<std::uint64_t>(std::llround(within * 0x1p62)) << 2U;
}

std::vector<std::complex<float>> weights_of(const SlidingPlan& plan) {
  std::vector<std::complex<float>> weights;
  for (std::size_t f = 0; f < plan.vectors.size(); ++f) {
    const AnalysisVector& vector = plan.vectors[f];
    const std::complex<double> scale = plan.scales_pa[f] / plan.integer_scale();
    for (const std::complex<double>& factor : {vector.forward, vector.image, vector.constant}) {
      weights.emplace_back(scale * factor);
    }
  }
  return weights;
}

/// Hops whose blocks are combined to detect clipping; 0 where the longest block is long enough alone.
std::size_t run_hops(const SlidingPlan& plan) {
  const BlockGrid grid = plan.grid();
  return grid.block_words >= plan.clip_run_words ? 0 : quotient_up(plan.clip_run_words, grid.kept_words);
}

}  // namespace

BlockGrid::BlockGrid(std::size_t window, std::size_t hop, std::size_t most_block_words)
    : hop_words(hop),
      window_words(window),
      lead_words(window % hop),
      kept_words(std::min(window, hop)),
      block_words(std::min(most_block_words, std::max(lead_words, kept_words - lead_words))) {}

std::size_t BlockGrid::lead_blocks() const { return quotient_up(lead_words, block_words); }

std::size_t BlockGrid::hop_blocks() const { return lead_blocks() + quotient_up(kept_words - lead_words, block_words); }

std::size_t BlockGrid::window_blocks() const { return window_words / hop_words * hop_blocks() + lead_blocks(); }

std::size_t BlockGrid::begin_in_hop(std::size_t block) const {
  return block < lead_blocks() ? block * block_words : lead_words + (block - lead_blocks()) * block_words;
}

std::uint64_t BlockGrid::begin(std::uint64_t block) const {
  return block / hop_blocks() * hop_words + begin_in_hop(static_cast<std::size_t>(block % hop_blocks()));
}

std::uint64_t BlockGrid::whole_blocks(std::uint64_t words) const {
  const std::uint64_t of_hops = words / hop_words * hop_blocks();
  const auto rest = static_cast<std::size_t>(words % hop_words);
  if (rest >= kept_words) {
    return of_hops + hop_blocks();
  }
  return of_hops + (rest < lead_words ? rest / block_words : lead_blocks() + (rest - lead_words) / block_words);
}

std::size_t SlidingPlan::terms() const { return vectors.size() * frequency_terms(*this) + offset_terms(*this); }

std::size_t SlidingPlan::waiting_hops() const {
  return quotient_up(std::max(window_words, batch * hop_words), hop_words) + 1;
}

std::size_t SlidingPlan::ring_blocks() const {
  const BlockGrid blocks = grid();
  const std::size_t kept = blocks.window_blocks() + std::max(blocks.window_blocks(), batch * blocks.hop_blocks());
  return std::max(kept, waiting_hops() * blocks.hop_blocks());
}

std::uint64_t SlidingPlan::ring_bytes() const {
  return ring_blocks() * (terms() + 1) * channel_of_lane.size() * sizeof(cl_int2);
}

std::vector<double> SlidingPlan::term_radians() const {
  const double bin = 2.0 * std::numbers::pi / (static_cast<double>(window_words) * steps_per_word);
  std::vector<double> radians;
  for (const AnalysisVector& vector : vectors) {
    radians.push_back(vector.radians_per_step);
    if (window == WindowKind::kHann) {
      radians.push_back(vector.radians_per_step - bin);
      radians.push_back(vector.radians_per_step + bin);
    }
  }
  if (removes_dc) {
    radians.push_back(0.0);
    if (window == WindowKind::kHann) {
      radians.push_back(bin);
    }
  }
  return radians;
}

double SlidingPlan::integer_scale() const {
  return std::exp2(std::floor(std::log2(kLargestSum / (static_cast<double>(window_words) * largest_per_word))));
}

bool is_worth_sliding(const SlidingPlan& plan, const ocl::DeviceInfo& device, bool at_any_hop) {
  const bool is_short = at_any_hop || kWorthHops * plan.hop_words <= plan.window_words;
  return is_short && plan.ring_bytes() <= device.global_memory_bytes / 8;
}

ocl::Defines SlidingDft::defines(const SlidingPlan& plan) {
  const BlockGrid grid = plan.grid();
  const std::size_t run = run_hops(plan);
  return {{"LANES", fmt::format("{}", plan.channel_of_lane.size())},
          {"CHANNELS", fmt::format("{}", plan.channels)},
          {"FREQUENCIES", fmt::format("{}", plan.vectors.size())},
          {"FREQUENCY_TERMS", fmt::format("{}", frequency_terms(plan))},
          {"SEGMENTS", fmt::format("{}", plan.segments)},
          {"SLIDE_VECTORS", fmt::format("{}", kSlideVectors)},
          {"OFFSET_TERMS", fmt::format("{}", offset_terms(plan))},
          {"RUN_BLOCKS", fmt::format("{}", std::max<std::size_t>(run * grid.hop_blocks(), 1))},
          {"RUN_CLIP_SUM", fmt::format("{}", clip_sum(run * grid.kept_words))},
          {"BLOCK", fmt::format("{}", grid.block_words)},
          {"HOP_BLOCKS", fmt::format("{}", grid.hop_blocks())},
          {"HOP_WORDS", fmt::format("{}", grid.hop_words)},
          {"LEAD_WORDS", fmt::format("{}", grid.lead_words)},
          {"KEPT_WORDS", fmt::format("{}", grid.kept_words)},
          {"STATUS_WORDS", fmt::format("{}", kStatusWords)},
          {"FLAG_CLIPPED", fmt::format("{}u", static_cast<std::uint32_t>(kFlagClipped))}};
}

SlidingDft::SlidingDft(const SlidingPlan& plan, std::string stage, ocl::Arena& arena)
    : stage_(std::move(stage)),
      lanes_(plan.channel_of_lane.size()),
      channels_(plan.channels),
      frequencies_(plan.vectors.size()),
      window_blocks_(plan.grid().window_blocks()),
      hop_blocks_(plan.grid().hop_blocks()),
      span_(plan.ring_blocks()),
      segments_(plan.segments),
      vector_lanes_(plan.vector_lanes) {
  arena.reserve<cl_int2>("SUMS", span_.capacity() * (plan.terms() + 1) * lanes_);
  arena.reserve<cl_int2>("STATE_A", (plan.terms() + 1) * lanes_);
  arena.reserve<cl_int2>("STATE_B", (plan.terms() + 1) * lanes_);
  arena.reserve<std::uint64_t>("STEPS", plan.terms());
  arena.reserve<std::complex<float>>("WEIGHTS", weights_of(plan).size());
  arena.reserve<std::int32_t>("CHANNEL_OF", lanes_);
  arena.reserve<std::uint32_t>("IS_ALIVE", lanes_);
}

void SlidingDft::take(const ocl::Device& device, const SlidingPlan& plan, const ocl::Arena& arena) {
  std::vector<std::uint64_t> steps;
  for (const double radians : plan.term_radians()) {
    steps.push_back(turns_per_word(radians, plan.steps_per_word));
  }
  sums_ = arena.part<cl_int2>(device, "SUMS");
  states_[0] = arena.part<cl_int2>(device, "STATE_A");
  states_[1] = arena.part<cl_int2>(device, "STATE_B");
  steps_ = arena.part<std::uint64_t>(device, "STEPS", steps);
  weights_ = arena.part<std::complex<float>>(device, "WEIGHTS", weights_of(plan));
  channel_of_ = arena.part<std::int32_t>(device, "CHANNEL_OF", plan.channel_of_lane);
  is_alive_ = arena.part<std::uint32_t>(device, "IS_ALIVE", plan.is_alive);
}

void SlidingDft::use(const ocl::Program& program) {
  slide_ = program.kernel(vector_lanes_ > 0 ? "slide_vectors" : "slide");
  slide_.set("sums", sums_)
      .set("steps", steps_)
      .set("weights", weights_)
      .set("channel_of", channel_of_)
      .set("is_alive", is_alive_)
      .set("slots", span_.slots());
  slide_buffers_ = slide_.arguments("state_in", "state_out", "spectra", "status");
  slide_move_ = slide_.arguments("oldest", "newest", "moves", "from_zero", "newest_block");
  slide_windows_ = slide_.arguments("first_word", "windows");
}

std::uint32_t SlidingDft::turn_states(std::size_t windows, const ocl::Buffer<std::complex<float>>& spectra,
                                      const ocl::Buffer<std::uint32_t>& status) {
  const std::size_t values = windows * channels_ * frequencies_;
  if (spectra.size() < values || status.size() < windows * kStatusWords) {
    throw Error(ExitCode::kInternal,
                fmt::format("{}: expected room for {} spectra values and {} status words, found {} and {}", stage_,
                            values, windows * kStatusWords, spectra.size(), status.size()));
  }
  const std::size_t from = state_in_;
  state_in_ = 1 - state_in_;
  return static_cast<std::uint32_t>(from);
}

WindowMove SlidingDft::move_to(std::uint64_t first_block, std::size_t windows, std::uint64_t coming) const {
  if (windows < 1) {
    throw Error(ExitCode::kInternal, fmt::format("{}: expected at least one window, found none", stage_));
  }
  const std::uint64_t end = span_.end() + coming;
  const std::uint64_t begin = std::max(span_.begin(), end > span_.capacity() ? end - span_.capacity() : 0);
  if (first_block + window_blocks_ + (windows - 1) * hop_blocks_ > end || first_block < begin) {
    throw Error(ExitCode::kInternal,
                fmt::format("{}: window of {} blocks at block {} is not among the blocks {} to {} that the ring holds",
                            stage_, window_blocks_, first_block, begin, end));
  }
  const bool follows = summed_from_ && *summed_from_ >= begin && *summed_from_ <= first_block &&
                       first_block - *summed_from_ < window_blocks_;
  const std::uint64_t from = follows ? *summed_from_ : first_block;
  const std::uint64_t newest = follows ? from + window_blocks_ : first_block;
  return {.oldest = span_.slot_of(from),
          .newest = span_.slot_of(newest),
          .moves = static_cast<std::uint32_t>(follows ? first_block - from : window_blocks_),
          .from_zero = !follows,
          .newest_block = newest};
}

void SlidingDft::restart() {
  span_ = RingSpan(span_.capacity());
  summed_from_.reset();
}

void SlidingDft::enqueue(std::uint64_t first_block, std::uint64_t first_word, std::size_t windows,
                         const ocl::Buffer<std::complex<float>>& spectra, const ocl::Buffer<std::uint32_t>& status) {
  const WindowMove move = move_to(first_block, windows, 0);
  const std::uint32_t from = turn_states(windows, spectra, status);
  slide_.set(slide_buffers_, states_.at(from), states_.at(1 - from), spectra, status);
  slide_.set(slide_move_, move.oldest, move.newest, move.moves, std::uint32_t{move.from_zero ? 1U : 0U},
             move.newest_block);
  slide_.set(slide_windows_, first_word, static_cast<std::uint32_t>(windows));
  moved_to(first_block + (windows - 1) * hop_blocks_);
  if (vector_lanes_ > 0) {
    slide_.enqueue({.global_0 = frequencies_,
                    .local_0 = 1,
                    .global_1 = quotient_up(lanes_, vector_lanes_ * kSlideVectors),
                    .local_1 = 1});
    return;
  }
  const std::size_t lanes = slide_lanes(segments_);
  slide_.enqueue({.global_0 = ocl::round_up(lanes_, lanes),
                  .local_0 = lanes,
                  .global_1 = segments_ * frequencies_,
                  .local_1 = segments_});
}

}  // namespace nearfield
