#include "publish/sinks.hpp"

#include <fmt/format.h>

#include "nearfield/error.hpp"

namespace nearfield {

void ImagesFileSink::begin(const ResultHeader& header, const Beginning& beginning) {
  header_ = images_header_of(header).value();
  ImagesHeader held = header_;
  held.holds_images = content_ == Content::kAll;
  if (!held.holds_images && held.points.empty()) {
    throw ConfigError("holography.points: expected at least one point for a file of points alone, found none");
  }
  writer_.emplace(path_, held, beginning.frames);
}

void ImagesFileSink::write(const Frame& frame) { writer_->write(image_frame_of(header_, frame)); }

void ImagesFileSink::finish() { writer_->finish(); }

void PictureSink::begin(const ResultHeader& header, const Beginning& /*beginning*/) {
  std::error_code error;
  std::filesystem::create_directories(directory_, error);
  if (error) {
    throw IoError(fmt::format("{}: can't make the folder for pictures: {}", directory_.string(), error.message()));
  }
  header_ = images_header_of(header).value();
}

void PictureSink::write(const Frame& frame) {
  write_frame_pictures(directory_, header_, image_frame_of(header_, frame), frame.sequence, options_);
}

}  // namespace nearfield
