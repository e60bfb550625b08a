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

/// A distributed replay: blocks of consecutive hops go to parts, each on its own thread and device, and one thread
/// writes their frames in order.
namespace nearfield {

/// Partition of a range of frames: blocks of `block_hops`, the last one shorter; a part may be ahead of the writer by
/// `bytes_ahead` of frames.
struct DealingSizes {
  std::uint64_t block_hops = 0;
  std::size_t bytes_ahead = 0;
};

/// Blocks for `hops` frames of `frame_bytes` each, over `parts`. A block is 64 times as long as the hops computed
/// before it, while that is at most 256 MiB of frames, but at least 16 times, or 1 GiB where these are more. All have
/// one length, and their number is a multiple of the parts, so that no part ends before another. The length is a
/// multiple of `batch`, so that launches equal those of an undistributed replay.
DealingSizes dealing_sizes(std::uint64_t hops, std::size_t parts, std::uint64_t hops_before, std::size_t frame_bytes,
                           std::uint64_t batch);
/// dealing_sizes() for these parts, which are alike.
DealingSizes dealing_sizes(std::uint64_t hops, const std::vector<ReplayPart>& parts);

/// Copied output of a part for some windows, to be passed on by another thread.
class Piece {
 public:
  /// Reserves `bytes` for products; it grows when needed.
  explicit Piece(std::size_t bytes) { bytes_.reserve(bytes); }
  void add(const Frame& frame);
  void end_window(std::uint32_t flags) { windows_.push_back({.frames = frames_.size(), .flags = flags}); }
  void add_spectra(std::uint64_t first_sample, std::span<const std::complex<float>> spectra);
  /// Size of the products.
  [[nodiscard]] std::size_t bytes() const { return bytes_.size(); }
  [[nodiscard]] bool is_empty() const { return windows_.empty() && frames_.empty() && looks_.empty(); }
  /// Passes everything on in order; spectra come last.
  void pass_to(FrameSink& sink) const;
  /// Empties the piece but keeps its memory.
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
    std::size_t frames = 0;  ///< index behind its last frame in this piece
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

/// Tracks which blocks are assigned, and the pieces of blocks that are not written yet. `mutex_` guards everything but
/// `is_stopped_`. Each part has its own pieces: those of the block to be written next are always among them or free, so
/// that neither side can deadlock.
class Dealing {
 public:
  Dealing(std::uint64_t blocks, std::size_t parts, std::size_t pieces_a_part);

  // Called on a part's thread: the next block; nothing once all are assigned, one has failed, or the run was stopped.
  std::optional<std::uint64_t> take(std::size_t part);
  /// An empty piece of this part; waits for one. Null once the run was stopped.
  std::unique_ptr<Piece> room(std::size_t part);
  void hand_over(std::uint64_t block, std::unique_ptr<Piece> piece);
  /// Marks the block as complete, or as failed with an error after the pieces that were handed over.
  void end(std::uint64_t block, std::exception_ptr error);
  [[nodiscard]] bool is_stopped() const { return is_stopped_; }

  // Called on the writing thread: the next piece of a block; null once it is complete, or the run was stopped. Waits
  // for it, polling `stop` meanwhile. Rethrows the block's error.
  std::unique_ptr<Piece> next(std::uint64_t block, const std::function<bool()>& stop);
  void give_back(std::uint64_t block, std::unique_ptr<Piece> piece);
  /// May be called on any thread: parts end, between two batches.
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

/// Work to distribute: frames `first` to `end` - 1 of a recording, and spectra of windows for FrameSink::look().
struct DealtFrames {
  std::uint64_t first = 0;
  std::uint64_t end = 0;
  std::uint64_t look_every_samples = 0;  ///< least distance between two such windows; 0: none is needed
  const MaskSchedule* masks = nullptr;   ///< masks in effect; not null
};
/// Computes frames on all parts and passes them to `sink` in order, on the calling thread, which also polls `stop` (may
/// be empty). Rethrows a part's exception once all earlier frames are passed on.
void deal_out(std::vector<ReplayPart>& parts, const DealtFrames& frames, const DealingSizes& sizes, FrameSink& sink,
              const std::function<bool()>& stop);

}  // namespace nearfield
