#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cl/work.hpp"
#include "imaging/imager.hpp"
#include "imaging/microphone_mask.hpp"
#include "imaging/search.hpp"
#include "nearfield/product.hpp"
#include "nearfield/settings.hpp"

namespace nearfield {

/// Everything that a processor is made from. Settings and sizes only: no table that the device and the reference could
/// share.
struct ProcessorPlan {
  std::string name = std::string(kFirstProcessor);
  // These two are there while the maker runs, and no longer.
  const Settings* settings = nullptr;  ///< of the run
  const KindSettings* own = nullptr;   ///< of the kind that makes it
  ArrayPlan array;                     ///< its frequencies are those of the spectra
  std::vector<double> frequencies_hz;  ///< that were asked for: the first of the array's; the others are bins of bands
  int every_hops = 1;                  ///< its cadence
  double sample_rate_hz = 0.0;         ///< of decimated samples
  bool input_is_finite = false;        ///< spectra are never NaN or infinite: of bits
  int batch = 1;                       ///< windows that are computed together
};

/// The products of a window, in the order of a ResultHeader.
using Products = std::span<const std::span<const std::byte>>;

/// What makes products from spectra on a device. The constructor validates, compiles and allocates, and may throw;
/// enqueue() only sets arguments and enqueues.
class Processor {
 public:
  Processor() = default;
  Processor(const Processor&) = delete;
  Processor& operator=(const Processor&) = delete;
  virtual ~Processor() = default;
  /// Axes, products and kind; who runs it fills the rest.
  [[nodiscard]] virtual ResultHeader header() const = 0;
  /// Enqueues the first `windows` windows, and what brings their products to the host. spectra
  /// [window][frequency][row][column], Pa, as they were measured; `status` [window][kStatusWords] is left as it is, or
  /// or-ed into, moved to host_status() and left cleared.
  virtual void enqueue(const ComplexBuffer& spectra, const StatusBuffer& status, std::size_t windows) = 0;
  /// After Device::wait(): [product] of a window; they hold until the next call or the next enqueue().
  virtual Products products(std::size_t window) = 0;
  /// After Device::wait(), [window][kStatusWords] of a processor that takes the status; empty of one that leaves it.
  [[nodiscard]] virtual std::span<const std::uint32_t> host_status() const { return {}; }
  /// Another mask in place of the plan's or the last one, between two frames; made for the same array, of at most
  /// mask_capacity() microphones. Waits, but builds and allocates nothing.
  virtual void use(const MicrophoneMask& mask) = 0;
  /// Puts what its search has found into effect, between two frames; waits for the frame before.
  virtual void adopt(const std::shared_ptr<const Findings>& /*findings*/) {}
  /// What finds findings for this processor, on any thread; null where the plan wants none or it takes none.
  [[nodiscard]] virtual std::unique_ptr<Search> make_search() const { return nullptr; }
  /// Forgets the windows so far: a stream begins. For what averages over windows; waits for nothing.
  virtual void forget() {}
  /// Its way through the device and its sizes, in words.
  [[nodiscard]] virtual std::string description() const = 0;
};

namespace reference {

using Complex = std::complex<double>;

/// A processor in plain double precision on the host, written from its formulas.
class Processor {
 public:
  /// What one window's input was like.
  struct Outcome {
    std::uint32_t flags = 0;
    int non_finite_microphones = 0;
  };
  Processor() = default;
  Processor(const Processor&) = delete;
  Processor& operator=(const Processor&) = delete;
  virtual ~Processor() = default;
  [[nodiscard]] virtual ResultHeader header() const = 0;
  /// Forgets the windows that it has computed.
  virtual void clear() = 0;
  /// Computes one window more: spectra [frequency][row][column], Pa. May depend on the windows before, as on the
  /// device.
  virtual Outcome add(std::span<const Complex> spectra) = 0;
  /// Of one of the windows since clear(); they hold until the next call.
  virtual Products products(std::size_t window) = 0;
  /// As nearfield::Processor's, as those below.
  virtual void forget() {}
  virtual void use(const MicrophoneMask& mask) = 0;
  virtual void adopt(const std::shared_ptr<const Findings>& /*findings*/) {}
  [[nodiscard]] virtual std::unique_ptr<Search> make_search() const { return nullptr; }
};

}  // namespace reference

/// What a kind of processor brings: all that others know of it, but for its settings (schema::ProcessorKind).
struct ProcessorEntry {
  std::string_view kind;
  /// Throw ConfigError, DeviceError.
  std::unique_ptr<Processor> (*make)(const ocl::Device& device, const ProcessorPlan& plan);
  /// The same in plain double precision on the host.
  std::unique_ptr<reference::Processor> (*make_reference)(const ProcessorPlan& plan);
  /// Of one launch of the plan's batch of windows, whichever of its stages it has. Looks at sizes and `own` alone.
  WorkModel (*work)(const ProcessorPlan& plan) = [](const ProcessorPlan&) { return WorkModel(); };
};

/// One a line of kinds.def.
std::span<const ProcessorEntry> processor_table();
/// Throws ConfigError where there is none of this name.
const ProcessorEntry& processor_entry(std::string_view kind);

}  // namespace nearfield
