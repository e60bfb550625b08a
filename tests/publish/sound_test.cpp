#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sndfile.h>
#include <sys/resource.h>

#include <cmath>
#include <csignal>
#include <fstream>
#include <limits>
#include <memory>
#include <numeric>

#include "core/error.hpp"
#include "publish/sound/beam_files.hpp"
#include "support/command.hpp"

namespace nearfield {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

/// A processor `ear` of two beams, `samples` new ones a frame.
ResultHeader ear_header(std::size_t samples, double rate_hz = 1000.0) {
  ResultHeader header;
  header.processor = "ear";
  header.axes = {{.name = "beam", .unit = "1", .values = {0.0, 1.0}}, {.name = "sample", .unit = "s", .values = {}}};
  for (std::size_t n = 0; n < samples; ++n) {
    header.axes[1].values.push_back((static_cast<double>(n) - 2.5) / rate_hz);
  }
  header.products = {{.name = "level", .quantity = "level", .unit = "1", .type = ElementType::kFloat32, .axes = {}},
                     {.name = "beams",
                      .quantity = "pressure",
                      .unit = "Pa",
                      .type = ElementType::kFloat32,
                      .axes = {"beam", "sample"}}};
  return header;
}

struct Sound {
  int rate_hz = 0;
  int format = 0;
  std::vector<float> samples;
};

Sound sound_in(const std::string& path) {
  SF_INFO info{};
  const std::unique_ptr<SNDFILE, decltype(&sf_close)> file(sf_open(path.c_str(), SFM_READ, &info), &sf_close);
  Sound sound;
  if (file) {
    EXPECT_EQ(info.channels, 1);
    sound = {info.samplerate, info.format, std::vector<float>(static_cast<std::size_t>(info.frames))};
    sf_readf_float(file.get(), sound.samples.data(), info.frames);
  }
  return sound;
}

/// Frames of 4 samples, every sample its number, of beam 1 its negative.
class Sounds : public testing::Test {
 protected:
  static constexpr std::size_t kSamples = 4;
  void add(BeamFiles& files, std::uint64_t first) {
    std::vector<float> values(2 * kSamples);
    for (std::size_t n = 0; n < kSamples; ++n) {
      values[n] = 0.001F * static_cast<float>(first + n);
      values[kSamples + n] = -values[n];
    }
    files.add(first, values);
  }
  [[nodiscard]] std::vector<int> numbers(const std::string& name) const {
    std::vector<int> numbers;
    for (const float value : sound_in(folder_ / name).samples) {
      numbers.push_back(static_cast<int>(std::lround(1000.0 * static_cast<double>(value))));
    }
    return numbers;
  }
  test::TemporaryFolder folder_;
  BeamLayout layout_ = *beams_of(ear_header(kSamples));
};

TEST_F(Sounds, ConsecutiveFramesFollowAtOnce) {
  EXPECT_EQ(layout_, (BeamLayout{.product = 1, .beams = 2, .samples = 4, .rate_hz = layout_.rate_hz}));
  EXPECT_NEAR(layout_.rate_hz, 1000.0, 1e-9);
  BeamFiles files(folder_ / "new/wav", "ear", layout_, 0.0);
  EXPECT_THAT(test::files_in(folder_ / "new/wav"), testing::Each(testing::EndsWith(".partial")));
  add(files, 100);
  add(files, 104);
  const SoundReport report = files.finish();
  EXPECT_THAT(report.warnings, testing::IsEmpty());
  EXPECT_THAT(report.files, ElementsAre(HasSubstr("ear-0.wav: 0.008 s at 1000 Hz, largest 0.107 Pa; 1 is 1 Pa"),
                                        HasSubstr("ear-1.wav: ")));
  EXPECT_THAT(test::files_in(folder_ / "new/wav"), ElementsAre("ear-0.wav", "ear-1.wav"));
  EXPECT_THAT(numbers("new/wav/ear-0.wav"), ElementsAre(100, 101, 102, 103, 104, 105, 106, 107));
  EXPECT_THAT(numbers("new/wav/ear-1.wav"), ElementsAre(-100, -101, -102, -103, -104, -105, -106, -107));
  const Sound sound = sound_in(folder_ / "new/wav/ear-0.wav");
  EXPECT_EQ(sound.rate_hz, 1000);
  EXPECT_EQ(sound.format & SF_FORMAT_SUBMASK, SF_FORMAT_FLOAT);
  // A small file is WAV, not RF64.
  std::string head(4, ' ');
  std::ifstream(folder_ / "new/wav/ear-0.wav").read(head.data(), 4);
  EXPECT_EQ(head, "RIFF");
}

TEST_F(Sounds, WhatNeverCameIsZeroAndCounted) {
  BeamFiles files(folder_.path(), "ear", layout_, 0.0);
  add(files, 100);
  add(files, 107);
  add(files, 109);  // after overload a frame may begin before the last one's end
  add(files, 20);   // the source began anew
  add(files, 24 + 600'001);
  files.add(600'029, std::vector<float>{1.0F, std::nanf(""), 2.0F, std::numeric_limits<float>::infinity(), 0, 0, 0, 0});
  EXPECT_THAT(files.finish().warnings,
              ElementsAre(HasSubstr("ear: 3 samples in 1 gaps never came and are zeros"),
                          HasSubstr("ear: 2 samples have no value, for want of microphones, and are zeros"),
                          HasSubstr("ear: the stream began again 2 times; what came then follows at once"),
                          HasSubstr("ear: samples lie beyond 1 and -1, where players clip")));
  std::vector<int> expected = {100, 101, 102, 103, 0, 0, 0, 107, 108, 109, 110, 111, 112, 20, 21, 22, 23};
  expected.insert(expected.end(), {600'025, 600'026, 600'027, 600'028, 1000, 0, 2000, 0});
  EXPECT_EQ(numbers("ear-0.wav"), expected);
}

TEST_F(Sounds, AGainIsSaid) {
  BeamFiles files(folder_.path(), "ear", layout_, 40.0);
  add(files, 1);
  EXPECT_THAT(files.finish().files[0], HasSubstr("largest 0.004 Pa; 1 is 0.01 Pa"));
  EXPECT_THAT(numbers("ear-0.wav"), ElementsAre(100, 200, 300, 400));
}

TEST_F(Sounds, ARateThatWavCannotHoldIsSaid) {
  BeamFiles files(folder_.path(), "ear", *beams_of(ear_header(kSamples, 1000.4)), 0.0);
  add(files, 1);
  EXPECT_THAT(files.finish().warnings, ElementsAre(HasSubstr("1000 Hz stands for 1000.400000 Hz")));
}

// A limit on the size of files stands for the full disk: writing fails midway in the same way.
TEST_F(Sounds, AFullDiskIsAnErrorAndLeavesNothing) {
  std::string message;
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  rlimit small = before;
  small.rlim_cur = 8192;
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  try {
    BeamFiles files(folder_.path(), "ear", layout_, 0.0);
    for (std::uint64_t first = 0; first < 4000; first += kSamples) {
      add(files, first);
    }
    (void)files.finish();
  } catch (const IoError& error) {
    message = error.what();
  }
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, handler);
  EXPECT_THAT(message, HasSubstr("ear-0.wav: cannot be written: "));
  EXPECT_THAT(test::files_in(folder_.path()), testing::IsEmpty());
}

TEST_F(Sounds, AFolderThatCannotBeMadeIsAnError) {
  std::ofstream(folder_ / "file") << "text";
  EXPECT_THAT([&] { BeamFiles(folder_ / "file/wav", "ear", layout_, 0.0); },
              ThrowsMessage<IoError>(HasSubstr("can't make the folder for sound files")));
}

TEST_F(Sounds, OtherProductsAreNoBeams) {
  const auto beams_after = [](const auto& change) {
    ResultHeader header = ear_header(4);
    change(header);
    return beams_of(header);
  };
  EXPECT_TRUE(beams_after([](ResultHeader&) {}));
  EXPECT_FALSE(beams_after([](ResultHeader& header) { header.products.pop_back(); }));
  EXPECT_FALSE(beams_after([](ResultHeader& header) { header.products[1].unit = "m/s"; }));
  EXPECT_FALSE(beams_after([](ResultHeader& header) { header.products[1].type = ElementType::kFloat64; }));
  EXPECT_FALSE(beams_after([](ResultHeader& header) { header.products[1].axes = {"sample", "beam"}; }));
  EXPECT_FALSE(beams_after([](ResultHeader& header) { header.axes[1].unit = "1"; }));
  EXPECT_FALSE(beams_after([](ResultHeader& header) { header.axes[1].values = {0.0}; }));
}

TEST_F(Sounds, OfARunAreThoseOfItsBeamsAlone) {
  WavOutput output(folder_.path(), 2, 0.0);
  ResultHeader other = ear_header(4);
  other.processor = "surface";
  other.products.pop_back();
  output.begin(other, {.processor = 0, .frames = 2});
  Frame frame;
  output.begin(ear_header(4), {.processor = 1, .frames = 2});
  output.write(frame);  // the other's
  const std::vector<float> level = {1.0F};
  const std::vector<float> values(8, 0.5F);
  const std::vector<std::span<const std::byte>> products = {std::as_bytes(std::span(level)),
                                                            std::as_bytes(std::span(values))};
  frame.processor = 1;
  frame.products = products;
  frame.sequence = 6;
  output.write(frame);
  frame.sequence = 10;  // 8 samples on: 4 of them never came
  frame.missing_bit_times = 5;
  output.write(frame);
  output.finish();
  EXPECT_THAT(output.report().files, testing::SizeIs(2));
  EXPECT_THAT(output.report().warnings, ElementsAre(HasSubstr("4 samples in 1 gaps never came"),
                                                    HasSubstr("1 frames have bits that never came")));
  EXPECT_THAT(numbers("ear-1.wav"), ElementsAre(500, 500, 500, 500, 0, 0, 0, 0, 500, 500, 500, 500));
}

TEST_F(Sounds, OfARunWithoutFramesOfBeamsAreAWarning) {
  WavOutput output(folder_.path(), 2, 0.0);
  output.finish();
  EXPECT_THAT(output.report().files, testing::IsEmpty());
  EXPECT_THAT(output.report().warnings, ElementsAre(HasSubstr("no sound files: no frame of these has beams")));
}

}  // namespace
}  // namespace nearfield
