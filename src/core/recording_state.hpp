#pragma once
#include <array>
#include <cstddef>
#include <string_view>

namespace nearfield {

enum class RecordingState {
  kIdle,       ///< stores nothing
  kArmed,      ///< keeps the history, waits for a trigger
  kRecording,  ///< writes
  kEnded,      ///< like kIdle, after a recording; the recorder's status gives the reason
  kFailed      ///< like kEnded, after a failure; in metrics alone
};
constexpr std::string_view name_of(RecordingState state) {
  return std::to_array<std::string_view>(
      {"idle", "armed", "recording", "ended", "failed"})[static_cast<std::size_t>(state)];
}

}  // namespace nearfield
