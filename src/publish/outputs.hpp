#pragma once
#include <filesystem>
#include <map>
#include <memory>
#include <vector>

#include "files/results_file.hpp"
#include "nearfield/output.hpp"
#include "publish/pictures/picture_scale.hpp"

namespace nearfield {

/// Writes every frame of every processor to one images file, or what is chosen of it.
class ImagesFileOutput : public Output {
 public:
  /// kPointsAlone leaves out what the first processor has over the axes y and x.
  enum class Content { kAll, kPointsAlone };
  explicit ImagesFileOutput(std::filesystem::path path, Content content = Content::kAll)
      : path_(std::move(path)), content_(content) {}
  void begin(const ResultHeader& header, const Beginning& beginning) override;
  void write(const Frame& frame) override;
  void finish() override;

 private:
  std::filesystem::path path_;
  Content content_;
  std::vector<std::size_t> kept_;  ///< indices of the first processor's products
  std::unique_ptr<ResultsWriter> writer_;
};

/// Draws every array of every frame of every processor into a folder; figures and tables are not drawn.
class PictureOutput : public Output {
 public:
  PictureOutput(std::filesystem::path directory, const ScaleChoice& choice)
      : directory_(std::move(directory)), scale_(choice) {}
  void begin(const ResultHeader& header, const Beginning& beginning) override;
  void write(const Frame& frame) override;
  /// Pictures so far.
  [[nodiscard]] std::size_t written() const { return written_; }

 private:
  std::filesystem::path directory_;
  PictureScale scale_;
  std::size_t written_ = 0;
  std::map<std::size_t, ResultHeader> headers_;  ///< by Frame::processor
};

}  // namespace nearfield
