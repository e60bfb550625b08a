#include <fmt/format.h>

#include "config/config.hpp"
#include "config/daemon_section.hpp"
#include "config/yaml_text.hpp"

namespace nearfield {
namespace {

std::string cutoff(const FilterSettings& filter) {
  switch (filter.cutoff_rule) {
    case CutoffRule::kDynamicRange:
      return "dynamic_range";
    case CutoffRule::kAuto:
      return "auto";
    case CutoffRule::kSearch:
      return "search";
    case CutoffRule::kGiven:
      break;
  }
  return filter.cutoff_rad_per_m.size() == 1 ? fmt::format("{}", filter.cutoff_rad_per_m[0])
                                             : list(filter.cutoff_rad_per_m);
}

std::string band_list(const std::vector<Band>& bands_hz) {
  std::vector<std::string> texts;
  for (const Band& band : bands_hz) {
    texts.push_back(fmt::format("[{}, {}]", band.low_hz, band.high_hz));
  }
  return list(texts);
}

std::string point_list(const std::vector<PlanePoint>& points) {
  std::vector<std::string> texts;
  for (const PlanePoint& point : points) {
    texts.push_back(fmt::format("{{x_m: {}, y_m: {}}}", point.x_m, point.y_m));
  }
  return list(texts);
}

std::string array_section(const ArraySettings& array) {
  return fmt::format(
      "array:\n"
      "  rows: {}\n"
      "  columns: {}\n"
      "  pitch_x_m: {}\n"
      "  pitch_y_m: {}\n"
      "  layout: {}\n"
      "  sensitivity_dbfs: {}\n"
      "  dead_channels: {}\n"
      "  calibration: {}\n"
      "  health:\n"
      "    enabled: {}\n"
      "    mask: {}\n"
      "    trusted_channels: {}\n",
      array.geometry.rows, array.geometry.columns, array.geometry.pitch_x_m, array.geometry.pitch_y_m,
      name_of(array.layout), array.sensitivity_dbfs, list(array.dead_channels),
      array.calibration_path.empty() ? "null" : quoted(array.calibration_path), array.health.enabled, array.health.mask,
      list(array.health.trusted_channels));
}

std::string medium_section(const MediumSettings& medium) {
  return fmt::format(
      "medium:\n"
      "  sound_speed_m_s: {}\n"
      "  density_kg_m3: {}\n",
      medium.sound_speed_m_s, medium.density_kg_m3);
}

std::string front_end_section(const FrontEndSettings& front_end) {
  return fmt::format(
      "front_end:\n"
      "  kind: {}\n"
      "  window: {}\n"
      "  decimation: {}\n"
      "  window_samples: {}\n"
      "  hop_samples: {}\n"
      "  frequencies_hz: {}\n"
      "  bands_hz: {}\n"
      "  remove_dc: {}\n"
      "  incremental: {}\n"
      "  dot_kernel: {}\n"
      "  popcount:\n"
      "    order: {}\n"
      "    transform: {}\n"
      "  walsh_fourier:\n"
      "    variant: {}\n"
      "    coefficients: {}\n"
      "    threshold: {}\n",
      name_of(front_end.kind), name_of(front_end.window), front_end.decimation, front_end.window_samples,
      front_end.hop_samples, list(front_end.frequencies_hz), band_list(front_end.bands_hz), front_end.remove_dc,
      name_of(front_end.incremental), name_of(front_end.dot_kernel), front_end.popcount.order,
      name_of(front_end.popcount.transform), name_of(front_end.walsh_fourier.variant),
      front_end.walsh_fourier.coefficients, front_end.walsh_fourier.threshold);
}

std::string holography_section(const HolographySettings& holography) {
  const ExtrapolationSettings& extrapolation = holography.extrapolation;
  const FilterSettings& filter = holography.filter;
  return fmt::format(
      "holography:\n"
      "  imager: {}\n"
      "  standoff_m: {}\n"
      "  planes_m: {}\n"
      "  quantity: {}\n"
      "  upsample: {}\n"
      "  search_every_frames: {}\n"
      "  points: {}\n"
      "  extrapolation:\n"
      "    method: {}\n"
      "    order: {}\n"
      "    factor: {}\n"
      "  filter:\n"
      "    kind: {}\n"
      "    cutoff_rad_per_m: {}\n"
      "    dynamic_range_db: {}\n"
      "    slope: {}\n"
      "    tikhonov_lambda: {}\n",
      name_of(holography.imager), holography.standoff_m, list(holography.planes_m), name_of(holography.quantity),
      holography.upsample, holography.search_every_frames, point_list(holography.points), name_of(extrapolation.method),
      extrapolation.order, extrapolation.factor, name_of(filter.kind), cutoff(filter), filter.dynamic_range_db,
      filter.slope, filter.tikhonov_lambda);
}

std::string device_section(const DeviceSettings& device) {
  return fmt::format(
      "device:\n"
      "  platform: {}\n"
      "  index: {}\n"
      "  fft: {}\n"
      "  batch: {}\n",
      quoted(device.platform), device.index, device.fft, device.batch);
}

}  // namespace

std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (const char character : text) {
    const auto byte = static_cast<unsigned char>(character);
    if (character == '"' || character == '\\') {
      result += '\\';
      result += character;
    } else if (byte < 0x20U || byte == 0x7FU) {
      result += fmt::format("\\x{:02x}", byte);
    } else {
      result += character;
    }
  }
  return result + '"';
}

std::string to_yaml(const Settings& settings) {
  return "version: 1\n" + array_section(settings.array) + medium_section(settings.medium) +
         front_end_section(settings.front_end) + holography_section(settings.holography) +
         device_section(settings.device) + daemon_section(settings.daemon);
}

}  // namespace nearfield
