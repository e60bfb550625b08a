#include <gtest/gtest.h>
#include <stdlib.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "engine/engine.hpp"
#include "imaging/plain_work_groups.hpp"
#include "simulate/temporary_folder.hpp"

/// PoCL gives each group its own copy of the local arrays that it finds in a kernel. An array that LLVM has moved into
/// a helper of the kernel stays static memory of the compiled file, which groups on several threads share
/// (kernels/common/local_helper.cl).
namespace nearfield {
namespace {

namespace fs = std::filesystem;

/// Static variables of a compiled kernel that bear its name, as `nm` lists them.
std::string static_arrays(const fs::path& library) {
  FILE* pipe = popen(("nm '" + library.string() + "' || echo failed").c_str(), "r");
  std::string found;
  std::array<char, 1024> line{};
  while (pipe != nullptr && std::fgets(line.data(), line.size(), pipe) != nullptr) {
    const std::string text = line.data();
    const std::string of_kernel = " " + library.stem().string() + ".";
    if (text.find(" b" + of_kernel) != std::string::npos || text.find(" d" + of_kernel) != std::string::npos ||
        text == "failed\n") {
      found += text;
    }
  }
  EXPECT_NE(pipe, nullptr);
  if (pipe != nullptr) {
    pclose(pipe);
  }
  return found;
}

struct Way {
  const char* name;
  bool as_on_a_gpu;
  ImagerKind imager;
  const char* fft;
  Extrapolation extrapolation;
};

/// Builds what this way needs and images two windows of silence, so that PoCL compiles each kernel.
void compile(const Way& way) {
  const std::optional<test::PlainWorkGroups> plain =
      way.as_on_a_gpu ? std::optional<test::PlainWorkGroups>(std::in_place) : std::nullopt;
  EnginePlan plan;
  plan.sample_rate_hz = kBitRateHz / kBitsPerWord;
  Settings& settings = plan.settings;
  settings.array.geometry = {.rows = 8, .columns = 8, .pitch_x_m = 0.05, .pitch_y_m = 0.05};
  settings.array.layout = WireLayout::kRowMajor;
  settings.front_end.window_samples = 64;
  settings.front_end.hop_samples = 8;
  settings.front_end.frequencies_hz = {1464.84375};
  settings.holography.imager = way.imager;
  settings.holography.filter.cutoff_rule = CutoffRule::kAuto;
  settings.holography.extrapolation.method = way.extrapolation;
  settings.device.fft = way.fft;
  settings.device.platform = "Portable";
  settings.device.batch = way.imager == ImagerKind::kSonah ? 2 : 1;  // sonah_noise serves batches alone
  const ocl::Device device = ocl::Device::open(settings.device);
  ocl::DeviceInfo info = device.info();
  if (way.as_on_a_gpu) {
    info.is_gpu = true;
    info.local_memory_bytes = std::size_t{48} << 10U;
  }
  const std::unique_ptr<Engine> engine = make_engine(device.restricted(info), plan);
  const std::size_t word = kBitsPerWord * 2;
  engine->push_bits(0, engine->room_for_bits(64 * word));
  engine->compute({});
  engine->push_bits(64, engine->room_for_bits(16 * word));
  engine->compute({.first_sample = 8});
  engine->compute({.first_sample = 8});  // from the sums alone
  engine->compute({.first_sample = 8, .windows = static_cast<std::size_t>(settings.device.batch)});
}

TEST(LocalArrays, AreNotSharedByPoclsThreads) {
  constexpr Way kWays[] = {
      {"fused, processor", false, ImagerKind::kPnah, "fused", Extrapolation::kPlpbp},
      {"fused, as on a GPU", true, ImagerKind::kPnah, "fused", Extrapolation::kPlpbp},
      {"stage by stage, as on a GPU", true, ImagerKind::kPnah, "clfft", Extrapolation::kPlpbp},
      {"a predictor a line", false, ImagerKind::kPnah, "clfft", Extrapolation::kLpbp},
      {"sonah, processor", false, ImagerKind::kSonah, "auto", Extrapolation::kZero},
      {"sonah, as on a GPU", true, ImagerKind::kSonah, "auto", Extrapolation::kZero},
  };
  const test::TemporaryFolder folder;
  setenv("POCL_CACHE_DIR", (folder / "").c_str(), 1);  // before anything opens a device
  for (const Way& way : kWays) {
    SCOPED_TRACE(way.name);
    compile(way);
  }
  std::map<std::string, int> compiled;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder / "")) {
    if (entry.path().extension() == ".so") {
      ++compiled[entry.path().stem().string()];
      EXPECT_EQ(static_arrays(entry.path()), "") << entry.path();
    }
  }
  const std::map<std::string, int> fewest = {
      {"advance", 2},        {"block_sums", 1},  {"aperture", 2},         {"columns", 2},      {"rows", 2},
      {"measure_cutoff", 1}, {"slide", 1},       {"slide_vectors", 1},    {"sonah_images", 2}, {"extend_rows", 1},
      {"sonah_modes", 2},    {"sonah_noise", 2}, {"pooled_predictors", 1}};
  for (const auto& [kernel, count] : fewest) {
    EXPECT_GE(compiled[kernel], count) << kernel << " was not compiled";
  }
}

}  // namespace
}  // namespace nearfield
