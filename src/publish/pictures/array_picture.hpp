#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "nearfield/frame.hpp"
#include "publish/pictures/map_marks.hpp"
#include "publish/pictures/picture.hpp"
#include "publish/pictures/picture_scale.hpp"

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

/// What such a picture shows, [down][across]; of complex values the magnitudes. Throws DataError where the frame does
/// not hold what the header says.
std::vector<double> map_values(const ResultHeader& header, const Frame& frame, const ArraySubject& subject);

/// Draws one picture: the last axis across, the one before it down, index 0 at the top; cells of plain colour, of
/// complex values the magnitude, on the scale of scaled_values(), and over them the marks. Cells are square where both
/// axes have one unit. Errors as those of write_picture().
void write_array_picture(const std::filesystem::path& path, const ResultHeader& header, const Frame& frame,
                         const ArraySubject& subject, const PictureOptions& options, const MapMarks& marks = {});

/// Holds the maxima of all that write_result_pictures() would draw of a frame, without drawing: called for each frame
/// before, it makes the scale of a map that of all its frames.
void hold_result_maxima(const ResultHeader& header, const Frame& frame, PictureScale& scale);

/// Writes all pictures of a frame into `directory`: images as write_picture() draws them, the other arrays as
/// write_array_picture(), with circles on the sources that the same processor found; figures and tables are not drawn.
/// The first processor's images have the name picture_name(), further processors' also their names. Returns how many.
std::size_t write_result_pictures(const std::filesystem::path& directory, const ResultHeader& header,
                                  const Frame& frame, PictureScale& scale);

}  // namespace nearfield
