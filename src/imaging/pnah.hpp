#pragma once
#include <complex>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "cl/device.hpp"
#include "imaging/microphone_mask.hpp"
#include "imaging/pnah_plan.hpp"
#include "imaging/search.hpp"
#include "nearfield/frame.hpp"

namespace nearfield {

using ComplexBuffer = ocl::Buffer<std::complex<float>>;
/// [frame][kStatusWords]
using StatusBuffer = ocl::Buffer<std::uint32_t>;
/// [frame][frequency]
using ReportBuffer = ocl::Buffer<FilterReport>;

/// One way to do planar near-field acoustic holography on a device.
class PnahPath {
 public:
  PnahPath(const ocl::Device& device, const PnahPlan& plan);
  PnahPath(const PnahPath&) = delete;
  PnahPath& operator=(const PnahPath&) = delete;
  virtual ~PnahPath() = default;
  virtual void enqueue(const ComplexBuffer& spectra, const StatusBuffer& status, std::size_t frames) = 0;
  /// Between two frames. Waits.
  virtual void use(const MicrophoneMask& mask) = 0;
  /// Between two frames; waits for the frame before.
  virtual void adopt(const std::shared_ptr<const Findings>& findings);
  /// What finds findings for this imager; null where it takes none.
  [[nodiscard]] virtual std::unique_ptr<Search> make_search() const;
  [[nodiscard]] virtual std::string description() const = 0;
  [[nodiscard]] const ComplexBuffer& images() const { return images_; }
  [[nodiscard]] const StatusBuffer& taken_status() const { return taken_status_; }
  /// What the images' filters were and how far to trust them; filled once here where the settings alone decide.
  [[nodiscard]] const ReportBuffer& reports() const { return reports_; }
  /// Enqueues what brings the first `frames` frames' images, status and reports to the host, if anything needs to.
  void enqueue_fetch(std::size_t frames) const;
  [[nodiscard]] std::span<const std::complex<float>> host_images() const { return host_images_; }
  [[nodiscard]] std::span<const std::uint32_t> host_status() const { return host_status_; }
  [[nodiscard]] std::span<const FilterReport> host_reports() const { return host_reports_; }

 protected:
  /// Publishes these of every frame from now on, [frequency]. Waits.
  void tell(std::span<const FilterReport> filters);

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

/// Planar near-field acoustic holography on the device, by the path that the plan's `fft` names or, with "auto", by the
/// fused one where it can. The constructor validates, compiles and allocates; enqueue() only enqueues.
class Pnah {
 public:
  /// Throws ConfigError, also when the plan asks for a path that cannot do it.
  Pnah(const ocl::Device& device, const PnahPlan& plan);
  /// Images `frames` frames, at most the plan's batch. spectra [frame][frequency][row][column], Pa. `status` is or-ed
  /// into, then moved to taken_status(), and left cleared.
  void enqueue(const ComplexBuffer& spectra, const StatusBuffer& status, std::size_t frames = 1) {
    path_->enqueue(spectra, status, frames);
  }
  /// Another mask in place of the plan's or the last one, between two frames; made for the same plan, of at most
  /// mask_capacity() microphones. Waits, but builds and allocates nothing.
  void use(const MicrophoneMask& mask) { path_->use(mask); }
  /// Puts what its search has found into effect, between two frames; waits for the frame before, but builds and
  /// allocates nothing.
  void adopt(const std::shared_ptr<const Findings>& findings) { path_->adopt(findings); }
  /// What finds findings for this imager, on any thread; null where the plan wants none or the imager takes none.
  [[nodiscard]] std::unique_ptr<Search> make_search() const { return path_->make_search(); }
  /// [frame][plane][frequency][upsample * row][upsample * column].
  [[nodiscard]] const ComplexBuffer& images() const { return path_->images(); }
  /// [frame][kStatusWords]
  [[nodiscard]] const StatusBuffer& taken_status() const { return path_->taken_status(); }
  /// [frame][frequency]
  [[nodiscard]] const ReportBuffer& reports() const { return path_->reports(); }
  /// Brings the first `frames` frames' images, status and reports to host_images(), host_status() and host_reports(),
  /// where they are after Device::wait() until the next enqueue().
  void enqueue_fetch(std::size_t frames = 1) const { path_->enqueue_fetch(frames); }
  [[nodiscard]] std::span<const std::complex<float>> host_images() const { return path_->host_images(); }
  [[nodiscard]] std::span<const std::uint32_t> host_status() const { return path_->host_status(); }
  /// [frame][frequency]
  [[nodiscard]] std::span<const FilterReport> host_reports() const { return path_->host_reports(); }
  /// The path and its sizes, in words.
  [[nodiscard]] std::string description() const { return path_->description(); }

 private:
  std::unique_ptr<PnahPath> path_;
};

}  // namespace nearfield
