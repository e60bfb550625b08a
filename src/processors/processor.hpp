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
#include "imaging/imager.hpp"
#include "imaging/microphone_mask.hpp"
#include "imaging/search.hpp"
#include "nearfield/array_files.hpp"
#include "nearfield/product.hpp"
#include "nearfield/settings.hpp"

namespace nearfield {

/// Numbers of what processors follow over frames, such as tracks: from 1 up, each given once. On any thread.
class TrackIds {
 public:
  std::uint32_t next() { return ++last_; }

 private:
  std::atomic<std::uint32_t> last_ = 0;
};

/// The plan of a processor. It has settings and sizes only: no table that the device and the reference could share.
struct ProcessorPlan {
  std::string name = std::string(kFirstProcessor);
  // These two are valid only while the maker runs.
  const Settings* settings = nullptr;  ///< of the run
  const KindSettings* own = nullptr;   ///< of the kind that makes it
  ArrayPlan array;                     ///< its frequencies are those of the spectra
  std::vector<double> frequencies_hz;  ///< that were requested: the first of the array's; the others are bins of bands
  int every_hops = 1;                  ///< its cadence
  double sample_rate_hz = 0.0;         ///< of decimated samples
  bool input_is_finite = false;        ///< spectra are never NaN or infinite: of bits
  int batch = 1;                       ///< windows that are computed together
  int batches_in_flight = 1;           ///< whose products have room on the host at a time: 1, or 2 where it takes turns
  std::vector<int> channels = {};      ///< of the run's array, of which `array` is a part; empty: it is the whole
  std::shared_ptr<TrackIds> track_ids = nullptr;  ///< of all configurations of a run; null: the processor has its own
  std::shared_ptr<const ArrayFiles> files = nullptr;  ///< of what its settings name by a path; null: nothing is read
};

/// Where the windows of decimated samples of an enqueue() lie on the processor's device. Full scale is 1 where bits
/// come in, after DecimatorDesign::response(); else they are pascal.
struct SampleView {
  const ocl::Buffer<float>* samples = nullptr;  ///< [slot][channel], channel fastest; a ring
  std::uint32_t slots = 0;
  std::uint32_t first_slot = 0;  ///< of the first window's first sample; each window begins a hop after the one before
  std::uint64_t first_sample = 0;  ///< the same sample's index in the stream
};

/// Where a frame of products lies in its stream.
struct FrameStamp {
  std::uint64_t sequence = 0;  ///< hops of the run since it began, lost ones too
  std::uint64_t first_bit_time = 0;
  std::uint64_t missing_bit_times = 0;  ///< of the processor's window that never came
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
  /// Axes, products, kind and memory where every hop is computed; the engine fills the rest.
  [[nodiscard]] virtual ResultHeader header() const = 0;
  /// Hops before its own that a frame may depend on, where every hop is computed: 0 where it depends on its window
  /// alone, kUnboundedMemory where on all; nothing where it is not known.
  /// Of the windows of the enqueue() that follows, for a processor whose settings ask for samples.
  virtual void use_samples(const SampleView& /*samples*/) {}
  /// Of the windows of the enqueue() that follows, for a processor that remembers some of them.
  virtual void set_hops(const FrameHops& /*hops*/) {}
  /// Enqueues the first `windows` windows, and the transfer of their products to the host. spectra
  /// [window][frequency][row][column], Pa, as they were measured, empty for a processor that asks for none; `status`
  /// [window][kStatusWords] is left as it is, or or-ed into, moved to host_status() and left cleared.
  virtual void enqueue(const ComplexBuffer& spectra, const StatusBuffer& status, std::size_t windows) = 0;
  /// Of a processor that takes turns, planned for two batches in flight: which of its two places on the host, 0 or 1,
  /// the enqueue() that follows fills, and products(), stamp() and host_status() speak of. What lies in the other one
  /// stays.
  virtual void use_results(std::size_t /*place*/) {}
  /// Between enqueue() and the first products() of a window whose products become a frame, for what follows sources
  /// over frames, or holds several windows. Frames come in their order; other windows have no stamp.
  virtual void stamp(std::size_t /*window*/, const FrameStamp& /*stamp*/) {}
  /// Of a window with a stamp: where its products are made of other windows than its own, too, the most bit-times that
  /// lack from any of them.
  [[nodiscard]] virtual std::uint64_t missing_bit_times(std::size_t /*window*/) const { return 0; }
  /// Between stamp() and products() of the last window of a run: what is made of several windows and comes later than
  /// the last of these is made up to this one.
  virtual void publish_last(std::size_t /*window*/) {}
  /// After Device::wait(): [product] of a window; they hold until the next call or the next enqueue().
  virtual Products products(std::size_t window) = 0;
  /// After Device::wait(), [window][kStatusWords] of a processor that takes the status; empty of one that leaves it.
  [[nodiscard]] virtual std::span<const std::uint32_t> host_status() const { return {}; }
  /// The channels of the array's microphones that it sees, ascending; empty where it sees all. With a subset enqueue()
  /// leaves the status as it is, as host_status() says nothing of the others, and its frames have flag 64 by its own
  /// microphones' distances.
  [[nodiscard]] virtual std::span<const int> subset() const { return {}; }
  /// Sets another mask in place of the plan's or the previous one, between two frames; it was made for the same array,
  /// of at most mask_capacity() microphones. Waits, but builds and allocates nothing.
  virtual void use(const MicrophoneMask& mask) = 0;
  /// Puts what its search has found into effect, between two frames; waits for the frame before.
  virtual void adopt(const std::shared_ptr<const Findings>& /*findings*/) {}
  /// The search of this processor, which any one thread may run; null where the plan sets none or this processor has
  /// none.
  [[nodiscard]] virtual std::unique_ptr<Search> make_search() const { return nullptr; }
  /// Resets averages over windows and what is remembered of them, as a stream begins; does not wait.
  virtual void forget() {}
  /// The path through the device that was chosen, and its sizes, for log lines and reports.
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
  /// Decimated samples [sample][channel] of the window that add() computes next, for a processor that asks for them;
  /// in units as SampleView's.
  virtual void use_samples(std::span<const double> /*samples*/) {}
  /// Of the window that add() computes next; `is_whole`: no bits of it are missing.
  virtual void set_hop(std::uint64_t /*hop*/, bool /*is_whole*/) {}
  /// Computes one window more: spectra [frequency][row][column], Pa. May depend on the windows before, as on the
  /// device.
  virtual Outcome add(std::span<const Complex> spectra) = 0;
  /// As nearfield::Processor's.
  [[nodiscard]] virtual std::span<const int> subset() const { return {}; }
  /// As nearfield::Processor's, between add() and the first products() of a window.
  virtual void stamp(std::size_t /*window*/, const FrameStamp& /*stamp*/) {}
  /// Likewise.
  virtual void publish_last(std::size_t /*window*/) {}
  [[nodiscard]] virtual std::uint64_t missing_bit_times(std::size_t /*window*/) const { return 0; }
  /// Of one of the windows since clear(); they hold until the next call.
  virtual Products products(std::size_t window) = 0;
  /// As nearfield::Processor's, as those below.
  virtual void forget() {}
  virtual void use(const MicrophoneMask& mask) = 0;
  virtual void adopt(const std::shared_ptr<const Findings>& /*findings*/) {}
  [[nodiscard]] virtual std::unique_ptr<Search> make_search() const { return nullptr; }
};

}  // namespace reference

/// What a user should know of a plan before its first frame, one text each.
struct Remarks {
  std::vector<std::string> notes;
  std::vector<std::string> warnings;
};

/// The entry of a kind of processor in the table: with its settings (schema::ProcessorKind) the one interface through
/// which other folders use it.
struct ProcessorEntry {
  std::string_view kind;
  /// Throw ConfigError, DeviceError.
  std::unique_ptr<Processor> (*make)(const ocl::Device& device, const ProcessorPlan& plan);
  /// The same in plain double precision on the host.
  std::unique_ptr<reference::Processor> (*make_reference)(const ProcessorPlan& plan);
  /// Of a plan as for the makers.
  Remarks (*remarks)(const ProcessorPlan& plan) = [](const ProcessorPlan&) { return Remarks(); };
  /// Of one launch of the plan's batch of windows, whichever of its stages it has. Looks at sizes and `own` alone.
  WorkModel (*work)(const ProcessorPlan& plan) = [](const ProcessorPlan&) { return WorkModel(); };
  /// The products of a batch can be read while those of the next one are computed: Processor::use_results().
  bool takes_turns = false;
};

/// One a line of kinds.def.
std::span<const ProcessorEntry> processor_table();
/// Throws ConfigError where there is none of this name.
const ProcessorEntry& processor_entry(std::string_view kind);

}  // namespace nearfield
