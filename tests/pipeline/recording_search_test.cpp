#include "engine/recording_search.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <random>

#include "files/files.hpp"
#include "pipeline/replay.hpp"
#include "support/command.hpp"
#include "support/fields.hpp"
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

std::vector<ImageFrame> replayed(const std::string& path, EngineKind engine, int every_frames, int batch) {
  ReplayOptions options;
  options.input = path;
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

// Every third of five frames is searched before it is imaged. From frame 2 on the wave is another: that frame is imaged
// with what was found in frame 0, the next one with its own.
TEST(RecordingSearch, SearchesEverySoManyFrames) {
  const test::TemporaryFolder folder;
  SpectraFile file;
  file.measurement.geometry = {.rows = kSide, .columns = kSide};
  file.measurement.standoff_m = 0.03;
  file.frequencies_hz = {kFrequency_hz};
  file.frames = 5;
  for (std::uint64_t frame = 0; frame < file.frames; ++frame) {
    const auto spectra = wave(frame, 0.03, 40.0);
    file.spectra.insert(file.spectra.end(), spectra.begin(), spectra.end());
  }
  const std::string path = folder / "spectra.h5";
  write_spectra(path, file);
  const std::vector<ImageFrame> without = replayed(path, EngineKind::kOpencl, 0, 1);
  for (const EngineKind engine : {EngineKind::kOpencl, EngineKind::kReference}) {
    const std::vector<ImageFrame> frames = replayed(path, engine, 3, 1);
    ASSERT_EQ(frames.size(), 5U);
    for (std::uint64_t frame = 0; frame < 5; ++frame) {
      const double error = error_of(frames[frame], frame);
      const double plain = error_of(without[frame], frame);
      std::printf("frame %d: error %.2f %%, without search %.2f %%\n", static_cast<int>(frame), 100.0 * error,
                  100.0 * plain);
      if (frame == 2) {
        EXPECT_NEAR(error, plain, 0.2 * plain) << "waves that are no more do no harm";
      } else {
        EXPECT_LE(error, 0.1 * plain);
      }
    }
    const std::vector<ImageFrame> again = replayed(path, engine, 3, 1);
    for (std::size_t frame = 0; frame < 5; ++frame) {
      EXPECT_EQ(frames[frame].images, again[frame].images) << "the same run gives the same images";
      EXPECT_EQ(frames[frame].flags, without[frame].flags);
    }
  }
  // A batch is searched when one of its frames is due.
  const std::vector<ImageFrame> batches = replayed(path, EngineKind::kOpencl, 3, 2);
  EXPECT_LE(error_of(batches[1], 1), 0.1 * error_of(without[1], 1));
  EXPECT_LE(error_of(batches[2], 2), 0.1 * error_of(without[2], 2)) << "frames 2 and 3 are one batch";
}

}  // namespace
}  // namespace nearfield
