#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <numbers>

#include "files/results_file.hpp"
#include "support/command.hpp"

/// A beamformer as a user runs it, from bits to maps.
namespace nearfield {
namespace {

constexpr double kDensityKgM3 = 1.2041;
constexpr double kBin_hz = 46875.0 / 1024.0;

/// Two monopoles 1 m before the array, at bins of their own, from fourth-order modulators.
std::string two_monopoles(const test::TemporaryFolder& folder) {
  std::string scene = folder / "scene.yaml";
  std::ofstream(scene) << "version: 1\nstandoff_m: 0.03\nduration_s: 0.0221\nseed: 5\n"
                       << "array: {rows: 16, columns: 16, pitch_x_m: 0.03, pitch_y_m: 0.03}\n"
                       << "sigma_delta: {order: 4}\nsources:\n"
                       << "  - {kind: monopole, frequency_hz: " << 22 * kBin_hz
                       << ", x_m: 0.2, y_m: -0.1, z_m: -0.97, volume_velocity_m3_s: 1.0e-3}\n"
                       << "  - {kind: monopole, frequency_hz: " << 87 * kBin_hz
                       << ", x_m: -0.3, y_m: 0.2, z_m: -0.97, volume_velocity_m3_s: 2.0e-4}\n";
  return scene;
}

/// What the map of `true_location` reads of a monopole in its plane: its pressure at the array's centre, p, times
/// r_0 sqrt(mean(1/r^2)) over the microphones.
double expected_pa(double frequency_hz, double volume_velocity_m3_s, double x_m, double y_m) {
  const ArrayGeometry geometry = {.rows = 16, .columns = 16, .pitch_x_m = 0.03, .pitch_y_m = 0.03};
  double mean_inverse_square = 0.0;
  for (int channel = 0; channel < geometry.channels(); ++channel) {
    const int row = channel / geometry.columns;
    const double r = std::hypot(x_m - geometry.x_m(channel % geometry.columns), y_m - geometry.y_m(row), 1.0);
    mean_inverse_square += 1.0 / (r * r) / geometry.channels();
  }
  return kDensityKgM3 * 2.0 * std::numbers::pi * frequency_hz * volume_velocity_m3_s / (4.0 * std::numbers::pi) *
         std::sqrt(mean_inverse_square);
}

std::size_t index_of(const Axis& axis, double value) {
  const auto nearest = std::min_element(axis.values.begin(), axis.values.end(),
                                        [&](double a, double b) { return std::abs(a - value) < std::abs(b - value); });
  return static_cast<std::size_t>(nearest - axis.values.begin());
}

class BeamformCommand : public testing::Test {
 protected:
  void SetUp() override {
    const auto made = test::run_nearfield("simulate " + two_monopoles(folder_) + " -o " + capture_);
    ASSERT_EQ(made.exit_code, 0) << made.output;
  }
  [[nodiscard]] test::CommandResult replay(const std::string& options) const {
    return test::run_nearfield("replay " + capture_ + " -o " + output_ + " --set front_end.frequencies_hz=[" +
                               std::to_string(22 * kBin_hz) + "," + std::to_string(87 * kBin_hz) + "] " +
                               "--set processors.far.kind=beamform " + options);
  }
  test::TemporaryFolder folder_;
  std::string capture_ = folder_ / "capture.h5";
  std::string output_ = folder_ / "out.h5";
};

// The largest value of each frequency's map lies at its source and has the level of the closed form, to 0.1 dB:
// the modulator's noise and the other source's side lobes at these bins lie far below.
TEST_F(BeamformCommand, FindsTwoMonopolesAndTheirLevelsFromBits) {
  for (const std::string engine : {"opencl", "reference"}) {
    const auto result = replay("--engine " + engine + " --set processors.far.steering.formulation=true_location " +
                               "--set processors.far.grid.step_m=0.05");
    ASSERT_EQ(result.exit_code, 0) << result.output;
    const ResultsReader reader(output_);
    ASSERT_EQ(reader.processors(), 2U);
    const ResultHeader& header = reader.header(1);
    EXPECT_EQ(header.processor, "far");
    EXPECT_EQ(header.products.at(0).axes, std::vector<std::string>({"frequency", "distance", "y", "x"}));
    const ResultFrame frame = reader.read(1, 0);
    EXPECT_EQ(frame.frame.flags & ~static_cast<std::uint32_t>(kFlagExtrapolationFellBack), 0U);
    const auto map = values_of<std::complex<float>>(frame.frame.products[0]);
    const std::size_t pixels = map.size() / 2;
    ASSERT_EQ(pixels, 21U * 21U);
    const auto expect_source = [&](std::size_t f, double x_m, double y_m, double pressure_pa) {
      const auto of_frequency = map.subspan(f * pixels, pixels);
      const auto highest = std::max_element(of_frequency.begin(), of_frequency.end(),
                                            [](auto a, auto b) { return std::norm(a) < std::norm(b); });
      EXPECT_EQ(static_cast<std::size_t>(highest - of_frequency.begin()),
                index_of(*header.axis("y"), y_m) * 21 + index_of(*header.axis("x"), x_m));
      EXPECT_NEAR(20.0 * std::log10(static_cast<double>(std::abs(*highest)) / pressure_pa), 0.0, 0.1);
    };
    expect_source(0, 0.2, -0.1, expected_pa(22 * kBin_hz, 1e-3, 0.2, -0.1));
    expect_source(1, -0.3, 0.2, expected_pa(87 * kBin_hz, 2e-4, -0.3, 0.2));
  }
}

TEST_F(BeamformCommand, AveragesAreDrawnAndCompared) {
  const std::string pictures = folder_ / "pictures";
  const auto result = replay(
      "--set processors.far.grid.kind=angles --set processors.far.grid.distance_m=inf "
      "--set processors.far.grid.step_deg=4 --set processors.far.average.kind=linear "
      "--set processors.far.diagonal_removal=true --png " +
      pictures);
  ASSERT_EQ(result.exit_code, 0) << result.output;
  const ResultsReader reader(output_);
  EXPECT_EQ(reader.header(1).products.at(1).unit, "Pa^2");
  EXPECT_EQ(reader.header(1).products.at(1).axes, std::vector<std::string>({"frequency", "elevation", "azimuth"}));
  std::size_t drawn = 0;
  for (const auto& entry : std::filesystem::directory_iterator(pictures)) {
    drawn += entry.path().filename().string().starts_with("frame00000_far_map_frequency") ? 1U : 0U;
  }
  EXPECT_EQ(drawn, 2U);
  const auto compared = test::run_nearfield("compare " + output_ + " " + output_);
  EXPECT_EQ(compared.exit_code, 0) << compared.output;
}

TEST_F(BeamformCommand, GridsThatAreTooLargeAreRefused) {
  const auto result = replay("--set processors.far.grid.step_m=0.00003");
  EXPECT_EQ(result.exit_code, 78);
  EXPECT_NE(result.output.find("expected at most 4194304 pixels"), std::string::npos) << result.output;
  EXPECT_FALSE(std::filesystem::exists(output_));
  const auto missing = replay("--set processors.far.grid.kind=points --set processors.far.grid.points=none.csv");
  EXPECT_EQ(missing.exit_code, 66) << missing.output;
}

}  // namespace
}  // namespace nearfield
