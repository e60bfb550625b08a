#pragma once
#include <filesystem>
#include <optional>

#include "capture/files.hpp"
#include "pipeline/replay.hpp"
#include "publish/picture.hpp"

namespace nearfield {

/// Writes every frame to one images file.
class ImagesFileSink : public Sink {
 public:
  explicit ImagesFileSink(std::filesystem::path path) : path_(std::move(path)) {}
  void open(const ImagesHeader& header, std::uint64_t frames) override;
  void write(const ImageFrame& frame, std::uint64_t index) override;
  void finish() override;

 private:
  std::filesystem::path path_;
  std::optional<ImagesWriter> writer_;
};

/// Draws every image of every frame into a folder.
class PictureSink : public Sink {
 public:
  PictureSink(std::filesystem::path directory, const PictureOptions& options)
      : directory_(std::move(directory)), options_(options) {}
  void open(const ImagesHeader& header, std::uint64_t frames) override;
  void write(const ImageFrame& frame, std::uint64_t index) override;
  void finish() override {}

 private:
  std::filesystem::path directory_;
  PictureOptions options_;
  ImagesHeader header_;
};

}  // namespace nearfield
