#pragma once
#include <memory>

#include "stream/source.hpp"

namespace nearfield {

/// A file, in real time or as fast as the reader takes, once or round and round; or a scene, round and round in real
/// time: a live array. One stream with id 1 from element 0 on; its clock goes on over the seam of a loop.
std::unique_ptr<Source> make_playback_source(const SourceSettings& settings);

}  // namespace nearfield
