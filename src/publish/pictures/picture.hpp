#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "core/frame.hpp"

/// Pictures of images: magnitude and phase as PNG.
namespace nearfield {

struct PictureOptions {
  bool decibels = false;    ///< magnitude as a level relative to the scale's top
  double floor_db = -40.0;  ///< level of the darkest colour
  std::optional<double>
      fixed_maximum;  ///< top of the magnitude's scale, in the image's unit; default: the picture's own maximum
  /// Bottom of the scale of an array with negative values, in the product's unit; default: the picture's own least
  /// value.
  std::optional<double> fixed_minimum = {};
  int width = 1200;  ///< largest width in pixels, unless there are more columns
};

/// A rectangle of whole pixels.
struct Area {
  int x = 0;
  int y = 0;
  int width = 0;
  int height = 0;
};

/// Placement of a picture's parts, in pixels from its top left.
struct PictureLayout {
  int width = 0;
  int height = 0;  ///< without the lines of notes at the bottom
  Area magnitude;
  Area phase;
  Area magnitude_bar;
  Area phase_bar;
};

/// Magnitude left and phase right, or magnitude above phase if images are at least twice as wide as high. Cells have a
/// whole number of pixels in the direction of the smaller pitch; the aspect ratio is that of the array. Points of a
/// surface are adjacent stripes, over their numbers from 0. Throws DataError if the header's pixel positions are not
/// evenly spaced and ascending.
PictureLayout picture_layout(const ResultHeader& header, const PictureOptions& options);

/// True if images are of single points of a surface, one row whose x is the distance along them, which begins with 0.
bool shows_points_of_surface(const ResultHeader& header);

/// "frame00012_z+0.000m_1007.1Hz_pressure.png". Frequencies get leading zeros, and both get as many decimals as needed
/// to make names of one run differ and sort by frame, plane and frequency.
std::string picture_name(const ResultHeader& header, const Selection& image, std::uint64_t frame_index);

/// Draws one image of a frame, the selected plane and frequency of the header's images: magnitude and phase, or for an
/// intensity, which is real, the signed values and their level; axes in metres (y pointing down, row 0 on top; points
/// of a surface only have their numbers), colour bars with units, frequency, plane, time and flags. Phases below 1 % of
/// the image's maximum are grey, pixels that are not finite hatched. Throws IoError if the file cannot be written (and
/// leaves none), DataError if the frame does not match the header, ConfigError on options out of range.
void write_picture(const std::filesystem::path& path, const ResultHeader& header, const Frame& frame,
                   const Selection& image, const PictureOptions& options);

}  // namespace nearfield
