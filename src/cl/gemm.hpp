#pragma once
#include <cstddef>
#include <memory>
#include <string>

#include "cl/device.hpp"

namespace nearfield::ocl {

/// Real matrix products of CLBlast, C [rows][columns] = A [rows][inner] B [inner][columns] (+ C), the last index
/// fastest. Sizes are those of the plan except the inner one, so that B may be passed in parts. The constructor
/// compares a product with the defining sum, which also compiles CLBlast's kernels, and throws DeviceError on a
/// mismatch or if CLBlast does not work.
class RealGemm {
 public:
  RealGemm(const Device& device, std::size_t rows, std::size_t columns, std::size_t inner, std::string stage);

  /// The part of the operands for one product.
  struct Part {
    std::size_t first_column_of_a = 0;
    std::size_t first_row_of_b = 0;
    std::size_t inner = 0;    ///< at most the plan's inner size
    bool accumulate = false;  ///< adds to C
  };
  /// A has the plan's row length regardless of the part.
  void enqueue(const Buffer<float>& a, const Buffer<float>& b, const Buffer<float>& c, const Part& part);

 private:
  void self_test(const Device& device);
  std::size_t rows_;
  std::size_t columns_;
  std::size_t inner_;
  std::string stage_;
  ::cl::CommandQueue queue_;
  Buffer<std::uint8_t> scratch_;
  bool has_scratch_ = false;
  std::shared_ptr<Recorder> recorder_;
};

}  // namespace nearfield::ocl
