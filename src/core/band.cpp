#include "core/band.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "core/settings.hpp"

namespace nearfield {

std::string_view name_of(Weighting weighting) {
  constexpr std::array<std::string_view, 3> kNames = {"z", "a", "c"};
  return kNames.at(static_cast<std::size_t>(weighting));
}

std::string_view words_of(Weighting weighting) {
  constexpr std::array<std::string_view, 3> kWords = {"", ", A-weighted", ", C-weighted"};
  return kWords.at(static_cast<std::size_t>(weighting));
}

double weighting_db(Weighting weighting, double frequency_hz) {
  if (weighting == Weighting::kZ) {
    return 0.0;
  }
  constexpr double kFirst_hz = 20.598997;  // the four poles of equations E.1 and E.6
  constexpr double kSecond_hz = 107.65265;
  constexpr double kThird_hz = 737.86223;
  constexpr double kFourth_hz = 12194.217;
  const auto gain = [weighting](double f_hz) {
    const double square = f_hz * f_hz;
    const auto below = [square](double pole_hz) { return square / (square + pole_hz * pole_hz); };
    const double of_c = below(kFirst_hz) * kFourth_hz * kFourth_hz / (square + kFourth_hz * kFourth_hz);
    return weighting == Weighting::kC ? of_c : of_c * std::sqrt(below(kSecond_hz) * below(kThird_hz));
  };
  return 20.0 * std::log10(gain(frequency_hz) / gain(1000.0));
}

namespace {

/// Bands in a factor of 10: those of an octave's parts times 10/3.
double bands_a_decade(OctavePart part) { return static_cast<int>(part) * 10.0 / 3.0; }

}  // namespace

double octave_centre_hz(OctavePart part, double near_hz) {
  const double bands = bands_a_decade(part);
  return 1000.0 * std::pow(10.0, std::round(bands * std::log10(near_hz / 1000.0)) / bands);
}

Band octave_band(OctavePart part, double near_hz) {
  const double half = std::pow(10.0, 0.5 / bands_a_decade(part));
  const double centre_hz = octave_centre_hz(part, near_hz);
  return {.low_hz = centre_hz / half, .high_hz = centre_hz * half};
}

std::vector<Band> octave_bands(OctavePart part, const std::vector<double>& near_hz) {
  std::vector<Band> bands;
  for (const double one_hz : near_hz) {
    bands.push_back(octave_band(part, one_hz));
  }
  return bands;
}

std::vector<Band> bands_of(const FrontEndSettings& front_end) {
  std::vector<Band> bands = front_end.bands_hz;
  for (const auto& [part, near_hz] : {std::pair(OctavePart::kOctave, &front_end.octave_hz),
                                      std::pair(OctavePart::kThird, &front_end.third_octave_hz)}) {
    const std::vector<Band> more = octave_bands(part, *near_hz);
    bands.insert(bands.end(), more.begin(), more.end());
  }
  return bands;
}

std::string key_of_bands(const FrontEndSettings& front_end) {
  const bool has_octaves = front_end.bands_hz.empty() && !front_end.octave_hz.empty();
  const bool has_thirds = front_end.bands_hz.empty() && !has_octaves && !front_end.third_octave_hz.empty();
  return has_octaves ? "front_end.octave" : has_thirds ? "front_end.third_octave" : "front_end.bands_hz";
}

void clear_bands(FrontEndSettings& front_end) {
  front_end.bands_hz.clear();
  front_end.octave_hz.clear();
  front_end.third_octave_hz.clear();
}

std::vector<BinShare> bin_shares(const Band& band, const FrontEndSettings& front_end, double sample_rate_hz) {
  constexpr double kRounding = 1e-9;  // a bin that a band only touches is excluded
  const double low = band.low_hz * front_end.window_samples / sample_rate_hz;
  const double high = band.high_hz * front_end.window_samples / sample_rate_hz;
  const double last = std::ceil(front_end.window_samples / 2.0) - 1.0;
  std::vector<BinShare> shares;
  for (double bin = std::max(1.0, std::floor(low)); bin <= std::min(last, std::ceil(high)); ++bin) {
    const double share = std::min(high, bin + 0.5) - std::max(low, bin - 0.5);
    if (share > kRounding * bin) {
      shares.push_back({.bin = static_cast<std::size_t>(bin), .share = share > 1.0 - kRounding * bin ? 1.0 : share});
    }
  }
  return shares;
}

}  // namespace nearfield
