#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "core/colours.hpp"
#include "files/results_file.hpp"
#include "publish/pictures/picture.hpp"
#include "publish/pictures/picture_scale.hpp"

/// Pictures of an images file that combine several frames or several processors.
namespace nearfield {

/// Seconds from the first frame of a processor to each; their indices if the frames have no times.
struct FrameTimes {
  std::vector<double> values;  ///< [frame]
  bool are_indices = false;

  [[nodiscard]] std::string title() const { return are_indices ? "frame" : "time [s]"; }
};
FrameTimes frame_times(const ResultsReader& reader, std::size_t processor);

/// Placement of the panels of a picture of tracks: x and y, or azimuth and elevation, and z if it varies.
struct TracksLayout {
  int width = 0;
  int height = 0;
  std::vector<Area> panels;
};
TracksLayout tracks_layout(std::size_t panels);
/// The value axis of a panel: the map's axis of that name, extended by half a step, else the range of the found
/// sources.
struct TrackPanel {
  std::string title;
  double low = 0.0;
  double high = 0.0;
};
std::vector<TrackPanel> track_panels(const ResultsReader& reader, std::size_t processor);
/// Colour of an id: consecutive ids differ by the golden angle in hue.
Rgb8 track_colour(std::uint32_t id);
inline constexpr Rgb8 kCandidateColour = {190, 190, 190};

/// "tracks_where.png": position over time of all rows of the table `sources`, coloured by id, candidates grey, as
/// squares of 5 x 5 pixels. Draws nothing and returns false if the processor has no such table.
bool write_tracks_picture(const std::filesystem::path& directory, const ResultsReader& reader, std::size_t processor);

/// Data of a picture of bearings: at most `kMostBearingRows` rows of time, each with the largest values of its frames.
struct Bearings {
  ResultHeader header;  ///< one product over the axes time (or frame) and the bearing
  ResultFrame frame;
};
inline constexpr std::size_t kMostBearingRows = 600;
/// The largest values over all axes of a product except the bearing's and those of `indices`, the axes of `chosen`.
Bearings bearings_of(const ResultsReader& reader, std::size_t processor, std::size_t product,
                     const std::string& bearing, const std::vector<std::string>& chosen,
                     const std::vector<std::size_t>& indices);

/// "bearings_far_map_azimuth_frequency1000.0Hz.png": for each array over angle, azimuth or elevation, its values over
/// time, the largest over the other angle and over distances, a picture for each entry of further axes; none for a
/// single frame. Scales like those of pictures of frames, a held maximum being that of all. Returns the number of
/// pictures.
std::size_t write_bearing_pictures(const std::filesystem::path& directory, const ResultsReader& reader,
                                   std::size_t processor, const ScaleChoice& choice);

/// Contours of one map over the colours of another.
struct Overlay {
  std::string upper;  ///< contours: "PROCESSOR.PRODUCT", or a processor for its map, its images or its first array
  std::string lower;  ///< colours, likewise
};
/// Parses "UPPER:LOWER". Throws UsageError.
Overlay parse_overlay(const std::string& text);

/// Draws "frame00003_where_over_far_map_....png" for each frame of the lower map, with the upper one's frame nearest in
/// time, and circles on the sources that either has found. Contours are at a quarter, a half and three quarters of the
/// upper map's scale. Both must be over the same two axes (names and units), with any steps; entries of another common
/// axis are combined if they are nearest. Throws UsageError if there is no such map or the axes differ, and if nothing
/// of the upper map is within the lower one. Returns the number of pictures.
std::size_t write_overlays(const std::filesystem::path& directory, const ResultsReader& reader, const Overlay& overlay,
                           std::uint64_t first_frame, std::uint64_t end_frame, const ScaleChoice& choice);

/// Draws tracks and bearings of all processors; returns the number of pictures.
std::size_t write_overviews(const std::filesystem::path& directory, const ResultsReader& reader,
                            const ScaleChoice& choice);

}  // namespace nearfield
