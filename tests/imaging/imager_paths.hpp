#pragma once
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "imaging/imager_table.hpp"
#include "imaging/plain_work_groups.hpp"
#include "imaging/pnah/fused_pnah.hpp"

/// Every way that a plan can take to its images.
namespace nearfield::test {

inline ocl::Device& device() {
  static ocl::Device opened = ocl::Device::open({});
  return opened;
}

/// The ways to an image, and the device as it would be: on this machine a GPU's launches run on PoCL.
struct Path {
  const char* name;
  const char* fft;
  bool as_gpu;
};
inline constexpr Path kPaths[] = {
    {"clfft", "clfft", false}, {"fused", "fused", false}, {"fused_as_on_a_gpu", "fused", true}};

inline ocl::Device device_of(const Path& path) {
  ocl::DeviceInfo info = device().info();
  if (path.as_gpu) {
    info.is_gpu = true;
    info.local_memory_bytes = std::size_t{48} << 10U;
  }
  return device().restricted(info);
}

inline constexpr const char* kNoFusedGroups = "PoCL 6 compiles them wrongly: docs/decisions/0023";
/// False where PoCL 6 makes the machine code, which is wrong for a GPU's groups of FusedPnah: docs/decisions/0023. Says
/// so.
inline bool has_fused_groups() {
  static const bool kHas = [] {
    const ocl::DeviceInfo& info = device().info();
    const bool is_wrong = info.platform == "Portable Computing Language" && std::stoi(info.driver) == 6;
    if (is_wrong) {
      fmt::print("LEFT OUT on PoCL {}: FusedPnah's kernels in the groups of a GPU (docs/decisions/0023)\n",
                 info.driver);
    }
    return !is_wrong;
  }();
  return kHas;
}

/// Those of kPaths whose machine code is right here.
inline std::vector<Path> paths() {
  std::vector<Path> found(std::begin(kPaths), std::end(kPaths));
  std::erase_if(found, [](const Path& path) { return path.as_gpu && !has_fused_groups(); });
  return found;
}

inline std::vector<Path> paths_for(const ImagePlan& plan) {
  std::vector<Path> found;
  for (const Path& path : paths()) {
    if (path.fft == std::string("clfft") || obstacle_to_fusing(device_of(path).info(), plan).empty()) {
      found.push_back(path);
    }
  }
  return found;
}

struct DeviceImages {
  std::vector<std::complex<float>> images;
  std::vector<std::uint32_t> status;
  std::vector<FilterReport> reports;
};

inline constexpr std::uint32_t kCanary = 0xC0FFEE;

inline DeviceImages run_on_device(ImagePlan plan, const std::vector<std::complex<float>>& spectra,
                                  const Path& path = kPaths[0],
                                  const std::shared_ptr<const Findings>& findings = nullptr) {
  plan.fft = path.fft;
  const std::optional<test::PlainWorkGroups> plain =
      path.as_gpu ? std::optional<test::PlainWorkGroups>(std::in_place) : std::nullopt;
  const ocl::Device on = device_of(path);
  const std::unique_ptr<Imager> pnah = make_imager(on, plan);
  if (findings) {
    pnah->adopt(findings);
  }
  const auto input = on.upload<std::complex<float>>(spectra, "test");
  const std::size_t words = static_cast<std::size_t>(plan.batch) * kStatusWords;
  std::vector<std::uint32_t> words_and_canary(words + kStatusWords, kCanary);
  std::fill_n(words_and_canary.begin(), words, 0U);
  const auto status = on.upload<std::uint32_t>(words_and_canary, "test");
  // Poisoned: every pixel must be written.
  on.enqueue_fill(pnah->images(), std::complex<float>(std::numeric_limits<float>::quiet_NaN(), 1.0F), "test");
  pnah->enqueue(input, status, static_cast<std::size_t>(plan.batch));
  EXPECT_EQ(on.download(status, "test"), words_and_canary) << "the status is cleared, and nothing behind it is touched";
  pnah->enqueue_fetch(static_cast<std::size_t>(plan.batch));
  on.wait();
  DeviceImages found{on.download(pnah->images(), "test"), on.download(pnah->taken_status(), "test"),
                     on.download(pnah->reports(), "test")};
  EXPECT_TRUE(std::equal(found.status.begin(), found.status.end(), pnah->host_status().begin()));
  EXPECT_EQ(std::memcmp(pnah->host_images().data(), found.images.data(), found.images.size() * sizeof(found.images[0])),
            0);
  return found;
}

}  // namespace nearfield::test
