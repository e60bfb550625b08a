#pragma once
#include <nearfield_ring.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "publish/sound/beam_files.hpp"

namespace nearfield::cli {

/// Writes the beams of a ring's frames as sound files, or nothing.
class TapSound {
 public:
  /// Writes into this folder; empty: no files. Throws NoInputError if the ring has no beams.
  TapSound(std::string folder, double gain_db, const nf_ring* ring);
  /// Adds the frame that was read last. Throws DataError if the daemon's configuration has changed the beams; the files
  /// are finished then.
  void add(const nf_ring* ring, const nf_frame& frame);
  /// Empty if nothing was written.
  SoundReport finish();

 private:
  std::unique_ptr<BeamFiles> files_;
  std::string folder_;
  std::uint64_t ring_id_ = 0;               ///< ring whose layout has been checked
  std::optional<std::uint32_t> stream_id_;  ///< stream of the previous frame
  std::optional<std::uint64_t> epoch_;      ///< epoch of the previous frame
  std::uint64_t changes_ = 0;               ///< changes of the epoch
  std::uint64_t frames_with_losses_ = 0;
};

}  // namespace nearfield::cli
