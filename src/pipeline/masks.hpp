#pragma once
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/frame.hpp"
#include "engine/microphone_watch.hpp"
#include "pipeline/replay_part.hpp"

namespace nearfield {

/// In order, from the first change on.
using MaskChanges = std::vector<MaskChange>;

/// Converts them to a schedule of a recording's samples. Changes before the recording take effect at its start.
MaskSchedule schedule_of(const MaskChanges& changes, const InputInfo& input);

struct LookHooks {
  std::function<void(std::uint64_t done, std::uint64_t of)> progress;  ///< frames; may be empty
  std::function<bool()> stop;                                          ///< returns true to end early; may be empty
};

/// Finds the masks for a replay of frames `first` to `end` - 1, as its watch finds microphones bad, computing only the
/// windows that the watch examines, about 32 a second. Afterwards the watch has seen all of them; the engine is left as
/// it was.
MaskChanges find_masks(ReplayPart& part, MicrophoneWatch& watch, std::uint64_t first, std::uint64_t end,
                       const LookHooks& hooks);

/// JSON: {"microphones": 1024, "masks": [{"first_bit_time": 0, "channels": [3, 77]}]}.
std::string to_json(const MaskChanges& changes, int microphones);
/// Throws NoInputError, or DataError where the file is no such JSON, is for another array, or is not in order.
MaskChanges read_masks(const std::filesystem::path& path, int microphones);

/// Source of a replay's masks.
enum class MaskSource {
  kNone,      ///< only array.dead_channels are masked
  kGiven,     ///< a file that the user named
  kRecorded,  ///< recorded with the bits
  kFound      ///< found by the replay itself
};
std::string_view name_of(MaskSource source);
/// Throws UsageError where masks are given but the settings disable masking.
MaskSource mask_source(const Recording& recording, bool are_given);

}  // namespace nearfield
