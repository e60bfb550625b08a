#include "cl/fft.hpp"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <cmath>
#include <mutex>
#include <numbers>
#include <random>

#include "cl/memory.hpp"

namespace nearfield::ocl {

class ClfftLibrary {
 public:
  static std::shared_ptr<ClfftLibrary> get() {
    static std::mutex mutex;
    static std::weak_ptr<ClfftLibrary> current;
    const std::lock_guard lock(mutex);
    std::shared_ptr<ClfftLibrary> library = current.lock();
    if (!library) {
      library = std::make_shared<ClfftLibrary>();
      current = library;
    }
    return library;
  }
  ClfftLibrary() {
    clfftSetupData data;
    clfftInitSetupData(&data);
    if (const clfftStatus status = clfftSetup(&data); status != CLFFT_SUCCESS) {
      throw DeviceError(fmt::format("clfftSetup failed with {}", static_cast<int>(status)));
    }
  }
  ClfftLibrary(const ClfftLibrary&) = delete;
  ClfftLibrary& operator=(const ClfftLibrary&) = delete;
  ~ClfftLibrary() { clfftTeardown(); }
};

namespace {

using ComplexF = std::complex<float>;
using ComplexD = std::complex<double>;

/// Far above the rounding of a float32 FFT (1e-6 for these lengths), far below any wrong result.
constexpr double kSelfTestTolerance = 1e-4;

/// Up to this length clFFT transforms lines of a power of two in one kernel, in single precision.
constexpr int kLongestOneKernelLine = 4096;

std::size_t to_size(int value) { return static_cast<std::size_t>(value); }

template <class T>
std::vector<T> random_values(std::size_t count) {
  std::mt19937 generator(20140901);
  std::uniform_real_distribution<float> uniform(-1.0F, 1.0F);
  std::vector<T> values(count);
  for (T& value : values) {
    if constexpr (std::is_same_v<T, float>) {
      value = uniform(generator);
    } else {
      const float real = uniform(generator);
      value = T(real, uniform(generator));
    }
  }
  return values;
}

ComplexD widened(float value) { return {static_cast<double>(value), 0.0}; }
ComplexD widened(ComplexF value) { return {static_cast<double>(value.real()), static_cast<double>(value.imag())}; }

/// The defining sum at one bin, sign -1 forward, +1 backward.
template <class T>
ComplexD direct_bin(const T* values, int rows, int columns, int row_bin, int column_bin, double sign) {
  ComplexD sum = 0.0;
  for (int row = 0; row < rows; ++row) {
    for (int column = 0; column < columns; ++column) {
      const double turns =
          static_cast<double>(row) * row_bin / rows + static_cast<double>(column) * column_bin / columns;
      sum += widened(values[row * columns + column]) * std::polar(1.0, sign * 2.0 * std::numbers::pi * turns);
    }
  }
  return sum;
}

void require_close(ComplexD found, ComplexD expected, double scale, const std::string& stage) {
  // Written so that NaN fails too.
  if (!(std::abs(found - expected) <= kSelfTestTolerance * scale)) {
    throw DeviceError(fmt::format("{}: the FFT fails its self-test: found {:.6g}{:+.6g}j, expected {:.6g}{:+.6g}j",
                                  stage, found.real(), found.imag(), expected.real(), expected.imag()));
  }
}

}  // namespace

ClfftPlan::ClfftPlan(const Device& device, const Shape& shape, std::string stage)
    : library_(ClfftLibrary::get()),
      queue_(device.queue()),
      stage_(std::move(stage)),
      recorder_(device.shared_recorder()),
      is_one_kernel_(shape.rows == 1 && shape.columns <= kLongestOneKernelLine &&
                     std::has_single_bit(to_size(shape.columns))) {
  const DriverCall driver_call;
  const std::array<std::size_t, 2> lengths = {to_size(shape.columns), to_size(shape.rows)};
  const clfftDim dimensions = shape.rows > 1 ? CLFFT_2D : CLFFT_1D;
  check(clfftCreateDefaultPlan(&handle_, device.context()(), dimensions, lengths.data()), "clfftCreateDefaultPlan");
  check(clfftSetPlanPrecision(handle_, CLFFT_SINGLE), "clfftSetPlanPrecision");
  check(clfftSetPlanBatchSize(handle_, to_size(shape.batch)), "clfftSetPlanBatchSize");
  check(clfftSetPlanScale(handle_, CLFFT_BACKWARD, 1.0F), "clfftSetPlanScale");
  if (shape.real_input) {
    check(clfftSetLayout(handle_, CLFFT_REAL, CLFFT_HERMITIAN_INTERLEAVED), "clfftSetLayout");
    check(clfftSetResultLocation(handle_, CLFFT_OUTOFPLACE), "clfftSetResultLocation");
    check(clfftSetPlanDistance(handle_, lengths[0], lengths[0] / 2 + 1), "clfftSetPlanDistance");
  } else {
    check(clfftSetLayout(handle_, CLFFT_COMPLEX_INTERLEAVED, CLFFT_COMPLEX_INTERLEAVED), "clfftSetLayout");
    check(clfftSetResultLocation(handle_, CLFFT_INPLACE), "clfftSetResultLocation");
  }
  cl_command_queue queue = queue_();
  check(clfftBakePlan(handle_, 1, &queue, nullptr, nullptr), "clfftBakePlan");
  std::size_t scratch_bytes = 0;
  check(clfftGetTmpBufSize(handle_, &scratch_bytes), "clfftGetTmpBufSize");
  if (scratch_bytes > 0) {
    scratch_ = device.allocate<std::byte>(scratch_bytes, stage_).raw();
  }
}

ClfftPlan::~ClfftPlan() {
  if (handle_ != 0) {
    clfftDestroyPlan(&handle_);
  }
}

void ClfftPlan::enqueue(clfftDirection direction, const ::cl::Buffer& input, const ::cl::Buffer& output) {
  const DriverCall driver_call;
  cl_command_queue queue = queue_();
  cl_mem in = input();
  cl_mem out = output();
  if (recorder_ != nullptr && !is_one_kernel_) {
    recorder_->start_group(queue_);
  }
  ::cl::Event* event = event_of(recorder_.get(), stage_, "clfft");
  check(clfftEnqueueTransform(handle_, direction, 1, &queue, 0, nullptr, event == nullptr ? nullptr : &(*event)(), &in,
                              &out, scratch_()),
        "clfftEnqueueTransform");
}

void ClfftPlan::check(clfftStatus status, std::string_view call) const {
  if (status != CLFFT_SUCCESS) {
    throw DeviceError(fmt::format("{}: {} failed with clFFT error {}", stage_, call, static_cast<int>(status)));
  }
}

ComplexFft2d::ComplexFft2d(const Device& device, int rows, int columns, int batch, const std::string& stage)
    : plan_(device, {.columns = columns, .rows = rows, .batch = batch, .real_input = false}, stage) {
  self_test(device, rows, columns, batch, stage);
}

void ComplexFft2d::enqueue_forward(const Buffer<ComplexF>& data) {
  plan_.enqueue(CLFFT_FORWARD, data.raw(), data.raw());
}

void ComplexFft2d::enqueue_backward(const Buffer<ComplexF>& data) {
  plan_.enqueue(CLFFT_BACKWARD, data.raw(), data.raw());
}

void ComplexFft2d::self_test(const Device& device, int rows, int columns, int batch, const std::string& stage) {
  const std::size_t size = to_size(rows) * to_size(columns);
  const std::vector<ComplexF> input = random_values<ComplexF>(size * to_size(batch));
  const double scale = std::sqrt(static_cast<double>(size));
  for (const double sign : {-1.0, 1.0}) {
    const Buffer<ComplexF> data = device.upload<ComplexF>(input, stage);
    sign < 0.0 ? enqueue_forward(data) : enqueue_backward(data);
    const std::vector<ComplexF> output = device.download(data, stage);
    for (const std::size_t item : {std::size_t{0}, to_size(batch) - 1}) {
      for (const int probe : {0, 1, 5}) {
        const int row_bin = probe * 3 % rows;
        const int column_bin = (columns - probe * 2 % columns) % columns;
        const ComplexD expected = direct_bin(input.data() + item * size, rows, columns, row_bin, column_bin, sign);
        const ComplexD found = widened(output[item * size + to_size(row_bin * columns + column_bin)]);
        require_close(found, expected, scale, stage);
      }
    }
  }
}

RealFft1d::RealFft1d(const Device& device, int length, int batch, const std::string& stage)
    : plan_(device, {.columns = length, .rows = 1, .batch = batch, .real_input = true}, stage) {
  self_test(device, length, batch, stage);
}

void RealFft1d::enqueue(const Buffer<float>& input, const Buffer<ComplexF>& output) {
  plan_.enqueue(CLFFT_FORWARD, input.raw(), output.raw());
}

void RealFft1d::self_test(const Device& device, int length, int batch, const std::string& stage) {
  const std::size_t bins = to_size(length) / 2 + 1;
  const std::vector<float> input = random_values<float>(to_size(length) * to_size(batch));
  const Buffer<float> in = device.upload<float>(input, stage);
  const Buffer<ComplexF> out = device.allocate<ComplexF>(bins * to_size(batch), stage);
  enqueue(in, out);
  const std::vector<ComplexF> output = device.download(out, stage);
  for (const std::size_t item : {std::size_t{0}, to_size(batch) / 2, to_size(batch) - 1}) {
    for (const std::size_t bin : {std::size_t{0}, std::size_t{1}, bins / 3, bins - 1}) {
      const ComplexD expected =
          direct_bin(input.data() + item * to_size(length), 1, length, 0, static_cast<int>(bin), -1.0);
      require_close(widened(output[item * bins + bin]), expected, std::sqrt(static_cast<double>(length)), stage);
    }
  }
}

}  // namespace nearfield::ocl
