#include "pipeline/cross_spectra/cross_spectra.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <filesystem>
#include <limits>

#include "core/error.hpp"
#include "files/files.hpp"
#include "support/command.hpp"

namespace nearfield {
namespace {

using Complex = std::complex<double>;
using ::testing::HasSubstr;

std::vector<std::complex<float>> snapshot_of(std::size_t number, std::size_t count) {
  std::vector<std::complex<float>> values;
  for (std::size_t i = 0; i < count; ++i) {
    const auto x = static_cast<float>(number * 7 + i);
    values.emplace_back(std::sin(1.3F * x), std::cos(2.1F * x + 0.2F));
  }
  return values;
}

SpectraFile four_microphones(std::uint64_t frames) {
  SpectraFile file;
  file.measurement.geometry.rows = 2;
  file.measurement.geometry.columns = 2;
  file.measurement.geometry.pitch_x_m = 0.1;
  file.measurement.geometry.pitch_y_m = 0.1;
  file.measurement.standoff_m = 0.05;
  file.frames = frames;
  file.frequencies_hz = {900, 500};
  return file;
}

// The plain sum, for fewer, as many and more snapshots than are added at once.
TEST(CrossSpectraSums, AreTheMeanOfProducts) {
  constexpr std::size_t kFrequencies = 3;
  constexpr std::size_t kChannels = 5;
  for (const std::size_t snapshots : {1U, 7U, 8U, 21U}) {
    CrossSpectraSums sums(kFrequencies, kChannels);
    std::vector<Complex> expected(kFrequencies * kChannels * kChannels);
    for (std::size_t t = 0; t < snapshots; ++t) {
      const auto values = snapshot_of(t, kFrequencies * kChannels);
      sums.add(values);
      for (std::size_t i = 0; i < expected.size(); ++i) {
        const std::size_t f = i / (kChannels * kChannels);
        const Complex m(values[f * kChannels + i / kChannels % kChannels]);
        const Complex n(values[f * kChannels + i % kChannels]);
        expected[i] += m * std::conj(n) / 2.0 / static_cast<double>(snapshots);
      }
    }
    EXPECT_EQ(sums.snapshots(), snapshots);
    for (std::size_t f = 0; f < kFrequencies; ++f) {
      const auto matrix = sums.matrix(f);
      for (std::size_t i = 0; i < matrix.size(); ++i) {
        EXPECT_LT(std::abs(Complex(matrix[i]) - expected[f * kChannels * kChannels + i]), 1e-7);  // of float32
      }
    }
  }
}

// Each pair's mean is over the snapshots in which both have a value.
TEST(CrossSpectraSums, SnapshotsWithoutAFiniteValueAreLeftOut) {
  const float none = std::numeric_limits<float>::quiet_NaN();
  CrossSpectraSums sums(1, 3);
  sums.add(std::vector<std::complex<float>>{{none, 0}, {2, 0}, {1, 0}});
  sums.add(std::vector<std::complex<float>>{{4, 0}, {2, 0}, {1, 0}});
  sums.add(std::vector<std::complex<float>>{{4, 0}, {0, std::numeric_limits<float>::infinity()}, {1, 0}});
  const auto matrix = sums.matrix(0);
  EXPECT_EQ(matrix[0], std::complex<float>(8));
  EXPECT_EQ(matrix[1], std::complex<float>(4));
  EXPECT_EQ(matrix[2], std::complex<float>(2));
  EXPECT_EQ(matrix[4], std::complex<float>(2));
  EXPECT_EQ(matrix[5], std::complex<float>(1));
  EXPECT_EQ(matrix[8], std::complex<float>(0.5F));
  CrossSpectraSums silent(1, 2);
  silent.add(std::vector<std::complex<float>>{{none, 0}, {2, 0}});
  EXPECT_EQ(silent.matrix(0)[0], std::complex<float>(0));
  EXPECT_EQ(silent.matrix(0)[1], std::complex<float>(0));
}

// Of spectra each frame is a snapshot, and frequencies come out ascending.
TEST(WriteCrossSpectra, OfSpectra) {
  const test::TemporaryFolder folder;
  SpectraFile file = four_microphones(3);
  for (std::size_t t = 0; t < 3; ++t) {
    const auto values = snapshot_of(t, 8);
    file.spectra.insert(file.spectra.end(), values.begin(), values.end());
  }
  write_spectra(folder / "s.h5", file);
  CrossSpectraOptions options;
  options.input = folder / "s.h5";
  options.engine = EngineKind::kReference;
  const CrossSpectraResult result = write_cross_spectra_of(options, folder / "csm.h5");
  EXPECT_EQ(result.snapshots, 3U);
  const CrossSpectraFile found = read_cross_spectra(folder / "csm.h5");
  EXPECT_EQ(found.info.frequencies_hz, (std::vector<double>{500, 900}));
  Complex expected = 0.0;
  for (std::size_t t = 0; t < 3; ++t) {
    expected += Complex(file.spectra[t * 8 + 4 + 1]) * std::conj(Complex(file.spectra[t * 8 + 4 + 2])) / 6.0;
  }
  EXPECT_LT(std::abs(Complex(found.matrices[4 * 1 + 2]) - expected), 1e-6);
  options.bins_hz = Band{100, 1000};
  EXPECT_THROW(write_cross_spectra_of(options, folder / "b.h5"), ConfigError);
}

TEST(WriteCrossSpectra, RefusesWhatDoesNotFitMemory) {
  const test::TemporaryFolder folder;
  SpectraFile file = four_microphones(1);
  file.spectra = snapshot_of(0, 8);
  write_spectra(folder / "s.h5", file);
  CrossSpectraOptions options;
  options.input = folder / "s.h5";
  options.memory_bytes = 1.5 * CrossSpectraSums::bytes(1, 4);
  try {
    write_cross_spectra_of(options, folder / "csm.h5");
    FAIL() << "expected a refusal";
  } catch (const ConfigError& error) {
    EXPECT_THAT(error.what(), HasSubstr("expected cross-spectra of at most 1 frequencies of 4 microphones"));
  }
  EXPECT_FALSE(std::filesystem::exists(folder / "csm.h5"));
}

}  // namespace
}  // namespace nearfield
