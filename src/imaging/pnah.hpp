#pragma once
#include <complex>
#include <cstdint>
#include <memory>
#include <vector>

#include "cl/device.hpp"
#include "cl/fft.hpp"
#include "imaging/pnah_plan.hpp"
#include "nearfield/frame.hpp"

namespace nearfield {

using ComplexBuffer = ocl::Buffer<std::complex<float>>;
/// [kStatusWords]
using StatusBuffer = ocl::Buffer<std::uint32_t>;

/// Replaces unusable microphones and applies the calibration: spectra -> conditioned, [frequency][row][column], Pa.
class Microphones {
 public:
  Microphones(const ocl::Device& device, const PnahPlan& plan);
  void enqueue(const ComplexBuffer& spectra, const StatusBuffer& status);
  [[nodiscard]] const ComplexBuffer& conditioned() const { return conditioned_; }

 private:
  ComplexBuffer gains_;
  ocl::Buffer<std::uint8_t> masked_;
  ocl::Buffer<std::uint8_t> usable_;
  ComplexBuffer conditioned_;
  ocl::Kernel check_;
  ocl::Kernel fill_;
  ocl::Launch launch_;
};

/// Extrapolates and tapers: conditioned -> padded, [frequency][padded row][padded column], Pa.
class Extrapolator {
 public:
  virtual ~Extrapolator() = default;
  virtual void enqueue(const ComplexBuffer& conditioned, const StatusBuffer& status) = 0;
  [[nodiscard]] const ComplexBuffer& padded() const { return padded_; }

 protected:
  ComplexBuffer padded_;
};

std::unique_ptr<Extrapolator> make_extrapolator(const ocl::Device& device, const PnahPlan& plan);

/// From the forward transform to the images of all planes: filter, propagator, inverse transform, crop.
class Propagator {
 public:
  Propagator(const ocl::Device& device, const PnahPlan& plan);
  /// spectrum [frequency][padded row][padded column], unscaled.
  void enqueue(const ComplexBuffer& spectrum);
  /// [plane][frequency][row][column], Pa or m/s.
  [[nodiscard]] const ComplexBuffer& images() const { return images_; }
  /// [plane][frequency][padded row][padded column], filter times propagator.
  [[nodiscard]] const ComplexBuffer& transfer() const { return transfer_; }

 private:
  ComplexBuffer transfer_;
  ComplexBuffer filtered_;
  ComplexBuffer images_;
  std::unique_ptr<ocl::ComplexFft2d> inverse_;
  ocl::Kernel apply_;
  ocl::Kernel crop_;
  ocl::Launch apply_launch_{};
  ocl::Launch crop_launch_{};
};

/// Planar near-field acoustic holography on the device. The constructor validates, compiles and allocates; enqueue()
/// only enqueues.
class Pnah {
 public:
  Pnah(const ocl::Device& device, const PnahPlan& plan);
  /// spectra [frequency][row][column], Pa. `status` is or-ed into, not cleared.
  void enqueue(const ComplexBuffer& spectra, const StatusBuffer& status);
  /// [plane][frequency][upsample * row][upsample * column].
  [[nodiscard]] const ComplexBuffer& images() const { return propagator_.images(); }

 private:
  Microphones microphones_;
  std::unique_ptr<Extrapolator> extrapolator_;
  ocl::ComplexFft2d forward_;
  Propagator propagator_;
};

}  // namespace nearfield
