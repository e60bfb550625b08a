#pragma once
#include <functional>
#include <string>
#include <vector>

#include "bench/common/variants.hpp"
#include "cl/device.hpp"

/// What a microphone's offset does to low frequencies (the thesis's fig. 7.9: its nominal chain at 55 Hz).
namespace nearfield::bench {

inline constexpr double kOffsetFrequency_hz =
    55.0;                                        ///< where the thesis looks; front ends on the grid take the next bin
inline constexpr double kLargestOffset = 0.03;   ///< each microphone's own lies within +- this, full scale 1
inline constexpr double kOffsetTone_db = -32.0;  ///< rms, beside the offset

/// One front end with or without front_end.remove_dc.
struct OffsetLeakage {
  Variant variant;
  bool remove_dc = true;
  std::string problem = {};  ///< why there are no figures; else empty
  std::vector<double> frequencies_hz = {};
  std::vector<double> leakage = {};  ///< [frequency] rms phasor over rms offset, no tone
  double tone_frequency_hz = 0.0;    ///< 55 Hz or the bin next to it
  double tone_error = 0.0;           ///< |X - P| / |P| of a tone there of -32 dBFS beside the offset
};

/// 4 x 4 microphones with second-order modulators, window 1024. Throws DeviceError.
std::vector<OffsetLeakage> offset_leakages(const ocl::Device& device,
                                           const std::function<void(const std::string&)>& progress);

/// Whether the front end takes any frequency; else its spectra are those of bins.
bool takes_any_frequency(std::string_view kind);

/// A line for each front end, with and without removal.
std::string to_table(const std::vector<OffsetLeakage>& leakages);

}  // namespace nearfield::bench
