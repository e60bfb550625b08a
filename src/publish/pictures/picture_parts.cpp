#include "publish/pictures/picture_parts.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ctime>

#include "core/error.hpp"
#include "core/system/clocks.hpp"
#include "publish/pictures/axis.hpp"

namespace nearfield {
namespace {

constexpr Rgb8 kHatchLight = {255, 255, 255};
constexpr Rgb8 kHatchDark = {150, 150, 150};
constexpr int kHatchPeriod = 6;
constexpr int kTickLength = 5;

}  // namespace

std::vector<Tick> ticks_between(double low, double high, int max_count) {
  const std::vector<double> values = nice_ticks(low, high, max_count);
  const std::vector<std::string> labels = tick_labels(values);
  std::vector<Tick> ticks;
  for (std::size_t i = 0; i < values.size(); ++i) {
    ticks.push_back({(values[i] - low) / (high - low), labels[i]});
  }
  return ticks;
}

double widest_label(const Canvas& canvas, const std::vector<Tick>& ticks) {
  double widest = 0.0;
  for (const Tick& tick : ticks) {
    widest = std::max(widest, canvas.text_width(tick.label, {}));
  }
  return widest;
}

void draw_axis_below(Canvas& canvas, const Area& area, const std::vector<Tick>& ticks, const std::string& title) {
  const int bottom = area.y + area.height;
  for (const Tick& tick : ticks) {
    const int x = area.x + static_cast<int>(std::lround(tick.position * area.width));
    canvas.line(x, bottom + 1, x, bottom + kTickLength);
    canvas.text(x, bottom + kTickLength + 10, tick.label, {.align = Align::kCentre});
  }
  canvas.text(area.x + area.width / 2.0, bottom + 35, title, {.align = Align::kCentre});
}

void draw_axis_left(Canvas& canvas, const Area& area, const std::vector<Tick>& ticks, const std::string& title) {
  for (const Tick& tick : ticks) {
    const int y = area.y + static_cast<int>(std::lround(tick.position * area.height));
    canvas.line(area.x - kTickLength - 1, y, area.x - 2, y);
    canvas.text(area.x - kTickLength - 5, y, tick.label, {.align = Align::kEnd});
  }
  canvas.text(area.x - kTickLength - widest_label(canvas, ticks) - 18, area.y + area.height / 2.0, title,
              {.align = Align::kCentre, .upwards = true});
}

void draw_bar(Canvas& canvas, const Area& bar, const std::vector<Tick>& ticks, const std::string& label,
              const std::function<Rgb8(double)>& colour) {
  canvas.paint(bar.x, bar.y, bar.width, bar.height,
               [&](int, int row) { return colour(1.0 - (row + 0.5) / bar.height); });
  canvas.frame(bar.x, bar.y, bar.width, bar.height);
  const int right = bar.x + bar.width;
  for (const Tick& tick : ticks) {
    const int y = bar.y + static_cast<int>(std::lround((1.0 - tick.position) * bar.height));
    canvas.line(right + 1, y, right + kTickLength, y);
    canvas.text(right + kTickLength + 4, y, tick.label, {});
  }
  canvas.text(right + kTickLength + widest_label(canvas, ticks) + 18, bar.y + bar.height / 2.0, label,
              {.align = Align::kCentre, .upwards = true});
}

Rgb8 hatch(int column, int row) { return (column + row) % kHatchPeriod < 2 ? kHatchDark : kHatchLight; }

std::string time_in_words(std::int64_t timestamp_ns) {
  constexpr std::int64_t kTenYearsNs = 315'360'000 * kNsPerSecond;
  if (timestamp_ns < kTenYearsNs) {
    return with_minus_signs(fmt::format("t = {:.6f} s", static_cast<double>(timestamp_ns) / 1e9));
  }
  const auto seconds = static_cast<std::time_t>(timestamp_ns / kNsPerSecond);
  return fmt::format("{:%F %T}.{:06} TAI", fmt::gmtime(seconds), timestamp_ns % kNsPerSecond / 1000);
}

std::vector<std::string> wrap(const Canvas& canvas, const std::vector<std::string>& notes, int width) {
  std::vector<std::string> lines(1);
  for (const std::string& note : notes) {
    for (std::size_t start = 0; start < note.size();) {
      const std::size_t end = std::min(note.find(' ', start), note.size());
      const std::string word = note.substr(start, end - start);
      const std::string longer = lines.back().empty() ? word : lines.back() + (start == 0 ? "   " : " ") + word;
      if (canvas.text_width(longer, kNoteStyle) > width && !lines.back().empty()) {
        lines.push_back(word);
      } else {
        lines.back() = longer;
      }
      start = end + 1;
    }
  }
  return lines.back().empty() ? std::vector<std::string>() : lines;
}

void require_in_range(const PictureOptions& options) {
  if (!(options.floor_db < 0.0) || !std::isfinite(options.floor_db)) {
    throw ConfigError(fmt::format("picture: floor: expected a level < 0 dB, found {} dB", options.floor_db));
  }
  if (options.fixed_maximum && !(*options.fixed_maximum > 0.0 && std::isfinite(*options.fixed_maximum))) {
    throw ConfigError(fmt::format("picture: maximum: expected a value > 0, found {}", *options.fixed_maximum));
  }
}

}  // namespace nearfield
