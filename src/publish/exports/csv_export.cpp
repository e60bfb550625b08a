#include <fmt/format.h>

#include <complex>
#include <iterator>
#include <numbers>

#include "core/level.hpp"
#include "core/system/partial_file.hpp"
#include "publish/exports/exports.hpp"

namespace nearfield {
namespace {

/// "frequency [Hz]", or for an axis of bands "band 1 [Hz],band 2 [Hz]".
std::string csv_titles(const Axis& axis) {
  std::string titles;
  for (std::size_t component = 0; component < axis.components; ++component) {
    titles += axis.components == 1 ? fmt::format("{} [{}],", axis.name, axis.unit)
                                   : fmt::format("{} {} [{}],", axis.name, component + 1, axis.unit);
  }
  return titles;
}

/// The comments and the line of titles.
std::string csv_head(const ExportSource& source, const LevelRule& rule) {
  const Product& product = source.product();
  std::string text = fmt::format("# {}: {} [{}]; processor {} of kind {}\n", product.name, product.quantity,
                                 product.unit, source.header().processor, source.header().kind);
  text += fmt::format("# level: {}\n", rule.unit);
  text += "frame,first sample,timestamp [ns],flags,";
  for (const Axis& axis : source.outer_axes()) {
    text += csv_titles(axis);
  }
  return text + fmt::format("x [m],y [m],z [m],real [{0}],imaginary [{0}],magnitude [{0}],phase [deg],level [dB]\n",
                            product.unit);
}

std::string csv_lines(const ExportSource& source, const LevelRule& rule, std::uint64_t frame, const ExportEntry& entry,
                      const std::vector<std::complex<double>>& values) {
  const ResultStamps& stamps = source.stamps();
  std::string start =
      fmt::format("{},{},{},{},", frame, stamps.first_samples[frame], stamps.timestamps_ns[frame], stamps.flags[frame]);
  for (std::size_t i = 0; i < source.outer_axes().size(); ++i) {
    const Axis& axis = source.outer_axes()[i];
    for (std::size_t component = 0; component < axis.components; ++component) {
      start += fmt::format("{},", axis.values[entry.indices[i] * axis.components + component]);
    }
  }
  std::string text;
  for (const ExportPlace& place : source.places()) {
    const std::complex<double> value = values[entry.offset + place.offset];
    const double magnitude = std::abs(value);
    constexpr double kDegreesOfHalfTurn = 180.0;
    fmt::format_to(std::back_inserter(text), "{}{},{},{},{:.9g},{:.9g},{:.9g},{:.6f},{:.4f}\n", start, place.x_m,
                   place.y_m, place.z_m ? fmt::format("{}", *place.z_m) : "", value.real(), value.imag(), magnitude,
                   std::arg(value) * kDegreesOfHalfTurn / std::numbers::pi, rule.level(magnitude));
  }
  return text;
}

}  // namespace

void export_csv(const std::filesystem::path& path, const ExportSource& source) {
  const LevelRule rule = level_rule(source.product());
  PartialFile file(path);
  file.write(csv_head(source, rule));
  for (std::uint64_t frame = source.first_frame(); frame < source.end_frame(); ++frame) {
    const std::vector<std::complex<double>> values = source.values(frame);
    for (const ExportEntry& entry : source.entries()) {
      file.write(csv_lines(source, rule, frame, entry, values));
    }
  }
  file.finish();
}

}  // namespace nearfield
