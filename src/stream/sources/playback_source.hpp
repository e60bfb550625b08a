#pragma once
#include <memory>
#include <string>

#include "stream/source.hpp"

namespace nearfield {

/// Plays a file, in real time or as fast as the reader takes it, once or in a loop; or a scene in a loop in real time,
/// like a live array. One stream with id 1 from element 0 on; its clock continues over the seam of a loop. Throws
/// ConfigError for a scene with recorded tracks.
std::unique_ptr<Source> make_playback_source(const SourceSettings& settings);

/// Checks a scene that a source renders itself. Throws ConfigError if it has recorded tracks, and what load_scene()
/// throws.
void require_scene_without_tracks(const std::string& path);

}  // namespace nearfield
