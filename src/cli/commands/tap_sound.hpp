#pragma once
#include <nearfield_ring.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "publish/sound/beam_files.hpp"

namespace nearfield::cli {

/// The beams of a ring's frames as sound files, or none.
class TapSound {
 public:
  /// Into this folder; empty: nothing is written. Throws NoInputError where the ring has no beams.
  TapSound(std::string folder, double gain_db, const nf_ring* ring);
  /// The frame that was read last. Throws DataError where the daemon's configuration has changed the beams; the files
  /// are finished then.
  void add(const nf_ring* ring, const nf_frame& frame);
  /// Empty where nothing was written.
  SoundReport finish();

 private:
  std::unique_ptr<BeamFiles> files_;
  std::string folder_;
  std::uint64_t ring_id_ = 0;               ///< whose layout has been looked at
  std::optional<std::uint32_t> stream_id_;  ///< of the frame before
  std::optional<std::uint64_t> epoch_;      ///< likewise
  std::uint64_t changes_ = 0;               ///< of the epoch
  std::uint64_t frames_with_losses_ = 0;
};

}  // namespace nearfield::cli
