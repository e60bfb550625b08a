#include <algorithm>
#include <utility>

#include "config/schema/section.hpp"
#include "core/daemon_settings.hpp"

namespace nearfield::schema {
namespace {

using Limit = DaemonSettings::Limit;
using Statistic = DaemonSettings::Statistic;

constexpr Range kCoordinate{.what = "places from", .minimum = -1e4, .maximum = 1e4, .unit = "m"};
constexpr Range kWaitOfLimit{.what = "a time from", .maximum = 86400.0, .unit = "s"};

/// A list of `count` coordinates, or null.
Form<std::optional<std::vector<double>>> coordinates(std::size_t count, const std::string& expected,
                                                     const std::string& meaning_of_null) {
  return or_none(
      where(
          numbers(kCoordinate), [count](const std::vector<double>& found) { return found.size() == count; }, expected),
      meaning_of_null);
}

/// x0, y0, x1, y1 with x0 <= x1 and y0 <= y1.
Form<std::optional<std::vector<double>>> region() {
  return where(
      coordinates(4, "a list of four, x0, y0, x1 and y1", "everywhere"),
      [](const std::optional<std::vector<double>>& found) {
        return !found || ((*found)[0] <= (*found)[2] && (*found)[1] <= (*found)[3]);
      },
      "x0, y0, x1 and y1 with x0 at most x1 and y0 at most y1");
}

void describe(Section& section, Limit& limit) {
  section.add("processor", limit.processor, text(), "whose product is watched");
  section.add("product", limit.product, text(), "which of its products: an array or a table");
  section.add("column", limit.column, or_null(text(), "the product is an array"), "of a table: the column that counts");
  section.add("point_m", limit.point_m, coordinates(2, "a list of two, x and y", "everywhere"),
              "x and y of the pixel that counts: the nearest one");
  section.add("region_m", limit.region_m, region(), "x0, y0, x1 and y1 of the rectangle that counts");
  section.add("frequency_hz", limit.frequency_hz,
              or_none(number({.what = "a frequency", .maximum = 1e6, .unit = "Hz", .open_minimum = true}), "all"),
              "which of the product's frequencies counts, the nearest within 5 %, or the band around it");
  section.add("plane_m", limit.plane_m, or_none(number(kCoordinate), "all"), "which of the product's planes counts");
  section.add("statistic", limit.statistic,
              choice<Statistic>({{Statistic::kMax, "the largest value, of complex ones the magnitude"},
                                 {Statistic::kMean, "the root of the mean square, of powers the mean"}}),
              "of all values that count");
  section.add("above", limit.above,
              or_none(number({.what = "a value from", .minimum = -1e12, .maximum = 1e12}), "as above_db says"),
              "the limit, in the product's unit; of a column in the column's");
  section.add(
      "above_db", limit.above_db,
      or_none(number({.what = "a level from", .minimum = -400.0, .maximum = 400.0, .unit = "dB"}), "as above says"),
      "the limit as a level: of sound pressures re 20 uPa rms, of intensities re 1 pW/m^2, of velocities re 50 nm/s "
      "rms, "
      "of displacements re 1 pm rms, of all else re 1");
  section.add("hysteresis_db", limit.hysteresis_db, number({.what = "a range from", .maximum = 100.0, .unit = "dB"}),
              "how far below the limit the value must fall until the limit is left");
  section.add("hold_s", limit.hold_s, number(kWaitOfLimit), "how long the value must be above until it counts");
  section.add("release_s", limit.release_s, number(kWaitOfLimit),
              "how long the value must be below the hysteresis until the limit is left");
  section.add("record", limit.record, boolean(), "begins a recording, with daemon.recording.trigger: limit");
}

}  // namespace

void describe_limits(Section& section, DaemonSettings& daemon) {
  for (Limit& limit : daemon.limits) {
    describe(section.section(limit.name), limit);
  }
}

}  // namespace nearfield::schema
