#pragma once
#include <complex>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cl/device.hpp"
#include "core/frame.hpp"
#include "imaging/shared/array_plan.hpp"
#include "imaging/shared/image_plan.hpp"
#include "imaging/shared/search.hpp"

namespace nearfield {

using ComplexBuffer = ocl::Buffer<std::complex<float>>;
/// [frame][kStatusWords]
using StatusBuffer = ocl::Buffer<std::uint32_t>;
/// [frame][frequency]
using ReportBuffer = ocl::Buffer<FilterReport>;

/// Positions of the frames of an enqueue() in their stream: an imager's memory restarts by hop numbers alone.
struct FrameHops {
  std::uint64_t first = 0;                    ///< hop number of the first frame; each further one is a hop later
  std::vector<std::int32_t> incomplete = {};  ///< [frame], 1 if bits are missing: not remembered; empty: none
};

/// Hop number as the kernels need it: the half of a memory that contains it, modulo an even number, and its position
/// there.
struct MemoryPlace {
  std::int32_t half = 0;
  std::int32_t age = 0;
};
constexpr MemoryPlace memory_place(std::uint64_t hop) {
  constexpr std::uint64_t kHalves = 1U << 30U;
  return {.half = static_cast<std::int32_t>(hop / kMemoryHalf % kHalves),
          .age = static_cast<std::int32_t>(hop % kMemoryHalf)};
}

/// Computes images from spectra on a device. The constructor validates, compiles and allocates, and may throw;
/// enqueue() only sets arguments and enqueues.
class Imager {
 public:
  Imager(const ocl::Device& device, const ImagePlan& plan);
  Imager(const Imager&) = delete;
  Imager& operator=(const Imager&) = delete;
  virtual ~Imager() = default;
  /// Images `frames` frames, at most the plan's batch. spectra [frame][frequency][row][column], Pa. `status` is or-ed
  /// into, then moved to taken_status(), and cleared.
  virtual void enqueue(const ComplexBuffer& spectra, const StatusBuffer& status, std::size_t frames = 1) = 0;
  /// Sets the hops of the next enqueue(). Without it they continue the last ones; the very first frame is hop 0.
  void set_hops(const FrameHops& hops) { hops_ = hops; }
  /// Replaces the plan's or the previous mask, between two frames; the mask must be made for the same plan, with at
  /// most mask_capacity() microphones. Waits, but builds and allocates nothing.
  virtual void use(const MicrophoneMask& mask) = 0;
  /// Forgets all frames, for the beginning of a stream; does not wait.
  virtual void forget() {}
  /// Applies the findings of its search, between two frames; waits for the frame before, but builds and allocates
  /// nothing.
  virtual void adopt(const std::shared_ptr<const Findings>& findings);
  /// The search of this imager, for any one thread; null if the plan sets none or this imager has none.
  [[nodiscard]] virtual std::unique_ptr<Search> make_search() const;
  /// The chosen path through the device, and its sizes, for log lines and reports.
  [[nodiscard]] virtual std::string description() const = 0;
  /// For a plan with two batches in flight: selects one of two places on the host, 0 or 1, for the next enqueue(). The
  /// contents of the other place are kept.
  void use_results(std::size_t place);
  /// [frame][plane][frequency][row][column], rows and columns of ImageGrid
  [[nodiscard]] const ComplexBuffer& images() const { return on_device().images; }
  /// [frame][kStatusWords]
  [[nodiscard]] const StatusBuffer& taken_status() const { return on_device().taken_status; }
  /// [frame][frequency]: cut-off, slope, noise and error estimate of each image; filled once, by the constructor, if
  /// the settings alone decide.
  [[nodiscard]] const ReportBuffer& reports() const { return on_device().reports; }
  /// Enqueues the transfer of the first `frames` frames' images, status and reports to the host, if one is needed. They
  /// are in host_images(), host_status() and host_reports() after Device::wait() until the next enqueue() in the same
  /// place.
  void enqueue_fetch(std::size_t frames = 1) const;
  [[nodiscard]] std::span<const std::complex<float>> host_images(std::size_t place = 0) const {
    return results_[place].host_images;
  }
  [[nodiscard]] std::span<const std::uint32_t> host_status(std::size_t place = 0) const {
    return results_[place].host_status;
  }
  [[nodiscard]] std::span<const FilterReport> host_reports(std::size_t place = 0) const {
    return results_[place].host_reports;
  }

 protected:
  /// Sets the reports of all further frames, [frequency]. Waits.
  void set_reports(std::span<const FilterReport> filters);
  /// Hops of the frames that are being enqueued.
  [[nodiscard]] const FrameHops& hops() const { return hops_; }
  /// Advances the hops by the number of enqueued frames.
  void pass_hops(std::size_t frames) { hops_ = {.first = hops_.first + frames}; }
  /// Called when images(), taken_status() and reports() have become other buffers: sets them as arguments of kernels
  /// that keep theirs.
  virtual void set_results() {}

 private:
  /// Results on the device, and in one of the places on the host.
  struct Results {
    ComplexBuffer images;
    StatusBuffer taken_status;
    ReportBuffer reports;
    ocl::HostBuffer<std::complex<float>> image_memory;  ///< memory of `images` if they are shared, else of transferred_
    ocl::HostBuffer<std::uint32_t> status_memory;
    ocl::HostBuffer<FilterReport> report_memory;
    std::span<const std::complex<float>> host_images;
    std::span<const std::uint32_t> host_status;
    std::span<const FilterReport> host_reports;
  };
  /// Makes one place that is shared with the device; false if the device has no such memory.
  bool share(std::size_t image_values, std::size_t status_words, std::size_t reports);
  void allocate(std::size_t places, std::size_t image_values, std::size_t status_words, std::size_t reports);
  /// All places share the buffers of the first one if results are transferred.
  [[nodiscard]] const Results& on_device() const { return results_[transferred_.size() > 0 ? 0 : place_]; }
  void write_reports(std::span<const FilterReport> reports);
  ocl::Device device_;
  std::size_t batch_;
  FrameHops hops_;
  ComplexBuffer transferred_;     ///< status, reports, then images: one transfer for all; empty if they are shared
  std::vector<Results> results_;  ///< [place]
  std::size_t place_ = 0;
};

namespace reference {
class Imager;
}

/// Entry of a kind of imager in the table: the one interface through which other folders use it.
struct ImagerEntry {
  ImagerKind kind;
  /// Reason why it cannot run this plan on this device, as a sentence; empty if it can.
  std::string (*obstacle)(const ocl::DeviceInfo& device, const ImagePlan& plan);
  /// Throws ConfigError, DeviceError.
  std::unique_ptr<Imager> (*make)(const ocl::Device& device, const ImagePlan& plan);
  /// Makes the imager in plain double precision on the host.
  std::unique_ptr<reference::Imager> (*make_reference)(const ImagePlan& plan);
};

}  // namespace nearfield
