#include "engine/recording_search.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <random>

#include "files/files.hpp"
#include "pipeline/replay.hpp"
#include "support/command.hpp"
#include "support/fields.hpp"
#include "support/images.hpp"
#include "support/measures.hpp"
#include "support/outputs.hpp"

namespace nearfield {
namespace {

constexpr double kFrequency_hz = 500.0;
constexpr int kSide = 16;

/// An evanescent plane wave at height z; another one from frame 2 on.
std::vector<std::complex<float>> wave(std::uint64_t frame, double z_m, double snr_db) {
  const double kx = frame < 2 ? 24.0 : -30.0;
  const double ky = frame < 2 ? -19.0 : 17.0;
  const ArrayGeometry geometry{.rows = kSide, .columns = kSide};
  const double k = 2.0 * std::numbers::pi * kFrequency_hz / 343.0;
  std::vector<test::Complex> field;
  for (int row = 0; row < kSide; ++row) {
    for (int column = 0; column < kSide; ++column) {
      field.push_back(std::polar(std::exp(-std::sqrt(kx * kx + ky * ky - k * k) * z_m),
                                 kx * geometry.x_m(column) + ky * geometry.y_m(row)));
    }
  }
  std::mt19937 generator(static_cast<unsigned>(frame) + 1U);
  test::add_noise(field, snr_db, generator);
  return test::narrow(field);
}

std::vector<ImageFrame> replayed(const std::string& path, EngineKind engine, int every_frames, int batch,
                                 std::uint64_t first = 0) {
  ReplayOptions options;
  options.input = path;
  options.frames.first = first;
  options.engine = engine;
  options.settings.holography.imager = ImagerKind::kSonah;
  options.settings.holography.search_every_frames = every_frames;
  options.settings.device.batch = batch;
  std::vector<std::unique_ptr<Output>> outputs;
  outputs.push_back(std::make_unique<test::KeepingOutput>());
  replay(options, outputs);
  return dynamic_cast<test::KeepingOutput&>(*outputs.front()).images();
}

double error_of(const ImageFrame& frame, std::uint64_t index) {
  return test::relative_l2(frame.images, wave(index, 0.0, 200.0));
}

constexpr std::uint64_t kFrames = 11;

/// The waves of kFrames frames in a file.
std::string written(const test::TemporaryFolder& folder) {
  SpectraFile file;
  file.measurement.geometry = {.rows = kSide, .columns = kSide};
  file.measurement.standoff_m = 0.03;
  file.frequencies_hz = {kFrequency_hz};
  file.frames = kFrames;
  for (std::uint64_t frame = 0; frame < file.frames; ++frame) {
    const auto spectra = wave(frame, 0.03, 40.0);
    file.spectra.insert(file.spectra.end(), spectra.begin(), spectra.end());
  }
  std::string path = folder / "spectra.h5";
  write_spectra(path, file);
  return path;
}

// Every third frame is searched, and what it says holds from three frames later on, that of frame 0 at once. From frame
// 2 on the wave is another: frames 2 to 5 are imaged with what frame 0 says, those from 6 on with what frame 3 says.
TEST(RecordingSearch, SearchesEverySoManyFrames) {
  const test::TemporaryFolder folder;
  const std::string path = written(folder);
  const std::vector<ImageFrame> without = replayed(path, EngineKind::kOpencl, 0, 1);
  for (const EngineKind engine : {EngineKind::kOpencl, EngineKind::kReference}) {
    const std::vector<ImageFrame> frames = replayed(path, engine, 3, 1);
    ASSERT_EQ(frames.size(), kFrames);
    for (std::uint64_t frame = 0; frame < kFrames; ++frame) {
      const double error = error_of(frames[frame], frame);
      const double plain = error_of(without[frame], frame);
      std::printf("frame %d: error %.2f %%, without search %.2f %%\n", static_cast<int>(frame), 100.0 * error,
                  100.0 * plain);
      if (2 <= frame && frame < 6) {
        EXPECT_NEAR(error, plain, 0.2 * plain) << "waves that are no more do no harm";
      } else {
        EXPECT_LE(error, 0.1 * plain);
      }
      EXPECT_EQ(frames[frame].flags, without[frame].flags);
    }
    const std::vector<ImageFrame> again = replayed(path, engine, 3, 1);
    for (std::size_t frame = 0; frame < kFrames; ++frame) {
      EXPECT_EQ(frames[frame].images, again[frame].images) << "the same run gives the same images";
    }
  }
}

// Frames that are computed together, and those of a part, are imaged with the findings of the whole replay.
TEST(RecordingSearch, FindsTheSameInBatchesAndParts) {
  const test::TemporaryFolder folder;
  const std::string path = written(folder);
  const std::vector<ImageFrame> whole = replayed(path, EngineKind::kReference, 3, 1);
  for (const int batch : {2, 5}) {
    const std::vector<ImageFrame> frames = replayed(path, EngineKind::kReference, 3, batch);
    for (std::size_t frame = 0; frame < kFrames; ++frame) {
      EXPECT_EQ(frames[frame].images, whole[frame].images) << "frame " << frame << " in batches of " << batch;
    }
  }
  for (std::uint64_t first = 1; first < kFrames; ++first) {
    const std::vector<ImageFrame> part = replayed(path, EngineKind::kReference, 3, 1, first);
    ASSERT_EQ(part.size(), kFrames - first);
    for (std::size_t i = 0; i < part.size(); ++i) {
      EXPECT_EQ(part[i].images, whole[first + i].images)
          << "frame " << first + i << " of those from " << first << " on";
      EXPECT_EQ(part[i].flags, whole[first + i].flags);
    }
  }
}

}  // namespace
}  // namespace nearfield
