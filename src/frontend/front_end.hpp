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
#include "nearfield/settings.hpp"

namespace nearfield {

class DecimatedSamples;

/// What a front end is planned from.
struct FrontEndPlan {
  ArrayGeometry geometry;
  WireLayout layout = WireLayout::kSoramaCam;
  double sensitivity_dbfs = -26.0;                    ///< used for bits only
  double sample_rate_hz = kBitRateHz / kBitsPerWord;  ///< of the decimated samples
  bool input_is_bits = true;                          ///< false: samples in pascal
  FrontEndSettings settings;
  std::vector<int> dead_channels;  ///< row * columns + column; their clipping does not count
  int batch = 1;                   ///< windows that enqueue_batch() does at most
  /// Where a front end that `cuts_samples` has its samples from, fed by who made them and not through the front end;
  /// null: it makes its own.
  std::shared_ptr<DecimatedSamples> samples = {};
};

/// Throws one ConfigError that names every setting that no front end can work with.
void validate(const FrontEndPlan& plan);

/// Turns a stream of bits, or of samples in pascal, into spectra at the plan's frequencies. Phasors are e^{+jwt}, peak,
/// pascal; the phase refers to the window's first bit (to its first sample when fed with samples). The device must
/// outlive the front end. All enqueue functions return at once; what they are given must stay as it is until
/// Device::wait().
class FrontEnd {
 public:
  FrontEnd() = default;
  FrontEnd(const FrontEnd&) = delete;
  FrontEnd& operator=(const FrontEnd&) = delete;
  virtual ~FrontEnd() = default;

  /// Packed words (32 bit-times) before a window's first that must have been fed, without a gap, for exact output.
  /// Before bit 0, and before what follows a gap, there is silence. 0 when fed with samples.
  [[nodiscard]] virtual std::uint64_t history_words() const = 0;

  /// Feeds wire words [bit-time][word], whole groups of 32 bit-times; the first bit-time is 32 * first_word. Any count.
  /// A call that does not continue the last one restarts the stream, with silence before it. Throws Error when planned
  /// for samples.
  virtual void enqueue_bits(std::uint64_t first_word, std::span<const std::uint32_t> wire);

  /// Feeds samples [sample][channel] in pascal. A channel with NaN or infinity in a window gets NaN spectra. Throws
  /// Error when planned for bits.
  virtual void enqueue_samples(std::uint64_t first_sample, std::span<const float> values);

  /// Spectra [frequency][channel], channel fastest, of the window whose first decimated sample is given: bits
  /// 32 * first_sample_index on. The window must be among what was fed last: at least the last 2 * window_samples.
  /// Incremental front ends want it a whole number of hops after the first word fed since the last gap.
  /// Ors kFlagClipped into word 0 of `status` (uint32 [4]) when a live channel is at 0.95 of full scale or above; bits
  /// only.
  virtual void enqueue_spectra(std::uint64_t first_sample_index, const ocl::Buffer<std::complex<float>>& spectra,
                               const ocl::Buffer<std::uint32_t>& status) = 0;

  /// Spectra [window][frequency][channel] of as many windows as the plan's batch or fewer, each a hop after the one
  /// before; status [window][kStatusWords]. Otherwise as enqueue_spectra(). Where a front end has no way to do them
  /// together it does them one by one.
  virtual void enqueue_batch(std::uint64_t first_sample_index, std::size_t windows,
                             const ocl::Buffer<std::complex<float>>& spectra, const ocl::Buffer<std::uint32_t>& status);

  /// The frequencies that the spectra are of, where the settings' ones do not fit the front end exactly.
  [[nodiscard]] virtual const std::vector<double>& actual_frequencies_hz() const = 0;

  /// For log lines: the kind's name, and the choice that was made where the settings left one.
  [[nodiscard]] virtual std::string description() const { return kind_; }

 private:
  friend std::unique_ptr<FrontEnd> make_front_end(const ocl::Device& device, const FrontEndPlan& plan);
  /// One window's outputs, for batches that are done one by one.
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

/// What a variant is for; a benchmark walks those it needs.
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
  std::string_view thesis = {};  ///< which of the thesis's approaches it is; empty when it has none
  bool measures_offset = false;  ///< also measured with offsets; other choices of its settings leak alike
};

/// What a kind of front end brings: all that others know of it, but for its settings (schema::FrontEndKind). `kind` is
/// its name there.
struct FrontEndEntry {
  std::string_view kind;
  /// From a plan that passed validate() and obstacle(). Throws ConfigError, DeviceError.
  std::unique_ptr<FrontEnd> (*make)(const ocl::Device& device, const FrontEndPlan& plan);
  /// The same in plain double precision on the host. Throws ConfigError.
  std::unique_ptr<reference::FrontEnd> (*make_reference)(const FrontEndPlan& plan);
  /// Every setting of a plan that it cannot work with, a line each, of a plan that passed validate(); empty where there
  /// is none.
  std::string (*obstacle)(const FrontEndPlan& plan) = [](const FrontEndPlan&) { return std::string(); };
  /// Of one launch of the plan's batch of windows, whichever of its stages it has.
  WorkModel (*work)(const FrontEndPlan& plan) = [](const FrontEndPlan&) { return WorkModel(); };
  /// It cuts its windows from DecimatedSamples, FrontEndPlan::samples.
  bool cuts_samples = false;
  /// Where there is none, benchmarks take it as the settings are.
  std::span<const FrontEndVariant> variants = {};
};

/// One a line of kinds.def.
std::span<const FrontEndEntry> front_end_table();
/// Throws ConfigError where there is none of this name.
const FrontEndEntry& front_end_entry(std::string_view kind);

/// Validates, compiles and allocates. Throws ConfigError or DeviceError.
std::unique_ptr<FrontEnd> make_front_end(const ocl::Device& device, const FrontEndPlan& plan);

}  // namespace nearfield
