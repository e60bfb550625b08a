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
#include "processors/images/image_processor.hpp"
#include "processors/processor.hpp"

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

/// What a computed window is, besides its products.
struct WindowStatus {
  std::uint32_t flags = 0;  ///< of the first processor's products
  int non_finite_microphones = 0;
  std::uint64_t missing_bits = 0;  ///< bit-times that never came; known to who feeds the engine
};

/// From input to products: a front end and the processors of its spectra as one. Built once, then fed and asked window
/// by window.
///
/// The processors of every hop are prompt: compute_*() computes them all and waits once. Those that are due more seldom
/// are late: begin_late() enqueues them behind a window that is out already, and the next compute_*(), whose wait
/// covers them, or finish_late() brings their products.
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
  /// Computes `windows` windows, a hop apart, at most the settings' batch, and their prompt products; the first starts
  /// at `first_sample`. Waits once. Their statuses and products are there until the next call.
  virtual std::span<const WindowStatus> compute_windows(std::uint64_t first_sample, std::size_t windows) = 0;
  WindowStatus compute_window(std::uint64_t first_sample) { return compute_windows(first_sample, 1).front(); }
  /// The same for given spectra, [window][frequency][row][column], Pa.
  virtual std::span<const WindowStatus> compute_spectra(std::span<const std::complex<float>> spectra) = 0;
  /// Enqueues the late processors of the bits in `due`, 1 << processor, on the windows that were computed last. Does
  /// not wait. What was begun before must be finished.
  virtual void begin_late(std::uint32_t due) = 0;
  /// Waits for what begin_late() has begun, where no compute_*() has come since.
  virtual void finish_late() = 0;

  /// None, where the plan wants spectra alone.
  [[nodiscard]] std::size_t processors() const { return results_.size(); }
  /// The first is the one of the settings' `holography`; the others follow in the settings' order.
  [[nodiscard]] const ResultHeader& header(std::size_t processor) const { return results_.at(processor).header; }
  [[nodiscard]] int every_hops(std::size_t processor) const { return results_.at(processor).every_hops; }
  [[nodiscard]] bool is_late(std::size_t processor) const { return every_hops(processor) > 1; }
  /// The late ones, as begin_late() takes them.
  [[nodiscard]] std::uint32_t late() const;
  /// Of one of the windows computed last, or of those that a late processor was begun on; they hold until the next call
  /// for this processor, and until the next compute_*() or begin_late().
  [[nodiscard]] virtual Products products(std::size_t processor, std::size_t window) = 0;
  /// Of that window's products. Those of a late processor hold what the input's flags were when it was begun.
  [[nodiscard]] virtual std::uint32_t flags(std::size_t processor, std::size_t window) const = 0;

  /// Of the first processor, which must make images, and the last windows: [window][plane][frequency][row][column];
  /// with bands, what they need follows the frequencies. Empty without it.
  [[nodiscard]] std::span<const std::complex<float>> images() const;
  /// [window][frequency] as images(): their filters, noise and errors.
  [[nodiscard]] std::span<const FilterReport> reports() const;
  /// Of one of the last windows as they were measured, [frequency][row][column], Pa, neither calibrated nor
  /// interpolated. Waits; for now and then.
  virtual void read_spectra(std::size_t window, std::span<std::complex<float>> spectra) const = 0;
  /// Of the spectra, which never changes. Its dead channels are those that are masked for good: by the settings, or
  /// because they have no gain.
  [[nodiscard]] const ArrayPlan& array_plan() const { return array_; }
  /// Puts a mask for array_plan() into effect, between two calls of compute_*(); waits for the device.
  virtual void use(const MicrophoneMask& mask) = 0;
  /// The one in effect.
  [[nodiscard]] std::shared_ptr<const MicrophoneMask> mask() const { return mask_; }
  /// What finds findings for this engine's first processor in its spectra, on any thread, and may outlive it; null
  /// where the settings want no search, or the processor has none.
  [[nodiscard]] virtual std::unique_ptr<Search> make_search() const = 0;
  /// Puts what its search has found into effect, between two calls of compute_*(); waits for the device.
  virtual void adopt(const std::shared_ptr<const Findings>& findings) = 0;
  /// Computes the prompt products of the last windows once more, from their spectra, after a change. Their statuses
  /// stay.
  virtual void image_again() = 0;
  /// Of a window: frequencies times microphones.
  [[nodiscard]] std::size_t spectra_values() const {
    return array_plan().frequencies_hz.size() * static_cast<std::size_t>(array_plan().geometry.channels());
  }
  /// Fills the first processor's products of one of the last windows into `frame`, whose other members stay.
  void fill(std::size_t window, ImageFrame& frame);
  /// compute_window() and fill(), flags too. Returns how many microphones were not finite.
  int image_window(std::uint64_t first_sample, ImageFrame& frame);
  int image_spectra(std::span<const std::complex<float>> spectra, ImageFrame& frame);

  /// Frequencies that were asked for and are computed.
  [[nodiscard]] const std::vector<double>& frequencies_hz() const { return frequencies_hz_; }
  /// As the images file names them.
  [[nodiscard]] virtual std::string device_name() const = 0;
  /// The front end with what its plan chose, such as the kernel; "none (spectra)" when there is none.
  [[nodiscard]] virtual std::string front_end_name() const = 0;
  /// The first processor's path and its sizes.
  [[nodiscard]] virtual std::string imager_name() const = 0;

 protected:
  explicit Engine(const EnginePlan& plan);
  /// A processor that the plan asks for.
  struct Wanted {
    std::string kind;
    int every_hops = 1;
    std::unique_ptr<KindSettings> own;
    ProcessorPlan plan;
  };
  /// Takes the frequencies that the spectra really have. Throws ConfigError.
  void set_frequencies(const std::vector<double>& computed_hz);
  [[nodiscard]] std::vector<Wanted> wanted_processors() const;
  /// Of a processor that was made. `images` is null where it makes none, and lives as long as the engine.
  void add_results(ResultHeader header, int every_hops, const ImagesOnHost* images);
  void set_mask(const MicrophoneMask& mask) { mask_ = std::make_shared<const MicrophoneMask>(mask); }
  [[nodiscard]] const EnginePlan& plan() const { return plan_; }

 private:
  struct Results {
    ResultHeader header;
    int every_hops = 1;
    const ImagesOnHost* images = nullptr;
  };
  EnginePlan plan_;
  ArrayPlan array_;
  std::vector<double> frequencies_hz_;
  std::vector<Results> results_;  ///< [processor]
  std::shared_ptr<const MicrophoneMask> mask_;
};

/// Throws ConfigError or DeviceError.
std::unique_ptr<Engine> make_engine(EngineKind kind, const EnginePlan& plan);

/// The same on a device that is open already, with its recorder if it has one.
std::unique_ptr<Engine> make_engine(const ocl::Device& device, const EnginePlan& plan);

/// Of the first processor, which must make images.
ImagesHeader images_header(const Engine& engine);

/// What a user should know before trusting the images, one message each: snapped frequencies, a cut-off inside the
/// radiation circle, microphones too far apart for a frequency, a predictor's order cut to the line's length.
std::vector<std::string> plan_warnings(const EnginePlan& plan, const std::vector<double>& frequencies_hz);

}  // namespace nearfield
