#pragma once
#include <functional>
#include <string>
#include <vector>

#include "bench/common/variants.hpp"
#include "cl/device.hpp"
#include "nearfield/geometry.hpp"

/// The spectra of every front end against the true field, without an imager between.
namespace nearfield::bench {

/// Bins of 1024 words: 1007.08, 2014.16 and 9979.25 Hz.
inline constexpr int kSpectraBins[] = {22, 44, 218};
/// Rms over the aperture, 0 dBFS being a full-scale sine's.
inline constexpr double kSpectraLevels_db[] = {-32.0, -46.0};

struct SpectralError {
  Variant variant;
  int order = 2;  ///< of the modulators
  double level_dbfs = 0.0;
  double frequency_hz = 0.0;
  std::string problem = {};  ///< why there is no error; else empty
  double error = 0.0;        ///< |X - P| / |P| over the microphones, P the true pressure
};

struct SpectraOptions {
  ArrayGeometry geometry;  ///< pitch and size of the array
  std::vector<int> orders = {2, 4};
  bool with_slow = false;
  std::function<void(const std::string&)> progress;
};

/// Two point sources of unlike strength and phase behind the array and off its axis, 3 and 8 cm from its plane, through
/// modulators without microphone noise; one window. [variant][frequency][level][order]. Throws DeviceError.
std::vector<SpectralError> spectral_errors(const ocl::Device& device, const SpectraOptions& options);

/// A line for each variant.
std::string to_table(const std::vector<SpectralError>& errors);

}  // namespace nearfield::bench
