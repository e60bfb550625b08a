#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <hdf5.h>

#include <filesystem>
#include <fstream>
#include <limits>

#include "support/command.hpp"
#include "support/images.hpp"
#include "support/recordings.hpp"

/// What a user sees of each bad input: one clear message, the exit code of sysexits.h, and nothing under the final
/// name.
namespace nearfield {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Matcher;
using testing::Not;

constexpr int kUsage = 64, kBadData = 65, kNoInput = 66, kNoDevice = 69, kIo = 74, kBadConfig = 78;
const std::string kWindow = " --set front_end.window_samples=96 --set front_end.frequencies_hz=[976.5625] ";

class BadInput : public testing::Test {
 protected:
  /// Replays `input` and expects this exit code and message, and no output.
  void expect_refusal(const std::string& input, const std::string& options, int exit_code,
                      const Matcher<std::string>& message, const std::string& prefix = "") {
    const auto result = test::run_nearfield("replay " + input + " -o " + output_ + " " + options, prefix);
    EXPECT_EQ(result.exit_code, exit_code) << result.output;
    EXPECT_THAT(result.output, AllOf(message, Not(HasSubstr("internal error")), Not(HasSubstr("HDF5-DIAG"))));
    EXPECT_FALSE(std::filesystem::exists(output_));
    EXPECT_FALSE(std::filesystem::exists(output_ + ".partial"));
  }
  void write_text(const std::string& path, const std::string& text) { std::ofstream(path) << text; }
  std::string capture(std::uint64_t bit_times = 32 * 128) {
    std::string path = folder_ / "capture.h5";
    test::write_random_capture(path, bit_times);
    return path;
  }
  test::TemporaryFolder folder_;
  std::string output_ = folder_ / "images.h5";
};

TEST_F(BadInput, MissingFile) { expect_refusal(folder_ / "none.h5", "", kNoInput, HasSubstr("none.h5")); }

TEST_F(BadInput, Folder) { expect_refusal(folder_.path(), "", kNoInput, HasSubstr(folder_.path())); }

TEST_F(BadInput, NotHdf5) {
  write_text(folder_ / "notes.h5", "not an HDF5 file, however it is called");
  expect_refusal(folder_ / "notes.h5", "", kBadData, HasSubstr("notes.h5"));
}

TEST_F(BadInput, EmptyFile) {
  write_text(folder_ / "empty.h5", "");
  expect_refusal(folder_ / "empty.h5", "", kBadData, HasSubstr("empty.h5"));
}

TEST_F(BadInput, TruncatedHdf5) {
  const std::string path = capture();
  std::filesystem::resize_file(path, std::filesystem::file_size(path) / 2);
  expect_refusal(path, kWindow, kBadData, HasSubstr("capture.h5"));
}

TEST_F(BadInput, WrongDataset) {
  const std::string path = capture();
  const hid_t file = H5Fopen(path.c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
  H5Ldelete(file, "/bitstream", H5P_DEFAULT);
  H5Fclose(file);
  expect_refusal(path, kWindow, kBadData, AllOf(HasSubstr("capture.h5"), HasSubstr("/bitstream")));
}

TEST_F(BadInput, WrongRank) {
  const std::string path = folder_ / "rank.h5";
  const hid_t file = H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  const hsize_t size = 1000;
  const hid_t space = H5Screate_simple(1, &size, nullptr);
  const hid_t set = H5Dcreate2(file, "/time_data", H5T_NATIVE_FLOAT, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  H5Dclose(set);
  H5Sclose(space);
  H5Fclose(file);
  expect_refusal(path, kWindow, kBadData, AllOf(HasSubstr("/time_data"), HasSubstr("rank")));
}

TEST_F(BadInput, ZeroFrames) {
  SpectraFile file = test::monopole_spectra(1, {1000.0});
  const std::string path = folder_ / "spectra.h5";
  write_spectra(path, file);
  const hid_t h5 = H5Fopen(path.c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
  H5Ldelete(h5, "/spectra", H5P_DEFAULT);
  const hsize_t sizes[] = {0, 1, 8, 8};
  const hid_t type = H5Tcreate(H5T_COMPOUND, 8);
  H5Tinsert(type, "r", 0, H5T_NATIVE_FLOAT);
  H5Tinsert(type, "i", 4, H5T_NATIVE_FLOAT);
  const hid_t space = H5Screate_simple(4, sizes, nullptr);
  H5Dclose(H5Dcreate2(h5, "/spectra", type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
  H5Sclose(space);
  H5Tclose(type);
  H5Fclose(h5);
  expect_refusal(path, "", kBadData, HasSubstr("/spectra"));
}

TEST_F(BadInput, ShorterThanOneWindow) {
  expect_refusal(capture(32 * 95), kWindow, kBadData,
                 AllOf(HasSubstr("one window"), HasSubstr("3072 bit-times"), HasSubstr("3040")));
}

TEST_F(BadInput, NoSuchFrames) {
  expect_refusal(capture(), kWindow + "--frames 2:3", kBadData, HasSubstr("--frames starts at 2"));
}

TEST_F(BadInput, ManyMicrophonesNotFinite) {
  SpectraFile file = test::monopole_spectra(2, {1000.0});
  for (std::size_t i = 0; i < 7; ++i) {
    file.spectra[64 + 3 * i] = {std::numeric_limits<float>::quiet_NaN(), 0.0F};
  }
  const std::string path = folder_ / "spectra.h5";
  write_spectra(path, file);
  const auto result = test::run_nearfield("replay " + path + " -o " + output_);
  EXPECT_EQ(result.exit_code, kBadData) << result.output;
  EXPECT_THAT(result.output, AllOf(HasSubstr("frame 1"), HasSubstr("7 of 64")));
  EXPECT_FALSE(std::filesystem::exists(output_));
}

TEST_F(BadInput, AFewMicrophonesNotFiniteAreMaskedAndFlagged) {
  SpectraFile file = test::monopole_spectra(1, {1000.0});
  for (std::size_t i = 0; i < 6; ++i) {
    file.spectra[9 * i] = {std::numeric_limits<float>::quiet_NaN(), 0.0F};
  }
  const std::string path = folder_ / "spectra.h5";
  write_spectra(path, file);
  const auto result = test::run_nearfield("replay " + path + " -o " + output_);
  EXPECT_EQ(result.exit_code, 0) << result.output;
  const ImageFrame frame = ImagesReader(output_).read(0);
  EXPECT_EQ(frame.flags & ~kFlagMemoryNotFull, kFlagNonFiniteInput | kFlagSearchPending)
      << "no search looks at such a window";
  for (const auto& pixel : frame.images) {
    ASSERT_TRUE(std::isfinite(pixel.real()) && std::isfinite(pixel.imag()));
  }
}

TEST_F(BadInput, GeometryThatDisagrees) {
  expect_refusal(capture(), kWindow + "--set array.rows=16", kBadConfig,
                 AllOf(HasSubstr("array.rows"), HasSubstr("16"), HasSubstr("capture.h5"), HasSubstr("8")));
}

TEST_F(BadInput, ChannelsThatDisagree) {
  write_time_data(folder_ / "time.h5", 46875.0, 64, test::monopole_samples(200, 976.5625));
  expect_refusal(folder_ / "time.h5", kWindow + test::kSmallArrayOptions + "--set array.rows=16", kBadConfig,
                 AllOf(HasSubstr("128"), HasSubstr("64 channels")));
}

TEST_F(BadInput, UnknownKeyInFileNamesTheNearest) {
  write_text(folder_ / "lab.yaml", "version: 1\nholography:\n  stand_off_m: 0.03\n");
  expect_refusal(capture(), "-c " + (folder_ / "lab.yaml"), kBadConfig,
                 AllOf(HasSubstr("lab.yaml:3:3:"), HasSubstr("stand_off_m"), HasSubstr("standoff_m")));
}

TEST_F(BadInput, WrongTypeInFile) {
  write_text(folder_ / "lab.yaml", "holography:\n  standoff_m: 3 cm\n");
  expect_refusal(capture(), "-c " + (folder_ / "lab.yaml"), kBadConfig,
                 AllOf(HasSubstr("lab.yaml:2:15:"), HasSubstr("holography.standoff_m"), HasSubstr("3 cm")));
}

TEST_F(BadInput, ValueOutOfRange) {
  expect_refusal(capture(), "--set holography.upsample=99", kBadConfig,
                 AllOf(HasSubstr("given by set"), HasSubstr("holography.upsample"), HasSubstr("99")));
}

TEST_F(BadInput, FrequencyAboveNyquist) {
  expect_refusal(capture(), "--set front_end.window_samples=96 --set front_end.frequencies_hz=[24000]", kBadConfig,
                 AllOf(HasSubstr("front_end.frequencies_hz"), HasSubstr("24000")));
}

TEST_F(BadInput, MissingConfigFile) {
  expect_refusal(capture(), "-c " + (folder_ / "none.yaml"), kNoInput, HasSubstr("none.yaml"));
}

TEST_F(BadInput, NoDevice) {
  // An empty folder of vendors is a machine without any OpenCL platform.
  std::filesystem::create_directory(folder_ / "vendors");
  expect_refusal(capture(), kWindow, kNoDevice, HasSubstr("no OpenCL device"),
                 "OCL_ICD_VENDORS=" + (folder_ / "vendors/"));
}

TEST_F(BadInput, UnknownDeviceNamesThoseThereAre) {
  expect_refusal(capture(), kWindow + "--device nosuchgpu", kNoDevice,
                 AllOf(HasSubstr("nosuchgpu"), HasSubstr("found \"")));
}

TEST_F(BadInput, OutputFolderMissing) {
  output_ = folder_ / "nowhere/images.h5";
  expect_refusal(capture(), kWindow, kIo, HasSubstr("nowhere"));
}

TEST_F(BadInput, OutputFolderReadOnly) {
  // Root may write anywhere but into /proc; others get the same from a folder without write permission.
  output_ = "/proc/images.h5";
  expect_refusal(capture(), kWindow, kIo, HasSubstr("/proc/images.h5"));
}

TEST_F(BadInput, DiskFull) {
  // 4 MiB at most in a file stand for a disk with little room; these images take 10 MB. One frame first, so that PoCL
  // has its kernels on disk already.
  const std::string input = capture(32 * 400);
  const std::string options =
      "replay " + input + " -o " + output_ + kWindow + "--set front_end.hop_samples=1 --set holography.upsample=8 ";
  ASSERT_EQ(test::run_nearfield(options + "--frames 1").exit_code, 0);
  std::filesystem::remove(output_);
  const auto result = test::run_nearfield(options, "ulimit -f 4096;");
  EXPECT_EQ(result.exit_code, kIo) << result.output;
  EXPECT_THAT(result.output, AllOf(HasSubstr("images.h5"), HasSubstr("File too large")));
  EXPECT_FALSE(std::filesystem::exists(output_));
}

TEST_F(BadInput, AnOlderResultSurvivesAFailedRun) {
  const std::string input = capture(32 * 128);
  ASSERT_EQ(test::run_nearfield("replay " + input + " -o " + output_ + kWindow).exit_code, 0);
  const auto before = std::filesystem::file_size(output_);
  std::filesystem::resize_file(input, 1000);
  EXPECT_EQ(test::run_nearfield("replay " + input + " -o " + output_ + kWindow).exit_code, kBadData);
  EXPECT_EQ(std::filesystem::file_size(output_), before);
}

TEST_F(BadInput, OutputThatIsAnInput) {
  const std::string input = capture();
  const auto size = std::filesystem::file_size(input);
  write_text(folder_ / "s.yaml", "version: 1\n");
  std::filesystem::create_hard_link(input, folder_ / "other_name.h5");
  for (const std::string& arguments :
       {"replay " + input + " -o " + input, "replay " + input + " -o " + (folder_ / "other_name.h5"),
        "replay " + input + " -o " + (folder_ / "x.h5") + " --png " + (folder_ / "x.h5"),
        "simulate " + (folder_ / "s.yaml") + " -o " + (folder_ / "s.yaml"), "encode " + input + " -o " + input,
        "replay " + input + " -o ''"}) {
    const auto result = test::run_nearfield(arguments);
    EXPECT_EQ(result.exit_code, kUsage) << arguments << "\n" << result.output;
  }
  EXPECT_EQ(std::filesystem::file_size(input), size);
}

TEST_F(BadInput, TwoFrequenciesInOneBin) {
  expect_refusal(capture(),
                 "--set front_end.kind=decimated_fft --set front_end.window_samples=96 "
                 "--set front_end.frequencies_hz=[970,980]",
                 kBadConfig, AllOf(HasSubstr("front_end.frequencies_hz"), HasSubstr("976.56")));
}

TEST_F(BadInput, OneCutoffPerFrequencyOfTheFile) {
  write_spectra(folder_ / "spectra.h5", test::monopole_spectra(1, {500.0, 1000.0, 1500.0}));
  const std::string spectra = folder_ / "spectra.h5";
  expect_refusal(spectra, "--set holography.filter.cutoff_rad_per_m=[70,80]", kBadConfig,
                 HasSubstr("holography.filter.cutoff_rad_per_m"));
  const auto result = test::run_nearfield("replay " + spectra + " -o " + output_ +
                                          " --set holography.filter.cutoff_rad_per_m=[70,80,90]");
  EXPECT_EQ(result.exit_code, 0) << result.output;
  EXPECT_EQ(ImagesReader(output_).read(0).cutoff_rad_per_m, (std::vector<float>{70.0F, 80.0F, 90.0F}));
}

TEST_F(BadInput, CalibrationOfAnotherArray) {
  Calibration calibration{.geometry = test::small_array(), .frequencies_hz = {500.0, 1500.0}, .gains = {}};
  calibration.gains.assign(128, {2.0F, 0.0F});
  write_spectra(folder_ / "spectra.h5", test::monopole_spectra(1, {1000.0}));
  calibration.geometry.pitch_x_m = 0.05;
  write_calibration(folder_ / "gains.h5", calibration);
  expect_refusal(folder_ / "spectra.h5", "--set array.calibration=" + (folder_ / "gains.h5"), kBadConfig,
                 AllOf(HasSubstr("gains.h5"), HasSubstr("0.05")));
}

TEST_F(BadInput, MicrophonesWithoutCalibrationAreInterpolated) {
  Calibration calibration{.geometry = test::small_array(), .frequencies_hz = {500.0, 1500.0}, .gains = {}};
  calibration.gains.assign(128, {2.0F, 0.0F});
  calibration.gains[20] = {std::numeric_limits<float>::quiet_NaN(), 0.0F};
  write_calibration(folder_ / "gains.h5", calibration);
  write_spectra(folder_ / "spectra.h5", test::monopole_spectra(1, {1000.0}));
  const std::string options = " --set array.calibration=" + (folder_ / "gains.h5");
  for (const std::string engine : {"opencl", "reference"}) {
    const auto result =
        test::run_nearfield("replay " + (folder_ / "spectra.h5") + " -o " + output_ + options + " --engine " + engine);
    EXPECT_EQ(result.exit_code, 0) << result.output;
    const ImageFrame frame = ImagesReader(output_).read(0);
    EXPECT_EQ(frame.flags, kFlagMaskedMicrophones);
    EXPECT_TRUE(std::isfinite(frame.images[20].real()));
  }
}

TEST_F(BadInput, EncodeOfAMissingFile) {
  const auto result = test::run_nearfield("encode " + (folder_ / "none.h5") + " -o " + output_);
  EXPECT_EQ(result.exit_code, kNoInput);
  EXPECT_THAT(result.output, HasSubstr("none.h5: cannot be read: No such file or directory"));
}

TEST_F(BadInput, UnknownCommandNamesThoseThereAre) {
  const auto result = test::run_nearfield("replya in.h5 -o " + output_);
  EXPECT_EQ(result.exit_code, kUsage);
  EXPECT_THAT(result.output, AllOf(HasSubstr("simulate, encode, combine, inspect"), HasSubstr("\"replya\"")));
}

TEST_F(BadInput, Usage) {
  for (const std::string arguments :
       {"", "nonsense", "replay", "replay in.h5", "replay in.h5 -o out.h5 --frames 5:3", "compare a.h5",
        "replay in.h5 -o out.h5 --frames x", "replay in.h5 -o out.h5 --engine magic"}) {
    EXPECT_EQ(test::run_nearfield(arguments).exit_code, kUsage) << arguments;
  }
  EXPECT_EQ(test::run_nearfield("--help").exit_code, 0);
  EXPECT_EQ(test::run_nearfield("replay --help").exit_code, 0);
}

TEST_F(BadInput, ImagesAreNotARecording) {
  const std::string input = capture();
  ASSERT_EQ(test::run_nearfield("replay " + input + " -o " + output_ + kWindow).exit_code, 0);
  const auto result = test::run_nearfield("replay " + output_ + " -o " + (folder_ / "again.h5"));
  EXPECT_EQ(result.exit_code, kBadData);
  EXPECT_THAT(result.output, HasSubstr("images"));
}

TEST_F(BadInput, SceneErrors) {
  write_text(folder_ / "scene.yaml", "version: 1\nsources:\n  - {kind: tuba}\nduration: 3\n");
  const auto result = test::run_nearfield("simulate " + (folder_ / "scene.yaml") + " -o " + output_);
  EXPECT_EQ(result.exit_code, kBadConfig) << result.output;
  EXPECT_THAT(result.output, AllOf(HasSubstr("tuba"), HasSubstr("duration")));
  EXPECT_FALSE(std::filesystem::exists(output_));
}

}  // namespace
}  // namespace nearfield
