#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CL/opencl.hpp>

#include "cl/device.hpp"
#include "cl/program_cache.hpp"

/// Every file below kernels/, without a line for each.
namespace nearfield::ocl {
namespace {

std::span<const EmbeddedKernel> files() { return embedded_kernels(); }

/// Names as the compiler has them.
std::vector<std::string> arguments_of(const ::cl::Kernel& kernel) {
  std::vector<std::string> names;
  const auto count = kernel.getInfo<CL_KERNEL_NUM_ARGS>();
  for (cl_uint number = 0; number < count; ++number) {
    std::string name = kernel.getArgInfo<CL_KERNEL_ARG_NAME>(number);
    name.erase(name.find_last_not_of('\0') + 1);
    constexpr std::string_view kOfPocl = "_cl_";  // PoCL's prefix for names that are also built-in functions
    names.push_back(name.starts_with(kOfPocl) ? name.substr(kOfPocl.size()) : name);
  }
  return names;
}

class KernelFiles : public ::testing::TestWithParam<std::size_t> {
 protected:
  [[nodiscard]] static const EmbeddedKernel& file() { return files()[GetParam()]; }
};

/// PoCL compiles kernels to machine code when they are first enqueued, so this is the front end's part alone: what is
/// not declared, does not fit its type or is defined twice is found there.
TEST_P(KernelFiles, CompilesAloneWithItsDefaultMacrosAndArgumentsHaveTheNamesThatWereEmbedded) {
  const Device device = Device::open({});
  std::string source;
  for (const std::string_view text : file().texts) {
    source += text;
  }
  ::cl::Program program(device.context(), source);
  const cl_int code = program.build("-cl-std=CL1.2 -cl-kernel-arg-info");
  if (file().path == "imaging/gram_fit.cl" && !device.info().has_fp64) {
    EXPECT_NE(code, CL_SUCCESS) << "it has double; obstacle_to_fusing() keeps it from this device";
    return;
  }
  ASSERT_EQ(code, CL_SUCCESS) << program.getBuildInfo<CL_PROGRAM_BUILD_LOG>().front().second;
  std::vector<::cl::Kernel> kernels;
  if (!file().kernels.empty()) {
    ASSERT_EQ(program.createKernels(&kernels), CL_SUCCESS);
  }
  std::vector<std::string> compiled;
  for (const ::cl::Kernel& kernel : kernels) {
    compiled.push_back(kernel.getInfo<CL_KERNEL_FUNCTION_NAME>());
    compiled.back().erase(compiled.back().find_last_not_of('\0') + 1);
    SCOPED_TRACE(compiled.back());
    const auto embedded = std::find_if(file().kernels.begin(), file().kernels.end(),
                                       [&](const KernelSignature& one) { return one.name == compiled.back(); });
    ASSERT_NE(embedded, file().kernels.end());
    const std::vector<std::string> names = arguments_of(kernel);
    EXPECT_GE(names.size(), embedded->fixed);
    ASSERT_LE(names.size(), embedded->arguments.size());
    for (std::size_t number = 0; number < names.size(); ++number) {
      EXPECT_EQ(names[number], embedded->arguments[number]);
    }
  }
  std::vector<std::string> embedded;
  for (const KernelSignature& kernel : file().kernels) {
    embedded.emplace_back(kernel.name);
  }
  EXPECT_THAT(compiled, testing::UnorderedElementsAreArray(embedded));
}

INSTANTIATE_TEST_SUITE_P(All, KernelFiles, testing::Range(std::size_t{0}, files().size()), [](const auto& file) {
  std::string name(files()[file.param].path);
  std::replace_if(
      name.begin(), name.end(), [](char c) { return c == '/' || c == '.'; }, '_');
  return name;
});

/// What `call` throws.
template <class Call>
std::string message_of(const Call& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

class KernelArguments : public ::testing::Test {
 protected:
  Device device_ = Device::open({});
  Program program_ = device_.build("test", "frontend/common/corner_turn.cl", {{"CHANNELS", "32"}, {"WIRE_WORDS", "1"}});
  Kernel kernel_ = program_.kernel("corner_turn");
};

TEST_F(KernelArguments, AreFoundByTheirNames) {
  EXPECT_THAT(kernel_.arguments("slots", "wire", "first_slot").numbers, testing::ElementsAre(4U, 0U, 3U));
}

// 32 bit-times of 32 microphones: bit b of time t becomes bit t of microphone b.
TEST_F(KernelArguments, GetTheValuesOfTheirNames) {
  std::vector<std::uint32_t> wire(32);
  std::vector<std::int32_t> channels(32);
  for (std::uint32_t i = 0; i < 32; ++i) {
    wire[i] = i == 5 ? 0xFFFFFFFFU : 0U;
    channels[i] = static_cast<std::int32_t>(i);
  }
  const auto in = device_.upload<std::uint32_t>(wire, "test");
  const auto channel_of = device_.upload<std::int32_t>(channels, "test");
  const auto out = device_.upload<std::uint32_t>(std::vector<std::uint32_t>(2 * 32, 7U), "test");
  kernel_.set("packed", out).set("channel_of_wire_bit", channel_of).set("wire", in);
  kernel_.set(kernel_.arguments("slots", "first_slot"), std::uint32_t{2}, std::uint32_t{1});
  kernel_.enqueue({.global_0 = 32, .local_0 = 32, .global_1 = 8, .local_1 = 8});
  std::vector<std::uint32_t> expected(32, 7U);
  expected.resize(64, 1U << 5U);
  EXPECT_EQ(device_.download(out, "test"), expected);
}

TEST_F(KernelArguments, AnUnknownNameIsAnErrorThatNamesKernelAndArgument) {
  const char* expected =
      "test/corner_turn: the kernel has no argument \"slot\"; expected one of wire, channel_of_wire_bit, packed, "
      "first_slot, slots";
  EXPECT_EQ(message_of([&] { kernel_.set("slot", std::uint32_t{1}); }), expected);
  EXPECT_EQ(message_of([&] { (void)kernel_.arguments("wire", "slot"); }), expected);
}

TEST_F(KernelArguments, AValueForEachIsExpectedOfAll) {
  EXPECT_EQ(message_of([&] { kernel_.set_all(std::uint32_t{1}, std::uint32_t{1}); }),
            "test/corner_turn: expected a value for each of the arguments wire, channel_of_wire_bit, packed, "
            "first_slot, slots, found 2 values");
}

TEST_F(KernelArguments, AnUnknownKernelOrFileIsAnErrorThatNamesIt) {
  EXPECT_EQ(message_of([&] { (void)program_.kernel("corner"); }),
            "test: kernels/frontend/common/corner_turn.cl has no kernel corner");
  EXPECT_EQ(message_of([&] { (void)device_.build("test", "capture/corner.cl", {}); }),
            "kernels/capture/corner.cl: not among the embedded kernels");
}

}  // namespace
}  // namespace nearfield::ocl
