#pragma once
#include <cstdint>
#include <functional>

#include "recording/recorder.hpp"
#include "stream/ingest_ring.hpp"

namespace nearfield::daemon {

/// Writes the bits that the ring holds into a separate recording, while the stream continues: oldest first, and as fast
/// as the recorder's queue takes them. The oldest `kSpareFraction` of a full ring is left out, so that the writer of
/// the ring need not wait. Bits that are overwritten meanwhile become a gap of the recording, caused by the daemon.
/// `begin` passes the headers of the running epoch to the recorder. Waits until the file is complete. Throws
/// NoInputError if the ring holds no taken elements, and IoError if no file could be made; a later failure of the
/// recording is in the status.
RecorderStatus freeze_ring(IngestRing& ring, RecorderOptions options, const std::function<void(Recorder&)>& begin);

inline constexpr std::uint64_t kSpareFraction = 16;

}  // namespace nearfield::daemon
