#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>

#include "config/schema/front_end_kinds.hpp"
#include "core/metrics.hpp"
#include "files/files.hpp"
#include "support/command.hpp"
#include "support/images.hpp"
#include "support/measures.hpp"

/// Every front end through `nearfield replay`, from one capture to published images.
namespace nearfield {
namespace {

using testing::StartsWith;

/// One choice of settings. The scene is always the same, so the bounds on the relative L2 distance from the nominal
/// chain's images can be close enough to tell each choice from its neighbours: about a third and three times what was
/// measured.
struct Choice {
  std::string settings;  ///< of both engines
  std::string device;    ///< of the device only: choices that the reference does not know
  double least;
  double most;
};

struct Kind {
  std::string name;
  std::vector<Choice> choices;
};

// Windows of 256 words, bins 6 and 11, imaged by an imager whose images follow the spectra: sonah would find the
// scene's sources. The first frame is left out: the nominal chain's filter meets silence there.
const std::string kCommon =
    " --frames 1:3 --set holography.imager=pnah --set front_end.window_samples=256 --set "
    "front_end.frequencies_hz=[1098.6328125,2014.16015625]";
constexpr std::size_t kFrames = 2;

std::vector<ImageFrame> replayed(const test::TemporaryFolder& folder, const std::string& name,
                                 const std::string& more) {
  const std::string output = folder / (name + ".h5");
  const auto run = test::run_nearfield("replay " + (folder / "c.h5") + " -o " + output + kCommon + more);
  EXPECT_EQ(run.exit_code, 0) << run.output;
  const ImagesReader reader(output);
  EXPECT_EQ(reader.frames(), kFrames);
  std::vector<ImageFrame> frames;
  for (std::size_t i = 0; i < kFrames; ++i) {
    frames.push_back(reader.read(i));
  }
  return frames;
}

void simulate(const test::TemporaryFolder& folder) {
  std::ofstream(folder / "scene.yaml")
      << "version: 1\n"
         "array: {rows: 8, columns: 8, pitch_x_m: 0.02, pitch_y_m: 0.02}\n"
         "standoff_m: 0.03\nduration_s: 0.00683\nseed: 5\n"
         "sources:\n"
         "  - {kind: monopole, frequency_hz: 1098.6328125, x_m: 0.03, y_m: -0.02, z_m: -0.03, volume_velocity_m3_s: "
         "1.0e-4}\n"
         "  - {kind: monopole, frequency_hz: 2014.16015625, x_m: -0.04, y_m: 0.01, z_m: -0.03, volume_velocity_m3_s: "
         "1.0e-4}\n";
  const auto made = test::run_nearfield("simulate " + (folder / "scene.yaml") + " -o " + (folder / "c.h5"));
  ASSERT_EQ(made.exit_code, 0) << made.output;
}

class EveryFrontEnd : public testing::TestWithParam<Kind> {};

TEST_P(EveryFrontEnd, PublishesTheNominalChainsImages) {
  const Kind& kind = GetParam();
  const test::TemporaryFolder folder;
  simulate(folder);
  const std::vector<ImageFrame> nominal = replayed(folder, "nominal", " --set front_end.kind=decimated_fft");
  std::map<std::string, std::vector<ImageFrame>> references;
  for (const Choice& choice : kind.choices) {
    const std::string settings = fmt::format(" --set front_end.kind={} {}", kind.name, choice.settings);
    SCOPED_TRACE(settings + choice.device);
    const std::vector<ImageFrame> found = replayed(folder, "found", settings + choice.device);
    if (!references.contains(settings)) {
      references[settings] = replayed(folder, "expected", settings + " --engine reference");
    }
    EXPECT_THAT(ImagesReader(folder / "found.h5").header().front_end, StartsWith(kind.name));
    for (std::size_t i = 0; i < kFrames; ++i) {
      const ImageFrame& expected = references[settings][i];
      const double to_nominal = test::relative_l2(found[i].images, test::widen(nominal[i].images));
      const double to_reference = test::relative_l2(found[i].images, test::widen(expected.images));
      fmt::print("{} {}{}: {:.2g} to the nominal chain, {:.2g} to the reference\n", kind.name, choice.settings,
                 choice.device, to_nominal, to_reference);
      EXPECT_GE(to_nominal, choice.least);
      EXPECT_LE(to_nominal, choice.most);
      // Rounding in float32, below 1e-6 of the spectra, grows by up to 30 dB on its way to the surface.
      EXPECT_LE(to_reference, 3e-5);
      EXPECT_EQ(found[i].flags, expected.flags);
      EXPECT_EQ(found[i].first_sample, nominal[i].first_sample);
    }
  }
}

Kind dot_product() {
  Kind kind{"dot_product", {}};
  for (const std::string kernel : {"auto", "plain", "mirrored", "four_output", "tiled", "gemm"}) {
    // The same samples and the same vectors as the nominal chain on its grid: rounding only.
    kind.choices.push_back({"", " --set front_end.dot_kernel=" + kernel, 1e-8, 3e-5});
  }
  return kind;
}

Kind popcount() {
  Kind kind{"popcount", {}};
  for (const std::string transform : {"dot", "fft"}) {
    const std::string device = " --set front_end.popcount.transform=" + transform;
    kind.choices.push_back({"--set front_end.popcount.order=0", device, 0.05, 0.4});
    kind.choices.push_back({"", device, 1e-3, 8e-3});
    kind.choices.push_back({"--set front_end.popcount.order=2", device, 1.5e-4, 1e-3});
  }
  return kind;
}

Kind walsh_fourier() {
  const std::string fast = "--set front_end.walsh_fourier.coefficients=";
  // precomputed and computed keep the same functions, so that they share a reference.
  const std::string slow =
      "--set front_end.walsh_fourier.coefficients=40 --set front_end.walsh_fourier.variant=computed";
  return {"walsh_fourier",
          {{"", "", 3e-5, 3e-4},  // 6144 of 8192 functions
           {fast + "40", "", 0.08, 0.7},
           {fast + "1536", "", 1e-3, 8e-3},  // six patterns, as popcount of order 1
           {fast + "0", "", 3e-5, 3e-4},
           {slow, "", 0.08, 0.7},
           {slow, " --set front_end.walsh_fourier.variant=precomputed", 0.08, 0.7}}};
}

/// All but the nominal chain. A kind that has no choices above is held to its reference with its defaults, and to the
/// nominal chain as a measurement of the same field.
std::vector<Kind> every_kind() {
  std::vector<Kind> kinds = {dot_product(), popcount(), walsh_fourier()};
  for (const schema::FrontEndKind& kind : schema::front_end_kinds()) {
    const auto is_it = [&](const Kind& one) { return one.name == kind.name; };
    if (kind.name != "decimated_fft" && std::none_of(kinds.begin(), kinds.end(), is_it)) {
      kinds.push_back({std::string(kind.name), {{"", "", 0.0, 0.4}}});
    }
  }
  return kinds;
}

INSTANTIATE_TEST_SUITE_P(Replay, EveryFrontEnd, testing::ValuesIn(every_kind()),
                         [](const auto& param) { return param.param.name; });

}  // namespace
}  // namespace nearfield
