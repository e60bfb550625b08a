#pragma once
#include <array>
#include <complex>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "cl/device.hpp"
#include "cl/memory.hpp"
#include "core/settings.hpp"
#include "frontend/common/analysis.hpp"
#include "frontend/common/bit_ring.hpp"

namespace nearfield {

constexpr std::size_t quotient_up(std::size_t value, std::size_t step) { return (value + step - 1) / step; }

/// Grid of blocks on a stream, such that each window is a whole number of blocks. Windows begin at multiples of the hop
/// and end `lead_words` after one, so each hop is cut there: first the blocks of its lead, then those of its rest, each
/// in pieces of `block_words` words and one that may be shorter. If a hop is longer than the window, the words that
/// belong to no window belong to no block.
struct BlockGrid {
  std::size_t hop_words = 1;
  std::size_t window_words = 1;
  std::size_t lead_words = 0;   ///< words that a window has beyond its whole hops
  std::size_t kept_words = 1;   ///< words of a hop that belong to windows
  std::size_t block_words = 1;  ///< words of the longest block

  /// Blocks longer than `most_block_words` are cut into pieces.
  BlockGrid(std::size_t window_words, std::size_t hop_words, std::size_t most_block_words);
  [[nodiscard]] std::size_t lead_blocks() const;
  [[nodiscard]] std::size_t hop_blocks() const;
  [[nodiscard]] std::size_t window_blocks() const;
  /// First word of a block, counted from the first word of a hop, for the blocks 0 to hop_blocks() - 1 of a hop.
  [[nodiscard]] std::size_t begin_in_hop(std::size_t block) const;
  /// First word of a block of the stream, counted from the first word of the stream's first window.
  [[nodiscard]] std::uint64_t begin(std::uint64_t block) const;
  /// Blocks that end within the first `words` words of the stream.
  [[nodiscard]] std::uint64_t whole_blocks(std::uint64_t words) const;
};

/// Plan of a sliding DFT. Blocks and windows are counted in words; a word is 32 bits, or one sample.
struct SlidingPlan {
  std::vector<AnalysisVector> vectors;          ///< one per frequency; a step is 1 / steps_per_word of a word
  std::vector<std::complex<double>> scales_pa;  ///< one per frequency: factor of the vectors' results
  int steps_per_word = 1;
  WindowKind window = WindowKind::kHann;
  bool removes_dc = true;
  std::size_t window_words = 0;
  std::size_t hop_words = 0;
  std::size_t batch = 1;     ///< windows computed together
  std::size_t segments = 1;  ///< parts of a batch that work-items compute in parallel
  /// Lanes that an item updates as one vector, by `slide_vectors` of the program; 0: one lane per item, by `slide`.
  std::size_t vector_lanes = 0;
  std::size_t most_block_words = std::numeric_limits<std::size_t>::max();  ///< longest block that the kernels support
  std::size_t channels = 0;
  std::vector<std::int32_t> channel_of_lane;  ///< -1 for a spare lane
  std::vector<std::uint32_t> is_alive;        ///< [lane], 0 where clipping does not count
  std::size_t clip_run_words = 8;             ///< shortest run of words in which clipping is detected
  double largest_per_word = 1.0;              ///< bound of |sum| that one word adds to a term

  [[nodiscard]] BlockGrid grid() const { return {window_words, hop_words, most_block_words}; }
  /// Hops of words or samples that may be pending: those with which windows of one batch begin or end, and one more.
  [[nodiscard]] std::size_t waiting_hops() const;
  /// Capacity of the ring in blocks: two windows, or one and a batch, or what may be pending.
  [[nodiscard]] std::size_t ring_blocks() const;
  [[nodiscard]] std::uint64_t ring_bytes() const;
  [[nodiscard]] std::size_t terms() const;
  /// Radians per step of each term: each frequency's, below, above; then the offset's.
  [[nodiscard]] std::vector<double> term_radians() const;
  /// The factor that makes a block's sum an integer such that a window's sum fits into 31 bits.
  [[nodiscard]] double integer_scale() const;
};

/// True if a sliding DFT costs less than the sum of each whole window and the device has memory for its ring:
/// `at_any_hop`, or if windows overlap by three quarters.
bool is_worth_sliding(const SlidingPlan& plan, const ocl::DeviceInfo& device, bool at_any_hop = false);

/// The update from one window to the next: `moves` blocks leave from slot `oldest` on, as many enter from `newest` on.
/// With `from_zero` none leaves, and the whole window enters.
struct WindowMove {
  std::uint32_t oldest = 0;
  std::uint32_t newest = 0;
  std::uint32_t moves = 0;
  bool from_zero = false;
  std::uint64_t newest_block = 0;
};

/// Spectra of a window that moves on block by block: each block is summed once, into integers; an update adds the
/// blocks that enter and subtracts those that leave. Formulas: kernels/frontend/common/sliding_dft.cl.
class SlidingDft {
 public:
  /// Reserves its arrays in `arena`: SUMS, STATE_A, STATE_B, STEPS, WEIGHTS, CHANNEL_OF, IS_ALIVE.
  SlidingDft(const SlidingPlan& plan, std::string stage, ocl::Arena& arena);
  /// Takes its arrays from the arena, once that is allocated, and fills them. Must be called once, before use().
  void take(const ocl::Device& device, const SlidingPlan& plan, const ocl::Arena& arena);

  /// Constants of a program that needs frontend/common/sliding_dft.cl; those of the kernel that sums the blocks are
  /// added.
  [[nodiscard]] static ocl::Defines defines(const SlidingPlan& plan);
  /// Must be called once, with such a program.
  void use(const ocl::Program& program);
  /// For a kernel that does append() and enqueue() in one launch: checks the outputs' sizes and swaps the two states.
  /// The kernel must be enqueued next and once, with state_in 0: from STATE_A to STATE_B, or 1: the other way.
  std::uint32_t turn_states(std::size_t windows, const ocl::Buffer<std::complex<float>>& spectra,
                            const ocl::Buffer<std::uint32_t>& status);

  /// Drops all blocks and the window's sums: the next block begins a new stream.
  void restart();
  /// Counts blocks that a kernel, already enqueued, writes from the slot of `first_block` on.
  void append(std::uint64_t first_block, std::size_t blocks) { span_.append(first_block, blocks); }
  /// Update from the last window to the window that starts with `first_block`. Throws Error unless that window and the
  /// `windows - 1` after it lie within the blocks so far and `coming` more.
  [[nodiscard]] WindowMove move_to(std::uint64_t first_block, std::size_t windows, std::uint64_t coming) const;
  /// Records the first block of the window whose sum the state now holds.
  void moved_to(std::uint64_t first_block) { summed_from_ = first_block; }
  /// Computes `windows` windows, a hop apart; the first starts with `first_block`. `first_word` counts as the blocks'
  /// kernel does. spectra [window][frequency][channel], status [window][kStatusWords].
  void enqueue(std::uint64_t first_block, std::uint64_t first_word, std::size_t windows,
               const ocl::Buffer<std::complex<float>>& spectra, const ocl::Buffer<std::uint32_t>& status);

  [[nodiscard]] const RingSpan& span() const { return span_; }
  [[nodiscard]] const ocl::Buffer<cl_int2>& sums() const { return sums_; }
  [[nodiscard]] const ocl::Buffer<std::uint64_t>& steps() const { return steps_; }
  [[nodiscard]] const ocl::Buffer<std::uint32_t>& is_alive() const { return is_alive_; }
  [[nodiscard]] std::size_t lanes() const { return lanes_; }

 private:
  std::string stage_;
  std::size_t lanes_;
  std::size_t channels_;
  std::size_t frequencies_;
  std::size_t window_blocks_;
  std::size_t hop_blocks_;
  RingSpan span_;                               ///< in blocks
  std::optional<std::uint64_t> summed_from_;    ///< first block of the window whose sum the state holds
  ocl::Buffer<cl_int2> sums_;                   ///< [slot][term][lane]
  std::array<ocl::Buffer<cl_int2>, 2> states_;  ///< [term][lane], before and after a move, alternating
  std::size_t state_in_ = 0;
  ocl::Buffer<std::uint64_t> steps_;          ///< [term]
  ocl::Buffer<std::complex<float>> weights_;  ///< [frequency][3]
  ocl::Buffer<std::int32_t> channel_of_;      ///< [lane]
  ocl::Buffer<std::uint32_t> is_alive_;       ///< [lane]
  std::size_t segments_;
  std::size_t vector_lanes_;
  ocl::Kernel slide_;
  ocl::Arguments<4> slide_buffers_;
  ocl::Arguments<5> slide_move_;
  ocl::Arguments<2> slide_windows_;
};

}  // namespace nearfield
