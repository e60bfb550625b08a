#pragma once
#include <array>
#include <complex>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "bench/common/timing.hpp"
#include "cl/device.hpp"
#include "core/random.hpp"
#include "processors/far_field/position.hpp"
#include "processors/processor.hpp"
#include "processors/srp_phat/settings.hpp"

/// An array before which trials take place, and the processor that looks for their sources.
namespace nearfield::bench {

/// Complex normal numbers, the same with every standard library.
class NormalNumbers {
 public:
  NormalNumbers(std::uint64_t seed, std::uint64_t stream) : random_(seed, stream) {}
  /// Of variance 1.
  std::complex<double> next();
  /// Uniform between two limits.
  double between(double low, double high) { return low + (random_.uniform() + 1.0) / 2.0 * (high - low); }
  /// Of variance 1, neighbours correlated as the bins of white noise through Hann's window.
  std::vector<std::complex<double>> bins(std::size_t count);

 private:
  RandomStream random_;
};

/// A row of the table of sources.
struct FoundSource {
  std::uint32_t id = 0;
  std::uint32_t state = 0;
  far_field::Position place;  ///< from the array's centre, m, or of length 1
  double sigma_major = 0.0;
  double sigma_minor = 0.0;
  double confidence = 0.0;
  double significance = 0.0;
};

/// Settings and spectra. All bins of the band are its frequencies.
class TrialArray {
 public:
  TrialArray(const ArrayGeometry& geometry, double sample_rate_hz, int window_samples, std::array<double, 2> band_hz);
  TrialArray(const TrialArray&) = delete;
  TrialArray& operator=(const TrialArray&) = delete;
  ~TrialArray() = default;

  /// Angles from -`most_deg` to it in both directions, `step_deg` apart.
  void look_ahead(double distance_m, double most_deg, double step_deg);
  /// Makes the processor of `own` as it is then. Throws ConfigError, DeviceError.
  void open(const ocl::Device& device);

  /// Begins a window with noise of power 1 at each microphone and bin.
  void fill_with_noise(NormalNumbers& numbers);
  /// Begins a window with these spectra [bin][channel].
  void fill_with(std::span<const std::complex<float>> spectra);
  /// Adds a monopole of random amplitudes, whose power at the array's centre is `power`, m from the centre.
  void add_source(const far_field::Position& place, double power, NormalNumbers& numbers);
  /// Sources of the window.
  std::vector<FoundSource> find();
  /// Computes the window again, and waits. Seconds from spectra on the device to its table.
  double seconds();
  /// The same by stages; of a device with Profiling::kOn.
  FrameTiming stages(const TimingOptions& timing);
  /// What a window needs at least, once open.
  [[nodiscard]] WorkModel work() const;

  Settings settings;
  SrpPhatSettings own;
  ProcessorPlan plan;

 private:
  const ocl::Device* device_ = nullptr;
  std::vector<far_field::Position> microphones_;
  std::vector<std::complex<float>> spectra_;  ///< [bin][channel]
  ComplexBuffer on_device_;
  StatusBuffer status_;
  std::unique_ptr<Processor> processor_;
};

inline constexpr double kTrialDegree = 3.14159265358979323846 / 180.0;

/// The angle between two directions, degrees.
double angle_deg(const far_field::Position& one, const far_field::Position& other);
/// The smallest value that `share` of them do not exceed; sorts them. NaN where there are none.
double quantile(std::vector<double>& values, double share);

/// The squared distance of a source from where it is, over the sum of its two variances: of mean 1 where these hold.
double squared_error(const FoundSource& found, const far_field::Position& source);
/// NaN where there are none.
double mean_of(const std::vector<double>& values);
double power_of_db(double level_db);

inline constexpr double kTrialDistance_m = 1.5;
/// On the axes of the grid `angles`, kTrialDistance_m away.
far_field::Position at_angles(double azimuth_deg, double elevation_deg);

/// Windows of 1024 samples at 46,875 Hz, 77 bins from 500 to 4000 Hz, 1,681 directions up to 60 degrees aside,
/// kTrialDistance_m away.
std::unique_ptr<TrialArray> array_before(const ArrayGeometry& geometry);
/// As large as 32 x 32 microphones 2 cm apart.
ArrayGeometry sixty_four_microphones();

}  // namespace nearfield::bench
