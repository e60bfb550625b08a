#pragma once
#include <optional>
#include <string>

#include "nearfield/daemon_settings.hpp"
#include "nearfield/settings.hpp"

namespace nearfield {

/// True where nearfieldd's source is a pipe or UDP: nothing but the settings says what comes.
[[nodiscard]] bool is_bare(const DaemonSettings::Source& source);
/// True where decimated samples come that way.
[[nodiscard]] bool takes_live_samples(const DaemonSettings::Source& source);

/// Rate of the samples that front ends of these settings work on, before an input says its own: that of live samples,
/// else of bits after decimation.
[[nodiscard]] double sample_rate_of(const Settings& settings);

/// Channels and rates of a source that is_bare(), as the settings give them, and the setting that gives the rate.
struct LiveInputFacts {
  bool is_samples = false;
  int channels = 0;
  double element_rate_hz = 0.0;  ///< of samples, or of bit-times
  double sample_rate_hz = 0.0;
  std::string rate_from;         ///< "daemon.source.sample_rate_hz"
  double pascal_per_unit = 1.0;  ///< by which live samples are multiplied
  bool is_unit_given = false;
};
[[nodiscard]] LiveInputFacts live_input_facts(const Settings& settings);

/// The facts as a line for people: "16 channels of float32, 48000 samples a second (daemon.source.sample_rate_hz),
/// ...".
[[nodiscard]] std::string text_of(const LiveInputFacts& facts);

}  // namespace nearfield
