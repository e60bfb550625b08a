#pragma once
#include <complex>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "nearfield/band.hpp"
#include "nearfield/geometry.hpp"
#include "nearfield/product.hpp"

namespace nearfield {

/// What may be said of a frame; several can hold at once.
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
  kFlagMemoryNotFull = 512,          ///< some of ResultHeader::memory_hops before the frame were not computed
  kFlagInformationMissing = 1024,    ///< unused microphones take more than a tenth of an image's information with them
  kFlagDoubtfulInput = 2048,         ///< rate, unit or kind of what comes cannot be what the settings say
};

/// Words of a frame's status on the device: 0 = flags, 1 = microphones that are not finite, 2 and 3 spare.
inline constexpr std::size_t kStatusWords = 4;

/// A flag and what it means, in words.
struct FlagName {
  FrameFlag flag;
  std::string_view text;
};
/// All flags, by value.
std::span<const FlagName> flag_names();
/// What holds of a frame, in words, such as "dead or masked microphones interpolated"; empty when no flag is set.
std::string flags_in_words(std::uint32_t flags);

/// What is known of an image besides itself, as the device writes it (a float4).
struct alignas(16) FilterReport {
  float cutoff_rad_per_m = 0.0F;  ///< of the filter in use; NaN where it has none
  float slope = 0.0F;             ///< of the filter in use; NaN where it has none
  float noise_pa = 0.0F;  ///< rms of the complex noise of one microphone's phasor, sqrt(E|n|^2); NaN: not measured
  float error_estimate = 0.0F;  ///< relative L2 error of the image; NaN: not estimated
};

/// What a processor made of one window, live or of a recording. Times are nanoseconds: `mono` of CLOCK_MONOTONIC, `tai`
/// of CLOCK_TAI. Flags are of this processor's products, losses of the stream.
struct Frame {
  std::size_t processor = 0;         ///< its index in the run
  std::uint64_t sequence = 0;        ///< hops since the stream or the recording began, shed ones counted; never shrinks
  std::uint32_t stream_id = 0;       ///< of a live source; another one is a restart of the source
  std::uint64_t first_bit_time = 0;  ///< of the window; for inputs that are no bits the sample or frame index
  std::uint32_t window_bit_times = 0;
  std::int64_t timestamp_ns = 0;     ///< of first_bit_time, Unix, TAI
  std::int64_t capture_mono_ns = 0;  ///< when the window's last bit was in this host's memory; 0: of a recording
  std::int64_t capture_tai_ns = 0;   ///< likewise
  std::uint32_t flags = 0;           ///< FrameFlag
  /// Of the window that never came and are silence; of products that hold several windows, such as averages, of the
  /// one that lacks most.
  std::uint64_t missing_bit_times = 0;
  std::uint64_t shed_hops = 0;  ///< hops that overload dropped between the frame before and this one
  std::uint32_t valid_microphones = 0;
  std::uint32_t microphones = 0;  ///< that the processor could use; 0: not known
  /// Share of an image's information that those which are not used take with them (docs/sonah.md); 0 of other products.
  float missing_information = 0.0F;
  std::uint64_t epoch = 0;  ///< of the configuration: 1, then one more with each change
  /// A limit that begins recordings is exceeded, whichever processor's.
  bool exceeds_recorded_limit = false;
  /// [product] of the processor's ResultHeader, each as ResultHeader::bytes() says and aligned to 8 bytes.
  std::span<const std::span<const std::byte>> products;
};

/// The images of one window.
struct ImageFrame {
  std::uint64_t first_sample = 0;  ///< bit-time of the window's first bit; for other inputs the sample or frame index
  std::int64_t timestamp_ns = 0;   ///< of first_sample, Unix, TAI
  std::uint32_t flags = 0;
  std::uint64_t missing_bits = 0;           ///< as Frame::missing_bit_times
  std::vector<float> cutoff_rad_per_m;      ///< [frequency]; NaN where the filter has none
  std::vector<float> slope;                 ///< [frequency]; NaN where the filter has none
  std::vector<float> noise_pa;              ///< [frequency]; as FilterReport, NaN where it was not measured
  std::vector<float> error_estimate;        ///< [frequency]; as FilterReport, NaN where there is none
  std::vector<std::complex<float>> images;  ///< [plane][frequency][row][column], column fastest; intensities are real
  std::vector<float> radiated_power_w;      ///< [plane][frequency] of active intensities, else empty
  std::vector<std::complex<float>> points;  ///< [plane][frequency][point]
  std::vector<float> bands;                 ///< mean squares [plane][band][row][column], column fastest
};

/// What all frames of a processor that images a surface share. It stands for a ResultHeader, as result_header() says.
struct ImagesHeader {
  std::string quantity;  ///< a Quantity's name
  std::string unit;      ///< "Pa" | "m/s" | "m" | "W/m^2"
  std::string config;    ///< the YAML as run
  std::string device;
  std::string front_end;
  std::vector<double> frequencies_hz;
  std::vector<double> planes_m;
  std::vector<double> x_m;  ///< of the image's columns
  std::vector<double> y_m;  ///< of the image's rows
  std::vector<PlanePoint> points = {};
  std::vector<Band> bands_hz = {};
  bool holds_images = true;  ///< false: a file of points alone
  /// Of images on a surface, [row][column][x, y, z], empty of planes: its places in m, and its normals of length 1,
  /// both with 0 for z and for the normal where there is no surface.
  std::vector<double> surface_m = {};
  std::vector<double> normals = {};
  std::string processor = std::string(kFirstProcessor);
  std::string kind = {};  ///< of the processor; empty where a file does not say it

  [[nodiscard]] std::size_t pixels() const { return x_m.size() * y_m.size(); }
  /// z of the pixels that lie on a surface that is no plane; empty of planes.
  [[nodiscard]] std::vector<double> surface_heights_m() const;
  [[nodiscard]] std::size_t values_per_frame() const { return planes_m.size() * frequencies_hz.size() * pixels(); }
};

/// The products of images, in the order in which a frame has them: cutoff_rad_per_m, slope, noise_pa, error_estimate,
/// radiated_power_w (of active intensities), points (where there are some), images and bands (likewise).
ResultHeader result_header(const ImagesHeader& header);
/// What result_header() was made of; nothing where the products are of another kind.
std::optional<ImagesHeader> images_header_of(const ResultHeader& header);

/// A frame's products [product]; the vectors of `frame` must stay as they are.
std::vector<std::span<const std::byte>> products_of(const ImagesHeader& header, const ImageFrame& frame);
/// A copy of a frame whose products are `header`'s. Throws std::invalid_argument where one has another size.
ImageFrame image_frame_of(const ImagesHeader& header, const Frame& frame);

/// Of a band's image: that of an intensity, else of the quantity's square.
std::string unit_of_bands(const ImagesHeader& header);

/// Power through the aperture towards the array, [plane][frequency], W: the sum of an active intensity's pixels times a
/// pixel's area. Empty for other quantities. NaN where the images are one pixel wide or high: their axes determine no
/// area.
std::vector<float> radiated_power_w(const ImagesHeader& header, std::span<const std::complex<float>> images);
/// The same, into [plane][frequency] values that are there; none for other quantities.
void radiated_power_w(const ImagesHeader& header, std::span<const std::complex<float>> images,
                      std::span<float> power_w);

}  // namespace nearfield
