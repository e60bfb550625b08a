#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <set>

#include "publish/overviews/overviews.hpp"
#include "publish/pictures/axis.hpp"
#include "publish/pictures/canvas.hpp"
#include "publish/pictures/picture_parts.hpp"
#include "publish/pictures/sources_table.hpp"

namespace nearfield {
namespace {

constexpr int kTracksWidth = 1200;
constexpr int kTracksLeft = 100;
constexpr int kTracksRight = 150;
constexpr int kTracksTop = 70;
constexpr int kTrackPanelHeight = 220;
constexpr int kTrackPanelGap = 24;
constexpr int kTracksBelow = 60;
constexpr std::size_t kMostLegendLines = 24;

/// Calls use(frame, source) with every row of the table of every frame.
template <class Use>
void for_each_source(const ResultsReader& reader, std::size_t processor, std::size_t table, const Use& use) {
  const Product& product = reader.header(processor).products[table];
  for (std::uint64_t frame = 0; frame < reader.frames(processor); ++frame) {
    for (const FoundSource& source : read_sources(product, reader.read_table(processor, table, frame))) {
      use(frame, source);
    }
  }
}

/// Values of a source in the panels, [panel].
std::array<double, 3> values_of(const FoundSource& source, bool are_directions) {
  if (are_directions) {
    const Bearing bearing = bearing_of(source.x, source.y, source.z);
    return {bearing.azimuth_deg, bearing.elevation_deg, 0.0};
  }
  return {source.x, source.y, source.z};
}

TrackPanel panel_of(const ResultHeader& header, const std::string& name, const std::string& unit, double low,
                    double high) {
  TrackPanel panel = {.title = fmt::format("{} [{}]", name, unit), .low = low, .high = high};
  const Axis* axis = header.axis(name);
  if (axis != nullptr && axis->unit == unit && axis->components == 1 && axis->size() > 1) {
    const double half = std::abs(axis->values[1] - axis->values[0]) / 2.0;
    panel.low = std::min(axis->values.front(), axis->values.back()) - half;
    panel.high = std::max(axis->values.front(), axis->values.back()) + half;
  }
  if (!(panel.high > panel.low)) {  // no sources, or all at one place
    const double middle = std::isfinite(panel.low) ? panel.low : 0.0;
    panel.low = middle - 1.0;
    panel.high = middle + 1.0;
  }
  return panel;
}

void draw_legend(Canvas& canvas, const TracksLayout& layout, const std::set<std::uint32_t>& ids, bool has_candidates) {
  const int x = layout.width - kTracksRight + 20;
  int y = layout.panels.front().y + 8;
  std::size_t lines = 0;
  const auto entry = [&](const Rgb8& colour, const std::string& text) {
    canvas.paint(x, y - 5, 10, 10, [&](int, int) { return colour; });
    canvas.text(x + 18, y, text, {});
    y += 20;
    ++lines;
  };
  if (has_candidates) {
    entry(kCandidateColour, "candidates");
  }
  for (const std::uint32_t id : ids) {
    if (lines == kMostLegendLines) {
      canvas.text(x, y, fmt::format("and {} more", ids.size() + (has_candidates ? 1 : 0) - lines), {});
      break;
    }
    entry(track_colour(id), fmt::format("track {}", id));
  }
}

/// End of the time axis.
double end_of(const FrameTimes& times) { return times.values.back() > 0.0 ? times.values.back() : 1.0; }

void draw_track_axes(Canvas& canvas, const TracksLayout& layout, const std::vector<TrackPanel>& panels,
                     const FrameTimes& times) {
  for (std::size_t i = 0; i < panels.size(); ++i) {
    const Area& area = layout.panels[i];
    canvas.frame(area.x, area.y, area.width, area.height);
    // Values increase upwards: the ticks of a downward axis, mirrored.
    std::vector<Tick> ticks = ticks_between(panels[i].low, panels[i].high, area.height / kPixelsPerTick);
    for (Tick& tick : ticks) {
      tick.position = 1.0 - tick.position;
    }
    draw_axis_left(canvas, area, ticks, panels[i].title);
  }
  draw_axis_below(canvas, layout.panels.back(), ticks_between(0.0, end_of(times), 10), times.title());
}

void paint_source(Canvas& canvas, const Area& area, const TrackPanel& panel, double time, double value,
                  const Rgb8& colour) {
  const int x = area.x + static_cast<int>(std::lround(time * (area.width - 1)));
  const double place = (value - panel.low) / (panel.high - panel.low);
  if (!(place >= 0.0 && place <= 1.0)) {
    return;
  }
  const int y = area.y + static_cast<int>(std::lround((1.0 - place) * (area.height - 1)));
  constexpr int kHalf = 2;
  const int left = std::max(area.x, x - kHalf);
  const int top = std::max(area.y, y - kHalf);
  const int right = std::min(area.x + area.width, x + kHalf + 1);
  const int bottom = std::min(area.y + area.height, y + kHalf + 1);
  canvas.paint(left, top, right - left, bottom - top, [&](int, int) { return colour; });
}

}  // namespace

FrameTimes frame_times(const ResultsReader& reader, std::size_t processor) {
  const std::vector<std::int64_t> stamps = reader.stamps(processor).timestamps_ns;
  FrameTimes times;
  times.are_indices = stamps.empty() || stamps.back() == stamps.front();
  for (std::size_t i = 0; i < stamps.size(); ++i) {
    times.values.push_back(times.are_indices ? static_cast<double>(i)
                                             : static_cast<double>(stamps[i] - stamps.front()) / 1e9);
  }
  return times;
}

TracksLayout tracks_layout(std::size_t panels) {
  TracksLayout layout;
  layout.width = kTracksWidth;
  const int width = kTracksWidth - kTracksLeft - kTracksRight;
  int y = kTracksTop;
  for (std::size_t i = 0; i < panels; ++i) {
    layout.panels.push_back({kTracksLeft, y, width, kTrackPanelHeight});
    y += kTrackPanelHeight + kTrackPanelGap;
  }
  layout.height = y - kTrackPanelGap + kTracksBelow;
  return layout;
}

Rgb8 track_colour(std::uint32_t id) {
  constexpr double kGoldenAngle = 2.39996322972865332;
  return phase_colour(kGoldenAngle * id);
}

std::vector<TrackPanel> track_panels(const ResultsReader& reader, std::size_t processor) {
  const ResultHeader& header = reader.header(processor);
  const std::size_t table = *sources_table(header);
  const bool are_directions = has_directions(header.products[table]);
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  std::array<double, 3> low = {kInfinity, kInfinity, kInfinity};
  std::array<double, 3> high = {-kInfinity, -kInfinity, -kInfinity};
  for_each_source(reader, processor, table, [&](std::uint64_t, const FoundSource& source) {
    const std::array<double, 3> values = values_of(source, are_directions);
    for (std::size_t i = 0; i < 3; ++i) {
      low.at(i) = std::min(low.at(i), values.at(i));
      high.at(i) = std::max(high.at(i), values.at(i));
    }
  });
  if (are_directions) {
    return {panel_of(header, "azimuth", "deg", low[0], high[0]), panel_of(header, "elevation", "deg", low[1], high[1])};
  }
  std::vector<TrackPanel> panels = {panel_of(header, "x", "m", low[0], high[0]),
                                    panel_of(header, "y", "m", low[1], high[1])};
  constexpr double kSamePlace_m = 1e-4;
  if (high[2] - low[2] > kSamePlace_m) {
    panels.push_back(panel_of(header, "z", "m", low[2], high[2]));
  }
  return panels;
}

bool write_tracks_picture(const std::filesystem::path& directory, const ResultsReader& reader, std::size_t processor) {
  const ResultHeader& header = reader.header(processor);
  const std::optional<std::size_t> table = sources_table(header);
  if (!table || reader.frames(processor) == 0) {
    return false;
  }
  const bool are_directions = has_directions(header.products[*table]);
  const FrameTimes times = frame_times(reader, processor);
  const std::vector<TrackPanel> panels = track_panels(reader, processor);
  const TracksLayout layout = tracks_layout(panels.size());
  Canvas canvas(layout.width, layout.height);
  std::set<std::uint32_t> ids;
  bool has_candidates = false;
  // Candidates first, so that they hide no track.
  for (const bool are_tracks : {false, true}) {
    for_each_source(reader, processor, *table, [&](std::uint64_t frame, const FoundSource& source) {
      const bool is_track = source.id > 0;
      if (is_track != are_tracks) {
        return;
      }
      has_candidates = has_candidates || !is_track;
      if (is_track) {
        ids.insert(source.id);
      }
      const std::array<double, 3> values = values_of(source, are_directions);
      for (std::size_t i = 0; i < panels.size(); ++i) {
        paint_source(canvas, layout.panels[i], panels[i], times.values[frame] / end_of(times), values.at(i),
                     is_track ? track_colour(source.id) : kCandidateColour);
      }
    });
  }
  draw_track_axes(canvas, layout, panels, times);
  draw_legend(canvas, layout, ids, has_candidates);
  canvas.text(kMargin, 24, fmt::format("Sources over time, {}", header.processor), kTitleStyle);
  canvas.text(kMargin, 47,
              fmt::format("{} track{}, {} frames", ids.size(), ids.size() == 1 ? "" : "s", reader.frames(processor)),
              kSubtitleStyle);
  canvas.write_png(directory / fmt::format("tracks_{}.png", header.processor));
  return true;
}

}  // namespace nearfield
