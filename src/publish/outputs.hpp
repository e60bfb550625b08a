#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <vector>

#include "core/frame.hpp"
#include "files/results_file.hpp"
#include "publish/pictures/value_scale.hpp"

namespace nearfield {

/// Writes every frame of every processor to one images file, or a selection.
class ImagesFileOutput : public Output {
 public:
  /// kPointsAlone leaves out the first processor's products over the axes y and x.
  enum class Content { kAll, kPointsAlone };
  explicit ImagesFileOutput(std::filesystem::path path, Content content = Content::kAll)
      : path_(std::move(path)), content_(content) {}
  void begin(const ResultHeader& header, const Beginning& beginning) override;
  void write(const Frame& frame) override;
  void mask(const MaskChange& change) override;
  void finish() override;
  /// Replaces finish(): the file has room for the frames, and none of them.
  void finish_plan();

 private:
  std::filesystem::path path_;
  Content content_;
  std::vector<std::size_t> kept_;  ///< indices of the first processor's products
  std::unique_ptr<ResultsWriter> writer_;
};

/// Makes the folder if it is missing. Throws IoError.
void make_picture_folder(const std::filesystem::path& directory);

/// Draws every array of every frame of every processor into a folder; figures and tables are not drawn.
class PictureOutput : public Output {
 public:
  PictureOutput(std::filesystem::path directory, const ScaleChoice& choice)
      : directory_(std::move(directory)), scale_(choice) {}
  void begin(const ResultHeader& header, const Beginning& beginning) override;
  void write(const Frame& frame) override;
  /// Holds the maxima of a frame that is drawn later, for a common scale.
  void look_at(const Frame& frame);
  /// Number of pictures so far.
  [[nodiscard]] std::size_t written() const { return written_; }

 private:
  std::filesystem::path directory_;
  PictureScale scale_;
  std::size_t written_ = 0;
  std::map<std::size_t, ResultHeader> headers_;  ///< by Frame::processor
};

/// Frames of each processor to be drawn: from `first` to before `end`, if they exist.
struct DrawnFrames {
  std::uint64_t first = 0;
  std::uint64_t end = std::numeric_limits<std::uint64_t>::max();
};
/// Draws frames of an images file, with a common scale if chosen; `progress` is called with the completed share.
/// Returns the number of pictures.
std::size_t draw_results(const std::filesystem::path& directory, const ResultsReader& reader, const DrawnFrames& frames,
                         const ScaleChoice& choice, const std::function<void(double share)>& progress);

}  // namespace nearfield
