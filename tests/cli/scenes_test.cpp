#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <numbers>
#include <set>

#include "core/product.hpp"
#include "files/results_file.hpp"
#include "support/command.hpp"
#include "support/measures.hpp"

/// Scenes with sources that move, as a user simulates and follows them.
namespace nearfield {
namespace {

using ::testing::HasSubstr;

std::string simulated(const test::TemporaryFolder& folder, const std::string& scene) {
  std::ofstream(folder / "scene.yaml") << scene;
  const test::CommandResult result =
      test::run_nearfield("simulate " + (folder / "scene.yaml") + " -o " + (folder / "c.h5"));
  EXPECT_EQ(result.exit_code, 0) << result.output;
  return folder / "c.h5";
}

/// Half a second of a circle of radius 1 m around the axis, 1.5 m before the array, at 2 m/s, in legs of 5 ms.
std::string path_on_a_circle() {
  std::string path = "path: [";
  for (int i = -4; i <= 102; ++i) {
    const double t_s = 0.005 * i;
    path += fmt::format("{}{{t_s: {:.3f}, x_m: {:.9f}, y_m: {:.9f}, z_m: -1.47}}", i == -4 ? "" : ", ", t_s,
                        std::cos(2.0 * t_s), std::sin(2.0 * t_s));
  }
  return path + "]";
}

constexpr const char* kMicrophones =
    "version: 1\narray: {rows: 8, columns: 8, pitch_x_m: 0.02, pitch_y_m: 0.02, sensitivity_dbfs: -10}\n"
    "standoff_m: 0.03\nseed: 5\nsigma_delta: {order: 4}\n";

/// [row] of a column, of a frame's table.
std::vector<double> column_of(const ResultsReader& reader, std::uint64_t frame, const std::string& name) {
  const Product& table = reader.header(1).products[0];
  const ResultFrame read = reader.read(1, frame);
  const std::span<const std::byte> bytes = read.frame.products[0];
  const std::vector<ProductPlaces::Place> places = column_places(table);
  std::vector<double> values;
  for (std::size_t c = 0; c < places.size(); ++c) {
    const auto all = complex_values_of(table.columns[c].type, bytes.subspan(places[c].offset, places[c].bytes));
    for (std::size_t row = 0; table.columns[c].name == name && row < rows_of(bytes); ++row) {
      values.push_back(all[row].real());
    }
  }
  return values;
}

// A source of noise goes round at 2 m/s, 10 dB above the microphones' noise in the band; from bits to tracks. Its track
// has one id from the third window to the end, and after 0.3 s an rms error of at most 1 degree.
TEST(ScenesCommand, AMovingSourceIsFollowedFromBits) {
  const test::TemporaryFolder folder;
  const std::string capture =
      simulated(folder, kMicrophones +
                            std::string("duration_s: 0.5\nmicrophones: {snr_db: 10, snr_band_hz: [500, 4000]}\n"
                                        "sources:\n  - {kind: noise, band_hz: [500, 4000], rms_at_1m_pa: 0.3, ") +
                            path_on_a_circle() + "}\n");
  const std::string output = folder / "out.h5";
  const test::CommandResult result = test::run_nearfield(
      "replay " + capture + " -o " + output +
      " --set front_end.hop_samples=256 --set processors.where.kind=srp_phat --set processors.where.band_hz=[500,4000]"
      " --set processors.where.keep_map=false --set processors.where.grid.kind=angles"
      " --set processors.where.grid.distance_m=[1.5] --set processors.where.grid.azimuth_deg=[-60,60]"
      " --set processors.where.grid.elevation_deg=[-60,60] --set processors.where.grid.step_deg=4");
  ASSERT_EQ(result.exit_code, 0) << result.output;
  const ResultsReader reader(output);
  const double seconds_per_bit = 1.0 / 1.5e6;
  const double window_s = 32768 * seconds_per_bit;
  std::set<double> ids;
  double squares = 0.0;
  double lags_s = 0.0;  // of the state behind the source at the middle of the window
  int counted = 0;
  ASSERT_GE(reader.frames(1), 80U);
  for (std::uint64_t frame = 4; frame < reader.frames(1); ++frame) {
    const std::vector<double> state = column_of(reader, frame, "state");
    const std::vector<double> id = column_of(reader, frame, "id");
    const std::vector<double> x = column_of(reader, frame, "x");
    const std::vector<double> y = column_of(reader, frame, "y");
    const std::vector<double> z = column_of(reader, frame, "z");
    const double middle_s =
        static_cast<double>(reader.read(1, frame).frame.first_bit_time) * seconds_per_bit + window_s / 2;
    std::size_t confirmed = 0;
    for (std::size_t row = 0; row < state.size(); ++row) {
      if (state[row] != 2.0 && state[row] != 4.0) {
        continue;
      }
      ++confirmed;
      ids.insert(id[row]);
      // The sound of the middle of the window left the source 1.8 m before, 5.3 ms earlier.
      const double angle = 2.0 * (middle_s - std::sqrt(1.0 + 1.5 * 1.5) / 343.0);
      const double found = std::hypot(x[row], y[row], z[row] - 0.03);
      const double expected = std::sqrt(1.0 + 1.5 * 1.5);
      const double cosine =
          (x[row] * std::cos(angle) + y[row] * std::sin(angle) + (z[row] - 0.03) * -1.5) / (found * expected);
      const double error_deg = std::acos(std::min(1.0, cosine)) * 180.0 / std::numbers::pi;
      if (middle_s > 0.3) {
        squares += error_deg * error_deg;
        lags_s += std::remainder(angle - std::atan2(y[row], x[row]), 2.0 * std::numbers::pi) / 2.0;  // at 2 rad/s
        ++counted;
      }
    }
    EXPECT_EQ(confirmed, 1U) << frame;
  }
  EXPECT_EQ(ids, std::set<double>{1.0});
  ASSERT_GT(counted, 25);
  RecordProperty("rms_error_deg", fmt::format("{:.3f}", std::sqrt(squares / counted)));
  EXPECT_LT(std::sqrt(squares / counted), 1.0);
  // When the window's last sample is there, the state is that of half a window and two hops before, or later.
  constexpr double kHop_s = 256.0 / 46875.0;
  RecordProperty("latency_ms", fmt::format("{:.2f}", 1e3 * (window_s / 2.0 + lags_s / counted)));
  EXPECT_LE(lags_s / counted, 2.0 * kHop_s);
  EXPECT_GE(lags_s / counted, -window_s / 2.0);  // nothing is seen before it sounds
}

TEST(ScenesCommand, RefusesWhatAPathCannotBe) {
  const test::TemporaryFolder folder;
  std::ofstream(folder / "scene.yaml")
      << kMicrophones << "sources:\n  - {kind: noise, rms_at_1m_pa: 0.3, path: [{t_s: 0, x_m: 0, y_m: 0, z_m: -1}, "
      << "{t_s: 0.001, x_m: 1, y_m: 0, z_m: -1}]}\n";
  const test::CommandResult result =
      test::run_nearfield("simulate " + (folder / "scene.yaml") + " -o " + (folder / "c.h5"));
  EXPECT_EQ(result.exit_code, 78);
  EXPECT_THAT(result.output,
              HasSubstr("sources[0].path: expected at most 171.5 m/s, half the speed of sound, not 1000"));
  EXPECT_FALSE(std::filesystem::exists(folder / "c.h5"));
}

}  // namespace
}  // namespace nearfield
