#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cl/work.hpp"
#include "imaging/shared/imager.hpp"
#include "imaging/shared/microphone_mask.hpp"
#include "imaging/shared/search.hpp"
#include "nearfield/array_files.hpp"
#include "nearfield/product.hpp"
#include "nearfield/settings.hpp"

namespace nearfield {

/// Issues numbers of objects that processors follow over frames, such as tracks: from 1 up, each once. May be used on
/// any thread.
class TrackIds {
 public:
  std::uint32_t next() { return ++last_; }

 private:
  std::atomic<std::uint32_t> last_ = 0;
};

/// Plan of a processor: settings and sizes only, no table that the device and the reference could share.
struct ProcessorPlan {
  std::string name = std::string(kFirstProcessor);
  // Valid only while the maker runs, as is `own`.
  const Settings* settings = nullptr;  ///< settings of the run
  const KindSettings* own = nullptr;   ///< settings of the kind that makes it
  ArrayPlan array;                     ///< its frequencies are those of the spectra
  std::vector<double> frequencies_hz;  ///< requested ones: the first of the array's; the others are bins of bands
  int every_hops = 1;                  ///< its cadence
  double sample_rate_hz = 0.0;         ///< rate of decimated samples
  bool input_is_finite = false;        ///< true: spectra from bits, never NaN or infinite
  int batch = 1;                       ///< windows that are computed together
  int batches_in_flight = 1;           ///< number with host memory for products: 1, or 2 if it takes turns
  std::vector<int> channels = {};      ///< channels in the run's array if `array` is a part of it; empty: the whole
  std::shared_ptr<TrackIds> track_ids = nullptr;      ///< common to all of a run's configurations; null: its own
  std::shared_ptr<const ArrayFiles> files = nullptr;  ///< files that the settings name by path; null: none is read
};

/// Location of the windows of decimated samples of an enqueue() on the processor's device. Full scale is 1 for bits,
/// after DecimatorDesign::response(); otherwise samples are in pascal.
struct SampleView {
  const ocl::Buffer<float>* samples = nullptr;  ///< [slot][channel], channel fastest; a ring
  std::uint32_t slots = 0;
  std::uint32_t first_slot = 0;    ///< slot of the first window's first sample; windows are a hop apart
  std::uint64_t first_sample = 0;  ///< index of that sample in the stream
};

/// Position of a frame of products in its stream.
struct FrameStamp {
  std::uint64_t sequence = 0;  ///< hops since the run began, including lost ones
  std::uint64_t first_bit_time = 0;
  std::uint64_t missing_bit_times = 0;  ///< bit-times of the processor's window that never arrived
};

/// The products of a window, in the order of a ResultHeader.
using Products = std::span<const std::span<const std::byte>>;

/// Computes products from spectra on a device. The constructor validates, compiles and allocates, and may throw;
/// enqueue() only sets arguments and enqueues.
class Processor {
 public:
  Processor() = default;
  Processor(const Processor&) = delete;
  Processor& operator=(const Processor&) = delete;
  virtual ~Processor() = default;
  /// Axes, products, kind and memory_hops if every hop is computed; the engine fills the rest. memory_hops: hops before
  /// its own that a frame may depend on: 0 if it depends on its window alone, kUnboundedMemory if on all; nothing if
  /// unknown.
  [[nodiscard]] virtual ResultHeader header() const = 0;
  /// Sets the samples for the windows of the next enqueue(), for a processor whose settings ask for samples.
  virtual void use_samples(const SampleView& /*samples*/) {}
  /// Sets the hops of the windows of the next enqueue(), for a processor that remembers windows.
  virtual void set_hops(const FrameHops& /*hops*/) {}
  /// Enqueues the first `windows` windows, and the transfer of their products to the host. spectra
  /// [window][frequency][row][column], Pa, as measured, empty for a processor that asks for none; `status`
  /// [window][kStatusWords] is left unchanged, or it is or-ed into, moved to host_status() and cleared.
  virtual void enqueue(const ComplexBuffer& spectra, const StatusBuffer& status, std::size_t windows) = 0;
  /// For a processor that takes turns, planned for two batches in flight: selects which of its two places on the host,
  /// 0 or 1, the next enqueue() fills, and products(), stamp() and host_status() refer to. The other one is kept.
  virtual void use_results(std::size_t /*place*/) {}
  /// Called between enqueue() and the first products() of a window whose products become a frame, for processors that
  /// follow sources over frames, or hold several windows. Frames come in order; other windows have no stamp.
  virtual void stamp(std::size_t /*window*/, const FrameStamp& /*stamp*/) {}
  /// For a stamped window whose products also depend on other windows: the most bit-times missing from any of these.
  [[nodiscard]] virtual std::uint64_t missing_bit_times(std::size_t /*window*/) const { return 0; }
  /// Called between stamp() and products() of the last window of a run: brings products of several windows, which would
  /// be published later, up to this window.
  virtual void publish_last(std::size_t /*window*/) {}
  /// Call it after Device::wait(): [product] of a window; valid until the next call or the next enqueue().
  virtual Products products(std::size_t window) = 0;
  /// Call it after Device::wait(): [window][kStatusWords] of a processor that takes the status; empty otherwise.
  [[nodiscard]] virtual std::span<const std::uint32_t> host_status() const { return {}; }
  /// Channels of the array's microphones that it uses, ascending; empty if all. With a subset enqueue() leaves the
  /// status unchanged, because host_status() lacks the others, and its frames have flag 64 by its own microphones'
  /// distances.
  [[nodiscard]] virtual std::span<const int> subset() const { return {}; }
  /// Replaces the plan's or the previous mask, between two frames; the mask was made for the same array, with at most
  /// mask_capacity() microphones. Waits, but builds and allocates nothing.
  virtual void use(const MicrophoneMask& mask) = 0;
  /// Puts a search's findings into effect, between two frames; waits for the previous frame.
  virtual void adopt(const std::shared_ptr<const Findings>& /*findings*/) {}
  /// Makes the search of this processor, which any one thread may run; null where the plan has none or this processor
  /// has none.
  [[nodiscard]] virtual std::unique_ptr<Search> make_search() const { return nullptr; }
  /// Resets averages over windows and other memory of them, at the start of a stream; does not wait.
  virtual void forget() {}
  /// The chosen path through the device, and its sizes, for log lines and reports.
  [[nodiscard]] virtual std::string description() const = 0;
};

namespace reference {

using Complex = std::complex<double>;

/// A processor in plain double precision on the host, written from its formulas.
class Processor {
 public:
  /// Losses and flags of one window's input.
  struct Outcome {
    std::uint32_t flags = 0;
    int non_finite_microphones = 0;
  };
  Processor() = default;
  Processor(const Processor&) = delete;
  Processor& operator=(const Processor&) = delete;
  virtual ~Processor() = default;
  [[nodiscard]] virtual ResultHeader header() const = 0;
  /// Drops the products of the windows computed so far.
  virtual void clear() = 0;
  /// Sets the decimated samples [sample][channel] of the window that add() computes next, for a processor that asks for
  /// them; in units as in SampleView.
  virtual void use_samples(std::span<const double> /*samples*/) {}
  /// Sets the hop of the window that add() computes next; `is_whole`: no bits of it are missing.
  virtual void set_hop(std::uint64_t /*hop*/, bool /*is_whole*/) {}
  /// Computes one more window: spectra [frequency][row][column], Pa. May depend on earlier windows, as on the device.
  virtual Outcome add(std::span<const Complex> spectra) = 0;
  /// See nearfield::Processor.
  [[nodiscard]] virtual std::span<const int> subset() const { return {}; }
  /// See nearfield::Processor; called between add() and the first products() of a window.
  virtual void stamp(std::size_t /*window*/, const FrameStamp& /*stamp*/) {}
  /// See nearfield::Processor.
  virtual void publish_last(std::size_t /*window*/) {}
  [[nodiscard]] virtual std::uint64_t missing_bit_times(std::size_t /*window*/) const { return 0; }
  /// Products of one of the windows since clear(); valid until the next call.
  virtual Products products(std::size_t window) = 0;
  /// This and the following: see nearfield::Processor.
  virtual void forget() {}
  virtual void use(const MicrophoneMask& mask) = 0;
  virtual void adopt(const std::shared_ptr<const Findings>& /*findings*/) {}
  [[nodiscard]] virtual std::unique_ptr<Search> make_search() const { return nullptr; }
};

}  // namespace reference

/// Warnings and notes on a plan for the user, before its first frame, one text each.
struct Remarks {
  std::vector<std::string> notes;
  std::vector<std::string> warnings;
};

/// Table entry of a kind of processor: together with its settings (schema::ProcessorKind) the only interface for other
/// folders.
struct ProcessorEntry {
  std::string_view kind;
  /// The makers throw ConfigError and DeviceError.
  std::unique_ptr<Processor> (*make)(const ocl::Device& device, const ProcessorPlan& plan);
  /// Reference in plain double precision on the host.
  std::unique_ptr<reference::Processor> (*make_reference)(const ProcessorPlan& plan);
  /// Takes a plan as for the makers.
  Remarks (*remarks)(const ProcessorPlan& plan) = [](const ProcessorPlan&) { return Remarks(); };
  /// Work of one launch of the plan's batch of windows, with all its stages. Uses sizes and `own` only.
  WorkModel (*work)(const ProcessorPlan& plan) = [](const ProcessorPlan&) { return WorkModel(); };
  /// True if a batch's products can be read while the next batch is computed: Processor::use_results().
  bool takes_turns = false;
};

/// In the order of kinds.def.
std::span<const ProcessorEntry> processor_table();
/// Throws ConfigError if there is none of this name.
const ProcessorEntry& processor_entry(std::string_view kind);

}  // namespace nearfield
