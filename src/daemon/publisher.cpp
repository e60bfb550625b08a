#include "daemon/publisher.hpp"

namespace nearfield::daemon {

void Publisher::begin_epoch(const ImagesHeader& header, std::uint64_t epoch) {
  // Controllers last: the recorder may refuse the epoch, and then their ring must not have ended.
  for (LiveSink* const sink : {sinks_.recorder, sinks_.dashboards, sinks_.controllers}) {
    if (sink != nullptr) {
      sink->begin_epoch(header, epoch);
    }
  }
}

void Publisher::publish_to_controllers(const LiveFrame& frame) {
  if (sinks_.controllers != nullptr) {
    sinks_.controllers->write(frame);
  }
}

void Publisher::publish_to_others(const LiveFrame& frame, const Pauses& pauses) {
  if (sinks_.recorder != nullptr) {
    if (pauses.recordings) {
      ++recording_frames_;
    } else {
      sinks_.recorder->write(frame);
    }
  }
  if (sinks_.dashboards != nullptr) {
    if (pauses.dashboards) {
      ++dashboard_frames_;
    } else {
      sinks_.dashboards->write(frame);
    }
  }
}

void Publisher::record(const BitsPiece& piece, const Pauses& pauses) {
  if (sinks_.recorder_bits == nullptr) {
    return;
  }
  if (!pauses.recordings || piece.cause != GapCause::kNotSent) {
    sinks_.recorder_bits->push(piece);
    return;
  }
  BitsPiece gap = piece;
  gap.words = {};
  gap.missing = {};
  gap.cause = GapCause::kPaused;
  sinks_.recorder_bits->push(gap);
}

}  // namespace nearfield::daemon
