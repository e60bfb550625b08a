#pragma once
#include <clFFT.h>

#include <complex>
#include <memory>
#include <string>
#include <string_view>

#include "cl/device.hpp"

namespace nearfield::ocl {

/// Keeps clFFT initialised as long as a plan exists.
class ClfftLibrary;

/// One baked clFFT plan.
class ClfftPlan {
 public:
  struct Shape {
    int columns = 1;  ///< fastest; the transform's length in one dimension
    int rows = 1;     ///< 1: one-dimensional
    int batch = 1;
    bool real_input = false;  ///< real to half-complex, out of place
  };
  ClfftPlan(const Device& device, const Shape& shape, std::string stage);
  ClfftPlan(const ClfftPlan&) = delete;
  ClfftPlan& operator=(const ClfftPlan&) = delete;
  ~ClfftPlan();
  void enqueue(clfftDirection direction, const ::cl::Buffer& input, const ::cl::Buffer& output);

 private:
  void check(clfftStatus status, std::string_view call) const;
  std::shared_ptr<ClfftLibrary> library_;
  ::cl::CommandQueue queue_;
  ::cl::Buffer scratch_;
  clfftPlanHandle handle_ = 0;
  std::string stage_;
  std::shared_ptr<Recorder> recorder_;
  bool is_one_kernel_;  ///< else clFFT's event covers only its last kernel
};

/// Two-dimensional complex transforms in place, [batch][row][column], neither direction scaled. Forward is e^{-j...}.
/// The constructor compares a transform with the defining sum and throws DeviceError on a mismatch.
class ComplexFft2d {
 public:
  ComplexFft2d(const Device& device, int rows, int columns, int batch, const std::string& stage);
  void enqueue_forward(const Buffer<std::complex<float>>& data);
  void enqueue_backward(const Buffer<std::complex<float>>& data);

 private:
  void self_test(const Device& device, int rows, int columns, int batch, const std::string& stage);
  ClfftPlan plan_;
};

/// One-dimensional transforms of real lines, [batch][length] -> [batch][length/2 + 1], unscaled, e^{-j...}.
/// The constructor compares a transform with the defining sum and throws DeviceError on a mismatch.
class RealFft1d {
 public:
  RealFft1d(const Device& device, int length, int batch, const std::string& stage);
  void enqueue(const Buffer<float>& input, const Buffer<std::complex<float>>& output);

 private:
  void self_test(const Device& device, int length, int batch, const std::string& stage);
  ClfftPlan plan_;
};

}  // namespace nearfield::ocl
