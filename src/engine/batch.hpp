#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "imaging/shared/imager.hpp"

namespace nearfield {

/// Windows to compute together, a hop apart.
struct WindowRange {
  std::uint64_t first_sample = 0;  ///< first sample of the first window
  std::size_t windows = 1;
  /// Hop number of the first window; none: its first sample divided by the hop, and given spectra continue.
  std::optional<std::uint64_t> first_hop = {};
  /// [window] bit-times that never arrived; empty: all windows are whole.
  std::vector<std::uint64_t> missing_bits = {};
};

/// Status of a computed window, without its products.
struct WindowStatus {
  /// Flags of the run's front end and of the first prompt processor of all its microphones.
  std::uint32_t flags = 0;
  int non_finite_microphones = 0;
  std::uint64_t missing_bits = 0;  ///< bit-times that never arrived, as in WindowRange
};

/// State of a batch, which all copies of its Batch share.
struct BatchState {
  /// Windows of a front end.
  struct Tap {
    std::size_t absent = 0;   ///< leading windows that would begin before the stream's origin
    std::size_t present = 0;  ///< the others
    bool is_enqueued = false;
    std::optional<std::size_t> taker;    ///< the processor that reads the status back; none: the tap does
    std::vector<WindowStatus> statuses;  ///< [window], without the absent ones
  };
  std::uint64_t number = 0;  ///< each batch of an engine has another one
  std::size_t place = 0;     ///< place of its results on the host
  bool is_late = false;
  bool is_finished = false;
  std::uint64_t first_sample = 0;
  FrameHops hops;
  std::uint64_t computed_from = 0;  ///< all hops from this one to the batch's last were computed
  std::uint64_t searched_from = 0;  ///< since this hop, before the batch, findings were those of the whole stream
  std::vector<Tap> taps;            ///< [tap]
  std::vector<std::vector<std::uint32_t>> memory_flags;  ///< [processor][window]; empty: not begun with this batch
  std::vector<WindowStatus> statuses;                    ///< [window] of the run's
};

/// Windows that an engine was asked to compute: Engine::begin(), begin_late(). Copies name the same batch.
class Batch {
 public:
  Batch() = default;
  explicit Batch(std::shared_ptr<const BatchState> state) : state_(std::move(state)) {}
  [[nodiscard]] const BatchState& state() const { return *state_; }
  [[nodiscard]] std::size_t windows() const { return state_->statuses.size(); }
  [[nodiscard]] std::uint64_t first_sample() const { return state_->first_sample; }
  /// Hop number of the first window.
  [[nodiscard]] std::uint64_t first_hop() const { return state_->hops.first; }
  [[nodiscard]] bool operator==(const Batch& other) const { return state_ == other.state_; }
  explicit operator bool() const { return state_ != nullptr; }

 private:
  std::shared_ptr<const BatchState> state_;
};

/// A batch for which the host has waited: Engine::finish(). Its statuses stay as they are; its products and spectra can
/// be read until their memory is taken by a later batch, and then Engine::read() refuses them.
class FinishedBatch : public Batch {
 public:
  using Batch::Batch;
  /// [window]
  [[nodiscard]] std::span<const WindowStatus> statuses() const { return state().statuses; }
};

}  // namespace nearfield
