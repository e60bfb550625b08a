// Measures the host's time of a launch by the number of buffers among a kernel's arguments, and the time that a
// transfer of 128 KiB takes beside a kernel that reads as much from host memory itself (cl_nv_create_buffer):
// docs/results/performance.md.
// Not part of the build:   g++ -O2 -w bench/gpu/launch_cost.cpp -o launch_cost -lOpenCL && ./launch_cost
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;
constexpr std::size_t kBytes = 1 << 20;
constexpr std::size_t kUpload = 128 << 10;

void check(cl_int code, const char* what) {
  if (code != CL_SUCCESS) {
    std::fprintf(stderr, "%s: error %d\n", what, code);
    std::exit(1);
  }
}

std::string source() {
  std::string text =
      "__kernel void fetch(__global const uint4* restrict from, __global uint4* restrict to) {\n"
      "  to[get_global_id(0)] = from[get_global_id(0)]; }\n";
  for (const int buffers : {1, 2, 4, 8, 12, 16}) {
    text += "__kernel void with_" + std::to_string(buffers) + "(";
    std::string body;
    for (int i = 0; i < buffers; ++i) {
      text += std::string(i > 0 ? ", " : "") + "__global uint* restrict a" + std::to_string(i);
      body += "a" + std::to_string(i) + "[1] = 1; ";
    }
    text += ") { if (a0[0] == 77) { " + body + "} }\n";
  }
  return text;
}

/// Medians of submitting and of submitting with the wait.
void measure(cl_command_queue queue, const std::string& name, const std::function<void()>& submit) {
  std::vector<double> submits;
  std::vector<double> wholes;
  for (int i = 0; i < 2300; ++i) {
    const auto start = Clock::now();
    submit();
    const auto submitted = Clock::now();
    clFinish(queue);
    if (i >= 300) {
      submits.push_back(std::chrono::duration<double, std::micro>(submitted - start).count());
      wholes.push_back(std::chrono::duration<double, std::micro>(Clock::now() - start).count());
    }
  }
  std::nth_element(submits.begin(), submits.begin() + 1000, submits.end());
  std::nth_element(wholes.begin(), wholes.begin() + 1000, wholes.end());
  std::printf("%-44s submit %6.2f us, with the wait %6.2f us\n", name.c_str(), submits[1000], wholes[1000]);
}

}  // namespace

int main() {
  cl_platform_id platforms[8];
  cl_uint count = 0;
  check(clGetPlatformIDs(8, platforms, &count), "clGetPlatformIDs");
  cl_platform_id platform = platforms[0];
  cl_device_id device = nullptr;
  for (cl_uint i = 0; i < count; ++i) {
    if (clGetDeviceIDs(platforms[i], CL_DEVICE_TYPE_GPU, 1, &device, nullptr) == CL_SUCCESS) {
      platform = platforms[i];
      break;
    }
    clGetDeviceIDs(platforms[i], CL_DEVICE_TYPE_ALL, 1, &device, nullptr);
  }
  cl_int code = 0;
  const cl_context context = clCreateContext(nullptr, 1, &device, nullptr, nullptr, &code);
  check(code, "clCreateContext");
  const cl_command_queue queue = clCreateCommandQueue(context, device, 0, &code);
  check(code, "clCreateCommandQueue");
  const std::string text = source();
  const char* texts[] = {text.c_str()};
  const cl_program program = clCreateProgramWithSource(context, 1, texts, nullptr, &code);
  check(clBuildProgram(program, 1, &device, "-cl-std=CL1.2", nullptr, nullptr), "clBuildProgram");
  std::vector<cl_mem> buffers;
  for (int i = 0; i < 16; ++i) {
    buffers.push_back(clCreateBuffer(context, CL_MEM_READ_WRITE, kBytes, nullptr, &code));
    const cl_uint zero = 0;
    check(clEnqueueFillBuffer(queue, buffers.back(), &zero, 4, 0, kBytes, 0, nullptr, nullptr), "fill");
  }
  check(clFinish(queue), "clFinish");
  for (const int used : {1, 2, 4, 8, 12, 16}) {
    const cl_kernel kernel = clCreateKernel(program, ("with_" + std::to_string(used)).c_str(), &code);
    for (int i = 0; i < used; ++i) {
      check(clSetKernelArg(kernel, i, sizeof(cl_mem), &buffers[i]), "clSetKernelArg");
    }
    const std::size_t items = 120 * 256;
    const std::size_t group = 256;
    for (const int launches : {1, 4}) {
      measure(queue, std::to_string(launches) + " launches, " + std::to_string(used) + " buffers", [&] {
        for (int i = 0; i < launches; ++i) {
          clEnqueueNDRangeKernel(queue, kernel, 1, nullptr, &items, &group, 0, nullptr, nullptr);
        }
      });
    }
  }
  const cl_mem locked = clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR, kBytes, nullptr, &code);
  void* host =
      clEnqueueMapBuffer(queue, locked, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0, kBytes, 0, nullptr, nullptr, &code);
  check(code, "clEnqueueMapBuffer");
  measure(queue, "upload of 128 KiB",
          [&] { clEnqueueWriteBuffer(queue, buffers[0], CL_FALSE, 0, kUpload, host, 0, nullptr, nullptr); });
  using CreateBufferNv = cl_mem (*)(cl_context, cl_mem_flags, cl_bitfield, std::size_t, void*, cl_int*);
  const auto create =
      reinterpret_cast<CreateBufferNv>(clGetExtensionFunctionAddressForPlatform(platform, "clCreateBufferNV"));
  if (create == nullptr) {
    std::printf("no clCreateBufferNV here\n");
    return 0;
  }
  const cl_mem shared = create(context, CL_MEM_READ_WRITE, 1, kBytes, nullptr, &code);
  check(code, "clCreateBufferNV");
  clEnqueueMapBuffer(queue, shared, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0, kBytes, 0, nullptr, nullptr, &code);
  const cl_kernel fetch = clCreateKernel(program, "fetch", &code);
  check(clSetKernelArg(fetch, 0, sizeof(cl_mem), &shared), "clSetKernelArg");
  check(clSetKernelArg(fetch, 1, sizeof(cl_mem), &buffers[0]), "clSetKernelArg");
  const std::size_t items = kUpload / 16;
  const std::size_t group = 256;
  measure(queue, "a kernel that reads 128 KiB of host memory",
          [&] { clEnqueueNDRangeKernel(queue, fetch, 1, nullptr, &items, &group, 0, nullptr, nullptr); });
}
