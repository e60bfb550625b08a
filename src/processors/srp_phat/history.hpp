#pragma once
#include <optional>
#include <span>

#include "processors/srp_phat/significance.hpp"
#include "processors/srp_phat/sources.hpp"
#include "processors/srp_phat/tracks.hpp"

namespace nearfield {

/// Makes the tables of sources of successive frames, on the host. There are tracks if the settings want them and
/// windows have times, which spectra do not have.
class SrpHistory {
 public:
  explicit SrpHistory(const SrpPlan& plan) : plan_(plan), significance_(plan_) {
    if (plan_.settings.tracks.enabled && plan_.hop_s > 0.0) {
      tracks_.emplace(plan_);
    }
  }
  /// Adds the next frame, or a window without a stamp, treated as the next frame; `table` has the size of
  /// sources_product().
  void add(const SrpWindow& window, const std::optional<FrameStamp>& given, std::span<std::byte> table) {
    const auto every = static_cast<std::uint64_t>(plan_.every_hops);
    const FrameStamp stamp = given.value_or(FrameStamp{.sequence = last_ + every});
    const std::uint64_t passed = has_last_ && stamp.sequence > last_ ? stamp.sequence - last_ : every;
    std::vector<SrpSource> sources = sources_of(plan_, significance_, window);
    for (SrpSource& source : sources) {
      source.first_bit_time = stamp.first_bit_time;
    }
    write_sources(plan_, tracks_ ? tracks_->add(sources, static_cast<double>(passed) * plan_.hop_s) : sources, table);
    last_ = stamp.sequence;
    has_last_ = true;
  }
  /// Starts a stream.
  void forget() {
    has_last_ = false;
    if (tracks_) {
      tracks_->forget();
    }
  }

 private:
  SrpPlan plan_;
  SrpSignificance significance_;
  std::optional<SrpTracks> tracks_;
  std::uint64_t last_ = 0;  ///< sequence of the previous frame
  bool has_last_ = false;
};

}  // namespace nearfield
