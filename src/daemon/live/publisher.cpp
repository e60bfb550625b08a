#include "daemon/live/publisher.hpp"

#include <algorithm>

namespace nearfield::daemon {

void Publisher::set(Priority priority, Output* output) {
  output_of(priority) = output;
  if (output != nullptr && mask_) {
    output->mask(*mask_);
  }
}

void Publisher::mask(const MaskChange& change) {
  mask_ = change;
  for (Output* const output : outputs_) {
    if (output != nullptr) {
      output->mask(change);
    }
  }
}

void Publisher::begin(const Engine& engine, std::uint64_t epoch) {
  // Controllers last: a recorder may refuse the epoch, and their ring must not have ended then.
  std::for_each(outputs_.rbegin(), outputs_.rend(), [&](Output* output) {
    for (std::size_t p = 0; output != nullptr && p < engine.processors(); ++p) {
      output->begin(engine.header(p), {.processor = p, .epoch = epoch});
    }
  });
}

void Publisher::publish_to_controllers(const Frame& frame) {
  if (Output* const output = output_of(Priority::kController); output != nullptr) {
    output->write(frame);
  }
}

void Publisher::publish_to_others(const Frame& frame, const Pauses& pauses) {
  write(Priority::kRecorder, frame, pauses.recordings, recording_frames_);
  write(Priority::kDashboard, frame, pauses.dashboards, dashboard_frames_);
}

void Publisher::write(Priority priority, const Frame& frame, bool is_paused,
                      std::atomic<std::uint64_t>& paused_frames) {
  Output* const output = output_of(priority);
  if (output == nullptr) {
    return;
  }
  if (is_paused) {
    ++paused_frames;
  } else {
    output->write(frame);
  }
}

}  // namespace nearfield::daemon
