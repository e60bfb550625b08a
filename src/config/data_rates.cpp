#include "config/data_rates.hpp"

#include <complex>
#include <cstdint>

#include "config/config.hpp"
#include "config/live_samples.hpp"
#include "core/daemon_settings.hpp"
#include "core/image_grid.hpp"
#include "core/layout.hpp"

namespace nearfield {

double wire_bytes_per_s(const Settings& settings) {
  const ArraySettings& array = settings.array;
  return settings.daemon->source.payload == DaemonSettings::Payload::kBits
             ? array.clock_hz * words_per_bit_time(array.layout, array.geometry) * sizeof(std::uint32_t)
             : sample_rate_of(settings) * array.geometry.channels() * sizeof(float);
}

double image_bytes_per_frame(const Settings& settings) {
  const HolographySettings& holography = settings.holography;
  if (holography.imager == ImagerKind::kNone) {
    return 0.0;
  }
  return static_cast<double>(holography.planes_m.size()) *
         static_cast<double>(settings.front_end.frequencies_hz.size()) *
         static_cast<double>(image_grid(settings.array.geometry, holography.upsample).pixels()) *
         sizeof(std::complex<float>);
}

double product_bytes_per_frame(const Settings& settings, const ProcessorSettings& processor) {
  return processor.own ? processor.own->frame_bytes(settings_of(settings, processor)) : 0.0;
}

double frames_bytes_per_s(const Settings& settings) {
  const double hops_hz = sample_rate_of(settings) / settings.front_end.hop_samples;
  double bytes_per_hop = image_bytes_per_frame(settings);
  for (const ProcessorSettings& processor : settings.processors) {
    bytes_per_hop += product_bytes_per_frame(settings, processor) / processor.every_hops;
  }
  return hops_hz * bytes_per_hop;
}

}  // namespace nearfield
