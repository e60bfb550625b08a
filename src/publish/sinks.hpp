#pragma once
#include <filesystem>
#include <optional>

#include "capture/files.hpp"
#include "nearfield/output.hpp"
#include "publish/picture.hpp"

namespace nearfield {

/// Writes every frame to one images file, or what is chosen of it.
class ImagesFileSink : public Output {
 public:
  enum class Content { kAll, kPointsAlone };
  explicit ImagesFileSink(std::filesystem::path path, Content content = Content::kAll)
      : path_(std::move(path)), content_(content) {}
  void begin(const ResultHeader& header, const Beginning& beginning) override;
  void write(const Frame& frame) override;
  void finish() override;

 private:
  std::filesystem::path path_;
  Content content_;
  ImagesHeader header_;
  std::optional<ImagesWriter> writer_;
};

/// Draws every image of every frame into a folder.
class PictureSink : public Output {
 public:
  PictureSink(std::filesystem::path directory, const PictureOptions& options)
      : directory_(std::move(directory)), options_(options) {}
  void begin(const ResultHeader& header, const Beginning& beginning) override;
  void write(const Frame& frame) override;

 private:
  std::filesystem::path directory_;
  PictureOptions options_;
  ImagesHeader header_;
};

}  // namespace nearfield
