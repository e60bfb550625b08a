#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CL/opencl.hpp>
#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "cl/device.hpp"
#include "cl/program_cache.hpp"
#include "frontend/test_bits.hpp"

/// kernels/common/moments_vector.cl against sums over single bits, written from the polynomials of moments.cl.
namespace nearfield {
namespace {

std::string text_of(std::string_view path) {
  const auto files = ocl::embedded_kernels();
  const auto file = std::find_if(files.begin(), files.end(), [&](const auto& one) { return one.path == path; });
  std::string text;
  if (file == files.end()) {
    ADD_FAILURE() << path << " is not embedded";
    return text;
  }
  for (const std::string_view part : file->texts) {
    text += part;
  }
  return text;
}

/// 1, x and x^2 - 341/4 at x = place - 31/2.
double polynomial(int order, int place) {
  const double x = place - 15.5;
  return order == 0 ? 1.0 : order == 1 ? x : x * x - 85.25;
}

double moment(std::uint32_t word, int order) {
  double sum = 0.0;
  for (int place = 0; place < 32; ++place) {
    sum += ((word >> static_cast<unsigned>(place)) & 1U) != 0U ? polynomial(order, place) : -polynomial(order, place);
  }
  return sum;
}

/// All bits equal, single bits, halves, and bits at random.
std::vector<std::uint32_t> words_to_try(std::size_t count) {
  std::vector<std::uint32_t> words = {0U, ~0U, 0x0000FFFFU, 0xFFFF0000U, 0x55555555U, 0xAAAAAAAAU};
  for (unsigned place = 0; place < 32; ++place) {
    words.push_back(std::uint32_t{1} << place);
    words.push_back(~(std::uint32_t{1} << place));
  }
  std::mt19937 generator(test::fresh_seed());
  while (words.size() < count) {
    words.push_back(static_cast<std::uint32_t>(generator()));
  }
  return words;
}

std::vector<std::int32_t> found_moments(const std::vector<std::uint32_t>& words, std::size_t width, int order) {
  const std::string source = "#define WIDTH " + std::to_string(width) + "\n#define ORDER " + std::to_string(order) +
                             "\n#define COUNT " + std::to_string(words.size()) + "\n" +
                             text_of("common/moments_vector.cl") + R"(
__kernel void find(__global const uint* words, __global int* moments) {
  const size_t at = get_global_id(0) * WIDTH;
  INTV found[ORDER + 1];
  find_moments_of(LOAD_UINTS(words + at), found);
  for (uint q = 0; q <= ORDER; ++q) {
    STORE_INTS(found[q], moments + q * COUNT + at);
  }
}
)";
  const ocl::Device device = ocl::Device::open({});
  cl::Program program(device.context(), source);
  if (program.build("-cl-std=CL1.2") != CL_SUCCESS) {
    ADD_FAILURE() << program.getBuildInfo<CL_PROGRAM_BUILD_LOG>().front().second;
    return {};
  }
  std::vector<std::int32_t> found(words.size() * static_cast<std::size_t>(order + 1), -9999);
  const std::size_t bytes = words.size() * sizeof(std::uint32_t);
  const cl::Buffer in(device.context(), CL_MEM_READ_ONLY, bytes);
  const cl::Buffer out(device.context(), CL_MEM_WRITE_ONLY, found.size() * sizeof(std::int32_t));
  const cl::CommandQueue queue(device.context());
  cl::Kernel kernel(program, "find");
  kernel.setArg(0, in);
  kernel.setArg(1, out);
  EXPECT_EQ(queue.enqueueWriteBuffer(in, CL_TRUE, 0, bytes, words.data()), CL_SUCCESS);
  EXPECT_EQ(queue.enqueueNDRangeKernel(kernel, cl::NullRange, cl::NDRange(words.size() / width)), CL_SUCCESS);
  EXPECT_EQ(queue.enqueueReadBuffer(out, CL_TRUE, 0, found.size() * sizeof(std::int32_t), found.data()), CL_SUCCESS);
  return found;
}

TEST(MomentsOfVectors, AreThoseOfTheSingleBits) {
  constexpr std::size_t kWords = 1000;
  const std::vector<std::uint32_t> words = words_to_try(kWords);
  for (const auto& [width, order] :
       {std::pair{1, 1}, std::pair{2, 2}, std::pair{4, 0}, std::pair{8, 1}, std::pair{8, 2}}) {
    const std::vector<std::int32_t> found = found_moments(words, static_cast<std::size_t>(width), order);
    ASSERT_EQ(found.size(), kWords * static_cast<std::size_t>(order + 1));
    for (int q = 0; q <= order; ++q) {
      for (std::size_t i = 0; i < kWords; ++i) {
        ASSERT_EQ(found[static_cast<std::size_t>(q) * kWords + i], moment(words[i], q))
            << "moment " << q << " of word " << words[i] << ", " << width << " side by side";
      }
    }
  }
}

}  // namespace
}  // namespace nearfield
