#include "frontend/popcount/popcount.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "config/schema/front_end_kinds.hpp"
#include "core/frame.hpp"
#include "frontend/common/analysis.hpp"
#include "frontend/common/bit_ring.hpp"
#include "frontend/common/work.hpp"
#include "frontend/popcount/popcount_coefficients.hpp"
#include "frontend/popcount/popcount_reference.hpp"
#include "frontend/popcount/settings.hpp"
#include "frontend/popcount/sliding_popcount.hpp"

namespace nearfield {
namespace {

constexpr std::string_view kPopcountStage = "front_end/popcount";
constexpr std::size_t kGroupChannels = 64;
constexpr std::size_t kLaneChannels = 32;
constexpr std::size_t kSliceLanes = 8;
constexpr std::size_t kMaxFrequencyTile = 12;
/// Largest number of slices into which a frame's window is cut; more slices only increase the reads of sum_slices.
constexpr std::size_t kMaxSlices = 16;
constexpr std::size_t kTile = 32;
constexpr std::size_t kTileStep = kTile / kClipBlockWords;

std::size_t count_of(int value) { return static_cast<std::size_t>(value); }
std::vector<double> frequencies_of(const FrontEndPlan& plan) {
  std::vector<double> frequencies_hz = plan.settings.frequencies_hz;
  if (plan.settings.own.get<PopcountSettings>().transform == WordTransform::kFft) {
    for (double& frequency_hz : frequencies_hz) {
      const double bin_hz = plan.sample_rate_hz / plan.settings.window_samples;
      frequency_hz = std::round(frequency_hz / bin_hz) * bin_hz;
    }
  }
  return frequencies_hz;
}

WordExpansion expansion_of(const FrontEndPlan& plan, double frequency_hz) {
  const FrontEndSettings& settings = plan.settings;
  const double radians_per_bit = 2.0 * std::numbers::pi * frequency_hz / (plan.sample_rate_hz * kBitsPerWord);
  return {.vector = analysis_vector(settings.window, count_of(settings.window_samples) * kBitsPerWord, radians_per_bit,
                                    settings.remove_dc),
          .window = settings.window,
          .words = settings.window_samples,
          .order = settings.own.get<PopcountSettings>().order};
}

/// Distribution of a frame's sums over work-items.
struct DotShape {
  std::size_t frequencies;
  std::size_t frequency_tile;
  std::size_t tiles;
  std::size_t blocks;  ///< blocks of 8 words per item
  std::size_t slices;
};

DotShape dot_shape(const FrontEndPlan& plan) {
  const std::size_t frequencies = plan.settings.frequencies_hz.size();
  const std::size_t tiles = quotient_up(frequencies, kMaxFrequencyTile);
  const std::size_t lane_blocks = quotient_up(count_of(plan.settings.window_samples), kClipBlockWords * kSliceLanes);
  const std::size_t blocks = quotient_up(lane_blocks, kMaxSlices);
  return {.frequencies = frequencies,
          .frequency_tile = quotient_up(frequencies, tiles),
          .tiles = tiles,
          .blocks = blocks,
          .slices = quotient_up(lane_blocks, blocks)};
}

/// [tile][word][frequency of the tile][q], pascal; words and frequencies beyond the last are 0.
std::vector<std::complex<float>> dot_coefficients(const FrontEndPlan& plan) {
  const DotShape shape = dot_shape(plan);
  const std::size_t words = count_of(plan.settings.window_samples);
  const std::size_t moments = count_of(plan.settings.own.get<PopcountSettings>().order) + 1;
  const double full_scale = full_scale_pa(plan.sensitivity_dbfs);
  const std::size_t padded_words = shape.slices * kSliceLanes * shape.blocks * kClipBlockWords;
  std::vector<std::complex<float>> values(shape.tiles * padded_words * shape.frequency_tile * moments);
  for (std::size_t f = 0; f < shape.frequencies; ++f) {
    const auto coefficients = word_coefficients(expansion_of(plan, plan.settings.frequencies_hz[f]));
    for (std::size_t word = 0; word < words; ++word) {
      const std::size_t row = f / shape.frequency_tile * padded_words + word;
      for (std::size_t q = 0; q < moments; ++q) {
        values[(row * shape.frequency_tile + f % shape.frequency_tile) * moments + q] =
            std::complex<float>(full_scale * coefficients[q * words + word]);
      }
    }
  }
  return values;
}

/// [frequency][q][b][direct real, imaginary, mirrored real, imaginary], pascal.
std::vector<float> fft_weights(const FrontEndPlan& plan, const std::vector<std::uint32_t>& bins) {
  const std::vector<double> frequencies_hz = frequencies_of(plan);
  const double full_scale = full_scale_pa(plan.sensitivity_dbfs);
  std::vector<float> values;
  for (std::size_t f = 0; f < bins.size(); ++f) {
    for (const auto& of_moment : bin_weights(expansion_of(plan, frequencies_hz[f]), bins[f])) {
      for (const BinWeight& weight : of_moment) {
        for (const std::complex<double>& factor : {weight.direct, weight.mirrored}) {
          values.push_back(static_cast<float>(full_scale * factor.real()));
          values.push_back(static_cast<float>(full_scale * factor.imag()));
        }
      }
    }
  }
  return values;
}

ocl::Program build(const ocl::Device& device, const FrontEndPlan& plan) {
  const DotShape shape = dot_shape(plan);
  return device.build(kPopcountStage, "frontend/popcount/popcount.cl",
                      {{"CHANNELS", fmt::format("{}", plan.geometry.channels())},
                       {"WINDOW", fmt::format("{}", plan.settings.window_samples)},
                       {"ORDER", fmt::format("{}", plan.settings.own.get<PopcountSettings>().order)},
                       {"FREQUENCIES", fmt::format("{}", shape.frequencies)},
                       {"FREQUENCY_TILE", fmt::format("{}", shape.frequency_tile)},
                       {"BLOCKS", fmt::format("{}", shape.blocks)},
                       {"SLICES", fmt::format("{}", shape.slices)},
                       {"CLIP_SUM", fmt::format("{}", clip_sum(kClipBlockWords))},
                       {"FLAG_CLIPPED", fmt::format("{}u", static_cast<std::uint32_t>(kFlagClipped))}});
}

bool is_sliding(const ocl::Device& device, const FrontEndPlan& plan) {
  if (plan.settings.incremental == Incremental::kAuto) {
    return plan.settings.own.get<PopcountSettings>().transform == WordTransform::kDot &&
           // CPUs slide at any hop: their kernels that sum blocks process several microphones in one vector.
           is_worth_sliding(SlidingPopcount::sliding_plan(plan), device.info(), !device.info().is_gpu);
  }
  return plan.settings.incremental == Incremental::kAlways;
}

}  // namespace

std::string popcount_obstacle(const FrontEndPlan& plan) {
  std::vector<std::string> problems;
  if (!plan.input_is_bits) {
    problems.push_back(fmt::format(
        "front_end.kind: popcount counts the bits of one-bit microphones, found samples in pascal; expected {}",
        schema::names_of_front_ends([](const schema::FrontEndKind& kind) { return kind.takes_samples; }, " or ")));
  }
  const int order = plan.settings.own.get<PopcountSettings>().order;
  if (order < 0 || order > kMaxMomentOrder) {
    problems.push_back(fmt::format("front_end.popcount.order: expected 0 to {}, found {}", kMaxMomentOrder, order));
  }
  if (plan.settings.incremental == Incremental::kAlways &&
      plan.settings.own.get<PopcountSettings>().transform == WordTransform::kFft) {
    problems.emplace_back(
        "front_end.incremental: the sliding DFT does not apply to popcount.transform fft, which takes whole windows; "
        "expected auto or never, or transform: dot");
  }
  return fmt::format("{}", fmt::join(problems, "\n"));
}

Popcount::DotPath::DotPath(const ocl::Device& device, const FrontEndPlan& plan, const ocl::Program& program,
                           const BitRing& bits, const ocl::Buffer<std::uint32_t>& is_alive)
    : coefficients(device.upload<std::complex<float>>(dot_coefficients(plan), kPopcountStage)) {
  const DotShape shape = dot_shape(plan);
  partial = device.allocate<std::complex<float>>(
      shape.slices * shape.frequencies * static_cast<std::size_t>(bits.channels()), kPopcountStage);
  word_sums = program.kernel("word_sums");
  sum_slices = program.kernel("sum_slices");
  word_sums.set("packed", bits.packed())
      .set("coefficients", coefficients)
      .set("is_alive", is_alive)
      .set("partial", partial)
      .set("slots", bits.span().slots());
  per_window = word_sums.arguments("status", "first_slot");
  sum_slices.set("partial", partial);
  to_spectra = sum_slices.arguments("spectra");
  slices = shape.slices;
  tiles = shape.tiles;
}

Popcount::FftPath::FftPath(const ocl::Device& device, const FrontEndPlan& plan, const ocl::Program& program,
                           const BitRing& bits, const ocl::Buffer<std::uint32_t>& is_alive)
    : fft(device, plan.settings.window_samples, bits.channels() * (plan.settings.own.get<PopcountSettings>().order + 1),
          std::string(kPopcountStage)) {
  const std::size_t sequences = count_of(bits.channels() * (plan.settings.own.get<PopcountSettings>().order + 1));
  const std::size_t words = count_of(plan.settings.window_samples);
  const std::vector<std::uint32_t> wanted_bins =
      nearest_bins(plan.settings.frequencies_hz, plan.sample_rate_hz, plan.settings.window_samples);
  lines = device.allocate<float>(sequences * words, kPopcountStage);
  bins = device.allocate<std::complex<float>>(sequences * (words / 2 + 1), kPopcountStage);
  wanted = device.upload<std::uint32_t>(wanted_bins, kPopcountStage);
  weights = device.upload<float>(fft_weights(plan, wanted_bins), kPopcountStage);
  moment_lines = program.kernel("moment_lines");
  combine = program.kernel("combine");
  moment_lines.set("packed", bits.packed())
      .set("is_alive", is_alive)
      .set("lines", lines)
      .set("slots", bits.span().slots());
  per_window = moment_lines.arguments("status", "first_slot");
  combine.set("bins", bins).set("wanted", wanted).set("weights", weights);
  to_spectra = combine.arguments("spectra");
}

Popcount::Popcount(const ocl::Device& device, const FrontEndPlan& plan)
    : order_(plan.settings.own.get<PopcountSettings>().order),
      channels_(count_of(plan.geometry.channels())),
      window_words_(count_of(plan.settings.window_samples)),
      actual_frequencies_hz_(frequencies_of(plan)),
      bits_(device, plan.layout, plan.geometry, 2 * window_words_, window_words_),
      is_alive_(device.upload<std::uint32_t>(alive_channels(plan), kPopcountStage)) {
  const ocl::Program program = build(device, plan);
  if (plan.settings.own.get<PopcountSettings>().transform == WordTransform::kFft) {
    fft_ = std::make_unique<FftPath>(device, plan, program, bits_, is_alive_);
  } else {
    dot_ = std::make_unique<DotPath>(device, plan, program, bits_, is_alive_);
  }
}

std::string Popcount::description() const {
  return fmt::format("popcount (order {}, whole windows, transform {})", order_,
                     name_of(fft_ != nullptr ? WordTransform::kFft : WordTransform::kDot));
}

void Popcount::enqueue_bits(std::uint64_t first_word, std::span<const std::uint32_t> wire) {
  const std::size_t word_size = kBitsPerWord * bits_.wire_words_per_bit_time();
  while (!wire.empty()) {
    const std::span<const std::uint32_t> block =
        wire.first(std::min(wire.size(), bits_.max_append_words() * word_size));
    bits_.enqueue_append(first_word, block);
    first_word += block.size() / word_size;
    wire = wire.subspan(block.size());
  }
}

void Popcount::enqueue_spectra(std::uint64_t first_sample_index, const ocl::Buffer<std::complex<float>>& spectra,
                               const ocl::Buffer<std::uint32_t>& status) {
  const RingSpan& span = bits_.span();
  if (!span.holds(first_sample_index, window_words_)) {
    throw Error(ExitCode::kInternal,
                fmt::format("{}: window of {} words at {} is not among the words {} to {} that the ring holds",
                            kPopcountStage, window_words_, first_sample_index, span.begin(), span.end()));
  }
  const std::size_t needed = channels_ * actual_frequencies_hz_.size();
  if (spectra.size() < needed || status.size() < kStatusWords) {
    throw Error(ExitCode::kInternal,
                fmt::format("{}: expected room for {} spectra values and {} status words, found {} and {}",
                            kPopcountStage, needed, kStatusWords, spectra.size(), status.size()));
  }
  const std::uint32_t first_slot = span.slot_of(first_sample_index);
  if (fft_ != nullptr) {
    enqueue_fft(first_slot, spectra, status);
  } else {
    enqueue_dot(first_slot, spectra, status);
  }
}

void Popcount::enqueue_dot(std::uint32_t first_slot, const ocl::Buffer<std::complex<float>>& spectra,
                           const ocl::Buffer<std::uint32_t>& status) {
  dot_->word_sums.set(dot_->per_window, status, first_slot);
  dot_->word_sums.enqueue({.global_0 = quotient_up(channels_, kGroupChannels) * kLaneChannels,
                           .local_0 = kLaneChannels,
                           .global_1 = dot_->slices * kSliceLanes,
                           .local_1 = kSliceLanes,
                           .global_2 = dot_->tiles,
                           .local_2 = 1});
  dot_->sum_slices.set(dot_->to_spectra, spectra);
  dot_->sum_slices.enqueue({.global_0 = ocl::round_up(channels_, kGroupChannels),
                            .local_0 = kGroupChannels,
                            .global_1 = actual_frequencies_hz_.size(),
                            .local_1 = 1});
}

void Popcount::enqueue_fft(std::uint32_t first_slot, const ocl::Buffer<std::complex<float>>& spectra,
                           const ocl::Buffer<std::uint32_t>& status) {
  fft_->moment_lines.set(fft_->per_window, status, first_slot);
  fft_->moment_lines.enqueue({.global_0 = ocl::round_up(channels_, kTile),
                              .local_0 = kTile,
                              .global_1 = quotient_up(window_words_, kTile) * kTileStep,
                              .local_1 = kTileStep});
  fft_->fft.enqueue(fft_->lines, fft_->bins);
  fft_->combine.set(fft_->to_spectra, spectra);
  fft_->combine.enqueue({.global_0 = ocl::round_up(channels_, kGroupChannels),
                         .local_0 = kGroupChannels,
                         .global_1 = actual_frequencies_hz_.size(),
                         .local_1 = 1});
}

std::unique_ptr<FrontEnd> make_popcount(const ocl::Device& device, const FrontEndPlan& plan) {
  if (is_sliding(device, plan)) {
    return std::make_unique<SlidingPopcount>(device, plan);
  }
  return std::make_unique<Popcount>(device, plan);
}

namespace {

constexpr std::string_view kSlide = "front_end/popcount/slide";
constexpr std::string_view kSlideOfProcessors = "front_end/popcount/slide_vectors";  // name of this stage on processors
/// Operations per word for moments up to each order, kernels/common/moments.cl: population counts, masks, products,
/// additions.
constexpr double kMomentOperations[] = {3.0, 24.0, 64.0};

struct Sizes : work::FrontEndSizes {
  explicit Sizes(const FrontEndPlan& plan) : FrontEndSizes(plan) {
    const auto order =
        static_cast<std::size_t>(std::clamp(plan.settings.own.get<PopcountSettings>().order, 0, kMaxMomentOrder));
    moments = static_cast<double>(order) + 1.0;
    moment_operations = kMomentOperations[order];
  }
  double moments;  ///< moments per word
  double moment_operations;
};

/// Moments of the hop's words, times their coefficients, rotated to the stream's time.
StageWork block_sums(const Sizes& s) {
  const double block_words = s.kept_words / s.blocks;
  return {.stage = "front_end/popcount/block_sums",
          .bytes = s.kept_words * s.lanes * work::kWord + block_words * s.terms * s.moments * work::kComplex +
                   s.blocks * s.block_bytes(),
          .operations = s.kept_words * s.microphones * (s.moment_operations + s.terms * s.moments * 4.0) +
                        s.blocks * s.microphones * s.terms * work::kComplexMultiply};
}

/// Both steps in one launch: the block that enters is not read again.
StageWork advance(const Sizes& s) {
  const StageWork sums = block_sums(s);
  const StageWork move = work::slide(kSlide, s);
  return {.stage = "front_end/popcount/advance",
          .bytes = sums.bytes + move.bytes - s.blocks * s.block_bytes(),
          .operations = sums.operations + move.operations};
}

StageWork word_sums(const Sizes& s) {
  return {.stage = "front_end/popcount/word_sums",
          .bytes = s.windows * s.window * s.microphones * work::kWord +
                   s.window * s.frequencies * s.moments * work::kComplex,
          .operations = s.windows * s.window * s.microphones * (s.moment_operations + s.frequencies * s.moments * 4.0)};
}

/// Slices of the dot path: blocks of 64 words, at most 16 of them.
StageWork sum_slices(const Sizes& s) {
  const double lane_blocks = std::ceil(s.window / 64.0);
  const double slices = std::ceil(lane_blocks / std::ceil(lane_blocks / 16.0));
  return {.stage = "front_end/popcount/sum_slices",
          .bytes = (slices + 1.0) * s.spectra_bytes(),
          .operations = 2.0 * slices * s.holograms() * s.microphones};
}

StageWork moment_lines(const Sizes& s) {
  return {.stage = "front_end/popcount/moment_lines",
          .bytes = s.windows * s.window * s.microphones * (work::kWord + s.moments * work::kFloat),
          .operations = s.windows * s.window * s.microphones * s.moment_operations};
}

StageWork moment_transforms(const Sizes& s) {
  StageWork transforms = work::line_transforms("front_end/popcount/clfft", s);
  transforms.bytes *= s.moments;
  transforms.operations *= s.moments;
  return transforms;
}

WorkModel work_of_popcount(const FrontEndPlan& plan) {
  const Sizes s(plan);
  return {work::corner_turn(s), block_sums(s), work::slide(kSlide, s), work::slide(kSlideOfProcessors, s),
          advance(s),           word_sums(s),  sum_slices(s),          moment_lines(s),
          moment_transforms(s)};
}

template <int order, WordTransform transform>
void popcount_with(FrontEndSettings& settings) {
  settings.own.edit<PopcountSettings>() = {.order = order, .transform = transform};
}

void popcount_of_whole_windows(FrontEndSettings& settings) {
  popcount_with<1, WordTransform::kDot>(settings);
  settings.incremental = Incremental::kNever;
}

/// The thesis averages without a window (section 7.3.2).
void basic_averaging(FrontEndSettings& settings) {
  popcount_with<0, WordTransform::kDot>(settings);
  settings.window = WindowKind::kNone;
}

constexpr FrontEndVariant kPopcountVariants[] = {
    {.name = "popcount 0, no window", .apply = basic_averaging, .thesis = "basic averaging"},
    {.name = "popcount 0", .apply = popcount_with<0, WordTransform::kDot>},
    {.name = "popcount 1", .apply = popcount_with<1, WordTransform::kDot>},
    {.name = "popcount 1, whole windows", .apply = popcount_of_whole_windows},
    {.name = "popcount 2", .apply = popcount_with<2, WordTransform::kDot>},
    {.name = "popcount 1 fft", .apply = popcount_with<1, WordTransform::kFft>},
    {.name = "popcount 2 fft", .apply = popcount_with<2, WordTransform::kFft>},
};

}  // namespace

FrontEndEntry popcount_entry() {
  return {.kind = "popcount",
          .make = make_popcount,
          .make_reference = reference::make<reference::PopcountFrontEnd>,
          .obstacle = popcount_obstacle,
          .work = work_of_popcount,
          .variants = kPopcountVariants};
}

}  // namespace nearfield
