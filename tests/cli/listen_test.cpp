#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sndfile.h>

#include <cmath>
#include <complex>
#include <filesystem>
#include <fstream>
#include <memory>
#include <numbers>

#include "files/results_file.hpp"
#include "support/command.hpp"
#include "support/recordings.hpp"

/// The processor `listen` as a user runs it.
namespace nearfield {
namespace {

using std::numbers::pi;
using testing::HasSubstr;

constexpr double kToneOfScene_hz = 2000.0;
constexpr double kVolumeVelocityOfScene = 5.0e-4;
constexpr double kPhaseOfScene = 0.7;

/// 6 x 7 microphones 3 cm before the surface; a monopole 0.6 m before the array.
std::string capture_of_tone(const test::TemporaryFolder& folder) {
  const std::string scene = folder / "scene.yaml";
  std::ofstream(scene)
      << "version: 1\narray: {rows: 6, columns: 7, pitch_x_m: 0.03, pitch_y_m: 0.02}\nstandoff_m: 0.03\n"
         "duration_s: 0.2\nmicrophones: {noise_pa: 0.001}\nsources:\n"
         "  - {kind: monopole, frequency_hz: "
      << kToneOfScene_hz << ", x_m: 0.11, y_m: -0.07, z_m: -0.57, volume_velocity_m3_s: " << kVolumeVelocityOfScene
      << ", phase_rad: " << kPhaseOfScene << "}\n";
  const test::CommandResult result = test::run_nearfield("simulate " + scene + " -o " + (folder / "c.h5"));
  EXPECT_EQ(result.exit_code, 0) << result.output;
  return folder / "c.h5";
}

const std::string kEar =
    " --set processors.ear.kind=listen --set processors.ear.every_hops=16 --set 'processors.ear.beams=[{x_m: 0.11, "
    "y_m: "
    "-0.07, distance_m: 0.6}, {azimuth_deg: 0, elevation_deg: 0, distance_m: inf}]' ";

std::vector<float> samples_in(const std::string& path, int& rate_hz) {
  SF_INFO info{};
  const std::unique_ptr<SNDFILE, decltype(&sf_close)> file(sf_open(path.c_str(), SFM_READ, &info), &sf_close);
  if (!file) {
    return {};
  }
  rate_hz = info.samplerate;
  std::vector<float> samples(static_cast<std::size_t>(info.frames));
  sf_readf_float(file.get(), samples.data(), info.frames);
  return samples;
}

/// Of the scene, at the array's centre: j w rho Q / (4 pi r) e^{j phase}, as docs/use/scenes.md has it, heard by the
/// nearest microphone.
std::complex<double> expected_pa() {
  const double omega = 2.0 * pi * kToneOfScene_hz;
  const double centre_m = std::hypot(0.11, -0.07, 0.6);
  const double nearest_m = std::hypot(0.11 - 0.09, -0.07 + 0.05, 0.6);
  return std::polar(omega * 1.2041 * kVolumeVelocityOfScene / (4.0 * pi * centre_m),
                    kPhaseOfScene + pi / 2.0 - omega / 343.0 * nearest_m);
}

// 0.05 dB and 0.01 rad: the noise of the modulators and microphones over 7000 samples, and the delays' 0.3 %.
TEST(ListenCommand, GivesTheSoundOfAPlaceFromBits) {
  const test::TemporaryFolder folder;
  const std::string capture = capture_of_tone(folder);
  const std::string output = folder / "out.h5";
  const test::CommandResult result =
      test::run_nearfield("replay " + capture + " -o " + output + " --wav " + (folder / "wav") + kEar);
  ASSERT_EQ(result.exit_code, 0) << result.output;
  EXPECT_THAT(result.output, HasSubstr("ear-0.wav: "));
  EXPECT_THAT(result.output, HasSubstr("1 is 1 Pa"));
  EXPECT_THAT(result.output, HasSubstr("processors.ear: 512 new samples a frame at 46875 Hz"));
  EXPECT_THAT(test::files_in(folder / "wav"), testing::ElementsAre("ear-0.wav", "ear-1.wav"));
  int rate_hz = 0;
  const std::vector<float> samples = samples_in(folder / "wav/ear-0.wav", rate_hz);
  EXPECT_EQ(rate_hz, 46875);
  const ResultsReader reader(output);
  ASSERT_EQ(reader.processors(), 2U);
  ASSERT_EQ(samples.size(), reader.frames(1) * 512);
  EXPECT_GT(samples.size(), 7000U);
  // The samples' times: the first frame's first bit, and the axis.
  const Axis& axis = *reader.header(1).axis("sample");
  const ResultFrame first = reader.read(1, 0);
  EXPECT_EQ(first.frame.flags, 0U);
  const double start_s = static_cast<double>(first.frame.first_bit_time) / 1.5e6 + axis.values[0];
  EXPECT_NEAR(axis.values[1] - axis.values[0], 1.0 / 46875.0, 1e-12);
  // The sum over whole periods: 375 samples hold 16.
  std::complex<double> sum = 0.0;
  const std::size_t count = samples.size() / 375 * 375;
  for (std::size_t n = 0; n < count; ++n) {
    const double time_s = start_s + static_cast<double>(n) / 46875.0;
    sum += static_cast<double>(samples[n]) *
           std::polar(2.0 / static_cast<double>(count), -2.0 * pi * kToneOfScene_hz * time_s);
  }
  const std::complex<double> ratio = sum / expected_pa();
  EXPECT_NEAR(20.0 * std::log10(std::abs(ratio)), 0.0, 0.05);
  EXPECT_NEAR(std::arg(ratio), 0.0, 0.01);
  // The file of images has the same samples.
  const ResultFrame second = reader.read(1, 1);
  const auto values = values_of<float>(second.frame.products[0]);
  for (std::size_t n = 0; n < 512; ++n) {
    ASSERT_EQ(values[n], samples[512 + n]) << n;
  }
}

// Prompt, late and in batches, by the device and by the reference: the same sound where both have it.
TEST(ListenCommand, DoesNotDependOnHowItIsComputed) {
  const test::TemporaryFolder folder;
  const std::string capture = capture_of_tone(folder);
  const auto sound_of = [&](const std::string& name, const std::string& options) {
    const test::CommandResult result =
        test::run_nearfield("replay " + capture + " -o " + (folder / "o.h5") + " --wav " + (folder / name) + kEar +
                            options + " --frames 0:64");
    EXPECT_EQ(result.exit_code, 0) << result.output;
    int rate_hz = 0;
    return samples_in(folder / (name + "/ear-1.wav"), rate_hz);
  };
  const std::vector<float> late = sound_of("late", "");
  const std::vector<float> prompt = sound_of("prompt", "--set processors.ear.every_hops=1");
  const std::vector<float> batches = sound_of("batches", "--set device.batch=8 --set processors.ear.every_hops=1");
  const std::vector<float> reference = sound_of("reference", "--engine reference");
  ASSERT_EQ(late.size(), 4U * 512);
  ASSERT_EQ(prompt.size(), 64U * 32);
  EXPECT_EQ(batches, prompt);
  ASSERT_EQ(reference.size(), late.size());
  // All end with a window; a frame of every hop begins later by the 15 hops that the late one has before it.
  const std::size_t offset = 480;
  for (std::size_t n = 0; n + offset < late.size(); ++n) {
    ASSERT_NEAR(late[n], reference[n], 1e-4);
    ASSERT_NEAR(late[n + offset], prompt[n], 1e-6);
  }
}

TEST(ListenCommand, RefusesWhatItCannotDo) {
  const test::TemporaryFolder folder;
  const std::string capture = capture_of_tone(folder);
  const auto refusal_of = [&](const std::string& options, int exit_code = 78) {
    const test::CommandResult result = test::run_nearfield("replay " + capture + " -o " + (folder / "out.h5") +
                                                           " --wav " + (folder / "wav") + options);
    EXPECT_EQ(result.exit_code, exit_code) << result.output;
    EXPECT_FALSE(std::filesystem::exists(folder / "out.h5"));
    return result.output;
  };
  EXPECT_THAT(refusal_of(""), HasSubstr("--wav: expected a processor that makes beams"));
  EXPECT_THAT(refusal_of(kEar + "--set processors.ear.beams=[]"),
              HasSubstr("processors.ear.beams: expected 1 to 8 beams"));
  EXPECT_THAT(
      refusal_of(kEar + "--set processors.ear.every_hops=4096"),
      HasSubstr("processors.ear.every_hops: expected frames of 2 samples and more whose window has at most 65536"));
  EXPECT_THAT(refusal_of(kEar + "--set processors.ear.steering.reference=1"),
              HasSubstr("processors.ear.steering.reference: expected array_centre with plane waves"));
  EXPECT_THAT(refusal_of(kEar + "--set front_end.decimation=64"),
              HasSubstr("front_end.decimation: expected 32 with processors.ear, as listen works on decimated samples"));
  EXPECT_EQ(test::run_nearfield("replay " + capture + " -o " + (folder / "o.h5") + " --wav-gain-db 20").exit_code, 64);
}

TEST(ListenCommand, RefusesSpectra) {
  const test::TemporaryFolder folder;
  write_spectra(folder / "spectra.h5", test::monopole_spectra(1, {1000.0}));
  const test::CommandResult result =
      test::run_nearfield("replay " + (folder / "spectra.h5") + " -o " + (folder / "o.h5") + kEar);
  EXPECT_EQ(result.exit_code, 78);
  EXPECT_THAT(result.output, HasSubstr("processors.ear.kind: expected bits or time data, found spectra, which have no "
                                       "samples for listen to work on"));
}

}  // namespace
}  // namespace nearfield
