#pragma once
#include <complex>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cl/device.hpp"
#include "imaging/microphone_mask.hpp"
#include "imaging/search.hpp"
#include "nearfield/frame.hpp"
#include "nearfield/settings.hpp"
#include "pipeline/bands.hpp"

namespace nearfield {

enum class EngineKind {
  kOpencl,     ///< the device
  kReference,  ///< plain double precision on the host, stage by stage from the formulas
};

/// What the front end is fed with.
enum class InputForm { kBits, kSamples, kSpectra };

struct EnginePlan {
  Settings settings;
  InputForm input = InputForm::kBits;
  double sample_rate_hz = 0.0;     ///< of decimated samples; not used for spectra
  std::vector<double> spectra_hz;  ///< frequencies of the spectra that image_spectra() will get
  /// False: spectra alone, for read_spectra(). No flag then says that a microphone is not finite, and of the holography
  /// settings the standoff alone matters; who opens a recording has validated them all the same.
  bool has_processor = true;
};

/// What a computed window is, besides its images.
struct WindowStatus {
  std::uint32_t flags = 0;
  int non_finite_microphones = 0;
  std::uint64_t missing_bits = 0;  ///< bit-times that never came; known to who feeds the engine
};

/// From input to images: front end and processor as one. Built once, then fed and asked frame by frame.
class Engine {
 public:
  virtual ~Engine() = default;

  /// Words before a window's first that must have been pushed for the window to be exact.
  [[nodiscard]] virtual std::uint64_t history_samples() const = 0;
  /// Room for bits that push_bits() takes without a copy; valid until the next window is computed.
  [[nodiscard]] virtual std::span<std::uint32_t> room_for_bits(std::size_t wire_words) = 0;
  /// Bits [bit-time][word], whole groups of 32 bit-times; `first_sample` is the first group's index. A jump forward is
  /// allowed if the history of the next window is pushed again. At most what a batch of windows needs (two
  /// windows and the history) a call; the memory must stay as it is until the next windows are computed.
  virtual void push_bits(std::uint64_t first_sample, std::span<const std::uint32_t> wire) = 0;
  /// Decimated samples [sample][channel], Pa; otherwise as push_bits().
  virtual void push_samples(std::uint64_t first_sample, std::span<const float> samples) = 0;
  /// Computes and images `windows` windows, a hop apart, at most the settings' batch; the first starts at
  /// `first_sample`. Waits once. Their statuses, and images(), are there until the next call.
  virtual std::span<const WindowStatus> compute_windows(std::uint64_t first_sample, std::size_t windows) = 0;
  WindowStatus compute_window(std::uint64_t first_sample) { return compute_windows(first_sample, 1).front(); }
  /// The same for given spectra, [window][frequency][row][column], Pa.
  virtual std::span<const WindowStatus> compute_spectra(std::span<const std::complex<float>> spectra) = 0;
  /// Of the last windows, [window][plane][frequency][row][column]; with bands, what they need follows the frequencies.
  [[nodiscard]] virtual std::span<const std::complex<float>> images() const = 0;
  /// Of the last windows, [window][frequency] as images(): their filters, noise and errors.
  [[nodiscard]] virtual std::span<const FilterReport> reports() const = 0;
  /// Of one of the last windows as they were measured, [frequency][row][column], Pa, neither calibrated nor
  /// interpolated. Waits; for now and then.
  virtual void read_spectra(std::size_t window, std::span<std::complex<float>> spectra) const = 0;
  /// Of the spectra, which never changes. Its dead channels are those that are masked for good: by the settings, or
  /// because they have no gain.
  [[nodiscard]] virtual const ArrayPlan& array_plan() const = 0;
  /// Puts a mask for array_plan() into effect, between two calls of compute_*(); waits for the device.
  virtual void use(const MicrophoneMask& mask) = 0;
  /// The one in effect.
  [[nodiscard]] virtual std::shared_ptr<const MicrophoneMask> mask() const = 0;
  /// What finds findings for this engine in its spectra, on any thread, and may outlive it; null where the settings
  /// want no search, or the imager has none.
  [[nodiscard]] virtual std::unique_ptr<Search> make_search() const = 0;
  /// Puts what its search has found into effect, between two calls of compute_*(); waits for the device.
  virtual void adopt(const std::shared_ptr<const Findings>& findings) = 0;
  /// Images the last windows once more, from their spectra, after a change. Their statuses stay.
  virtual void image_again() = 0;
  /// Of a window: frequencies times microphones.
  [[nodiscard]] std::size_t spectra_values() const {
    return array_plan().frequencies_hz.size() * static_cast<std::size_t>(array_plan().geometry.channels());
  }
  /// Fills images, bands, cutoffs, slopes, noise and error estimates of `frame`, whose vectors must have their sizes,
  /// for one of the last windows.
  void fill(std::size_t window, ImageFrame& frame) const;
  /// fill() without the images.
  void fill_reports(std::size_t window, ImageFrame& frame) const;
  /// compute_window() and fill(), flags too. Returns how many microphones were not finite.
  int image_window(std::uint64_t first_sample, ImageFrame& frame);
  int image_spectra(std::span<const std::complex<float>> spectra, ImageFrame& frame);

  /// Frequencies that are really imaged.
  [[nodiscard]] const std::vector<double>& frequencies_hz() const { return frequencies_hz_; }
  /// As the images file names them.
  [[nodiscard]] virtual std::string device_name() const = 0;
  /// The front end with what its plan chose, such as the kernel; "none (spectra)" when there is none.
  [[nodiscard]] virtual std::string front_end_name() const = 0;
  /// The word of the settings for the processor in use, such as "sonah"; empty where there is none.
  [[nodiscard]] virtual std::string processor_kind() const = 0;
  /// The imager's path and its sizes.
  [[nodiscard]] virtual std::string imager_name() const = 0;

 protected:
  explicit Engine(const EnginePlan& plan);
  [[nodiscard]] const BandPlan& bands() const { return bands_; }
  /// `computed_hz` are the frequencies that the plan's spectra really have.
  void set_frequencies(const std::vector<double>& computed_hz);

 private:
  BandPlan bands_;
  std::size_t pixels_;
  std::size_t computed_ = 0;  ///< frequencies, those that bands need included
  std::vector<double> frequencies_hz_;
};

/// Throws ConfigError or DeviceError.
std::unique_ptr<Engine> make_engine(EngineKind kind, const EnginePlan& plan);

/// The same on a device that is open already, with its recorder if it has one.
std::unique_ptr<Engine> make_engine(const ocl::Device& device, const EnginePlan& plan);

/// The header of an images file made with this engine; sizes a frame too.
ImagesHeader images_header(const EnginePlan& plan, const Engine& engine);
/// A frame with room for this header's images.
ImageFrame empty_frame(const ImagesHeader& header);

/// What a user should know before trusting the images, one message each: snapped frequencies, a cut-off inside the
/// radiation circle, microphones too far apart for a frequency, a predictor's order cut to the line's length.
std::vector<std::string> plan_warnings(const EnginePlan& plan, const std::vector<double>& frequencies_hz);

}  // namespace nearfield
