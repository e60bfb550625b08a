#include "frontend/popcount/sliding_popcount.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <numbers>

#include "frontend/common/bit_ring.hpp"
#include "frontend/popcount/popcount_coefficients.hpp"
#include "frontend/popcount/settings.hpp"

namespace nearfield {
namespace {

constexpr std::string_view kSlidingPopcountStage = "front_end/popcount";
constexpr std::size_t kTileWords = 32;
constexpr std::size_t kMostTileFrequencies = 10;
/// Groups of 512 items that a compute unit runs at a time.
constexpr std::size_t kGroupsAUnit = 4;
/// With more rows, half of an H100's compute units are idle; and PoCL 3.1 computes groups of 32 x 32 wrongly where the
/// last tile of a long block has fewer than 32 words.
constexpr std::size_t kMostRows = 16;
constexpr std::size_t kMostVectorColumns = 8;
constexpr std::size_t kMostSegments = 16;  // on an H100, 64 windows of one word: 27 us with 8, 24 with 16, 31 with 32

/// Wire words that an item processes as one vector. On CPUs eight or, if there are fewer words, a vector that holds
/// them all; 0 on GPUs: one microphone per item.
std::size_t vector_columns(const ocl::Device& device, std::size_t wire_words) {
  return device.info().is_gpu ? 0 : std::min(std::bit_ceil(wire_words), kMostVectorColumns);
}

/// Reorders lanes from the order of wire bits to [bit][wire word].
template <class T>
std::vector<T> by_bits(const std::vector<T>& by_words) {
  const std::size_t words = by_words.size() / kBitsPerWord;
  std::vector<T> values;
  for (std::size_t bit = 0; bit < kBitsPerWord; ++bit) {
    for (std::size_t word = 0; word < words; ++word) {
      values.push_back(by_words[word * kBitsPerWord + bit]);
    }
  }
  return values;
}

/// Cuts a batch on GPUs into parts of two windows or more, so that some items compute while others wait for memory. A
/// work-group of `slide` has kBitsPerWord items per part.
SlidingPlan plan_for(const ocl::Device& device, SlidingPlan plan, std::size_t columns) {
  if (columns > 0) {
    plan.most_block_words = kTileWords;
    plan.vector_lanes = columns;
    const std::size_t lanes = ocl::round_up(plan.channel_of_lane.size(), kBitsPerWord * columns);
    plan.channel_of_lane.resize(lanes, -1);  // spare lanes fill the last vector
    plan.is_alive.resize(lanes, 0);
    plan.channel_of_lane = by_bits(plan.channel_of_lane);
    plan.is_alive = by_bits(plan.is_alive);
  } else {
    const std::size_t most = std::min(std::bit_floor(device.info().max_work_group_size / kBitsPerWord), kMostSegments);
    plan.segments = std::clamp<std::size_t>(std::bit_floor(plan.batch / 2), 1, most);
  }
  return plan;
}

/// Work-groups that share a block's frequencies: as many as the device can run at a time with those of other words and
/// blocks. Each of them computes the moments of the same words, so that more would only cost time.
std::size_t frequency_tiles(const ocl::Device& device, const SlidingPlan& plan, std::size_t wire_words) {
  const std::size_t frequencies = plan.vectors.size();
  const std::size_t least = quotient_up(frequencies, kMostTileFrequencies);
  const std::size_t groups = wire_words * quotient_up(plan.batch * plan.grid().kept_words, kTileWords);
  const std::size_t room = kGroupsAUnit * device.info().compute_units / groups;
  return quotient_up(frequencies, quotient_up(frequencies, std::clamp(room, least, frequencies)));
}

double radians_per_bit(const FrontEndPlan& plan, double frequency_hz) {
  return 2.0 * std::numbers::pi * frequency_hz / (plan.sample_rate_hz * kBitsPerWord);
}

/// [term][word of a block][q], times the integer scale.
std::vector<std::complex<float>> block_coefficients(const SlidingPlan& plan, int order) {
  std::vector<std::complex<float>> values;
  for (const double radians : plan.term_radians()) {
    const std::vector<std::complex<double>> factors = exponential_coefficients(radians, order);
    for (std::size_t word = 0; word < plan.grid().block_words; ++word) {
      const double turn = -radians * kBitsPerWord * static_cast<double>(word);
      for (const std::complex<double>& factor : factors) {
        values.emplace_back(plan.integer_scale() * factor * std::polar(1.0, turn));
      }
    }
  }
  return values;
}

}  // namespace

SlidingPlan SlidingPopcount::sliding_plan(const FrontEndPlan& plan) {
  const FrontEndSettings& settings = plan.settings;
  SlidingPlan sliding;
  sliding.steps_per_word = kBitsPerWord;
  sliding.window = settings.window;
  sliding.removes_dc = settings.remove_dc;
  sliding.window_words = static_cast<std::size_t>(settings.window_samples);
  sliding.hop_words = static_cast<std::size_t>(settings.hop_samples);
  sliding.batch = static_cast<std::size_t>(plan.batch);
  sliding.channels = static_cast<std::size_t>(plan.geometry.channels());
  sliding.largest_per_word = kBitsPerWord;
  sliding.channel_of_lane = channel_of_wire_bit(plan.layout, plan.geometry);
  const std::vector<std::uint32_t> alive = alive_channels(plan);
  for (const int channel : sliding.channel_of_lane) {
    sliding.is_alive.push_back(channel >= 0 ? alive[static_cast<std::size_t>(channel)] : 0U);
  }
  for (const double frequency_hz : settings.frequencies_hz) {
    const WordExpansion expansion{.vector = analysis_vector(settings.window, sliding.window_words * kBitsPerWord,
                                                            radians_per_bit(plan, frequency_hz), settings.remove_dc),
                                  .window = settings.window,
                                  .words = settings.window_samples,
                                  .order = settings.own.get<PopcountSettings>().order};
    sliding.vectors.push_back(expansion.vector);
    sliding.scales_pa.push_back(full_scale_pa(plan.sensitivity_dbfs) / half_response(expansion));
  }
  return sliding;
}

SlidingPopcount::SlidingPopcount(const ocl::Device& device, const FrontEndPlan& plan)
    : device_(device),
      order_(plan.settings.own.get<PopcountSettings>().order),
      frequencies_hz_(plan.settings.frequencies_hz),
      wire_words_(static_cast<std::size_t>(words_per_bit_time(plan.layout, plan.geometry))),
      vector_columns_(vector_columns(device, wire_words_)),
      grid_(plan_for(device, sliding_plan(plan), vector_columns_).grid()),
      ring_words_(sliding_plan(plan).waiting_hops() * grid_.kept_words),
      rows_(std::min(device.info().max_work_group_size / kBitsPerWord, kMostRows)),
      frequency_tiles_(frequency_tiles(device, sliding_plan(plan), wire_words_)),
      arena_(std::string(kSlidingPopcountStage)),
      sums_(plan_for(device, sliding_plan(plan), vector_columns_), std::string(kSlidingPopcountStage), arena_) {
  const SlidingPlan sliding = plan_for(device, sliding_plan(plan), vector_columns_);
  const int order = plan.settings.own.get<PopcountSettings>().order;
  const std::vector<std::complex<float>> coefficients = block_coefficients(sliding, order);
  arena_.reserve<std::uint32_t>("WIRE", ring_words_ * kBitsPerWord * wire_words_ + vector_columns_);
  arena_.reserve<std::complex<float>>("COEFFICIENTS", coefficients.size());
  arena_.allocate(device);
  sums_.take(device, sliding, arena_);
  wire_ = arena_.part<std::uint32_t>(device, "WIRE");
  coefficients_ = arena_.part<std::complex<float>>(device, "COEFFICIENTS", coefficients);
  ocl::Defines defines = SlidingDft::defines(sliding);
  defines["WIRE_WORDS"] = fmt::format("{}", wire_words_);
  defines["ORDER"] = fmt::format("{}", order);
  defines["ROWS"] = fmt::format("{}", rows_);
  if (vector_columns_ > 0) {
    defines["COLUMNS_A_VECTOR"] = fmt::format("{}", vector_columns_);
    defines["LANE_WORDS"] = fmt::format("{}", ocl::round_up(wire_words_, vector_columns_));
  }
  defines["FREQUENCY_TILE"] = fmt::format("{}", quotient_up(frequencies_hz_.size(), frequency_tiles_));
  defines["CLIP_SUM"] = fmt::format("{}", clip_sum(kClipRunWords));
  defines.merge(arena_.defines());
  const ocl::Program program = device.build(
      kSlidingPopcountStage,
      vector_columns_ > 0 ? "frontend/popcount/sliding_popcount_vector.cl" : "frontend/popcount/sliding_popcount.cl",
      defines);
  sums_.use(program);
  block_sums_ = program.kernel("block_sums");
  block_sums_.set("wire", wire_)
      .set("coefficients", coefficients_)
      .set("steps", sums_.steps())
      .set("is_alive", sums_.is_alive())
      .set("sums", sums_.sums())
      .set("wire_words", static_cast<std::uint32_t>(ring_words_))
      .set("slots", sums_.span().slots());
  new_blocks_ = block_sums_.arguments("first_wire_word", "first_slot", "first_word", "hop_block", "blocks");
  advance_ = program.kernel("advance");
  advance_.set("arena", arena_.whole()).set("wire_words", static_cast<std::uint32_t>(ring_words_));
  advance_buffers_ = advance_.arguments("spectra", "status", "from_b", "wire_word", "first_word");
  advance_move_ = advance_.arguments("leaving_slot", "coming_slot", "coming_block", "coming_word");
  if (vector_columns_ > 0) {
    advance_.set("slots", sums_.span().slots());
    advance_moves_ = advance_.arguments("moves", "from_zero");
  }
}

void SlidingPopcount::enqueue_bits(std::uint64_t first_word, std::span<const std::uint32_t> wire) {
  const std::size_t word_size = kBitsPerWord * wire_words_;
  if (wire.empty() || wire.size() % word_size != 0) {
    throw Error(ExitCode::kInternal, fmt::format("{}: expected whole groups of {} wire words (32 bit-times), found {}",
                                                 kSlidingPopcountStage, word_size, wire.size()));
  }
  if (!has_started_ || first_word != end_word_) {
    origin_word_ = first_word;
    end_word_ = first_word;
    has_started_ = true;
    sums_.restart();
  }
  while (!wire.empty()) {
    const auto place = static_cast<std::size_t>((end_word_ - origin_word_) % grid_.hop_words);
    const std::size_t words = wire.size() / word_size;
    if (place >= grid_.kept_words) {  // words of no window
      const std::size_t skipped = std::min(words, grid_.hop_words - place);
      end_word_ += skipped;
      wire = wire.subspan(skipped * word_size);
      continue;
    }
    const std::size_t most =
        grid_.kept_words < grid_.hop_words ? grid_.kept_words - place : ring_words_ - grid_.kept_words;
    const std::size_t part = std::min(words, most);
    if (waiting_words() + part > ring_words_) {
      enqueue_blocks();  // frees space in the ring of wire words
    }
    enqueue_upload(wire.first(part * word_size));
    wire = wire.subspan(part * word_size);
  }
}

/// Number of words before this one that belong to windows: its position in the ring, modulo the capacity.
std::uint64_t SlidingPopcount::kept_words(std::uint64_t word) const {
  return word / grid_.hop_words * grid_.kept_words + std::min<std::uint64_t>(word % grid_.hop_words, grid_.kept_words);
}

/// Uploads into the ring of wire words, in two pieces where it wraps.
void SlidingPopcount::enqueue_upload(std::span<const std::uint32_t> wire) {
  const std::size_t word_size = kBitsPerWord * wire_words_;
  const auto slot = static_cast<std::size_t>(kept_words(end_word_ - origin_word_) % ring_words_);
  const std::span<const std::uint32_t> head = wire.first(std::min(wire.size(), (ring_words_ - slot) * word_size));
  device_.enqueue_write(wire_, slot * word_size, head, kSlidingPopcountStage);
  if (head.size() < wire.size()) {
    device_.enqueue_write(wire_, 0, wire.subspan(head.size()), kSlidingPopcountStage);
  }
  end_word_ += wire.size() / word_size;
}

ocl::Launch SlidingPopcount::launch(std::size_t blocks) const {
  if (vector_columns_ > 0) {
    return {.global_0 = quotient_up(wire_words_, vector_columns_), .local_0 = 1, .global_2 = blocks, .local_2 = 1};
  }
  const std::size_t group_blocks =
      grid_.kept_words > kTileWords ? 1 : kTileWords / grid_.kept_words * grid_.hop_blocks();
  return {.global_0 = kBitsPerWord * wire_words_,
          .local_0 = kBitsPerWord,
          .global_1 = rows_ * frequency_tiles_,
          .local_1 = rows_,
          .global_2 = quotient_up(blocks, group_blocks),
          .local_2 = 1};
}

std::uint64_t SlidingPopcount::waiting_blocks() const {
  return grid_.whole_blocks(end_word_ - origin_word_) - sums_.span().end();
}

std::uint64_t SlidingPopcount::waiting_words() const {
  return kept_words(end_word_ - origin_word_) - kept_words(grid_.begin(sums_.span().end()));
}

std::uint32_t SlidingPopcount::wire_word_of(std::uint64_t block) const {
  return static_cast<std::uint32_t>(kept_words(grid_.begin(block)) % ring_words_);
}

void SlidingPopcount::enqueue_blocks() {
  const std::uint64_t first = sums_.span().end();
  const std::uint64_t blocks = waiting_blocks();
  if (blocks == 0) {
    return;
  }
  block_sums_.set(new_blocks_, wire_word_of(first), sums_.span().slot_of(first), origin_word_ + grid_.begin(first),
                  static_cast<std::uint32_t>(first % grid_.hop_blocks()), static_cast<std::uint32_t>(blocks));
  block_sums_.enqueue(launch(blocks));
  sums_.append(first, blocks);
}

/// True if one launch sums the new blocks and moves the window: on GPUs with one block that enters and one that leaves;
/// on CPUs with any number, and whole windows.
bool SlidingPopcount::moves_in_one_launch(const WindowMove& move) const {
  const bool is_next = move.newest_block == sums_.span().end() && move.moves <= waiting_blocks();
  return is_next && (vector_columns_ > 0 ? move.moves > 0 : !move.from_zero && move.moves == 1);
}

void SlidingPopcount::enqueue_batch(std::uint64_t first_sample_index, std::size_t windows,
                                    const ocl::Buffer<std::complex<float>>& spectra,
                                    const ocl::Buffer<std::uint32_t>& status) {
  const std::uint64_t ahead = first_sample_index - origin_word_;
  if (!has_started_ || first_sample_index < origin_word_ || ahead % grid_.hop_words != 0) {
    throw Error(ExitCode::kInternal,
                fmt::format("{}: expected a window at a multiple of {} words from word {} on, found one at {}",
                            kSlidingPopcountStage, grid_.hop_words, origin_word_, first_sample_index));
  }
  const std::uint64_t first_block = ahead / grid_.hop_words * grid_.hop_blocks();
  const WindowMove move = sums_.move_to(first_block, windows, waiting_blocks());
  if (windows == 1 && moves_in_one_launch(move)) {
    enqueue_advance(move, first_sample_index, spectra, status);
    sums_.append(move.newest_block, move.moves);
    sums_.moved_to(first_block);
    return;
  }
  enqueue_blocks();
  sums_.enqueue(first_block, first_sample_index, windows, spectra, status);
}

void SlidingPopcount::enqueue_advance(const WindowMove& move, std::uint64_t first_word,
                                      const ocl::Buffer<std::complex<float>>& spectra,
                                      const ocl::Buffer<std::uint32_t>& status) {
  advance_.set(advance_buffers_, spectra, status, sums_.turn_states(1, spectra, status),
               wire_word_of(move.newest_block), first_word);
  advance_.set(advance_move_, move.oldest, move.newest, move.newest_block,
               origin_word_ + grid_.begin(move.newest_block));
  if (vector_columns_ > 0) {
    advance_.set(advance_moves_, move.moves, std::uint32_t{move.from_zero ? 1U : 0U});
  }
  advance_.enqueue(launch(1));
}

std::string SlidingPopcount::description() const {
  return fmt::format("popcount (order {}, incremental, blocks of {} words)", order_, grid_.block_words);
}

}  // namespace nearfield
