#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

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
  kFlagSearchPending = 4096,         ///< the imager's first search has not ended: its findings are not used yet
  kFlagEitherSide = 8192,            ///< a found wave of the image may come from behind the array just as well
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
  float slope = 0.0F;             ///< filter's slope; NaN: none; 0 to -1: none, minus the sources' share of the image
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

/// A frame with memory of its own.
class ResultFrame {
 public:
  /// Makes a frame whose products are all zero.
  explicit ResultFrame(const ResultHeader& header);
  ResultFrame(const ResultFrame&) = delete;
  ResultFrame& operator=(const ResultFrame&) = delete;
  ResultFrame(ResultFrame&&) noexcept = default;
  ResultFrame& operator=(ResultFrame&&) noexcept = default;
  ~ResultFrame() = default;

  Frame frame;
  [[nodiscard]] std::span<std::byte> product(std::size_t index);
  /// Values of the product of this name; empty if `header`, that of the constructor, has none.
  template <class T>
  [[nodiscard]] std::span<T> values(const ResultHeader& header, std::string_view name) {
    const std::optional<std::size_t> index = header.index(name);
    const std::span<std::byte> bytes = index ? product(*index) : std::span<std::byte>();
    return {reinterpret_cast<T*>(bytes.data()), bytes.size() / sizeof(T)};
  }

 private:
  std::vector<std::uint64_t> memory_;
  ProductPlaces places_;
  std::vector<std::span<const std::byte>> products_;
};

/// Information that precedes the frames of a processor.
struct Beginning {
  std::size_t processor = 0;  ///< index, as in Frame::processor
  std::uint64_t epoch = 1;    ///< number of the configuration
  std::uint64_t frames = 0;   ///< frames to expect; 0: not known, as for a live stream
  /// Zero of a file's `time`, as in Frame::timestamp_ns: a recording's start. Empty: the first frame.
  std::optional<std::int64_t> time_zero_ns{};
  std::uint32_t microphones = 0;  ///< usable by the processor; 0: not known
  std::vector<int> masked{};      ///< masked by the settings, ascending
};

/// Name of a processor's place at an output. The first processor keeps the plain place, "", under any name.
inline std::string place_name(const ResultHeader& header, const Beginning& beginning) {
  return beginning.processor == 0 ? "" : header.processor;
}

/// Microphones masked because they were found bad, in addition to those of the settings, until the next change.
struct MaskChange {
  std::uint64_t first_bit_time = 0;  ///< first window computed with this mask, as Frame::first_bit_time
  std::vector<int> channels;         ///< ascending; empty: no longer any
  friend bool operator==(const MaskChange&, const MaskChange&) = default;
};

/// Describes what is wrong with a mask for an array of so many microphones; empty if it is valid.
std::string flaw_of_mask(const MaskChange& change, int microphones);

/// Receives the products of processors: a file, pictures, a ring for controllers, a socket. begin() is called for every
/// processor before the first frame of any, and again with each new epoch, whose sizes and axes may differ. For a live
/// stream write() does not block on readers, disk or network.
class Output {
 public:
  Output() = default;
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;
  virtual ~Output() = default;
  /// May throw; then the previous epoch continues.
  virtual void begin(const ResultHeader& header, const Beginning& beginning) = 0;
  /// Takes a frame; its products are valid only during the call.
  virtual void write(const Frame& frame) = 0;
  /// Called before the frames of the window in which the mask takes effect. For a live stream it must not block, like
  /// write().
  virtual void mask(const MaskChange& /*change*/) {}
  /// Called after the last frame of a recording; not if the run is aborted.
  virtual void finish() {}
};

}  // namespace nearfield
