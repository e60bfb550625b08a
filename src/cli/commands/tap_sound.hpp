#pragma once
#include <nearfield_ring.h>

#include <memory>
#include <string>
#include <vector>

#include "publish/sound/beam_files.hpp"

namespace nearfield::cli {

/// The beams of a ring's frames as sound files, or none.
class TapSound {
 public:
  /// Into this folder; empty: nothing is written. Throws NoInputError where the ring has no beams.
  TapSound(std::string folder, double gain_db, const nf_ring* ring);
  /// The frame that was read last. Throws DataError where the daemon's configuration has changed the beams.
  void add(const nf_ring* ring, const nf_frame& frame);
  /// Empty where nothing was written.
  SoundReport finish();

 private:
  std::unique_ptr<BeamFiles> files_;
  std::string folder_;
  std::uint64_t ring_id_ = 0;  ///< whose layout has been looked at
  std::uint64_t frames_with_losses_ = 0;
};

}  // namespace nearfield::cli
