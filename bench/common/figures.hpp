#pragma once
#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string>

#include "core/geometry.hpp"

/// Constants, units and number formats that several benchmarks share.
namespace nearfield::bench {

inline constexpr double kMicro = 1e6;  ///< microseconds in a second
inline constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
inline constexpr double kSampleRate_hz = kBitRateHz / kBitsPerWord;
inline constexpr double kTopFrequency_hz = 10000.0;
inline constexpr double kPlaneStep_m = 0.005;   ///< from one plane to the next, towards the array
inline constexpr double kNoise = 0.01;          ///< standard deviation of simulated noise, relative to the field
inline constexpr const char* kFrame = "frame";  ///< the phase that is a whole frame

inline std::size_t to_size(int value) { return static_cast<std::size_t>(value); }

inline double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

inline std::string number_or_dash(double value, int decimals) {
  return std::isfinite(value) ? fmt::format("{:.{}f}", value, decimals) : std::string("-");
}

/// First line of an error message, cut to 100 characters.
inline std::string in_short(const std::string& problem) { return problem.substr(0, problem.find('\n')).substr(0, 100); }

}  // namespace nearfield::bench
