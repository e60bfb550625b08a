#include "publish/outputs.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.hpp"
#include "publish/pictures/array_picture.hpp"

namespace nearfield {
namespace {

bool has_axis(const Product& product, std::string_view name) {
  return std::find(product.axes.begin(), product.axes.end(), name) != product.axes.end();
}

/// Indices of the products that are not over the axes y and x.
std::vector<std::size_t> without_surface(const ResultHeader& header) {
  std::vector<std::size_t> kept;
  bool has_points = false;
  for (std::size_t i = 0; i < header.products.size(); ++i) {
    const Product& product = header.products[i];
    if (!has_axis(product, "y") || !has_axis(product, "x")) {
      kept.push_back(i);
      has_points = has_points || has_axis(product, "point");
    }
  }
  if (!has_points) {
    throw ConfigError("holography.points: expected at least one point for a file of points alone, found none");
  }
  return kept;
}

/// Header without unused axes, but always with y and x, which readers of images need.
ResultHeader header_of(const ResultHeader& header, const std::vector<std::size_t>& kept) {
  ResultHeader result = header;
  result.products.clear();
  for (const std::size_t index : kept) {
    result.products.push_back(header.products[index]);
  }
  const auto is_unused = [&](const Axis& axis) {
    const auto has_it = [&](const Product& product) { return has_axis(product, axis.name); };
    return axis.name != "y" && axis.name != "x" && std::none_of(result.products.begin(), result.products.end(), has_it);
  };
  result.axes.erase(std::remove_if(result.axes.begin(), result.axes.end(), is_unused), result.axes.end());
  return result;
}

}  // namespace

void ImagesFileOutput::begin(const ResultHeader& header, const Beginning& beginning) {
  const bool is_chosen = content_ == Content::kPointsAlone && beginning.processor == 0;
  if (is_chosen) {
    kept_ = without_surface(header);
  }
  if (writer_ == nullptr) {
    writer_ = std::make_unique<ResultsWriter>(path_);
  }
  writer_->begin(is_chosen ? header_of(header, kept_) : header, beginning);
}

void ImagesFileOutput::write(const Frame& frame) {
  if (content_ == Content::kAll || frame.processor != 0) {
    writer_->write(frame);
    return;
  }
  std::vector<std::span<const std::byte>> products;
  for (const std::size_t index : kept_) {
    products.push_back(frame.products[index]);
  }
  Frame chosen = frame;
  chosen.products = products;
  writer_->write(chosen);
}

void ImagesFileOutput::mask(const MaskChange& change) {
  if (writer_ != nullptr) {
    writer_->mask(change);
  }
}

void ImagesFileOutput::finish() { writer_->finish(); }

void ImagesFileOutput::finish_plan() {
  if (writer_ != nullptr) {
    writer_->finish_plan();
  }
}

void make_picture_folder(const std::filesystem::path& directory) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error) {
    throw IoError(fmt::format("{}: can't make the folder for pictures: {}", directory.string(), error.message()));
  }
}

void PictureOutput::begin(const ResultHeader& header, const Beginning& beginning) {
  make_picture_folder(directory_);
  headers_[beginning.processor] = header;
}

void PictureOutput::write(const Frame& frame) {
  written_ += write_result_pictures(directory_, headers_.at(frame.processor), frame, scale_);
}

void PictureOutput::look_at(const Frame& frame) { hold_result_maxima(headers_.at(frame.processor), frame, scale_); }

std::size_t draw_results(const std::filesystem::path& directory, const ResultsReader& reader, const DrawnFrames& frames,
                         const ScaleChoice& choice, const std::function<void(double share)>& progress) {
  PictureOutput output(directory, choice);
  const auto for_frames = [&](const auto& use) {
    for (std::size_t processor = 0; processor < reader.processors(); ++processor) {
      const std::uint64_t end = std::min(frames.end, reader.frames(processor));
      for (std::uint64_t frame = frames.first; frame < end; ++frame) {
        ResultFrame read = reader.read(processor, frame);
        read.frame.processor = processor;
        use(read.frame, (static_cast<double>(processor) +
                         static_cast<double>(frame + 1 - frames.first) / static_cast<double>(end - frames.first)) /
                            static_cast<double>(reader.processors()));
      }
    }
  };
  for (std::size_t processor = 0; processor < reader.processors(); ++processor) {
    output.begin(reader.header(processor), {.processor = processor, .frames = reader.frames(processor)});
  }
  if (choice.is_common) {
    for_frames([&](const Frame& frame, double) { output.look_at(frame); });
  }
  for_frames([&](const Frame& frame, double share) {
    output.write(frame);
    progress(share);
  });
  return output.written();
}

}  // namespace nearfield
