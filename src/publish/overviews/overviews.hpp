#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "core/colours.hpp"
#include "files/results_file.hpp"
#include "publish/pictures/picture.hpp"
#include "publish/pictures/picture_scale.hpp"

/// Pictures of an images file that more than one frame, or more than one processor, goes into.
namespace nearfield {

/// Seconds from the first frame of a processor to each; their indices where the frames have no times.
struct FrameTimes {
  std::vector<double> values;  ///< [frame]
  bool are_indices = false;

  [[nodiscard]] std::string title() const { return are_indices ? "frame" : "time [s]"; }
};
FrameTimes frame_times(const ResultsReader& reader, std::size_t processor);

/// Where the panels of a picture of tracks lie: of x and y, or azimuth and elevation, and of z where it varies.
struct TracksLayout {
  int width = 0;
  int height = 0;
  std::vector<Area> panels;
};
TracksLayout tracks_layout(std::size_t panels);
/// The value axis of a panel: the map's axis of that name, half a step beyond its ends, else the range of what was
/// found.
struct TrackPanel {
  std::string title;
  double low = 0.0;
  double high = 0.0;
};
std::vector<TrackPanel> track_panels(const ResultsReader& reader, std::size_t processor);
/// The colour of an id: neighbouring ids differ by the golden angle in hue.
Rgb8 track_colour(std::uint32_t id);
inline constexpr Rgb8 kCandidateColour = {190, 190, 190};

/// "tracks_where.png": place against time of all rows of the table `sources`, coloured by id, candidates grey. A square
/// of 5 x 5 pixels each. Draws nothing and returns false where the processor has no such table.
bool write_tracks_picture(const std::filesystem::path& directory, const ResultsReader& reader, std::size_t processor);

/// What a picture of bearings shows: at most `kMostBearingRows` rows of time, each the largest values of its frames.
struct Bearings {
  ResultHeader header;  ///< one product over the axes time (or frame) and the bearing
  ResultFrame frame;
};
inline constexpr std::size_t kMostBearingRows = 600;
/// The largest values over all axes of a product but the bearing's and those of `indices`, the axes of `chosen`.
Bearings bearings_of(const ResultsReader& reader, std::size_t processor, std::size_t product,
                     const std::string& bearing, const std::vector<std::string>& chosen,
                     const std::vector<std::size_t>& indices);

/// "bearings_far_map_azimuth_frequency1000.0Hz.png": of each array over angle, azimuth or elevation, its values against
/// time, the largest over the other angle and over distances, a picture for each entry of further axes; none of a
/// single frame. Scales as of pictures of frames, a held maximum being that of all. Returns how many were drawn.
std::size_t write_bearing_pictures(const std::filesystem::path& directory, const ResultsReader& reader,
                                   std::size_t processor, const ScaleChoice& choice);

/// Contours of one map over the colours of another.
struct Overlay {
  std::string
      upper;  ///< a processor, or "PROCESSOR.PRODUCT": the contours; else its map, its images or its first array
  std::string lower;  ///< likewise: the colours
};
/// Parses "UPPER:LOWER". Throws UsageError.
Overlay parse_overlay(const std::string& text);

/// "frame00003_where_over_far_map_....png" for each frame of the lower map, with the upper one's frame that is nearest
/// in time, and circles on the sources that either has found. Contours lie at a quarter, a half and three quarters of
/// the upper map's scale. Both must be over the same two axes (names and units), whatever their steps; entries of an
/// axis that both have besides go together where they are nearest. Throws UsageError where there is no such map or the
/// axes differ, and where nothing of the upper map lies within the lower one. Returns how many were drawn.
std::size_t write_overlays(const std::filesystem::path& directory, const ResultsReader& reader, const Overlay& overlay,
                           std::uint64_t first_frame, std::uint64_t end_frame, const ScaleChoice& choice);

/// Tracks and bearings of all processors; how many pictures were drawn.
std::size_t write_overviews(const std::filesystem::path& directory, const ResultsReader& reader,
                            const ScaleChoice& choice);

}  // namespace nearfield
