#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "core/frame.hpp"
#include "publish/pictures/map_marks.hpp"
#include "publish/pictures/picture.hpp"
#include "publish/pictures/value_scale.hpp"

/// Pictures of any processor's arrays, by their axes alone.
namespace nearfield {

/// All pictures of a product that is an array with at least one axis: an index of each axis except the last two, which
/// are drawn; the last index varies fastest.
std::vector<Selection> pictures_of(const ResultHeader& header, std::size_t product);

/// Placement of the parts of such a picture, in pixels from its top left.
struct ArrayLayout {
  int width = 0;
  int height = 0;  ///< without the lines of notes at the bottom
  Area panel;
  Area bar;
};
ArrayLayout array_layout(const ResultHeader& header, const Product& product, const PictureOptions& options);

/// "frame00012_far_level_z+0.000m_0500.0Hz.png": the frame, the processor, the product, and the value of each axis
/// that is not drawn.
std::string array_picture_name(const ResultHeader& header, const Selection& subject, std::uint64_t frame_index);

/// Values of such a picture, [down][across]; magnitudes of complex values. Throws DataError if the frame does not match
/// the header.
std::vector<double> map_values(const ResultHeader& header, const Frame& frame, const Selection& subject);

/// Draws one picture: the last axis across, the one before it down, index 0 at the top; cells of uniform colour, for
/// complex values by magnitude, on the scale of scaled_values(), and over them the circles. Cells are square if both
/// axes have one unit. Throws like write_picture().
void write_array_picture(const std::filesystem::path& path, const ResultHeader& header, const Frame& frame,
                         const Selection& subject, const PictureOptions& options,
                         const std::vector<Circle>& circles = {});

/// Holds the maxima of all pictures that write_result_pictures() would draw of a frame, without drawing: if called for
/// each frame first, it makes a map's scale that of all its frames.
void hold_result_maxima(const ResultHeader& header, const Frame& frame, PictureScale& scale);

/// Writes all pictures of a frame into `directory`: images by write_picture(), other arrays by write_array_picture(),
/// with circles on the sources that the same processor found; figures and tables are not drawn. The first processor's
/// images have the name picture_name(); those of further processors contain also their names. Returns the number of
/// pictures.
std::size_t write_result_pictures(const std::filesystem::path& directory, const ResultHeader& header,
                                  const Frame& frame, PictureScale& scale);

}  // namespace nearfield
