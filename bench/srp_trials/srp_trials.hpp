#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "cl/device.hpp"

/// `nearfield bench srp_trials`: statistics of the processor `srp_phat` that take many windows (docs/how/srp_phat.md).
/// Spectra are closed forms: monopoles, and noise of each microphone's own whose bins the window correlates.
namespace nearfield::bench {

struct SrpTrialOptions {
  int draws = 200;        ///< sources of each row of `directions` and `cylinder`
  int frames = 10000;     ///< windows of noise
  double minutes = 10.0;  ///< of `stream`
  int runs = 20;          ///< pairs of sources that cross
  int repetitions = 3;    ///< of each time
  std::uint64_t seed = 1;
  std::vector<std::string> arrays = {"spiral 16", "spiral 32", "grid 8x8", "spiral 64", "all"};  ///< of `directions`
  std::vector<double> snrs_db = {10.0, -5.0, -10.0, -20.0};                                      ///< likewise
  std::vector<int> pixels = {3888, 97200, 388800};  ///< of `cylinder` and `times`
  std::vector<int> microphones = {8, 16, 32};       ///< of `times`
};

/// Directions of a source in noise, seen by some microphones of 32 x 32.
struct DirectionFigures {
  std::string array;
  double snr_db = 0.0;  ///< at a microphone, in the band
  int draws = 0;
  double median_deg = 0.0;
  double p95_deg = 0.0;
  int gross = 0;            ///< errors of more than 5 degrees
  double confidence = 0.0;  ///< median
  double squared_error =
      0.0;  ///< over the variance that the processor gives; mean without gross errors, NaN: only such
};

/// Directions of a source 2 m from sixteen microphones on a cylinder.
struct CylinderFigures {
  int pixels = 0;
  std::string domain;
  int draws = 0;
  int within_10_deg = 0;       ///< azimuth and elevation
  int within_5_and_3_deg = 0;  ///< azimuth, elevation
  double median_deg = 0.0;
  double largest_deg = 0.0;
};

/// Noise alone.
struct NoiseFigures {
  int frames = 0;
  std::vector<int> false_frames = std::vector<int>(3);  ///< of significance 1, 2, 3 and more
  double largest = 0.0;                                 ///< significance
  int confirmed = 0;                                    ///< tracks, at significance 6
};

/// Noise alone that goes on and on, in windows of 1024 samples at every eighth hop of 32.
struct StreamFigures {
  int frames = 0;
  double seconds = 0.0;
  std::vector<int> false_frames = std::vector<int>(3);  ///< of significance 1, 2, 3 and more
  double largest = 0.0;                                 ///< significance
  int confirmed = 0;                                    ///< tracks, at significance 6
};

/// Two sources that cross.
struct CrossingFigures {
  int runs = 0;
  int swapped = 0;       ///< runs after which each track follows the other source
  int changed = 0;       ///< runs after which a source has another id, without a swap
  int unseen = 0;        ///< runs in which a source has no confirmed track before or after it
  double rms_deg = 0.0;  ///< of the tracks of both, while they are more than 10 degrees apart
};

/// A stage of a window, on a device that times its commands.
struct StageFigures {
  std::string stage;
  double commands = 0.0;
  double median_s = 0.0;
  double bound_s = 0.0;  ///< 0: not known
};

/// What a window takes, from spectra on the device to its table.
struct TimeFigures {
  int microphones = 0;
  int pixels = 0;
  std::string domain;
  int bins = 0;
  double least_s = 0.0;
  double bound_s = 0.0;     ///< bytes and operations of all stages over the device's measured ceilings
  double launches_s = 0.0;  ///< a launch and its wait, and each further command
  std::vector<StageFigures> stages = {};
};

struct SrpTrialReport {
  ocl::DeviceInfo device;
  std::uint64_t seed = 1;
  std::vector<DirectionFigures> directions = {};
  std::vector<CylinderFigures> cylinder = {};
  std::vector<NoiseFigures> noise = {};
  std::vector<StreamFigures> stream = {};
  std::vector<CrossingFigures> crossing = {};
  std::vector<TimeFigures> times = {};
};

/// Each throws ConfigError and DeviceError. Of the arrays and ratios of `options`, in their order.
std::vector<DirectionFigures> try_directions(const ocl::Device& device, const SrpTrialOptions& options);
/// Of the numbers of pixels of `options`, each in both domains.
std::vector<CylinderFigures> try_cylinder(const ocl::Device& device, const SrpTrialOptions& options);
NoiseFigures try_noise(const ocl::Device& device, const SrpTrialOptions& options);
StreamFigures try_stream(const ocl::Device& device, const SrpTrialOptions& options);
CrossingFigures try_crossing(const ocl::Device& device, const SrpTrialOptions& options);
/// Of the numbers of microphones and pixels of `options`, each in both domains.
/// `profiled` is the same device, opened with Profiling::kOn.
std::vector<TimeFigures> time_cylinder(const ocl::Device& device, const ocl::Device& profiled,
                                       const SrpTrialOptions& options);

std::string to_table(const SrpTrialReport& report);
std::string to_json_text(const SrpTrialReport& report);

}  // namespace nearfield::bench
