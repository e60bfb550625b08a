#pragma once
#include <memory>
#include <string>

#include "stream/source.hpp"

namespace nearfield {

/// A file, in real time or as fast as the reader takes, once or round and round; or a scene, round and round in real
/// time: a live array. One stream with id 1 from element 0 on; its clock goes on over the seam of a loop.
/// Throws ConfigError for a scene with recorded tracks.
std::unique_ptr<Source> make_playback_source(const SourceSettings& settings);

/// The scene that a source is to render itself. Throws ConfigError when it has recorded tracks, and what load_scene()
/// throws.
void require_scene_without_tracks(const std::string& path);

}  // namespace nearfield
