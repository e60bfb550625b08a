#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/engine.hpp"
#include "nearfield/microphone_use.hpp"
#include "nearfield/output.hpp"
#include "nearfield/settings.hpp"
#include "pipeline/masks.hpp"
#include "pipeline/replay_part.hpp"

namespace nearfield {

/// Frames [first, end) of a recording; without an end, all that there are.
struct FrameRange {
  std::uint64_t first = 0;
  std::optional<std::uint64_t> end;
};

/// Parses "A:B" or "N" (the first N). Throws UsageError.
FrameRange parse_frame_range(const std::string& text);

struct ReplayOptions {
  std::filesystem::path input;
  Settings settings;
  EngineKind engine = EngineKind::kOpencl;
  /// Devices that blocks of frames are dealt out to, as choose_devices() has them; empty: the one of the settings.
  std::vector<DeviceSettings> devices;
  /// Whether frames that are dealt out may depend on all frames before: then averages, tracks and searches start from
  /// nothing in each block.
  bool is_unbounded_allowed = false;
  /// What is masked and from when on, as read_masks() reads it; empty: as the recording says, else as it is found.
  std::filesystem::path masks_file;
  std::uint64_t block_hops = 0;  ///< length of a block, a multiple of the batch; 0: as dealing_sizes() says
  FrameRange frames;
  std::function<void(const std::string&)> warn;                        ///< may be empty
  std::function<void(const std::string&)> inform;                      ///< choices that the program made; may be empty
  std::function<void(std::uint64_t done, std::uint64_t of)> progress;  ///< may be empty
  std::function<bool()> stop;                                          ///< true ends the run early; may be empty
  bool is_plan = false;  ///< the outputs begin, and no frame is computed; they are not finished
};

/// Which frames of a range a processor has: `count` of them, from frame `first` of the recording on, `every` apart.
struct FramesOfProcessor {
  std::uint64_t first = 0;
  std::uint64_t every = 1;
  std::uint64_t count = 0;
};

struct ReplayResult {
  std::uint64_t frames = 0;        ///< written
  std::uint64_t frames_asked = 0;  ///< more than `frames` when stopped early: the outputs were not finished then
  std::uint32_t flags = 0;         ///< of any frame
  std::vector<std::string> bad_microphones;  ///< that were found, one sentence each
  MicrophoneUse microphones;                 ///< of the first processor's frames
  ResultHeader header;                       ///< of the first processor
  std::vector<ResultHeader> headers;         ///< of all processors
  std::vector<FramesOfProcessor> places;     ///< [processor], of the range that was asked for
  MaskSource masks = MaskSource::kNone;      ///< where they came from
};

/// Images a recording (bits, time data or spectra, recognised by content) and passes every frame to every output, on
/// the calling thread. Throws what the readers, the plan and the outputs throw, DataError when more than a tenth of the
/// microphones of a frame are not finite, and UsageError where frames that are dealt out would not be those of one
/// device.
ReplayResult replay(const ReplayOptions& options, const std::vector<std::unique_ptr<Output>>& outputs);

/// What a replay with these options masks, and from when on: what its recording says, else what it finds, without the
/// frames in between. `masks_file` and `devices` do not count.
struct MasksOfReplay {
  MaskChanges changes;
  int microphones = 0;
  bool is_whole = true;                      ///< not stopped early
  std::vector<std::string> bad_microphones;  ///< that were found, one sentence each
};
MasksOfReplay masks_of(const ReplayOptions& options);

/// The same of parts that are open, at least one, with equal recordings and settings. Of the options `input` counts for
/// messages alone, and `settings`, `engine` and `devices` do not count.
ReplayResult replay(std::vector<ReplayPart> parts, const ReplayOptions& options,
                    const std::vector<std::unique_ptr<Output>>& outputs);

}  // namespace nearfield
