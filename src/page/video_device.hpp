#pragma once
#include <memory>
#include <string>

#include "page/camera.hpp"

namespace nearfield::page {

/// Opens a camera of Video4Linux (setting daemon.page.camera, such as /dev/video0) that compresses its frames to JPEG
/// itself, at about 1280 x 720. Throws IoError if there is none, if another program has it, or if it has no JPEG.
std::unique_ptr<FrameSource> open_video_device(const std::string& path);

}  // namespace nearfield::page
