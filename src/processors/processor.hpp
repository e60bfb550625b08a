#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cl/work.hpp"
#include "core/microphones.hpp"
#include "core/product.hpp"
#include "core/settings.hpp"
#include "imaging/shared/array_plan.hpp"
#include "imaging/shared/imager.hpp"
#include "imaging/shared/search.hpp"

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

/// Location of the windows of decimated samples of a batch on the processor's device. Full scale is 1 for bits,
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

/// A window of a computed batch whose products are asked for.
struct WindowToRead {
  std::size_t window = 0;             ///< index in the batch
  std::size_t place = 0;              ///< BatchInput::place of the batch
  std::optional<FrameStamp> stamp{};  ///< given for a window that becomes a frame; frames come in order
  bool is_last = false;               ///< the last frame of a run: averages of several windows include this one
};

/// Products of a window, and the losses that they depend on.
struct WindowProducts {
  Products products;                    ///< valid until the next call or the next batch in the same place
  std::uint64_t missing_bit_times = 0;  ///< most bit-times missing from any window that they depend on, if stamped
};

/// Interface that processors on a device and their references share.
class ProcessorBase {
 public:
  /// `header`: axes, products, kind and memory_hops if every hop is computed; the engine fills the rest. memory_hops:
  /// hops before its own that a frame may depend on: 0 if it depends on its window alone, kUnboundedMemory if on all;
  /// nothing if unknown. An axis `channel` makes it a processor of a subset (subset_of()).
  explicit ProcessorBase(ResultHeader header) : header_(std::move(header)) {}
  ProcessorBase(const ProcessorBase&) = delete;
  ProcessorBase& operator=(const ProcessorBase&) = delete;
  virtual ~ProcessorBase() = default;
  [[nodiscard]] const ResultHeader& header() const { return header_; }
  /// Products of a window that has been computed, for which the host has waited.
  virtual WindowProducts products(const WindowToRead& of) = 0;
  /// Replaces the plan's or the previous mask, between two frames; the mask was made for the same array, with at most
  /// mask_capacity() microphones. Waits, but builds and allocates nothing.
  virtual void use(const MicrophoneMask& mask) = 0;
  /// Resets averages over windows and other memory of them, at the start of a stream; does not wait.
  virtual void forget() {}

 private:
  ResultHeader header_;
};

/// Channels of the array's microphones that a processor with this header uses, ascending: the axis `channel`; empty if
/// all. With a subset the status on the device stays unchanged, because host_status() lacks the others, and its frames
/// have flag 64 by its own microphones' distances.
std::vector<int> subset_of(const ResultHeader& header);

/// Capability of a processor whose products depend on findings in the spectra of many windows.
class Searching {
 public:
  virtual ~Searching() = default;
  /// Makes the search, which any one thread may run; null where the plan has none.
  [[nodiscard]] virtual std::unique_ptr<Search> make_search() const = 0;
  /// Hops from one search to the next (SearchSchedule::every()); 0 where the plan has none.
  [[nodiscard]] virtual int search_every_hops() const = 0;
  /// Puts a search's findings into effect, between two frames; waits for the previous frame.
  virtual void adopt(const std::shared_ptr<const Findings>& findings) = 0;
};

/// Windows on the device, a hop apart.
struct BatchInput {
  const ComplexBuffer& spectra;  ///< [window][frequency][row][column], Pa, as measured; empty if it asks for none
  const StatusBuffer& status;    ///< [window][kStatusWords]
  std::size_t windows = 1;
  FrameHops hops = {};
  SampleView samples = {};  ///< for a processor whose settings ask for samples
  std::size_t place = 0;    ///< place of the results on the host, 0 or 1; 1 only if it takes turns
};

/// Computes products from spectra on a device. The constructor validates, compiles and allocates, and may throw;
/// enqueue() only sets arguments and enqueues. Implement enqueue(), products() and use(), and of the others those that
/// the kind needs.
class Processor : public ProcessorBase {
 public:
  using ProcessorBase::ProcessorBase;
  /// Enqueues the windows, and the transfer of their products to the host. The status is left unchanged, or it is or-ed
  /// into, moved to host_status() and cleared.
  virtual void enqueue(const BatchInput& input) = 0;
  /// Status [window][kStatusWords] of the batch in a place, for which the host has waited, of a processor that takes
  /// it; empty otherwise.
  [[nodiscard]] virtual std::span<const std::uint32_t> host_status(std::size_t /*place*/) const { return {}; }
  /// The chosen path through the device, and its sizes, for log lines and reports.
  [[nodiscard]] virtual std::string description() const { return header().kind; }
};

namespace reference {

using Complex = std::complex<double>;

/// Input of one window.
struct WindowInput {
  std::span<const Complex> spectra = {};  ///< [frequency][row][column], Pa
  std::span<const double> samples = {};   ///< [sample][channel], for who asks for them; units as in SampleView
  std::uint64_t hop = 0;
  bool is_whole = true;    ///< no bits are missing
  std::size_t window = 0;  ///< index in its batch
};

/// Losses and flags of one window's input.
struct Outcome {
  std::uint32_t flags = 0;
  int non_finite_microphones = 0;
};

/// [product], in the order of the header.
using OwnedProducts = std::vector<std::vector<std::byte>>;

/// Results of one window.
struct WindowResult {
  OwnedProducts products;
  Outcome outcome = {};
};

template <typename Values>
std::vector<std::byte> to_bytes(const Values& values) {
  const std::span<const std::byte> bytes = std::as_bytes(std::span(values));
  return {bytes.begin(), bytes.end()};
}

/// A processor in plain double precision on the host, written from its formulas. Implement compute() of a window and
/// use(), and forget() where frames depend on earlier windows.
class Processor : public ProcessorBase {
 public:
  using ProcessorBase::ProcessorBase;
  /// Computes a window; it may depend on those computed before, as on the device.
  virtual WindowResult compute(const WindowInput& window) = 0;
  /// Adds to the products of a computed window what depends on the frames before it, as in tracks. Returns
  /// WindowProducts::missing_bit_times.
  virtual std::uint64_t complete(const WindowToRead& /*window*/, OwnedProducts& /*products*/) { return 0; }
  /// Computes a batch of windows, whose products replace those of the last one.
  std::vector<Outcome> compute(std::span<const WindowInput> windows);
  WindowProducts products(const WindowToRead& of) final;

 private:
  std::vector<OwnedProducts> products_;            ///< [window]
  std::vector<std::span<const std::byte>> views_;  ///< result of the last products()
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
  /// True if a batch's products can be read while the next batch is computed, in another place (BatchInput).
  bool takes_turns = false;
};

/// In the order of kinds.def, then those that were added.
std::span<const ProcessorEntry> processor_table();
/// Adds an entry beside those of kinds.def; see schema::add_processor_kind().
void add_processor(const ProcessorEntry& entry);
/// Throws ConfigError if there is none of this name.
const ProcessorEntry& processor_entry(std::string_view kind);

}  // namespace nearfield
