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
  PnahPath() = default;
  PnahPath(const PnahPath&) = delete;
  PnahPath& operator=(const PnahPath&) = delete;
  virtual ~PnahPath() = default;
  virtual void enqueue(const ComplexBuffer& spectra, const StatusBuffer& status) = 0;
  [[nodiscard]] virtual const ComplexBuffer& images() const = 0;
  [[nodiscard]] virtual std::string description() const = 0;
};

/// Planar near-field acoustic holography on the device, by the path that the plan's `fft` names or, with "auto", by the
/// fused one where it can. The constructor validates, compiles and allocates; enqueue() only enqueues.
class Pnah {
 public:
  /// Throws ConfigError, also when the plan asks for a path that cannot do it.
  Pnah(const ocl::Device& device, const PnahPlan& plan);
  /// spectra [frame][frequency][row][column], Pa. `status` is or-ed into, not cleared.
  void enqueue(const ComplexBuffer& spectra, const StatusBuffer& status) { path_->enqueue(spectra, status); }
  /// [frame][plane][frequency][upsample * row][upsample * column].
  [[nodiscard]] const ComplexBuffer& images() const { return path_->images(); }
  /// The path and its sizes, in words.
  [[nodiscard]] std::string description() const { return path_->description(); }

 private:
  std::unique_ptr<PnahPath> path_;
};

}  // namespace nearfield
