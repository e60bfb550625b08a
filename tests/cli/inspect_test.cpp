#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "files/files.hpp"
#include "support/command.hpp"
#include "support/recordings.hpp"

namespace nearfield {
namespace {

using nlohmann::json;
using testing::HasSubstr;

constexpr std::size_t kWords = 4;  ///< of a bit-time of 12 x 10 microphones

/// 12 x 10 microphones before two monopoles, one of them dead, as bits.
void simulate(const test::TemporaryFolder& folder) {
  std::ofstream(folder / "scene.yaml")
      << "version: 1\narray: {rows: 12, columns: 10, layout: row-major}\nstandoff_m: 0.03\nduration_s: 0.2\nseed: 5\n"
         "microphones: {noise_pa: 1.0e-4, dead_channels: [37]}\nsources:\n"
         "  - {kind: monopole, frequency_hz: 1000, x_m: 0.04, y_m: 0.02, z_m: -0.03, volume_velocity_m3_s: 1.0e-4}\n"
         "  - {kind: monopole, frequency_hz: 2100, x_m: -0.05, y_m: 0.03, z_m: -0.03, volume_velocity_m3_s: 1.0e-4}\n";
  const auto made = test::run_nearfield("simulate " + (folder / "scene.yaml") + " -o " + (folder / "c.h5"));
  ASSERT_EQ(made.exit_code, 0) << made.output;
}

/// The bits of one channel alternate, of another are all 1, of two others are exchanged.
void spoil(const std::string& from, const std::string& to, unsigned silent, unsigned stuck, unsigned a, unsigned b) {
  CaptureReader reader(from);
  std::vector<std::uint32_t> words(reader.info().bit_times * kWords);
  reader.read(0, words);
  for (std::size_t t = 0; t < reader.info().bit_times; ++t) {
    std::uint32_t* const at = words.data() + t * kWords;
    at[silent / 32] = (at[silent / 32] & ~(1U << silent % 32)) | (static_cast<std::uint32_t>(t % 2) << silent % 32);
    at[stuck / 32] |= 1U << stuck % 32;
    const std::uint32_t difference = (at[a / 32] >> a % 32 ^ at[b / 32] >> b % 32) & 1U;
    at[a / 32] ^= difference << a % 32;
    at[b / 32] ^= difference << b % 32;
  }
  CaptureWriter writer(to, reader.info());
  writer.append(words);
  writer.finish();
}

json inspected(const std::string& path, const std::string& more = "") {
  const auto result = test::run_nearfield("inspect --json " + path + more);
  EXPECT_EQ(result.exit_code, 0) << result.output;
  return json::parse(result.output.substr(result.output.find('{')));  // a compiler may have told its warnings before
}

std::map<int, std::string> causes(const json& report) {
  std::map<int, std::string> found;
  for (const json& microphone : report.at("microphones").at("bad")) {
    found[microphone.at("channel")] = microphone.at("cause");
  }
  return found;
}

TEST(Inspect, SaysWhichMicrophonesLookBad) {
  const test::TemporaryFolder folder;
  simulate(folder);
  const json healthy = inspected(folder / "c.h5");
  EXPECT_EQ(causes(healthy), (std::map<int, std::string>{{37, "stuck"}})) << "as a scene renders a dead one";
  EXPECT_EQ(healthy["microphones"]["windows"], 32);
  EXPECT_EQ(healthy["microphones"]["used"], 119) << "a stuck one is masked by default";
  EXPECT_EQ(healthy["microphones"]["masked"], std::vector<int>{37});
  EXPECT_GT(healthy["microphones"]["missing_information"], 0.0);
  EXPECT_EQ(inspected(folder / "c.h5", " --set array.health.mask=none")["microphones"]["used"], 120);
  EXPECT_THAT(healthy["facts"]["array"], HasSubstr("12 x 10"));

  spoil(folder / "c.h5", folder / "spoiled.h5", 37, 64, 22, 88);
  const json spoiled = inspected(folder / "spoiled.h5");
  EXPECT_EQ(causes(spoiled),
            (std::map<int, std::string>{{22, "swapped"}, {37, "dead"}, {64, "stuck"}, {88, "swapped"}}));
  const auto text = test::run_nearfield("inspect " + (folder / "spoiled.h5"));
  EXPECT_THAT(text.output, HasSubstr("4 of 120 look bad, by 32 windows at "));
  EXPECT_THAT(text.output, HasSubstr("microphone 64 (row 6, column 4): stuck, masked by default\n"));
}

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++count;
  }
  return count;
}

TEST(Inspect, SaysHowLoudEachMicrophoneIs) {
  const test::TemporaryFolder folder;
  simulate(folder);
  const json statistics = inspected(folder / "c.h5")["statistics"];
  ASSERT_EQ(statistics["microphones"].size(), 120U);
  EXPECT_EQ(statistics["levels"], "dB re 20 uPa");
  const json& dead = statistics["microphones"][37];
  EXPECT_EQ(dead["remarks"], json::array({"constant"})) << dead;
  EXPECT_TRUE(dead["level_db"].is_null());
  const json& one = statistics["microphones"][38];
  EXPECT_EQ(one["channel"], 38);
  EXPECT_NEAR(one["line"]["level_db"].get<double>(), one["level_db"].get<double>(), 6.0);
  EXPECT_EQ(one["third_octaves_db"].size(), statistics["third_octaves_hz"].size());

  const std::string brief = test::run_nearfield("inspect " + (folder / "c.h5")).output;
  EXPECT_THAT(brief, HasSubstr("\nstatistics    median "));
  EXPECT_THAT(brief, HasSubstr("microphone 37 (row 3, column 7): offset "));
  const std::string all = test::run_nearfield("inspect --microphones " + (folder / "c.h5")).output;
  EXPECT_EQ(count_of(all, "column"), count_of(brief, "column") + 119) << all;
}

// Neither an array nor a unit is known, and no microphone can be compared with neighbours.
TEST(Inspect, SaysHowLoudChannelsWithoutAnArrayAre) {
  const test::TemporaryFolder folder;
  std::vector<float> values(std::size_t{5} * 4800);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::size_t sample = i / 5;
    values[i] = i % 5 == 3 ? 0.0F : 0.02F * std::sin(0.13F * static_cast<float>(sample));
  }
  write_time_data(folder / "t.h5", 48000.0, 5, values);
  const std::string text = test::run_nearfield("inspect " + (folder / "t.h5")).output;
  EXPECT_THAT(text, HasSubstr("\nmicrophones   not judged: "));
  EXPECT_THAT(text, HasSubstr("\nstatistics    median 57.0 dB re 20 uPa rms"));
  EXPECT_THAT(text, HasSubstr("0 overloaded, 1 silent\n")) << text;
  EXPECT_THAT(text, HasSubstr("channel 3 of the file: silent\n"));
}

TEST(Inspect, LeavesOutWhatTheSettingsMask) {
  const test::TemporaryFolder folder;
  simulate(folder);
  EXPECT_TRUE(causes(inspected(folder / "c.h5", " --set array.dead_channels=[37]")).empty());
}

TEST(Inspect, JudgesTimeDataAndSpectra) {
  const test::TemporaryFolder folder;
  std::vector<float> samples = test::monopole_samples(8192, 1464.84375);
  for (std::size_t n = 0; n < 8192; ++n) {
    samples[64 * n + 27] *= 0.25F;
  }
  write_time_data(folder / "t.h5", kBitRateHz / kBitsPerWord, 64, samples);
  EXPECT_EQ(causes(inspected(folder / "t.h5", test::kSmallArrayOptions)), (std::map<int, std::string>{{27, "weak"}}));
  const json fits_not = inspected(folder / "t.h5", test::kSmallArrayOptions + "--set array.rows=9");
  EXPECT_EQ(fits_not["microphones"]["judged"], false) << "of an array that it does not fit";

  SpectraFile spectra = test::monopole_spectra(20, {800.0, 1500.0});
  for (std::size_t i = 35; i < spectra.spectra.size(); i += 64) {
    spectra.spectra[i] *= 0.25F;
  }
  write_spectra(folder / "s.h5", spectra);
  EXPECT_EQ(causes(inspected(folder / "s.h5")), (std::map<int, std::string>{{35, "weak"}}));
}

// What a run would look at, in its windows; without frequencies of the user's the loudest ones in short windows. A
// calibration of one frequency made judging impossible.
TEST(Inspect, JudgesAtTheRunsOwnFrequenciesAndWhereTheCalibrationIsDefined) {
  const test::TemporaryFolder folder;
  constexpr double kTone_hz = 1464.84375;
  write_time_data(folder / "t.h5", kBitRateHz / kBitsPerWord, 64, test::monopole_samples(32768, kTone_hz));
  const auto frequencies_of = [&](const std::string& options) {
    const json report = inspected(folder / "t.h5", test::kSmallArrayOptions + options);
    EXPECT_EQ(report["microphones"]["judged"], true) << report["microphones"];
    EXPECT_TRUE(causes(report).empty()) << report["microphones"];
    return report["microphones"]["frequencies_hz"].get<std::vector<double>>();
  };
  EXPECT_EQ(frequencies_of("--set front_end.frequencies_hz=[1464.84375]"), std::vector<double>{kTone_hz});
  write_calibration(folder / "k.h5", {.geometry = {.rows = 8, .columns = 8, .pitch_x_m = 0.02, .pitch_y_m = 0.02},
                                      .frequencies_hz = {kTone_hz},
                                      .gains = std::vector<std::complex<float>>(64, 1.0F)});
  EXPECT_EQ(frequencies_of("--set array.calibration=" + (folder / "k.h5")), std::vector<double>{kTone_hz});
}

TEST(Inspect, AFileAloneIsInspectedAndSaysWhatCanBeDoneWithIt) {
  const test::TemporaryFolder folder;
  simulate(folder);
  const auto output_of = [](const std::string& words) { return test::run_nearfield(words).output; };
  EXPECT_THAT(output_of(folder / "c.h5"), HasSubstr("nearfield replay " + (folder / "c.h5") + " -o images.h5\n"));
  EXPECT_EQ(output_of(folder / "c.h5"), output_of("inspect " + (folder / "c.h5")));
  std::filesystem::copy_file(folder / "scene.yaml", folder / "a scene's.yaml");
  const std::string of_scene = output_of("\"" + (folder / "a scene's.yaml") + "\"");
  EXPECT_THAT(of_scene, HasSubstr("12 x 10"));
  EXPECT_THAT(of_scene, HasSubstr("nearfield simulate '" + (folder / "a scene'\\''s.yaml") + "' -o recording.h5\n"));
  std::ofstream(folder / "settings.yaml") << "version: 1\narray: {rows: 8}\ndaemon: {source: {loop: true}}\n";
  const std::string of_settings = output_of(folder / "settings.yaml");
  EXPECT_THAT(of_settings, HasSubstr("array.rows"));
  EXPECT_THAT(of_settings, HasSubstr("nearfieldd -c " + (folder / "settings.yaml") + "\n"));
  const std::string changed = output_of((folder / "settings.yaml") + " --set array.columns=4");
  EXPECT_THAT(changed, HasSubstr("8 x 4"));
  EXPECT_EQ(test::run_nearfield((folder / "scene.yaml") + " --set array.rows=4").exit_code, 64);
  std::ofstream(folder / "flow.YML") << "{version: 1, array: {rows: 4, columns: 4}, standoff_m: 0.03, sources: []}\n";
  EXPECT_THAT(output_of(folder / "flow.YML"), HasSubstr("kind          scene\n"));
  std::ofstream(folder / "settings.yaml") << "version: 1\narray: {row: 8}\n";
  EXPECT_EQ(test::run_nearfield(folder / "settings.yaml").exit_code, 78);
}

TEST(Inspect, CommandsOfEarlierVersionsNameWhatStandsForThem) {
  for (const std::string words : {"points images.h5", "help points"}) {
    const auto points = test::run_nearfield(words);
    EXPECT_EQ(points.exit_code, 64);
    EXPECT_THAT(points.output, HasSubstr("nearfield export IMAGES -o FILE.csv --product points"));
  }
  EXPECT_THAT(test::run_nearfield("sections v.h5").output, HasSubstr("nearfield pictures IMAGES -o FOLDER --at X,Y,Z"));
  for (const std::string words : {"nothere.h5", "./nothere"}) {
    const auto nowhere = test::run_nearfield(words);
    EXPECT_EQ(nowhere.exit_code, 66);
    EXPECT_THAT(nowhere.output, HasSubstr(words + ": no such file"));
  }
  EXPECT_EQ(test::run_nearfield("/").exit_code, 64);
}

// Nothing is imaged: planes and points that no image of this file could have do not keep it from being judged.
TEST(Inspect, IgnoresWhatImagesAloneNeed) {
  const test::TemporaryFolder folder;
  simulate(folder);
  const json report =
      inspected(folder / "c.h5", " --set holography.planes_m=[0.5] --set 'holography.points=[{x_m: 9, y_m: 9}]'");
  EXPECT_EQ(report["microphones"]["judged"], true) << report["microphones"];
}

TEST(Inspect, SaysWhyItCannotJudge) {
  const test::TemporaryFolder folder;
  test::write_random_capture(folder / "short.h5", 32 * 256 * 3);
  const json report = inspected(folder / "short.h5");
  EXPECT_EQ(report["microphones"]["judged"], false);
  EXPECT_THAT(report["microphones"]["reason"], HasSubstr("expected at least 16 whole windows of 256 samples, found 5"));
  EXPECT_THAT(test::run_nearfield("inspect " + (folder / "short.h5")).output,
              HasSubstr("\nmicrophones   not judged: "));
  std::ofstream(folder / "line.yaml")
      << "version: 1\narray: {rows: 2, columns: 16, layout: row-major}\nstandoff_m: 0.03\nduration_s: 0.2\nseed: 5\n"
         "sources:\n  - {kind: monopole, frequency_hz: 1000, x_m: 0.0, y_m: 0.0, z_m: -0.03, volume_velocity_m3_s: "
         "1.0e-4}\n";
  ASSERT_EQ(test::run_nearfield("simulate " + (folder / "line.yaml") + " -o " + (folder / "line.h5")).exit_code, 0);
  const json line = inspected(folder / "line.h5");
  EXPECT_THAT(line["microphones"]["reason"], HasSubstr("too few microphones a side"));
  EXPECT_EQ(line["statistics"]["microphones"].size(), 32U);
}

}  // namespace
}  // namespace nearfield
