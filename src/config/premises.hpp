#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/settings.hpp"

namespace nearfield {

struct DaemonSettings;

/// A setting that is valid by itself and invalid in combination with another one.
struct Contradiction {
  std::string key;      ///< the dotted key to blame
  std::string element;  ///< "[2]" when an element of its list is to blame
  std::string message;  ///< expected and found values in words
};

/// All contradictions between settled keys.
std::vector<Contradiction> contradictions(const Settings& settings, const IsSettled& is_settled);

/// Adds the contradictions in settings of images. `path` is the dotted name of their section, with the final point.
void check_images(const Settings& settings, const HolographySettings& images, const std::string& path,
                  const IsSettled& is_settled, std::vector<Contradiction>& found);

/// Adds the frequencies below half a bin and above half of `sample_rate_hz`, the rate after decimation, and the bands
/// without a bin below it, processors' own front ends included.
void check_frequencies(const Settings& settings, double sample_rate_hz, std::vector<Contradiction>& found);

/// The quantities that a run takes from its settings and cannot check, one line each, for the first lines of a
/// program's output: the array's size and distance, rates and lengths of windows in seconds, wavelengths beside the
/// pitch, the unit, each processor, and every other setting that differs from its default. A value that is wrong by a
/// factor or a sign is visible there. `sample_rate_hz` is the decimated rate; 0: spectra, which have none.
std::vector<std::string> premises(const Settings& settings, double sample_rate_hz);

/// Adds the contradictions among the settled keys below `daemon`.
void check_daemon(const DaemonSettings& daemon, const IsSettled& is_settled, std::vector<Contradiction>& found);

/// Adds the contradictions of daemon.limits that follow from the settings alone.
void check_limits(const Settings& settings, const IsSettled& is_settled, std::vector<Contradiction>& found);

/// Reasons why nearfieldd cannot start here: no processor, or settings name users, groups or files that are missing.
std::vector<Contradiction> missing_here(const Settings& settings, const IsSettled& is_settled);

}  // namespace nearfield
