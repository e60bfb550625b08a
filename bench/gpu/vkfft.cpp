// VkFFT's OpenCL backend beside the imager's transforms (docs/how/pnah.md): 96 x 96 forward, product and back for n
// holograms, as three launches' worth and as its fused convolution. Not part of the build:
//   g++ -O2 -w -I/usr/include bench/gpu/vkfft.cpp -o vkfft -lOpenCL && ./vkfft        (vkFFT.h of libvkfft-dev)
#define CL_TARGET_OPENCL_VERSION 120
#define VKFFT_BACKEND 3
#include <vkFFT.h>

#include <algorithm>
#include <chrono>
#include <complex>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;
constexpr std::uint64_t kSide = 96;

void check(long code, const char* what) {
  if (code != 0) {
    std::fprintf(stderr, "%s: error %ld\n", what, code);
    std::exit(1);
  }
}

struct Gpu {
  cl_device_id device = nullptr;
  cl_context context = nullptr;
  cl_command_queue queue = nullptr;
};

Gpu open_gpu() {
  cl_platform_id platforms[8];
  cl_uint count = 0;
  check(clGetPlatformIDs(8, platforms, &count), "clGetPlatformIDs");
  Gpu gpu;
  for (cl_uint i = 0; i < count && gpu.device == nullptr; ++i) {
    if (clGetDeviceIDs(platforms[i], CL_DEVICE_TYPE_GPU, 1, &gpu.device, nullptr) != CL_SUCCESS) {
      gpu.device = nullptr;
    }
  }
  cl_int code = 0;
  gpu.context = clCreateContext(nullptr, 1, &gpu.device, nullptr, nullptr, &code);
  check(code, "clCreateContext");
  gpu.queue = clCreateCommandQueue(gpu.context, gpu.device, 0, &code);
  check(code, "clCreateCommandQueue");
  return gpu;
}

template <class Work>
double median_us(const Gpu& gpu, const Work& work) {
  std::vector<double> times;
  for (int i = 0; i < 1200; ++i) {
    const auto start = Clock::now();
    work();
    clFinish(gpu.queue);
    times.push_back(std::chrono::duration<double, std::micro>(Clock::now() - start).count());
  }
  std::sort(times.begin() + 200, times.end());
  return times[700];
}

cl_mem make_buffer(const Gpu& gpu, std::uint64_t bytes) {
  cl_int code = 0;
  const cl_mem buffer = clCreateBuffer(gpu.context, CL_MEM_READ_WRITE, bytes, nullptr, &code);
  check(code, "clCreateBuffer");
  return buffer;
}

VkFFTConfiguration configuration_of(Gpu& gpu, std::uint64_t* bytes) {
  VkFFTConfiguration configuration = {};
  configuration.FFTdim = 2;
  configuration.size[0] = kSide;
  configuration.size[1] = kSide;
  configuration.device = &gpu.device;
  configuration.context = &gpu.context;
  configuration.bufferSize = bytes;
  return configuration;
}

void forward_and_back(Gpu& gpu, std::uint64_t images) {
  std::uint64_t bytes = images * kSide * kSide * sizeof(std::complex<float>);
  cl_mem buffer = make_buffer(gpu, bytes);
  VkFFTConfiguration configuration = configuration_of(gpu, &bytes);
  configuration.numberBatches = images;
  configuration.normalize = 1;
  VkFFTApplication app = {};
  check(initializeVkFFT(&app, configuration), "initializeVkFFT");
  VkFFTLaunchParams launch = {};
  launch.buffer = &buffer;
  launch.commandQueue = &gpu.queue;
  // Right first: an impulse forward is 1 everywhere, and back is the impulse.
  std::vector<std::complex<float>> values(images * kSide * kSide);
  values[0] = 1.0F;
  check(clEnqueueWriteBuffer(gpu.queue, buffer, CL_TRUE, 0, bytes, values.data(), 0, nullptr, nullptr), "write");
  check(VkFFTAppend(&app, -1, &launch), "VkFFTAppend");
  check(clEnqueueReadBuffer(gpu.queue, buffer, CL_TRUE, 0, bytes, values.data(), 0, nullptr, nullptr), "read");
  check(std::abs(values[kSide * kSide - 1] - std::complex<float>(1.0F)) < 1e-5F ? 0 : 1, "forward transform");
  const double both = median_us(gpu, [&] {
    check(VkFFTAppend(&app, -1, &launch), "forward");
    check(VkFFTAppend(&app, 1, &launch), "backward");
  });
  std::printf("VkFFT %3llu holograms: forward and back %6.1f us", static_cast<unsigned long long>(images), both);
  deleteVkFFT(&app);
  clReleaseMemObject(buffer);
}

void convolution(Gpu& gpu, std::uint64_t images) {
  std::uint64_t bytes = images * kSide * kSide * sizeof(std::complex<float>);
  cl_mem buffer = make_buffer(gpu, bytes);
  cl_mem kernel = make_buffer(gpu, bytes);
  std::vector<std::complex<float>> ones(images * kSide * kSide, 1.0F);
  check(clEnqueueWriteBuffer(gpu.queue, kernel, CL_TRUE, 0, bytes, ones.data(), 0, nullptr, nullptr), "write");
  check(clEnqueueWriteBuffer(gpu.queue, buffer, CL_TRUE, 0, bytes, ones.data(), 0, nullptr, nullptr), "write");
  VkFFTConfiguration configuration = configuration_of(gpu, &bytes);
  configuration.coordinateFeatures = images;
  configuration.matrixConvolution = 1;
  configuration.performConvolution = 1;
  configuration.normalize = 1;
  configuration.kernel = &kernel;
  configuration.kernelSize = &bytes;
  configuration.buffer = &buffer;
  VkFFTApplication app = {};
  const int code = initializeVkFFT(&app, configuration);
  if (code != 0) {
    std::printf("; its convolution cannot: error %d\n", code);
    return;
  }
  VkFFTLaunchParams launch = {};
  launch.buffer = &buffer;
  launch.kernel = &kernel;
  launch.commandQueue = &gpu.queue;
  std::printf("; as its convolution %6.1f us\n",
              median_us(gpu, [&] { check(VkFFTAppend(&app, -1, &launch), "convolve"); }));
  deleteVkFFT(&app);
  clReleaseMemObject(buffer);
  clReleaseMemObject(kernel);
}

}  // namespace

int main() {
  Gpu gpu = open_gpu();
  for (const std::uint64_t images : {1, 5, 10, 20, 100}) {
    forward_and_back(gpu, images);
    convolution(gpu, images);
  }
}
