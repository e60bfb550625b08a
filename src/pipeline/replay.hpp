#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "nearfield/output.hpp"
#include "nearfield/settings.hpp"
#include "pipeline/engine.hpp"

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
  FrameRange frames;
  std::function<void(const std::string&)> warn;                        ///< may be empty
  std::function<void(const std::string&)> inform;                      ///< choices that the program made; may be empty
  std::function<void(std::uint64_t done, std::uint64_t of)> progress;  ///< may be empty
  std::function<bool()> stop;                                          ///< true ends the run early; may be empty
};

struct ReplayResult {
  std::uint64_t frames = 0;        ///< written
  std::uint64_t frames_asked = 0;  ///< more than `frames` when stopped early: the outputs were not finished then
  std::uint32_t flags = 0;         ///< of any frame
  std::vector<std::string> bad_microphones;  ///< that were found, one sentence each
  ResultHeader header;                       ///< of the first processor
};

/// Images a recording (bits, time data or spectra, recognised by content) and passes every frame to every output.
/// Throws what the readers, the plan and the outputs throw, and DataError when more than a tenth of the microphones of
/// a frame are not finite.
ReplayResult replay(const ReplayOptions& options, const std::vector<std::unique_ptr<Output>>& outputs);

}  // namespace nearfield
