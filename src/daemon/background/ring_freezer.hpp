#pragma once
#include <cstdint>
#include <functional>

#include "recording/recorder.hpp"
#include "stream/ingest_ring.hpp"

namespace nearfield::daemon {

/// Writes the bits that the ring holds into a recording of its own, while the stream goes on: oldest first, and as fast
/// as the recorder's queue takes them. The oldest `kSpareFraction` of a full ring is left out, so that the writer of
/// the ring has none to wait for. What is overwritten meanwhile is a gap of the recording, caused by the daemon.
/// `begin` passes the headers of the running epoch to the recorder. Waits until the file is complete. Throws
/// NoInputError where the ring holds nothing that was taken, and IoError where no file could be made; what ends the
/// recording later is in the status.
RecorderStatus freeze_ring(IngestRing& ring, RecorderOptions options, const std::function<void(Recorder&)>& begin);

inline constexpr std::uint64_t kSpareFraction = 16;

}  // namespace nearfield::daemon
