#pragma once
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "engine/microphone_watch.hpp"
#include "nearfield/output.hpp"
#include "pipeline/replay_part.hpp"

namespace nearfield {

/// From the first change on, in order.
using MaskChanges = std::vector<MaskChange>;

/// The same as a schedule of a recording's samples. What lies before the recording holds at its start.
MaskSchedule schedule_of(const MaskChanges& changes, const InputInfo& input);

struct LookHooks {
  std::function<void(std::uint64_t done, std::uint64_t of)> progress;  ///< frames; may be empty
  std::function<bool()> stop;                                          ///< true ends early; may be empty
};

/// What a replay of frames `first` to `end` - 1 masks as its watch finds microphones bad, found without the frames
/// between the windows that it looks at, about 32 a second. The watch has looked at all of them then. Leaves the engine
/// as it was.
MaskChanges find_masks(ReplayPart& part, MicrophoneWatch& watch, std::uint64_t first, std::uint64_t end,
                       const LookHooks& hooks);

/// JSON: {"microphones": 1024, "masks": [{"first_bit_time": 0, "channels": [3, 77]}]}.
std::string to_json(const MaskChanges& changes, int microphones);
/// Throws NoInputError, or DataError where the file is no such JSON, of another array, or not in order.
MaskChanges read_masks(const std::filesystem::path& path, int microphones);

/// Where the masks of a replay come from.
enum class MaskSource {
  kNone,      ///< nothing is masked beside array.dead_channels
  kGiven,     ///< in a file that the user named
  kRecorded,  ///< with the bits
  kFound      ///< by the replay itself
};
std::string_view name_of(MaskSource source);
/// Throws UsageError where masks are given and the settings mask nothing.
MaskSource mask_source(const Recording& recording, bool are_given);

}  // namespace nearfield
