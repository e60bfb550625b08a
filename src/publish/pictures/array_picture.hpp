#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "nearfield/frame.hpp"
#include "publish/pictures/picture.hpp"

/// Pictures of any processor's arrays, by their axes alone.
namespace nearfield {

/// Which picture of a frame: a product that is an array with at least one axis, and an index of each axis but the last
/// two, which are drawn.
struct ArraySubject {
  std::size_t product = 0;
  std::vector<std::size_t> indices = {};
};
/// All pictures of a product, the last index fastest.
std::vector<ArraySubject> array_subjects(const ResultHeader& header, std::size_t product);

/// Where things lie in such a picture, in pixels from its top left.
struct ArrayLayout {
  int width = 0;
  int height = 0;  ///< without the lines of notes below
  Area panel;
  Area bar;
};
ArrayLayout array_layout(const ResultHeader& header, const Product& product, const PictureOptions& options);

/// "frame00012_row_power_beam_z+0.000m_0500.0Hz.png": the frame, the processor, the product, and the value of each axis
/// that is not drawn.
std::string array_picture_name(const ResultHeader& header, const ArraySubject& subject, std::uint64_t frame_index);

/// Draws one picture: the last axis across, the one before it down, index 0 at the top; cells of plain colour, of
/// complex values the magnitude. The scale begins at 0, at the least value where there are negative ones. Errors as
/// those of write_picture().
void write_array_picture(const std::filesystem::path& path, const ResultHeader& header, const Frame& frame,
                         const ArraySubject& subject, const PictureOptions& options);

/// Writes all pictures of a frame into `directory`: images as write_picture() draws them, the other arrays as
/// write_array_picture(); figures and tables are not drawn. The first processor's images have the name
/// picture_name(), further processors' also their names.
void write_result_pictures(const std::filesystem::path& directory, const ResultHeader& header, const Frame& frame,
                           const PictureOptions& options);

}  // namespace nearfield
