#include "cl/gemm.hpp"

#include <clblast.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "cl/memory.hpp"

namespace nearfield::ocl {
namespace {

constexpr auto kLayout = clblast::Layout::kRowMajor;
constexpr auto kAsIs = clblast::Transpose::kNo;

void check(clblast::StatusCode code, std::string_view stage, std::string_view call) {
  if (code != clblast::StatusCode::kSuccess) {
    throw DeviceError(fmt::format("{}: {} failed with CLBlast error {}", stage, call, static_cast<int>(code)));
  }
}

/// Integers whose products and sums are exact in float32, different for neighbours.
float pattern(std::size_t row, std::size_t column) { return static_cast<float>((7 * row + 3 * column) % 11) - 5.0F; }

std::vector<float> pattern_matrix(std::size_t rows, std::size_t columns) {
  std::vector<float> values(rows * columns);
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = pattern(i / columns, i % columns);
  }
  return values;
}

}  // namespace

RealGemm::RealGemm(const Device& device, std::size_t rows, std::size_t columns, std::size_t inner, std::string stage)
    : rows_(rows),
      columns_(columns),
      inner_(inner),
      stage_(std::move(stage)),
      queue_(device.queue()),
      recorder_(device.shared_recorder()) {
  // Offsets of 1 represent parts: anything but a whole matrix needs the most scratch memory.
  std::size_t bytes = 0;
  cl_command_queue queue = queue_();
  check(clblast::GemmTempBufferSize<float>(kLayout, kAsIs, kAsIs, rows_, columns_, inner_, 1, inner_, 1, columns_, 1,
                                           columns_, &queue, bytes),
        stage_, "GemmTempBufferSize");
  has_scratch_ = bytes > 0;
  scratch_ = device.allocate<std::uint8_t>(bytes, stage_);
  self_test(device);
}

void RealGemm::enqueue(const Buffer<float>& a, const Buffer<float>& b, const Buffer<float>& c, const Part& part) {
  const DriverCall driver_call;
  cl_command_queue queue = queue_();
  if (recorder_ != nullptr) {
    recorder_->start_group(queue_);  // a product may be several kernels
  }
  ::cl::Event* event = event_of(recorder_.get(), stage_, "gemm");
  check(clblast::Gemm<float>(kLayout, kAsIs, kAsIs, rows_, columns_, part.inner, 1.0F, a.raw()(),
                             part.first_column_of_a, inner_, b.raw()(), part.first_row_of_b * columns_, columns_,
                             part.accumulate ? 1.0F : 0.0F, c.raw()(), 0, columns_, &queue,
                             event == nullptr ? nullptr : &(*event)(), has_scratch_ ? scratch_.raw()() : nullptr),
        stage_, "Gemm");
}

/// Checks both parts of a product that is split in two, at some of its values.
void RealGemm::self_test(const Device& device) {
  const Buffer<float> a = device.upload<float>(pattern_matrix(rows_, inner_), stage_);
  const Buffer<float> b = device.upload<float>(pattern_matrix(inner_, columns_), stage_);
  const Buffer<float> c = device.allocate<float>(rows_ * columns_, stage_);
  const std::size_t first = std::max<std::size_t>(inner_ / 3, 1);
  enqueue(a, b, c, {.inner = first});
  if (first < inner_) {
    enqueue(a, b, c, {first, first, inner_ - first, true});
  }
  const std::vector<float> found = device.download(c, stage_);
  for (std::size_t i = 0; i < found.size(); i += found.size() / 97 + 1) {
    double expected = 0.0;
    for (std::size_t k = 0; k < inner_; ++k) {
      expected += static_cast<double>(pattern(i / columns_, k)) * static_cast<double>(pattern(k, i % columns_));
    }
    if (!(std::abs(static_cast<double>(found[i]) - expected) <= 1e-6 * 25.0 * static_cast<double>(inner_))) {
      throw DeviceError(
          fmt::format("{}: CLBlast's product of {} x {} by {} x {} is wrong at value {}: expected {}, "
                      "found {}",
                      stage_, rows_, inner_, inner_, columns_, i, expected, found[i]));
    }
  }
}

}  // namespace nearfield::ocl
