#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "publish/pictures/canvas.hpp"
#include "publish/pictures/picture.hpp"

/// Parts shared by pictures of images and pictures of other products.
namespace nearfield {

inline constexpr int kMargin = 20;
inline constexpr int kNoteHeight = 18;
inline constexpr int kPixelsPerTick = 44;  ///< on a vertical axis, and on a colour bar

inline const TextStyle kTitleStyle = {.size = 17.0, .bold = true};
inline const TextStyle kSubtitleStyle = {.size = 13.0, .colour = {85, 85, 85}};
inline const TextStyle kPanelTitleStyle = {.size = 14.0};
inline const TextStyle kNoteStyle = {.size = 12.0, .colour = {120, 40, 0}};

struct Tick {
  double position = 0.0;  ///< 0 to 1 along the axis
  std::string label;
};
/// Ticks at multiples of round numbers.
std::vector<Tick> ticks_between(double low, double high, int max_count);
double widest_label(const Canvas& canvas, const std::vector<Tick>& ticks);

/// Draw ticks with labels and a title, below an area or at its left.
void draw_axis_below(Canvas& canvas, const Area& area, const std::vector<Tick>& ticks, const std::string& title);
void draw_axis_left(Canvas& canvas, const Area& area, const std::vector<Tick>& ticks, const std::string& title);

/// Draws a vertical bar of colour(0) at the bottom to colour(1) at the top.
void draw_bar(Canvas& canvas, const Area& bar, const std::vector<Tick>& ticks, const std::string& label,
              const std::function<Rgb8(double)>& colour);

/// Pattern of cells without a value, by pixels of their area.
Rgb8 hatch(int column, int row);

/// A date for times after 1980, else seconds: simulated captures start at 0.
std::string time_in_words(std::int64_t timestamp_ns);

/// Breaks the notes into lines no wider than `width` pixels, between words.
std::vector<std::string> wrap(const Canvas& canvas, const std::vector<std::string>& notes, int width);

/// Throws ConfigError on options out of range.
void require_in_range(const PictureOptions& options);

}  // namespace nearfield
