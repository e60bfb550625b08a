#include "publish/sinks.hpp"

#include <fmt/format.h>

#include "nearfield/error.hpp"

namespace nearfield {

void ImagesFileSink::open(const ImagesHeader& header, std::uint64_t frames) {
  ImagesHeader held = header;
  held.holds_images = content_ == Content::kAll;
  if (!held.holds_images && held.points.empty()) {
    throw ConfigError("holography.points: expected at least one point for a file of points alone, found none");
  }
  writer_.emplace(path_, held, frames);
}

void ImagesFileSink::write(const ImageFrame& frame, std::uint64_t /*index*/) { writer_->write(frame); }

void ImagesFileSink::finish() { writer_->finish(); }

void PictureSink::open(const ImagesHeader& header, std::uint64_t /*frames*/) {
  std::error_code error;
  std::filesystem::create_directories(directory_, error);
  if (error) {
    throw IoError(fmt::format("{}: can't make the folder for pictures: {}", directory_.string(), error.message()));
  }
  header_ = header;
}

void PictureSink::write(const ImageFrame& frame, std::uint64_t index) {
  write_frame_pictures(directory_, header_, frame, index, options_);
}

}  // namespace nearfield
