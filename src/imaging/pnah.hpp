#pragma once
#include <complex>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "cl/device.hpp"
#include "imaging/microphone_mask.hpp"
#include "imaging/pnah_plan.hpp"
#include "nearfield/frame.hpp"

namespace nearfield {

using ComplexBuffer = ocl::Buffer<std::complex<float>>;
/// [frame][kStatusWords]
using StatusBuffer = ocl::Buffer<std::uint32_t>;

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
  [[nodiscard]] virtual std::string description() const = 0;
  [[nodiscard]] const ComplexBuffer& images() const { return images_; }
  [[nodiscard]] const StatusBuffer& taken_status() const { return taken_status_; }
  /// Enqueues what brings the first `frames` frames' images and status to the host, if anything needs to.
  void enqueue_fetch(std::size_t frames) const;
  [[nodiscard]] std::span<const std::complex<float>> host_images() const { return host_images_; }
  [[nodiscard]] std::span<const std::uint32_t> host_status() const { return host_status_; }

 private:
  void share(ocl::SharedBuffer<std::complex<float>> images, ocl::SharedBuffer<std::uint32_t> status);
  void allocate(std::size_t image_values, std::size_t status_words);
  ocl::Device device_;
  std::size_t batch_;
  ComplexBuffer results_;  ///< status, then images: one transfer for both; not used where these are shared
  ComplexBuffer images_;
  StatusBuffer taken_status_;
  ocl::HostBuffer<std::complex<float>> image_memory_;  ///< of images_ where it is shared, else of results_
  ocl::HostBuffer<std::uint32_t> status_memory_;
  std::span<const std::complex<float>> host_images_;
  std::span<const std::uint32_t> host_status_;
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
  /// [frame][plane][frequency][upsample * row][upsample * column].
  [[nodiscard]] const ComplexBuffer& images() const { return path_->images(); }
  /// [frame][kStatusWords]
  [[nodiscard]] const StatusBuffer& taken_status() const { return path_->taken_status(); }
  /// Brings the first `frames` frames' images and status to host_images() and host_status(), where they are after
  /// Device::wait() until the next enqueue().
  void enqueue_fetch(std::size_t frames = 1) const { path_->enqueue_fetch(frames); }
  [[nodiscard]] std::span<const std::complex<float>> host_images() const { return path_->host_images(); }
  [[nodiscard]] std::span<const std::uint32_t> host_status() const { return path_->host_status(); }
  /// The path and its sizes, in words.
  [[nodiscard]] std::string description() const { return path_->description(); }

 private:
  std::unique_ptr<PnahPath> path_;
};

}  // namespace nearfield
