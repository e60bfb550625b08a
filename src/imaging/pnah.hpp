#pragma once
#include <complex>
#include <cstdint>
#include <memory>
#include <string>

#include "cl/device.hpp"
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
  [[nodiscard]] virtual std::string description() const = 0;
  [[nodiscard]] const ComplexBuffer& images() const { return images_; }
  [[nodiscard]] const StatusBuffer& taken_status() const { return taken_status_; }
  [[nodiscard]] const ComplexBuffer& results() const { return results_; }
  [[nodiscard]] std::size_t images_offset() const { return images_offset_; }

 private:
  std::size_t images_offset_;
  ComplexBuffer results_;
  ComplexBuffer images_;       ///< part of results_
  StatusBuffer taken_status_;  ///< part of results_
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
  /// [frame][plane][frequency][upsample * row][upsample * column].
  [[nodiscard]] const ComplexBuffer& images() const { return path_->images(); }
  /// [frame][kStatusWords]
  [[nodiscard]] const StatusBuffer& taken_status() const { return path_->taken_status(); }
  /// taken_status(), then from value images_offset() on images(): one transfer for both.
  [[nodiscard]] const ComplexBuffer& results() const { return path_->results(); }
  [[nodiscard]] std::size_t images_offset() const { return path_->images_offset(); }
  /// The path and its sizes, in words.
  [[nodiscard]] std::string description() const { return path_->description(); }

 private:
  std::unique_ptr<PnahPath> path_;
};

}  // namespace nearfield
