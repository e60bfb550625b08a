#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "nearfield/frame.hpp"

/// Pictures of images: magnitude and phase as PNG.
namespace nearfield {

struct PictureOptions {
  bool decibels = false;    ///< magnitude as a level re the scale's top
  double floor_db = -40.0;  ///< the level that gets the darkest colour
  std::optional<double>
      fixed_maximum;  ///< top of the magnitude's scale, in the image's unit; else the picture's own maximum
  /// Bottom of the scale of an array with negative values, in the product's unit; else the least of the picture's own.
  std::optional<double> fixed_minimum = {};
  int width = 1200;  ///< at most that many pixels, unless there are more columns than fit
};

/// Which image of a frame.
struct PictureSubject {
  std::uint64_t frame_index = 0;
  std::size_t plane = 0;
  std::size_t frequency = 0;
};

/// A rectangle of whole pixels.
struct Area {
  int x = 0;
  int y = 0;
  int width = 0;
  int height = 0;
};

/// Where things lie in a picture, in pixels from its top left.
struct PictureLayout {
  int width = 0;
  int height = 0;  ///< without the lines of notes below
  Area magnitude;
  Area phase;
  Area magnitude_bar;
  Area phase_bar;
};

/// Magnitude left and phase right, or magnitude above phase where images are at least twice as wide as high. Cells have
/// a whole number of pixels in the direction that has the smaller pitch; the aspect ratio is that of the array. Points
/// of a surface are stripes side by side, over their numbers from 0. Throws DataError when the header's pixel positions
/// are not evenly spaced and rising.
PictureLayout picture_layout(const ImagesHeader& header, const PictureOptions& options);

/// Whether images are of single points of a surface, one row whose x_m is the way along them, which begins with 0.
bool shows_points_of_surface(const ImagesHeader& header);

/// "frame00012_z+0.000m_1007.1Hz_pressure.png". Frequencies get leading zeros, and both get as many decimals as it
/// takes, so that names of one run differ and sort by frame, plane and frequency.
std::string picture_name(const ImagesHeader& header, const PictureSubject& subject);

/// Draws one image of a frame: magnitude and phase, of an intensity, which is real, the values with their signs and
/// their level; axes in metres (y pointing down, row 0 on top; none of points of a surface but their numbers), colour
/// bars with units, frequency, plane, time and flags. Phases below 1 % of the image's maximum are grey, pixels that are
/// not finite hatched. Throws IoError when the file cannot be written (nothing is left of it then), DataError when the
/// frame does not hold what the header says, ConfigError on options out of range.
void write_picture(const std::filesystem::path& path, const ImagesHeader& header, const ImageFrame& frame,
                   const PictureSubject& subject, const PictureOptions& options);

/// Writes one picture per plane and frequency into `directory`, which is made when it does not exist. Errors as above.
void write_frame_pictures(const std::filesystem::path& directory, const ImagesHeader& header, const ImageFrame& frame,
                          std::uint64_t frame_index, const PictureOptions& options);

}  // namespace nearfield
