#pragma once
#include <complex>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cl/device.hpp"
#include "cl/work.hpp"
#include "core/settings.hpp"

namespace nearfield {

class DecimatedSamples;

/// Everything a front end needs to know when it is made.
struct FrontEndPlan {
  ArrayGeometry geometry;
  WireLayout layout = WireLayout::kSoramaCam;
  double sensitivity_dbfs = -26.0;                    ///< used for bits only
  double sample_rate_hz = kBitRateHz / kBitsPerWord;  ///< rate of the decimated samples
  bool input_is_bits = true;                          ///< false: samples in pascal
  FrontEndSettings settings;
  std::vector<int> dead_channels;  ///< row * columns + column; their clipping does not count
  int batch = 1;                   ///< most windows in one enqueue_batch()
  /// Shared source of samples for a front end that `cuts_samples`; its owner feeds it, not the front end. Null: the
  /// front end makes its own.
  std::shared_ptr<DecimatedSamples> samples = {};
};

/// Throws one ConfigError that names every setting that no front end can work with.
void validate(const FrontEndPlan& plan);

/// Turns a stream of bits, or of samples in pascal, into spectra at the plan's frequencies. Phasors are e^{+jwt}, peak,
/// pascal; the phase refers to the window's first bit (to its first sample when fed with samples). The device must
/// outlive the front end. All enqueue functions return at once; their arguments must stay unchanged until
/// Device::wait().
class FrontEnd {
 public:
  FrontEnd() = default;
  FrontEnd(const FrontEnd&) = delete;
  FrontEnd& operator=(const FrontEnd&) = delete;
  virtual ~FrontEnd() = default;

  /// Packed words (32 bit-times) before a window's first that must have been fed, without a gap, for exact output.
  /// Silence is assumed before bit 0 and before the data that follow a gap. 0 when fed with samples.
  [[nodiscard]] virtual std::uint64_t history_words() const = 0;

  /// Feeds wire words [bit-time][word], whole groups of 32 bit-times; the first bit-time is 32 * first_word. Any count.
  /// A call that does not continue the last one restarts the stream, with silence before it. Throws Error when planned
  /// for samples.
  virtual void enqueue_bits(std::uint64_t first_word, std::span<const std::uint32_t> wire);

  /// Feeds samples [sample][channel] in pascal. A channel with NaN or infinity in a window gets NaN spectra. Throws
  /// Error when planned for bits.
  virtual void enqueue_samples(std::uint64_t first_sample, std::span<const float> values);

  /// Spectra [frequency][channel], channel fastest, of the window whose first decimated sample is given: bits from 32 *
  /// first_sample_index on. The window must be part of the data fed last: at least the last 2 * window_samples.
  /// Incremental front ends require it to start a whole number of hops after the first word fed since the last gap.
  /// Ors kFlagClipped into word 0 of `status` (uint32 [4]) when a live channel is at 0.95 of full scale or above; bits
  /// only.
  virtual void enqueue_spectra(std::uint64_t first_sample_index, const ocl::Buffer<std::complex<float>>& spectra,
                               const ocl::Buffer<std::uint32_t>& status) = 0;

  /// Spectra [window][frequency][channel] of at most the plan's batch of windows, each a hop after the one before;
  /// status [window][kStatusWords]. Otherwise like enqueue_spectra(). A front end that cannot compute them together
  /// computes them one by one.
  virtual void enqueue_batch(std::uint64_t first_sample_index, std::size_t windows,
                             const ocl::Buffer<std::complex<float>>& spectra, const ocl::Buffer<std::uint32_t>& status);

  /// Frequencies of the spectra; they differ from the settings' if those do not fit the front end exactly.
  [[nodiscard]] virtual const std::vector<double>& actual_frequencies_hz() const = 0;

  /// Text for log lines: the kind's name, and the choice made for settings left at auto.
  [[nodiscard]] virtual std::string description() const { return kind_; }

 private:
  friend std::unique_ptr<FrontEnd> make_front_end(const ocl::Device& device, const FrontEndPlan& plan);
  /// Outputs of one window, for batches that are computed one by one.
  struct OneByOne {
    ocl::Device device;
    ocl::Buffer<std::complex<float>> spectra;
    ocl::Buffer<std::uint32_t> status;
    std::uint64_t hop_samples = 0;
  };
  std::string kind_;
  std::optional<OneByOne> one_by_one_;
};

namespace reference {
class FrontEnd;
}

/// Purpose of a variant; a benchmark selects variants by it.
enum class VariantUse {
  kAlways,
  kSlow,    ///< the thesis's own slow ways: full runs only
  kKernels  ///< kernels that all give the same spectra: timing only
};

/// A choice of settings that benchmarks compare with others.
struct FrontEndVariant {
  std::string_view name;
  VariantUse use = VariantUse::kAlways;
  void (*apply)(FrontEndSettings& settings) = [](FrontEndSettings&) {};
  std::string_view thesis = {};  ///< approach of the thesis; empty if it has none
};

/// Interface of one kind of front end to the rest of the program, without its settings (schema::FrontEndKind). `kind`
/// is its name there.
struct FrontEndEntry {
  std::string_view kind;
  /// Makes the front end of a plan that passed validate() and obstacle(). Throws ConfigError, DeviceError.
  std::unique_ptr<FrontEnd> (*make)(const ocl::Device& device, const FrontEndPlan& plan);
  /// Makes the front end in plain double precision on the host. Throws ConfigError.
  std::unique_ptr<reference::FrontEnd> (*make_reference)(const FrontEndPlan& plan);
  /// Every setting of a plan with which it cannot work, one per line, for a plan that passed validate(); empty if there
  /// is none.
  std::string (*obstacle)(const FrontEndPlan& plan) = [](const FrontEndPlan&) { return std::string(); };
  /// Work of one launch of the plan's batch of windows, for all of its stages.
  WorkModel (*work)(const FrontEndPlan& plan) = [](const FrontEndPlan&) { return WorkModel(); };
  /// True if it cuts its windows from DecimatedSamples, FrontEndPlan::samples.
  bool cuts_samples = false;
  /// If empty, benchmarks use the settings unchanged.
  std::span<const FrontEndVariant> variants = {};
};

/// Entries in the order of kinds.def.
std::span<const FrontEndEntry> front_end_table();
/// Throws ConfigError where there is none of this name.
const FrontEndEntry& front_end_entry(std::string_view kind);

/// Validates, compiles and allocates. Throws ConfigError or DeviceError.
std::unique_ptr<FrontEnd> make_front_end(const ocl::Device& device, const FrontEndPlan& plan);

}  // namespace nearfield
