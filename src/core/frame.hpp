#pragma once
#include <complex>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/band.hpp"
#include "core/geometry.hpp"
#include "core/product.hpp"

namespace nearfield {

/// Flags of a frame; several can be set at once.
enum FrameFlag : std::uint32_t {
  kFlagExtrapolationFellBack = 1,  ///< silence or a runaway predictor: zero padding was used
  kFlagMaskedMicrophones = 2,      ///< dead or masked microphones were interpolated
  kFlagMissingBits = 4,
  kFlagOverload = 8,
  kFlagNonFiniteInput = 16,          ///< microphones with NaN or infinity were interpolated
  kFlagClipped = 32,                 ///< a microphone was at or near its full scale
  kFlagWavenumberAboveNyquist = 64,  ///< k lies above pi/pitch: the microphones are too far apart
  kFlagCommonToAll = 128,            ///< a source straight ahead may be what all channels share
  kFlagLimit = 256,                  ///< a limit of daemon.limits on these products is exceeded
  kFlagMemoryNotFull = 512,          ///< some of the preceding ResultHeader::memory_hops were not computed
  kFlagInformationMissing = 1024,    ///< unused microphones cost more than a tenth of an image's information
  kFlagDoubtfulInput = 2048,         ///< rate, unit or kind of the input contradicts the settings
};

/// Number of status words per frame on the device: 0 = flags, 1 = microphones that are not finite, 2 and 3 spare.
inline constexpr std::size_t kStatusWords = 4;

/// A flag and its meaning in words.
struct FlagName {
  FrameFlag flag;
  std::string_view text;
};
/// All flags, by value.
std::span<const FlagName> flag_names();
/// Describes the flags that are set, such as "dead or masked microphones interpolated"; empty when no flag is set.
std::string flags_in_words(std::uint32_t flags);

/// Quality figures of an image, as the device writes them (a float4).
struct alignas(16) FilterReport {
  float cutoff_rad_per_m = 0.0F;  ///< cut-off of the filter in use; NaN if it has none
  float slope = 0.0F;             ///< slope of the filter in use; NaN if it has none
  float noise_pa = 0.0F;  ///< rms of the complex noise of one microphone's phasor, sqrt(E|n|^2); NaN: not measured
  float error_estimate = 0.0F;  ///< relative L2 error of the image; NaN: not estimated
};

/// Output of a processor for one window, live or from a recording. Times are nanoseconds: `mono` on CLOCK_MONOTONIC,
/// `tai` on CLOCK_TAI. Flags refer to this processor's products, losses to the stream.
struct Frame {
  std::size_t processor = 0;         ///< its index in the run
  std::uint64_t sequence = 0;        ///< hops since the stream or the recording began, including shed ones; never
                                     ///< decreases
  std::uint32_t stream_id = 0;       ///< live source only; changes when the source restarts
  std::uint64_t first_bit_time = 0;  ///< start of the window; the sample or frame index for inputs that are not bits
  std::uint32_t window_bit_times = 0;
  std::int64_t timestamp_ns = 0;     ///< time of first_bit_time, Unix, TAI
  std::int64_t capture_mono_ns = 0;  ///< when the window's last bit was in this host's memory; 0: from a recording
  std::int64_t capture_tai_ns = 0;   ///< likewise
  std::uint32_t flags = 0;           ///< FrameFlag
  /// Bit-times of the window that never arrived and were filled with silence; for products over several windows, such
  /// as averages, the largest number of any window.
  std::uint64_t missing_bit_times = 0;
  std::uint64_t shed_hops = 0;  ///< hops dropped by overload between the previous frame and this one
  std::uint32_t valid_microphones = 0;
  std::uint32_t microphones = 0;  ///< usable by the processor; 0: not known
  /// Share of an image's information that is lost with unused microphones (docs/how/sonah.md); 0 for other products.
  float missing_information = 0.0F;
  std::uint64_t epoch = 0;  ///< number of the configuration: starts at 1, plus one with each change
  /// A limit that starts recordings is exceeded, on any processor.
  bool exceeds_recorded_limit = false;
  /// [product] of the processor's ResultHeader, each as ResultHeader::bytes() says and aligned to 8 bytes.
  std::span<const std::span<const std::byte>> products;
};

/// The images of one window.
struct ImageFrame {
  std::uint64_t first_sample = 0;  ///< bit-time of the window's first bit; for other inputs the sample or frame index
  std::int64_t timestamp_ns = 0;   ///< time of first_sample, Unix, TAI
  std::uint32_t flags = 0;
  std::uint64_t missing_bits = 0;           ///< see Frame::missing_bit_times
  std::vector<float> cutoff_rad_per_m;      ///< [frequency]; NaN where the filter has none
  std::vector<float> slope;                 ///< [frequency]; NaN where the filter has none
  std::vector<float> noise_pa;              ///< [frequency]; as in FilterReport, NaN if not measured
  std::vector<float> error_estimate;        ///< [frequency]; as in FilterReport, NaN if not estimated
  std::vector<std::complex<float>> images;  ///< [plane][frequency][row][column], column fastest; intensities are real
  std::vector<float> radiated_power_w;      ///< [plane][frequency] for active intensities, else empty
  std::vector<std::complex<float>> points;  ///< [plane][frequency][point]
  std::vector<float> bands;                 ///< mean squares [plane][band][row][column], column fastest
};

/// Common description of all frames of a processor that images a surface. result_header() converts it to a
/// ResultHeader.
struct ImagesHeader {
  std::string quantity;  ///< a Quantity's name
  std::string unit;      ///< "Pa" | "m/s" | "m" | "W/m^2"
  std::string config;    ///< the YAML as run
  std::string device;
  std::string front_end;
  std::vector<double> frequencies_hz;
  std::vector<double> planes_m;
  std::vector<double> x_m;  ///< positions of the image's columns
  std::vector<double> y_m;  ///< positions of the image's rows
  std::vector<PlanePoint> points = {};
  std::vector<Band> bands_hz = {};
  bool holds_images = true;  ///< false: a file of points alone
  /// Images on a surface only, [row][column][x, y, z], empty for planes: pixel positions in m, and normals of length 1;
  /// z and the normal are 0 where there is no surface.
  std::vector<double> surface_m = {};
  std::vector<double> normals = {};
  std::string processor = std::string(kFirstProcessor);
  std::string kind = {};  ///< kind of the processor; empty if a file does not state it

  [[nodiscard]] std::size_t pixels() const { return x_m.size() * y_m.size(); }
  /// z of the pixels on a surface that is not a plane; empty for planes.
  [[nodiscard]] std::vector<double> surface_heights_m() const;
  [[nodiscard]] std::size_t values_per_frame() const { return planes_m.size() * frequencies_hz.size() * pixels(); }
};

/// The products of images, in the order of a frame: cutoff_rad_per_m, slope, noise_pa, error_estimate, radiated_power_w
/// (active intensities only), points (if there are any), images and bands (if there are any).
ResultHeader result_header(const ImagesHeader& header);
/// Inverse of result_header(); empty if the products are of another kind.
std::optional<ImagesHeader> images_header_of(const ResultHeader& header);

/// A frame's products [product]; they refer to the vectors of `frame`, which must stay unchanged.
std::vector<std::span<const std::byte>> products_of(const ImagesHeader& header, const ImageFrame& frame);
/// Copies a frame whose products are `header`'s. Throws std::invalid_argument if one has another size.
ImageFrame image_frame_of(const ImagesHeader& header, const Frame& frame);

/// Unit of a band's image: that of an intensity, else of the quantity's square.
std::string unit_of_bands(const ImagesHeader& header);

/// Power through the aperture towards the array, [plane][frequency], W: the sum of an active intensity's pixels times a
/// pixel's area. Empty for other quantities. NaN for images one pixel wide or high, whose axes determine no area.
std::vector<float> radiated_power_w(const ImagesHeader& header, std::span<const std::complex<float>> images);
/// Writes the power into existing [plane][frequency] values; writes nothing for other quantities.
void radiated_power_w(const ImagesHeader& header, std::span<const std::complex<float>> images,
                      std::span<float> power_w);

}  // namespace nearfield
