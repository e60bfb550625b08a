#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace nearfield {

struct FrontEndSettings;

/// Frequency weighting of IEC 61672-1:2013; kZ is none.
enum class Weighting { kZ, kA, kC };
std::string_view name_of(Weighting weighting);
/// ", A-weighted", for the quantity of bands; empty for kZ.
std::string_view words_of(Weighting weighting);
/// Gain in dB at a frequency, by the formulas of annex E.
double weighting_db(Weighting weighting, double frequency_hz);

/// Frequencies from `low_hz` to below `high_hz`.
struct Band {
  double low_hz = 0.0;
  double high_hz = 0.0;
  friend bool operator==(const Band&, const Band&) = default;
};

/// Octaves and third octaves of IEC 61260-1:2014, base 10.
enum class OctavePart : int { kOctave = 1, kThird = 3 };
/// The band that a nominal frequency, such as 500 or 630 Hz, stands for: the nearest one.
Band octave_band(OctavePart part, double near_hz);
/// Exact centre of that band.
double octave_centre_hz(OctavePart part, double near_hz);
/// The bands of a front end: bands_hz, then octave_hz and third_octave_hz.
std::vector<Band> bands_of(const FrontEndSettings& front_end);
/// Key of the first setting that names bands, for messages; "front_end.bands_hz" if none does.
std::string key_of_bands(const FrontEndSettings& front_end);
void clear_bands(FrontEndSettings& front_end);
/// Bands of these centres, in their order.
std::vector<Band> octave_bands(OctavePart part, const std::vector<double>& near_hz);

/// Share of a bin that a band covers; bin b extends from half a bin below b to half a bin above it.
struct BinShare {
  std::size_t bin = 0;
  double share = 1.0;  ///< above 0, at most 1
};
/// The bins whose powers add up to a band, excluding 0 and half the sample rate and above, ascending. The shares of
/// adjacent bands add up to 1, and those of one band to its width in bins, so that white noise has its level.
std::vector<BinShare> bin_shares(const Band& band, const FrontEndSettings& front_end, double sample_rate_hz);

}  // namespace nearfield
