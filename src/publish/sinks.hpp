#pragma once
#include <filesystem>
#include <optional>

#include "capture/files.hpp"
#include "pipeline/replay.hpp"
#include "publish/picture.hpp"

namespace nearfield {

/// Writes every frame to one images file, or what is chosen of it.
class ImagesFileSink : public Sink {
 public:
  enum class Content { kAll, kPointsAlone };
  explicit ImagesFileSink(std::filesystem::path path, Content content = Content::kAll)
      : path_(std::move(path)), content_(content) {}
  void open(const ImagesHeader& header, std::uint64_t frames) override;
  void write(const ImageFrame& frame, std::uint64_t index) override;
  void finish() override;

 private:
  std::filesystem::path path_;
  Content content_;
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
