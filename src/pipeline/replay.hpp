#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/frame.hpp"
#include "core/microphones.hpp"
#include "core/settings.hpp"
#include "engine/engine.hpp"
#include "pipeline/masks.hpp"
#include "pipeline/replay_part.hpp"

namespace nearfield {

/// Frames [first, end) of a recording; without an end, all of them.
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
  /// Devices that share the blocks of frames, as from choose_devices(); empty: the one of the settings.
  std::vector<DeviceSettings> devices;
  /// True allows distributed frames to depend on all earlier frames: averages, tracks and searches then start afresh in
  /// each block.
  bool is_unbounded_allowed = false;
  /// File of masks and their times, as for read_masks(); empty: from the recording, else found by the replay.
  std::filesystem::path masks_file;
  std::uint64_t block_hops = 0;  ///< block length, a multiple of the batch; 0: from dealing_sizes()
  FrameRange frames;
  std::function<void(const std::string&)> warn;                        ///< may be empty
  std::function<void(const std::string&)> inform;                      ///< reports the program's choices; may be empty
  std::function<void(std::uint64_t done, std::uint64_t of)> progress;  ///< may be empty
  std::function<bool()> stop;                                          ///< true ends the run early; may be empty
  bool is_plan = false;  ///< only begins the outputs: computes no frame and does not finish them
};

/// Frames of a processor in a range: `count` of them, from frame `first` of the recording on, `every` apart.
struct FramesOfProcessor {
  std::uint64_t first = 0;
  std::uint64_t every = 1;
  std::uint64_t count = 0;
};

struct ReplayResult {
  std::uint64_t frames = 0;        ///< number of frames written
  std::uint64_t frames_asked = 0;  ///< more than `frames` when stopped early; the outputs were then not finished
  std::uint32_t flags = 0;         ///< flags of all frames, combined
  std::vector<std::string> bad_microphones;  ///< bad microphones found, one sentence each
  MicrophoneUse microphones;                 ///< use by the first processor's frames
  ResultHeader header;                       ///< header of the first processor
  std::vector<ResultHeader> headers;         ///< headers of all processors
  std::vector<FramesOfProcessor> places;     ///< [processor], in the requested range
  MaskSource masks = MaskSource::kNone;      ///< source of the masks
};

/// Images a recording (bits, time data or spectra, recognised by content) and passes every frame to every output, on
/// the calling thread. Throws whatever the readers, the plan and the outputs throw, DataError when more than a tenth of
/// the microphones of a frame are not finite, and UsageError where distributed frames would differ from those of one
/// device.
ReplayResult replay(const ReplayOptions& options, const std::vector<std::unique_ptr<Output>>& outputs);

/// Masks of a replay with these options, and their times: from its recording, else found by computing only the windows
/// needed for that. `masks_file` and `devices` are ignored.
struct MasksOfReplay {
  MaskChanges changes;
  int microphones = 0;
  bool is_whole = true;                      ///< not stopped early
  std::vector<std::string> bad_microphones;  ///< bad microphones found, one sentence each
};
MasksOfReplay masks_of(const ReplayOptions& options);

/// Replays already opened parts, at least one, with equal recordings and settings. Of the options `input` is used for
/// messages only, and `settings`, `engine` and `devices` are ignored.
ReplayResult replay(std::vector<ReplayPart> parts, const ReplayOptions& options,
                    const std::vector<std::unique_ptr<Output>>& outputs);

}  // namespace nearfield
