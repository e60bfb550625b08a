#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iomanip>
#include <nlohmann/json.hpp>
#include <thread>

#include "core/error.hpp"
#include "files/results_file.hpp"
#include "support/command.hpp"
#include "support/images.hpp"
#include "support/measures.hpp"
#include "support/recordings.hpp"

/// The commands as a user runs them, from a recording to images.
namespace nearfield {
namespace {

using testing::AllOf;
using testing::AnyOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

constexpr double kTone_hz = 976.5625;  // bin 2 of 96 samples, bin 4 of 192
const std::string kWindow = " --set front_end.window_samples=192 --set front_end.frequencies_hz=[976.5625] ";
const std::string kSmallArray = test::kSmallArrayOptions + "--set array.layout=row-major ";

ImageFrame replayed(const std::string& input, const std::string& options, const test::TemporaryFolder& folder,
                    std::uint64_t frame = 0) {
  const std::string output = folder / "out.h5";
  const auto result = test::run_nearfield("replay " + input + " -o " + output + " " + options);
  EXPECT_EQ(result.exit_code, 0) << result.output;
  return ImagesReader(output).read(frame);
}

std::size_t peak_index(const std::vector<std::complex<float>>& image) {
  return static_cast<std::size_t>(
      std::max_element(image.begin(), image.end(), [](auto a, auto b) { return std::abs(a) < std::abs(b); }) -
      image.begin());
}

/// A 32 x 32 scene in the camera's own layout: one monopole just behind the surface under a known microphone.
std::string monopole_scene(int row, int column, const test::TemporaryFolder& folder) {
  const ArrayGeometry geometry;
  std::string scene = folder / "scene.yaml";
  std::ofstream(scene) << "version: 1\nstandoff_m: 0.03\nduration_s: 0.0221\nseed: 3\nsources:\n  - {kind: monopole, "
                       << "frequency_hz: 2014.16015625, x_m: " << geometry.x_m(column) << ", y_m: " << geometry.y_m(row)
                       << ", z_m: -0.01, volume_velocity_m3_s: 1.0e-4}\n";
  return scene;
}

// From microphone bits in the wire layout to the image: the peak lies where the source is. The place has no symmetry.
TEST(Replay, PointSourceAppearsAtItsRowAndColumn) {
  const test::TemporaryFolder folder;
  const int row = 6, column = 21;
  const auto made = test::run_nearfield("simulate " + monopole_scene(row, column, folder) + " -o " + (folder / "c.h5"));
  ASSERT_EQ(made.exit_code, 0) << made.output;
  const ImageFrame frame = replayed(folder / "c.h5", "--set front_end.frequencies_hz=[2014.16015625]", folder);
  EXPECT_EQ(peak_index(frame.images), static_cast<std::size_t>(row * 32 + column));
}

// The issue's limit from bits to image is 1e-3; both engines see the same bits.
struct Array {
  int rows;
  int columns;
  int frequencies;
};

class EveryArray : public testing::TestWithParam<Array> {};

TEST_P(EveryArray, EnginesAgreeFromBitsToImages) {
  const Array array = GetParam();
  const int n = array.frequencies;
  const test::TemporaryFolder folder;
  const std::string scene = folder / "scene.yaml";
  std::ofstream(scene) << "version: 1\narray: {rows: " << array.rows << ", columns: " << array.columns
                       << ", pitch_x_m: 0.02, pitch_y_m: 0.025}\nstandoff_m: 0.03\nduration_s: 0.0221\nmicrophones: "
                          "{noise_pa: 0.001, dc_offset_fs: 0.003}\nsources:\n";
  std::string frequencies;
  for (int i = 0; i < n; ++i) {
    const double frequency_hz = 1007.080078125 + 3 * 45.7763671875 * i;
    std::ofstream(scene, std::ios::app) << "  - {kind: monopole, frequency_hz: " << std::setprecision(12)
                                        << frequency_hz
                                        << ", x_m: 0.03, y_m: -0.02, z_m: -0.03, volume_velocity_m3_s: 5.0e-5}\n";
    frequencies += (i > 0 ? "," : "") + fmt::format("{}", frequency_hz);
  }
  ASSERT_EQ(test::run_nearfield("simulate " + scene + " -o " + (folder / "c.h5")).exit_code, 0);
  // The reference of sonah, which auto is here, takes a minute a frequency for a thousand microphones.
  const char* const imager = array.rows * array.columns > 256 ? "pnah" : "auto";
  for (const char* kind : {"decimated_fft", "popcount"}) {
    const std::string options = fmt::format(
        "--set front_end.kind={} --set front_end.frequencies_hz=[{}] --set "
        "holography.imager={}",
        kind, frequencies, imager);
    const ImageFrame expected = replayed(folder / "c.h5", options + " --engine reference", folder);
    const ImageFrame found = replayed(folder / "c.h5", options, folder);
    const double error = test::relative_l2(found.images, expected.images);
    std::printf("%d x %d, n = %d, %s: engines differ by %.2e from bits to images\n", array.rows, array.columns, n, kind,
                error);
    EXPECT_LE(error, 1e-3) << kind;
    EXPECT_EQ(found.flags, expected.flags) << kind;
  }
}

INSTANTIATE_TEST_SUITE_P(Replay, EveryArray,
                         testing::Values(Array{32, 32, 2}, Array{32, 32, 7}, Array{8, 8, 1}, Array{8, 8, 7},
                                         Array{16, 64, 1}, Array{16, 64, 5}, Array{12, 20, 2}, Array{12, 20, 5}),
                         [](const auto& param) {
                           const Array& array = param.param;
                           return fmt::format("{}x{}_n{}", array.rows, array.columns, array.frequencies);
                         });

// The image of a simulated monopole against the truth that the capture carries; the imager's own error is 5 % here.
TEST(Replay, SimulatedMonopoleComesOutInPascal) {
  const test::TemporaryFolder folder;
  const std::string scene = folder / "scene.yaml";
  std::ofstream(scene)
      << "version: 1\nstandoff_m: 0.03\nduration_s: 0.0221\nsigma_delta: {order: 4}\nsources:\n  - {kind: "
         "monopole, frequency_hz: 2014.16015625, x_m: 0.05, y_m: -0.1, z_m: -0.03, "
         "volume_velocity_m3_s: 2.0e-4}\n";
  ASSERT_EQ(test::run_nearfield("simulate " + scene + " -o " + (folder / "c.h5")).exit_code, 0);
  const ImageFrame frame =
      replayed(folder / "c.h5",
               "--set front_end.frequencies_hz=[2014.16015625] --set holography.extrapolation.method=lpbp "
               "--set holography.filter.cutoff_rad_per_m=90",
               folder);
  const Truth truth = CaptureReader(folder / "c.h5").truth().value();
  const double error = test::relative_l2(frame.images, test::widen(truth.pressure));
  std::printf("monopole at 2014 Hz from bits: relative L2 error %.2f %%\n", 100.0 * error);
  EXPECT_LE(error, 0.08);
}

TEST(Replay, TimeDataGiveTheImagesOfTheirSpectra) {
  const test::TemporaryFolder folder;
  write_time_data(folder / "time.h5", kBitRateHz / kBitsPerWord, 64, test::monopole_samples(192, kTone_hz));
  write_spectra(folder / "spectra.h5", test::monopole_spectra(1, {kTone_hz}));
  const ImageFrame from_time = replayed(folder / "time.h5", kWindow + kSmallArray, folder);
  const ImageFrame from_spectra = replayed(folder / "spectra.h5", "", folder);
  EXPECT_LE(test::relative_l2(from_time.images, test::widen(from_spectra.images)), 1e-4);
}

// Samples have no bits to count: the default is replaced, with a message; a kind that the user set is refused.
TEST(Replay, SamplesGoToTheNominalChainUnlessAKindIsSet) {
  const test::TemporaryFolder folder;
  write_time_data(folder / "time.h5", kBitRateHz / kBitsPerWord, 64, test::monopole_samples(192, kTone_hz));
  const auto run = [&](const std::string& more) {
    return test::run_nearfield("replay " + (folder / "time.h5") + " -o " + (folder / "out.h5") + kWindow + kSmallArray +
                               more);
  };
  const auto by_default = run("");
  EXPECT_EQ(by_default.exit_code, 0) << by_default.output;
  EXPECT_THAT(by_default.output, AllOf(HasSubstr("info: "), HasSubstr("popcount"), HasSubstr("decimated_fft")));
  const ImagesHeader header = ImagesReader(folder / "out.h5").header();
  EXPECT_EQ(header.front_end, "decimated_fft");
  EXPECT_THAT(header.config, HasSubstr("kind: decimated_fft"));
  for (const std::string kind : {"popcount", "walsh_fourier"}) {
    const auto refused = run(" --set front_end.kind=" + kind);
    EXPECT_EQ(refused.exit_code, 78) << refused.output;
    EXPECT_THAT(refused.output, AllOf(HasSubstr("front_end.kind"), HasSubstr(kind)));
  }
  const auto asked = run(" --set front_end.kind=dot_product");
  EXPECT_EQ(asked.exit_code, 0) << asked.output;
  EXPECT_THAT(asked.output, Not(HasSubstr("can't count")));
  // The kernel that the plan took, in the log and in the file.
  const std::string taken = ImagesReader(folder / "out.h5").header().front_end;
  EXPECT_THAT(taken, AnyOf(HasSubstr("dot_product (tiled"), HasSubstr("dot_product (gemm")));
  EXPECT_THAT(asked.output, HasSubstr("front end: " + taken));
}

TEST(Replay, BitsAreCountedUnlessAKindIsSet) {
  const test::TemporaryFolder folder;
  test::write_random_capture(folder / "c.h5", 32 * 192);
  (void)replayed(folder / "c.h5", kWindow, folder);
  EXPECT_THAT(ImagesReader(folder / "out.h5").header().front_end, ::testing::StartsWith("popcount"));
}

// Batches: every front end's images, flags and times are those of frame by frame; the last batch is a part of one.
TEST(Replay, BatchesAreTheFramesOneByOne) {
  const test::TemporaryFolder folder;
  test::write_random_capture(folder / "c.h5", 32 * 500);
  for (const std::string engine : {"opencl", "reference"}) {
    for (const std::string kind : {"popcount", "decimated_fft", "dot_product", "walsh_fourier"}) {
      const auto run = [&](int batch) {
        const std::string output = folder / ("batch" + std::to_string(batch) + ".h5");
        const auto result =
            test::run_nearfield("replay " + (folder / "c.h5") + " -o " + output + kWindow + " --engine " + engine +
                                " --set front_end.window_samples=256 --set front_end.hop_samples=24 --set "
                                "array.dead_channels=[2] --set front_end.kind=" +
                                kind + " --set device.batch=" + std::to_string(batch));
        EXPECT_EQ(result.exit_code, 0) << result.output;
        return ImagesReader(output);
      };
      const ImagesReader single = run(1);
      const ImagesReader batched = run(5);
      ASSERT_EQ(batched.frames(), single.frames());
      EXPECT_NE(single.frames() % 5, 0U);
      for (std::uint64_t i = 0; i < single.frames(); ++i) {
        const ImageFrame expected = single.read(i);
        const ImageFrame found = batched.read(i);
        EXPECT_EQ(found.flags, expected.flags);
        EXPECT_EQ(found.timestamp_ns, expected.timestamp_ns);
        // clFFT and the compiler may order sums in another way for another size.
        EXPECT_LT(test::relative_l2(found.images, test::widen(expected.images)), 1e-6) << engine << " " << kind;
      }
    }
  }
}

// Any hop: frame k of hop h is frame k h of hop 1. Their integer sums are the same; the kernels that turn them into
// spectra differ with the hop and round differently, by some 2^-24 in each of a few tens of steps.
/// A filter that does not depend on the frames before.
const std::string kMemoryless = " --set holography.filter.cutoff_rad_per_m=dynamic_range ";

TEST(Replay, EveryHopSeesTheSameWindows) {
  const test::TemporaryFolder folder;
  test::write_random_capture(folder / "c.h5", 32 * 1200);
  const auto run = [&](int hop, const std::string& more) {
    const std::string output = folder / ("hop" + std::to_string(hop) + ".h5");
    const auto result = test::run_nearfield("replay " + (folder / "c.h5") + " -o " + output + kWindow + kMemoryless +
                                            " --set front_end.hop_samples=" + std::to_string(hop) + more);
    EXPECT_EQ(result.exit_code, 0) << result.output;
    return ImagesReader(output);
  };
  const ImagesReader every = run(1, " --frames 720");
  for (const int hop : {7, 32, 700}) {
    const ImagesReader some = run(hop, "");
    EXPECT_EQ(some.frames(), static_cast<std::uint64_t>((1200 - 192) / hop + 1));
    const std::uint64_t last = std::min<std::uint64_t>(some.frames() - 1, 719 / static_cast<std::uint64_t>(hop));
    const ImageFrame one = some.read(last);
    const ImageFrame same = every.read(last * static_cast<std::uint64_t>(hop));
    EXPECT_EQ(one.first_sample, same.first_sample);
    EXPECT_EQ(one.timestamp_ns, same.timestamp_ns);
    EXPECT_LE(test::relative_l2(one.images, test::widen(same.images)), 4e-6) << hop;
  }
  const ImageFrame second = run(7, "").read(1);
  EXPECT_EQ(second.first_sample, 7U * 32U);
  EXPECT_EQ(second.timestamp_ns, 1'700'000'000'000'000'000 + 149'333);  // 224 bits of 1.5 MHz
}

TEST(Replay, FrameRangeStartsAnywhere) {
  const test::TemporaryFolder folder;
  test::write_random_capture(folder / "c.h5", 32 * 1200);
  const ImageFrame whole = replayed(folder / "c.h5", kWindow + kMemoryless, folder, 9);
  const ImageFrame part = replayed(folder / "c.h5", kWindow + kMemoryless + "--frames 9:11", folder, 0);
  EXPECT_EQ(part.first_sample, whole.first_sample);
  EXPECT_LE(test::relative_l2(part.images, test::widen(whole.images)), 1e-6);
}

// The plan has the frames of the run, of each processor, and its file their places alone.
TEST(Replay, PlanSaysWhichFramesThereWillBe) {
  const test::TemporaryFolder folder;
  test::write_random_capture(folder / "c.h5", 32 * 1200);
  const std::string options = kWindow + kMemoryless +
                              "--set processors.rows.kind=pnah --set processors.rows.every_hops=5 "
                              "--set processors.rows.front_end.window_samples=384 --engine reference -q -o ";
  const auto plan = test::run_nearfield("replay " + (folder / "c.h5") + options + (folder / "plan.h5") + " --plan");
  ASSERT_EQ(plan.exit_code, 0) << plan.output;
  const nlohmann::json said = nlohmann::json::parse(plan.output.substr(plan.output.find("{\n")));  // behind warnings
  const auto run = test::run_nearfield("replay " + (folder / "c.h5") + options + (folder / "run.h5"));
  ASSERT_EQ(run.exit_code, 0) << run.output;
  const ResultsReader reader(folder / "run.h5");
  ASSERT_EQ(said.at("processors").size(), 2U);
  for (std::size_t p = 0; p < 2; ++p) {
    const nlohmann::json& one = said.at("processors").at(p);
    EXPECT_EQ(one.at("name"), reader.header(p).processor);
    EXPECT_EQ(one.at("frames"), reader.frames(p));
    EXPECT_EQ(one.at("every_hops"), p == 0 ? 1 : 5);
  }
  EXPECT_EQ(said.at("hops"), reader.frames(0));
  // The window of 384 samples ends with that of the hop: it begins at or after sample 0 from hop 6 on.
  EXPECT_EQ(said.at("processors").at(1).at("first_hop"), 10);
  EXPECT_THROW(ResultsReader(folder / "plan.h5"), DataError);  // no frame in it
  EXPECT_EQ(test::run_nearfield("replay " + (folder / "c.h5") + " --plan --png d -o " + (folder / "p.h5")).exit_code,
            64);
}

TEST(Replay, OffGridFrequencySnapsAndWarns) {
  const test::TemporaryFolder folder;
  test::write_random_capture(folder / "c.h5", 32 * 192);
  const std::string output = folder / "out.h5";
  const auto result = test::run_nearfield("replay " + (folder / "c.h5") + " -o " + output +
                                          " --set front_end.window_samples=192 --set front_end.frequencies_hz=[1000]" +
                                          " --set front_end.kind=decimated_fft");
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.output, AllOf(HasSubstr("warning"), HasSubstr("1000 Hz"), HasSubstr("976.56")));
  EXPECT_DOUBLE_EQ(ImagesReader(output).header().frequencies_hz.at(0), kTone_hz);
}

TEST(Replay, PicturesAreDrawn) {
  const test::TemporaryFolder folder;
  write_spectra(folder / "spectra.h5", test::monopole_spectra(2, {500.0, 1500.0}));
  (void)replayed(folder / "spectra.h5", "--png " + (folder / "png") + " --set holography.planes_m=[0,0.01]", folder);
  std::size_t pictures = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder / "png")) {
    EXPECT_EQ(entry.path().extension(), ".png");
    ++pictures;
  }
  EXPECT_EQ(pictures, 8U);
}

/// Waits until a running replay has written its first frame; false after a minute.
bool has_first_frame(const std::string& partial) {
  for (int i = 0; i < 6000; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    try {
      if (ImagesReader(partial).frames() > 0) {
        return true;
      }
    } catch (const Error&) {  // not there yet, or no frame in it yet
    }
  }
  return false;
}

// Ctrl-C ends a replay in order; kill -9 ends it at once. Either way the frames done stay readable, and only as
// .partial.
TEST(Replay, StoppedRunsKeepWhatIsDone) {
  const test::TemporaryFolder folder;
  test::write_random_capture(folder / "c.h5", 32 * 120000);
  for (const int signal : {SIGINT, SIGTERM, SIGKILL}) {
    const std::string output = folder / ("out" + std::to_string(signal) + ".h5");
    const test::RunningCommand replay("replay " + (folder / "c.h5") + " -o " + output + kWindow +
                                      " --set front_end.hop_samples=1");
    ASSERT_TRUE(has_first_frame(output + ".partial"));
    replay.send(signal);
    EXPECT_EQ(replay.wait(), signal == SIGKILL ? 128 + SIGKILL : 130);
    EXPECT_FALSE(std::filesystem::exists(output));
    EXPECT_GT(ImagesReader(output + ".partial").frames(), 0U);
  }
}

// PoCL shows the processor as two devices that are alike, or as two that are not.
constexpr const char* kTwoAlike = "POCL_DEVICES='pthread pthread'";
constexpr const char* kTwoUnlike = "POCL_DEVICES='basic pthread'";

/// Images and figures of all frames, as they lie in the file.
std::vector<std::vector<std::byte>> products_of_file(const std::string& path) {
  const ResultsReader reader(path);
  std::vector<std::vector<std::byte>> products;
  for (std::size_t p = 0; p < reader.processors(); ++p) {
    for (std::size_t i = 0; i < reader.header(p).products.size(); ++i) {
      products.push_back(reader.read_array(p, i, 0, reader.frames(p)));
    }
  }
  return products;
}

TEST(Replay, DealtOutToDevicesGivesTheFileOfOne) {
  const test::TemporaryFolder folder;
  test::write_random_capture(folder / "c.h5", 32 * (2300 * 8 + 64));  // two blocks, longer than 16 times 60 hops
  const std::string options = std::string(kWindow) +
                              " --set front_end.hop_samples=8 --set device.batch=4"
                              " --set processors.rows.kind=pnah --set processors.rows.every_hops=3";
  const auto one =
      test::run_nearfield("replay " + (folder / "c.h5") + " -o " + (folder / "one.h5") + options, kTwoAlike);
  ASSERT_EQ(one.exit_code, 0) << one.output;
  const auto dealt = test::run_nearfield(
      "replay " + (folder / "c.h5") + " -o " + (folder / "dealt.h5") + options + " --devices 0,1", kTwoAlike);
  ASSERT_EQ(dealt.exit_code, 0) << dealt.output;
  EXPECT_THAT(dealt.output, AllOf(HasSubstr("2 devices: blocks of 1144 frames, with 60 computed before each"),
                                  ContainsRegex("on 2 devices, (pthread|cpu)-")));
  EXPECT_EQ(products_of_file(folder / "dealt.h5"), products_of_file(folder / "one.h5"));
  EXPECT_EQ(ResultsReader(folder / "dealt.h5").header(0).device, ResultsReader(folder / "one.h5").header(0).device);
}

TEST(Replay, RefusesDevicesThatFramesCannotBeDealtOutTo) {
  const test::TemporaryFolder folder;
  test::write_random_capture(folder / "c.h5", 32 * 192);
  const std::string replay = "replay " + (folder / "c.h5") + " -o " + (folder / "out.h5") + kWindow;
  const auto expect = [&](const std::string& options, const char* devices, int exit_code, const std::string& text) {
    const auto result = test::run_nearfield(replay + options, devices);
    EXPECT_EQ(result.exit_code, exit_code) << options << result.output;
    EXPECT_THAT(result.output, HasSubstr(text));
    return result.output;
  };
  expect(" --devices 0,Portable:0", kTwoAlike, 64, "expected each device once, found \"0\" and \"Portable:0\"");
  expect(" --devices 0,:1", kTwoAlike, 64, "--devices: expected INDEX, NAME or NAME:INDEX, found \":1\"");
  expect(" --devices 0,2", kTwoAlike, 69, "device.index: expected 0 to 1, found 2");
  expect(" --devices 0,1 --device 0", kTwoAlike, 64, "--device");
  expect(" --devices 0,1 --engine reference", kTwoAlike, 64, "--engine");
  expect(" --devices 0,1 --set processors.far.kind=beamform --set processors.far.device=1", kTwoAlike, 64,
         "processors.far.device");
  expect(" --devices 0,1 --set processors.find.kind=srp_phat", kTwoAlike, 64, "processors.find: expected frames");
  expect(" --devices 0,1", kTwoUnlike, 69, "--allow-unlike");
  EXPECT_FALSE(std::filesystem::exists(folder / "out.h5"));
  EXPECT_THAT(expect(" --devices 0,1 --allow-unlike", kTwoUnlike, 0, ""), ContainsRegex(" and (pthread|cpu)-"));
  EXPECT_THAT(expect(" --devices 0", kTwoUnlike, 0, ""), ContainsRegex("on (basic|cpu-minimal)-"));
}

TEST(Masks, ArePrintedAndTaken) {
  const test::TemporaryFolder folder;
  SpectraFile file = test::monopole_spectra(40, {500.0, 1000.0});
  for (std::size_t i = 0; i < file.spectra.size(); ++i) {
    // Silent from frame 2 on: what is silent throughout is left out from the first frame. No two frames are alike.
    file.spectra[i] *= i % 64 == 27 && i >= 64 * 4 ? 0.0F : 1.0F + 0.01F * static_cast<float>(i * 7919 % 13);
  }
  write_spectra(folder / "spectra.h5", file);
  const auto printed = test::run_nearfield("masks -q " + (folder / "spectra.h5"));
  EXPECT_EQ(printed.exit_code, 0) << printed.output;
  EXPECT_THAT(printed.output, HasSubstr(R"({"masks":[{"channels":[27],"first_bit_time":)"));
  const auto written = test::run_nearfield("masks " + (folder / "spectra.h5") + " -o " + (folder / "masks.json"));
  EXPECT_EQ(written.exit_code, 0) << written.output;
  EXPECT_THAT(written.output, AllOf(HasSubstr("microphone 27"), HasSubstr("masks.json: 1 change of masks")));
  const std::string replay =
      "replay " + (folder / "spectra.h5") + " -o " + (folder / "out.h5") + " --masks " + (folder / "masks.json");
  EXPECT_EQ(test::run_nearfield(replay).exit_code, 0);
  const auto refused = test::run_nearfield(replay + " --set array.health.mask=false");
  EXPECT_EQ(refused.exit_code, 64);
  EXPECT_THAT(refused.output, HasSubstr("--masks: expected array.health.enabled: true"));
  EXPECT_EQ(
      test::run_nearfield("replay " + (folder / "spectra.h5") + " -o " + (folder / "out.h5") + " --masks none.json")
          .exit_code,
      66);
  EXPECT_EQ(test::run_nearfield("masks " + (folder / "none.h5")).exit_code, 66);
  EXPECT_EQ(test::run_nearfield("masks " + (folder / "spectra.h5") + " -o " + (folder / "spectra.h5")).exit_code, 64);
}

TEST(Compare, AFileWithItself) {
  const test::TemporaryFolder folder;
  write_spectra(folder / "spectra.h5", test::monopole_spectra(2, {500.0}));
  (void)replayed(folder / "spectra.h5", "", folder);
  const auto same = test::run_nearfield("compare " + (folder / "out.h5") + " " + (folder / "out.h5") + " --json");
  EXPECT_EQ(same.exit_code, 0) << same.output;
  EXPECT_THAT(same.output, HasSubstr("\"ncc\""));
  EXPECT_EQ(test::run_nearfield("compare " + (folder / "out.h5") + " " + (folder / "spectra.h5")).exit_code, 65);
}

TEST(Inspect, SaysWhatAFileHolds) {
  const test::TemporaryFolder folder;
  test::write_random_capture(folder / "c.h5", 32 * 192);
  const auto result = test::run_nearfield("inspect " + (folder / "c.h5"));
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.output, AllOf(HasSubstr("8 x 8"), HasSubstr("row-major"), HasSubstr("6144")));
}

TEST(Devices, ListsThem) {
  const auto result = test::run_nearfield("devices");
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.output, HasSubstr("platform"));
}

TEST(Encode, SpectraComeBackFromBits) {
  const test::TemporaryFolder folder;
  write_spectra(folder / "spectra.h5", test::monopole_spectra(1, {kTone_hz}));
  const auto made = test::run_nearfield("encode " + (folder / "spectra.h5") + " -o " + (folder / "bits.h5") +
                                        " --order 4 --duration-s 0.05");
  ASSERT_EQ(made.exit_code, 0) << made.output;
  const std::string window = " --set front_end.window_samples=1536 --set front_end.frequencies_hz=[976.5625] ";
  const ImageFrame from_bits = replayed(folder / "bits.h5", window, folder);
  const ImageFrame from_spectra = replayed(folder / "spectra.h5", "", folder);
  // -20 dBFS bits of fourth-order modulators over 33 ms: noise of 0.01 % a microphone, which the image amplifies.
  EXPECT_LE(test::relative_l2(from_bits.images, test::widen(from_spectra.images)), 0.02);
}

}  // namespace
}  // namespace nearfield
