#include "pipeline/dealing.hpp"

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <thread>
#include <utility>

namespace nearfield {
namespace {

constexpr std::uint64_t kUsualShare = 64;  ///< a block over the hops computed before it
constexpr std::uint64_t kLeastShare = 16;
constexpr std::size_t kUsualBlockBytes = std::size_t{256} << 20U;
constexpr std::size_t kMostBlockBytes = std::size_t{1} << 30U;
constexpr std::size_t kPieceBytes = std::size_t{4} << 20U;
constexpr std::size_t kFewestPieces = 4;
/// Interval at which the waiting writer polls `stop`.
constexpr std::chrono::milliseconds kPollInterval(20);

constexpr std::size_t in_eights(std::size_t bytes) { return (bytes + 7) / 8 * 8; }

std::uint64_t ceil_of(std::uint64_t count, std::uint64_t step) { return (count + step - 1) / step; }

/// Copies a part's output for one block into pieces.
class BlockSink : public FrameSink {
 public:
  BlockSink(Dealing& dealing, std::size_t part, std::uint64_t block) : dealing_(dealing), part_(part), block_(block) {}
  /// Sets the windows whose spectra are needed: whole ones, from `first_sample` on, at least `every_samples` apart; 0:
  /// none.
  void want_spectra(std::uint64_t first_sample, std::uint64_t every_samples) {
    next_look_ = first_sample;
    look_every_ = every_samples;
  }
  void write(const Frame& frame) override {
    if (has_room()) {
      piece_->add(frame);
    }
  }
  void end_window(std::uint32_t flags) override {
    if (has_room()) {
      piece_->end_window(flags);
      if (piece_->bytes() >= kPieceBytes) {
        finish();
      }
    }
  }
  [[nodiscard]] bool is_due(std::uint64_t first_sample) const override {
    return look_every_ > 0 && first_sample >= next_look_;
  }
  void look(std::uint64_t first_sample, std::span<const std::complex<float>> spectra) override {
    next_look_ = first_sample + look_every_;
    if (has_room()) {
      piece_->add_spectra(first_sample, spectra);
    }
  }
  /// Hands over the current piece.
  void finish() {
    if (piece_) {
      dealing_.hand_over(block_, std::move(piece_));
    }
  }

 private:
  /// False once the run was stopped: later output is dropped.
  bool has_room() {
    if (!piece_) {
      piece_ = dealing_.room(part_);
    }
    return piece_ != nullptr;
  }

  Dealing& dealing_;
  std::size_t part_;
  std::uint64_t block_;
  std::uint64_t next_look_ = 0;
  std::uint64_t look_every_ = 0;
  std::unique_ptr<Piece> piece_;
};

/// Threads of the parts; stopped and joined on every exit of the writing thread.
class PartThreads {
 public:
  explicit PartThreads(Dealing& dealing) : dealing_(dealing) {}
  PartThreads(const PartThreads&) = delete;
  PartThreads& operator=(const PartThreads&) = delete;
  ~PartThreads() { dealing_.stop(); }
  template <class Work>
  void start(std::size_t part, Work work) {
    threads_.emplace_back([part, work = std::move(work)] {
      pthread_setname_np(pthread_self(), ("nf-part-" + std::to_string(part)).c_str());
      work();
    });
  }

 private:
  Dealing& dealing_;
  std::vector<std::jthread> threads_;
};

}  // namespace

DealingSizes dealing_sizes(std::uint64_t hops, std::size_t parts, std::uint64_t hops_before, std::size_t frame_bytes,
                           std::uint64_t batch) {
  const std::uint64_t bytes = std::max<std::uint64_t>(frame_bytes, 1);
  const std::uint64_t least = std::max<std::uint64_t>(kLeastShare * hops_before, 1);
  const std::uint64_t usual = std::max(least, std::min(kUsualShare * hops_before, kUsualBlockBytes / bytes));
  const std::uint64_t most = std::max<std::uint64_t>(kMostBlockBytes / bytes, 1);
  const std::uint64_t rounds = ceil_of(hops, std::min(usual, most) * parts);
  const std::uint64_t even = ceil_of(hops, rounds * parts);
  const std::uint64_t block_hops = ceil_of(std::max(even, std::min(least, most)), batch) * batch;
  const auto block_bytes = static_cast<std::size_t>(std::min(block_hops, hops) * bytes);
  return {.block_hops = block_hops, .bytes_ahead = block_bytes + block_bytes / 2};
}

DealingSizes dealing_sizes(std::uint64_t hops, const std::vector<ReplayPart>& parts) {
  const Engine& engine = *parts.front().engine;
  const Settings& settings = parts.front().recording->plan().settings;
  const std::uint64_t hop = hop_samples_of(*parts.front().recording);
  std::size_t frame_bytes = 0;
  for (std::size_t p = 0; p < engine.processors(); ++p) {
    frame_bytes += places_of(engine.header(p)).bytes / static_cast<std::size_t>(engine.every_hops(p));
  }
  // The bits of a window are fed again at the start of a block, which costs about as many hops as the window has.
  const bool has_windows = parts.front().recording->info().kind != FileKind::kSpectra;
  const std::uint64_t window_hops =
      has_windows ? ceil_of(static_cast<std::uint64_t>(settings.front_end.window_samples), hop) : 1;
  return dealing_sizes(hops, parts.size(), std::max(bounded_memory_hops(engine), window_hops), frame_bytes,
                       static_cast<std::uint64_t>(settings.device.batch));
}

void Piece::add(const Frame& frame) {
  Kept& kept =
      frames_.emplace_back(Kept{.frame = frame, .first_place = places_.size(), .places = frame.products.size()});
  kept.frame.products = {};
  for (const std::span<const std::byte> product : frame.products) {
    places_.push_back({.offset = bytes_.size(), .bytes = product.size()});
    bytes_.insert(bytes_.end(), product.begin(), product.end());
    bytes_.resize(in_eights(bytes_.size()));
  }
}

void Piece::add_spectra(std::uint64_t first_sample, std::span<const std::complex<float>> spectra) {
  looks_.push_back({.first_sample = first_sample, .spectra = {spectra.begin(), spectra.end()}});
}

void Piece::pass_to(FrameSink& sink) const {
  std::vector<std::span<const std::byte>> products;
  std::size_t at = 0;
  const auto write_until = [&](std::size_t end) {
    for (; at < end; ++at) {
      const Kept& kept = frames_[at];
      products.clear();
      for (std::size_t i = 0; i < kept.places; ++i) {
        const Place& place = places_[kept.first_place + i];
        products.push_back(std::span(bytes_).subspan(place.offset, place.bytes));
      }
      Frame frame = kept.frame;
      frame.products = products;
      sink.write(frame);
    }
  };
  for (const Window& window : windows_) {
    write_until(window.frames);
    sink.end_window(window.flags);
  }
  write_until(frames_.size());  // frames of a last window whose computation then failed
  for (const Look& look : looks_) {
    if (sink.is_due(look.first_sample)) {
      sink.look(look.first_sample, look.spectra);
    }
  }
}

void Piece::clear() {
  bytes_.clear();
  places_.clear();
  frames_.clear();
  windows_.clear();
  looks_.clear();
}

Dealing::Dealing(std::uint64_t blocks, std::size_t parts, std::size_t pieces_a_part) : blocks_(blocks), free_(parts) {
  for (std::vector<std::unique_ptr<Piece>>& pieces : free_) {
    while (pieces.size() < pieces_a_part) {
      pieces.push_back(std::make_unique<Piece>(2 * kPieceBytes));
    }
  }
}

std::optional<std::uint64_t> Dealing::take(std::size_t part) {
  const std::lock_guard lock(mutex_);
  if (is_stopped_ || has_failed_ || dealt_ == blocks_.size()) {
    return std::nullopt;
  }
  blocks_[dealt_].part = part;
  return dealt_++;
}

std::unique_ptr<Piece> Dealing::room(std::size_t part) {
  std::unique_lock lock(mutex_);
  std::vector<std::unique_ptr<Piece>>& pieces = free_[part];
  changed_.wait(lock, [&] { return is_stopped_ || !pieces.empty(); });
  if (is_stopped_) {
    return nullptr;
  }
  std::unique_ptr<Piece> piece = std::move(pieces.back());
  pieces.pop_back();
  return piece;
}

void Dealing::hand_over(std::uint64_t block, std::unique_ptr<Piece> piece) {
  {
    const std::lock_guard lock(mutex_);
    blocks_[block].pieces.push_back(std::move(piece));
  }
  changed_.notify_all();
}

void Dealing::end(std::uint64_t block, std::exception_ptr error) {
  {
    const std::lock_guard lock(mutex_);
    blocks_[block].is_ended = true;
    has_failed_ |= error != nullptr;
    blocks_[block].error = std::move(error);
  }
  changed_.notify_all();
}

std::unique_ptr<Piece> Dealing::next(std::uint64_t block, const std::function<bool()>& stop) {
  std::unique_lock lock(mutex_);
  Block& wanted = blocks_[block];
  while (!is_stopped_ && wanted.pieces.empty() && !wanted.is_ended) {
    changed_.wait_for(lock, kPollInterval);
    is_stopped_ = is_stopped_ || (stop && stop());
  }
  if (is_stopped_) {
    return nullptr;
  }
  if (wanted.pieces.empty()) {
    if (wanted.error) {
      std::rethrow_exception(wanted.error);
    }
    return nullptr;
  }
  std::unique_ptr<Piece> piece = std::move(wanted.pieces.front());
  wanted.pieces.pop_front();
  return piece;
}

void Dealing::give_back(std::uint64_t block, std::unique_ptr<Piece> piece) {
  piece->clear();
  {
    const std::lock_guard lock(mutex_);
    free_[blocks_[block].part].push_back(std::move(piece));
  }
  changed_.notify_all();
}

void Dealing::stop() {
  {
    const std::lock_guard lock(mutex_);
    is_stopped_ = true;
  }
  changed_.notify_all();
}

void deal_out(std::vector<ReplayPart>& parts, const DealtFrames& frames, const DealingSizes& sizes, FrameSink& sink,
              const std::function<bool()>& stop) {
  const std::uint64_t hop = hop_samples_of(*parts.front().recording);
  const std::uint64_t look_hops = ceil_of(frames.look_every_samples, hop);
  const std::uint64_t blocks = ceil_of(frames.end - frames.first, sizes.block_hops);
  Dealing dealing(blocks, parts.size(), std::max(ceil_of(sizes.bytes_ahead, kPieceBytes) + 1, kFewestPieces));
  const auto compute = [&](PartReplay& replay, std::size_t part, std::uint64_t block) {
    const std::uint64_t before = block * sizes.block_hops;
    const std::uint64_t begin = frames.first + before;
    BlockSink pieces(dealing, part, block);
    if (look_hops > 0) {  // same windows as with a single part
      pieces.want_spectra((frames.first + ceil_of(before, look_hops) * look_hops) * hop, frames.look_every_samples);
    }
    std::exception_ptr error;
    try {
      const std::uint64_t end = std::min(begin + sizes.block_hops, frames.end);
      replay.compute(
          begin, end, pieces, [&] { return dealing.is_stopped(); }, end == frames.end);
    } catch (...) {
      error = std::current_exception();
    }
    pieces.finish();
    dealing.end(block, error);
  };
  std::deque<PartReplay> replays;  // not movable: members are references
  for (ReplayPart& part : parts) {
    replays.emplace_back(part, *frames.masks, PartReplay::kAnyBatch);
  }
  PartThreads threads(dealing);
  for (std::size_t part = 0; part < parts.size(); ++part) {
    threads.start(part, [&, part] {
      while (const std::optional<std::uint64_t> block = dealing.take(part)) {
        compute(replays[part], part, *block);
      }
    });
  }
  for (std::uint64_t block = 0; block < blocks; ++block) {
    while (std::unique_ptr<Piece> piece = dealing.next(block, stop)) {
      piece->pass_to(sink);
      dealing.give_back(block, std::move(piece));
      if (stop && stop()) {
        dealing.stop();
      }
    }
    if (dealing.is_stopped()) {
      return;
    }
  }
}

}  // namespace nearfield
