#pragma once
#include <atomic>
#include <complex>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "pipeline/replay_part.hpp"

/// A replay that is dealt out: blocks of consecutive hops go to parts, each on a thread and a device of its own, and
/// one thread writes their frames in their order.
namespace nearfield {

/// How a range of frames is cut: blocks of `block_hops`, the last one shorter; a part may be ahead of what is written
/// by `bytes_ahead` of frames.
struct DealingSizes {
  std::uint64_t block_hops = 0;
  std::size_t bytes_ahead = 0;
};

/// Blocks for `hops` frames of `frame_bytes` each, over `parts`: 64 times what is computed before a block, as long as
/// that is no more than 256 MiB of frames, 16 times at least, or 1 GiB where these are more; all of one length and as
/// many as are a multiple of the parts, so that no part ends before another. A multiple of `batch`, so that launches
/// are those of a replay that is not dealt out.
DealingSizes dealing_sizes(std::uint64_t hops, std::size_t parts, std::uint64_t hops_before, std::size_t frame_bytes,
                           std::uint64_t batch);
/// The same for these parts, which are alike.
DealingSizes dealing_sizes(std::uint64_t hops, const std::vector<ReplayPart>& parts);

/// What a part made of some windows, copied, to be passed on by another thread.
class Piece {
 public:
  /// With room for so many bytes of products; more takes more.
  explicit Piece(std::size_t bytes) { bytes_.reserve(bytes); }
  void add(const Frame& frame);
  void end_window(std::uint32_t flags) { windows_.push_back({.frames = frames_.size(), .flags = flags}); }
  void add_spectra(std::uint64_t first_sample, std::span<const std::complex<float>> spectra);
  /// Of the products.
  [[nodiscard]] std::size_t bytes() const { return bytes_.size(); }
  [[nodiscard]] bool is_empty() const { return windows_.empty() && frames_.empty() && looks_.empty(); }
  /// Everything in its order; spectra come last.
  void pass_to(FrameSink& sink) const;
  /// Keeps its memory.
  void clear();

 private:
  struct Place {
    std::size_t offset = 0;
    std::size_t bytes = 0;
  };
  struct Kept {
    Frame frame;  ///< without products
    std::size_t first_place = 0;
    std::size_t places = 0;
  };
  struct Window {
    std::size_t frames = 0;  ///< up to its end, of this piece
    std::uint32_t flags = 0;
  };
  struct Look {
    std::uint64_t first_sample = 0;
    std::vector<std::complex<float>> spectra;
  };
  std::vector<std::byte> bytes_;
  std::vector<Place> places_;
  std::vector<Kept> frames_;
  std::vector<Window> windows_;
  std::vector<Look> looks_;
};

/// Which blocks are dealt, and the pieces of those that are not written yet. `mutex_` guards everything but
/// `is_stopped_`. A part has pieces of its own: those of the block that is written next are always among them or free,
/// so that neither side waits for ever.
class Dealing {
 public:
  Dealing(std::uint64_t blocks, std::size_t parts, std::size_t pieces_a_part);

  // On a part's thread:
  /// The next block; nothing once all are dealt, one has failed, or the run was stopped.
  std::optional<std::uint64_t> take(std::size_t part);
  /// An empty piece of this part; waits for one. Null once the run was stopped.
  std::unique_ptr<Piece> room(std::size_t part);
  void hand_over(std::uint64_t block, std::unique_ptr<Piece> piece);
  /// The block is whole, or failed with an error after the pieces that were handed over.
  void end(std::uint64_t block, std::exception_ptr error);
  [[nodiscard]] bool is_stopped() const { return is_stopped_; }

  // On the thread that writes:
  /// The next piece of a block; null once it is whole, or the run was stopped. Waits for it, and meanwhile asks `stop`
  /// from time to time. Throws what the block failed with.
  std::unique_ptr<Piece> next(std::uint64_t block, const std::function<bool()>& stop);
  void give_back(std::uint64_t block, std::unique_ptr<Piece> piece);
  /// Any thread: parts end, between two batches.
  void stop();

 private:
  struct Block {
    std::size_t part = 0;
    std::deque<std::unique_ptr<Piece>> pieces;
    bool is_ended = false;
    std::exception_ptr error;
  };
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Block> blocks_;
  std::uint64_t dealt_ = 0;
  bool has_failed_ = false;
  std::vector<std::vector<std::unique_ptr<Piece>>> free_;  ///< [part]
  std::atomic<bool> is_stopped_ = false;
};

/// What is dealt out: frames `first` to `end` - 1 of a recording, and spectra of windows for FrameSink::look().
struct DealtFrames {
  std::uint64_t first = 0;
  std::uint64_t end = 0;
  std::uint64_t look_every_samples = 0;  ///< from one of these windows to the next, at least; 0: none is wanted
  const MaskSchedule* masks = nullptr;   ///< that hold; not null
};
/// Computes frames on all parts and passes them to `sink` in their order, on the calling thread. `stop`, which may be
/// empty, is asked there too. What a part throws is thrown here, once all frames before are passed on.
void deal_out(std::vector<ReplayPart>& parts, const DealtFrames& frames, const DealingSizes& sizes, FrameSink& sink,
              const std::function<bool()>& stop);

}  // namespace nearfield
