#pragma once
#include <complex>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "cl/device.hpp"
#include "imaging/microphone_mask.hpp"
#include "imaging/pnah/pnah_plan.hpp"
#include "imaging/search.hpp"
#include "nearfield/frame.hpp"

namespace nearfield {

using ComplexBuffer = ocl::Buffer<std::complex<float>>;
/// [frame][kStatusWords]
using StatusBuffer = ocl::Buffer<std::uint32_t>;
/// [frame][frequency]
using ReportBuffer = ocl::Buffer<FilterReport>;

/// What makes images from spectra on a device. The constructor validates, compiles and allocates, and may throw;
/// enqueue() only sets arguments and enqueues.
class Imager {
 public:
  Imager(const ocl::Device& device, const PnahPlan& plan);
  Imager(const Imager&) = delete;
  Imager& operator=(const Imager&) = delete;
  virtual ~Imager() = default;
  /// Images `frames` frames, at most the plan's batch. spectra [frame][frequency][row][column], Pa. `status` is or-ed
  /// into, then moved to taken_status(), and left cleared.
  virtual void enqueue(const ComplexBuffer& spectra, const StatusBuffer& status, std::size_t frames = 1) = 0;
  /// Another mask in place of the plan's or the last one, between two frames; made for the same plan, of at most
  /// mask_capacity() microphones. Waits, but builds and allocates nothing.
  virtual void use(const MicrophoneMask& mask) = 0;
  /// Puts what its search has found into effect, between two frames; waits for the frame before, but builds and
  /// allocates nothing.
  virtual void adopt(const std::shared_ptr<const Findings>& findings);
  /// What finds findings for this processor, on any thread; null where the plan wants none or it takes none.
  [[nodiscard]] virtual std::unique_ptr<Search> make_search() const;
  /// Its way through the device and its sizes, in words.
  [[nodiscard]] virtual std::string description() const = 0;
  /// [frame][plane][frequency][upsample * row][upsample * column]
  [[nodiscard]] const ComplexBuffer& images() const { return images_; }
  /// [frame][kStatusWords]
  [[nodiscard]] const StatusBuffer& taken_status() const { return taken_status_; }
  /// [frame][frequency]: what the images' filters were and how far to trust them; filled once here where the settings
  /// alone decide.
  [[nodiscard]] const ReportBuffer& reports() const { return reports_; }
  /// Enqueues what brings the first `frames` frames' images, status and reports to the host, if anything needs to. They
  /// are in host_images(), host_status() and host_reports() after Device::wait() until the next enqueue().
  void enqueue_fetch(std::size_t frames = 1) const;
  [[nodiscard]] std::span<const std::complex<float>> host_images() const { return host_images_; }
  [[nodiscard]] std::span<const std::uint32_t> host_status() const { return host_status_; }
  [[nodiscard]] std::span<const FilterReport> host_reports() const { return host_reports_; }

 protected:
  /// The reports of every frame from now on, [frequency]. Waits.
  void set_reports(std::span<const FilterReport> filters);

 private:
  void share(ocl::SharedBuffer<std::complex<float>> images, ocl::SharedBuffer<std::uint32_t> status,
             ocl::SharedBuffer<FilterReport> reports);
  void allocate(std::size_t image_values, std::size_t status_words, std::size_t reports);
  ocl::Device device_;
  std::size_t batch_;
  ComplexBuffer results_;  ///< status, reports, then images: one transfer for all; not used where these are shared
  ComplexBuffer images_;
  StatusBuffer taken_status_;
  ReportBuffer reports_;
  ocl::HostBuffer<std::complex<float>> image_memory_;  ///< of images_ where it is shared, else of results_
  ocl::HostBuffer<std::uint32_t> status_memory_;
  ocl::HostBuffer<FilterReport> report_memory_;
  std::span<const std::complex<float>> host_images_;
  std::span<const std::uint32_t> host_status_;
  std::span<const FilterReport> host_reports_;
};

namespace reference {
class Imager;
}

/// What a kind of processor brings: all that others know of it.
struct ImagerEntry {
  ImagerKind kind;
  /// What keeps it from this plan on this device, in words; empty where nothing does.
  std::string (*obstacle)(const ocl::DeviceInfo& device, const PnahPlan& plan);
  /// Throws ConfigError, DeviceError.
  std::unique_ptr<Imager> (*make)(const ocl::Device& device, const PnahPlan& plan);
  /// The same in plain double precision on the host.
  std::unique_ptr<reference::Imager> (*make_reference)(const PnahPlan& plan);
};

/// One line a kind.
std::span<const ImagerEntry> imager_table();

/// The entry of a kind that is not kAuto.
const ImagerEntry& imager_entry(ImagerKind kind);

/// The processor that the plan names; for kAuto the one that resolve_imager() chooses. Throws ConfigError, also when
/// the device keeps it from this plan.
std::unique_ptr<Imager> make_imager(const ocl::Device& device, const PnahPlan& plan);

}  // namespace nearfield
