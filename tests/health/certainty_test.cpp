#include <gtest/gtest.h>

#include <limits>
#include <numbers>

#include "health/array_simulation.hpp"
#include "health/monitor.hpp"

/// What is masked by default, what comes back, and what the judge's frequencies share.
namespace nearfield::health {
namespace {

using test::Complex;
using test::Fault;
using test::SimulatedArray;

constexpr int kSecond = 32;
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
const ArrayGeometry kTwelve{.rows = 12, .columns = 12, .pitch_x_m = 0.02, .pitch_y_m = 0.02};

MonitorPlan plan_for(const ArrayGeometry& geometry, const std::vector<double>& frequencies_hz, double standoff_m) {
  MonitorPlan plan;
  plan.geometry = geometry;
  plan.standoff_m = standoff_m;
  plan.sound_speed_m_s = test::kSoundSpeed;
  plan.frequencies_hz = frequencies_hz;
  return plan;
}

void add(Monitor& monitor, SimulatedArray& array, int windows, double level = 1.0) {
  for (int i = 0; i < windows; ++i) {
    monitor.add_spectra(array.next(level));
  }
}

/// A plate's mode by Rayleigh's integral, its corner at (x, y).
struct Mode {
  int side;
  double pitch_m;
  double standoff_m;
  double frequency_hz;
  double half_x_m;
  double half_y_m;
  int waves_x;
  int waves_y;
  double x_m;
  double y_m;
};

std::vector<Complex> field_of(const Mode& mode, const ArrayGeometry& geometry) {
  constexpr int kPoints = 60;
  const double k = test::wavenumber(mode.frequency_hz);
  std::vector<Complex> field;
  for (int channel = 0; channel < geometry.channels(); ++channel) {
    const int row = channel / geometry.columns;
    const double x_m = geometry.x_m(channel % geometry.columns) - mode.x_m;
    const double y_m = geometry.y_m(row) - mode.y_m;
    Complex sum = 0.0;
    for (int i = 0; i < kPoints; ++i) {
      for (int j = 0; j < kPoints; ++j) {
        const double along = (i + 0.5) / kPoints;
        const double across = (j + 0.5) / kPoints;
        const double velocity =
            std::sin(mode.waves_x * std::numbers::pi * along) * std::sin(mode.waves_y * std::numbers::pi * across);
        const double r_m = std::hypot(x_m - along * mode.half_x_m * mode.waves_x,
                                      y_m - across * mode.half_y_m * mode.waves_y, mode.standoff_m);
        sum += velocity * std::polar(1.0 / r_m, -k * r_m);
      }
    }
    field.push_back(sum);
  }
  return field;
}

// Modes with node lines on every other row or column of microphones: 8 to 13 healthy ones of each were masked.
TEST(Certainty, NothingIsFoundInModesWhoseNodesLieOnMicrophones) {
  constexpr Mode kModes[] = {{8, 0.06, 0.05, 630.0, 0.12, 0.15, 3, 2, -0.21, -0.12},
                             {8, 0.06, 0.05, 630.0, 0.12, 0.12, 3, 3, -0.21, -0.21},
                             {16, 0.02, 0.03, 2000.0, 0.04, 0.04, 7, 7, -0.15, -0.15},
                             {16, 0.02, 0.03, 2000.0, 0.04, 0.04, 7, 7, -0.14, -0.14},
                             {6, 0.06, 0.05, 630.0, 0.12, 0.12, 2, 2, -0.15, -0.15}};
  for (const Mode& mode : kModes) {
    const ArrayGeometry geometry{
        .rows = mode.side, .columns = mode.side, .pitch_x_m = mode.pitch_m, .pitch_y_m = mode.pitch_m};
    for (const double snr_db : {40.0, 60.0}) {
      SimulatedArray array({field_of(mode, geometry)}, snr_db, 3U);
      Monitor monitor(plan_for(geometry, {mode.frequency_hz}, mode.standoff_m));
      add(monitor, array, 2 * kSecond);
      EXPECT_EQ(monitor.bad(), std::vector<int>()) << mode.side << " a side, " << snr_db << " dB";
    }
  }
}

// A microphone 6 dB down is reported and not masked; one without any part of the field is masked.
TEST(Certainty, DecidesWhatIsMaskedByDefault) {
  SimulatedArray array({test::case_field(1000.0, 0, kTwelve)}, 40.0, 6U);
  array.fail(66, Fault::kWeak, 0.0);
  array.fail(40, Fault::kDead, 0.0);
  Monitor monitor(plan_for(kTwelve, {1000.0}, test::kStandoff_m));
  add(monitor, array, kSecond);
  EXPECT_EQ(monitor.bad(), (std::vector<int>{40, 66}));
  EXPECT_EQ(monitor.to_mask(HealthMask::kCertain), std::vector<int>{40});
  EXPECT_EQ(monitor.to_mask(HealthMask::kAll), (std::vector<int>{40, 66}));
  EXPECT_EQ(monitor.to_mask(HealthMask::kNone), std::vector<int>());
}

// The same numbers in two channels: the one whose neighbours expect others is the copy.
TEST(Certainty, ACopyIsCertain) {
  SimulatedArray array({test::case_field(1000.0, 1, kTwelve)}, 40.0, 6U);
  Monitor monitor(plan_for(kTwelve, {1000.0}, test::kStandoff_m));
  for (int i = 0; i < kSecond; ++i) {
    auto spectra = array.next();
    spectra[17] = spectra[127];
    monitor.add_spectra(spectra);
  }
  EXPECT_EQ(monitor.conditions()[17], Condition::kCopied);
  EXPECT_EQ(monitor.to_mask(HealthMask::kCertain), std::vector<int>{17});
}

// A microphone of the edge whose values were not finite: no field is needed to see that they are again.
TEST(Certainty, FiniteValuesComeBackWithoutAField) {
  SimulatedArray array({test::case_field(1000.0, 0, kTwelve)}, 40.0, 6U);
  Monitor monitor(plan_for(kTwelve, {1000.0}, test::kStandoff_m));
  for (int i = 0; i < 2 * kSecond; ++i) {
    auto spectra = array.next();
    spectra[5] = kNaN;
    monitor.add_spectra(spectra);
  }
  EXPECT_EQ(monitor.to_mask(HealthMask::kCertain), std::vector<int>{5});
  add(monitor, array, 4 * kSecond, 1e-3);  // noise alone: 40 dB below it is the field
  EXPECT_EQ(monitor.bad(), std::vector<int>());
}

// Two values that are not finite, an hour's, are no dead microphone.
TEST(Certainty, SingleValuesThatAreNotFiniteAreNoFault) {
  SimulatedArray array({test::case_field(1000.0, 0, kTwelve)}, 40.0, 6U);
  Monitor monitor(plan_for(kTwelve, {1000.0}, test::kStandoff_m));
  for (int i = 0; i < 2 * kSecond; ++i) {
    auto spectra = array.next();
    spectra[5] = i % kSecond == 9 ? std::complex<float>(kNaN) : spectra[5];
    monitor.add_spectra(spectra);
  }
  EXPECT_EQ(monitor.bad(), std::vector<int>());
}

// Twelve microphones that had lost 12 dB, corners and edges among them, and have it again: none stays masked by what
// the others' masks leave of its neighbourhood.
TEST(Certainty, AGroupThatFitsAgainComesBack) {
  SimulatedArray array({test::point_field(1000.0, 0.02, -0.03, -0.06, kTwelve)}, 40.0, 6U);
  for (const int channel : {0, 5, 7, 30, 55, 60, 77, 90, 101, 119, 132, 143}) {
    array.fail(channel, Fault::kWeak, 0.4);
  }
  Monitor monitor(plan_for(kTwelve, {1000.0}, test::kStandoff_m));
  add(monitor, array, 2 * kSecond);
  EXPECT_GE(monitor.bad().size(), 6U) << "half of them: corners are not reached, and bad neighbours hide each other";
  array.heal();
  add(monitor, array, 5 * kSecond);
  EXPECT_EQ(monitor.bad(), std::vector<int>());
}

// Once a frequency's floors had values of the frequency before it: the odds of one frequency depend on no other.
TEST(Certainty, AJudgeOfThreeFrequenciesIsThreeJudgesOfOne) {
  const std::vector<double> frequencies_hz = {500.0, 1500.0, 3000.0};
  const ArrayGeometry eight{.rows = 8, .columns = 8, .pitch_x_m = 0.02, .pitch_y_m = 0.02};
  std::vector<std::vector<Complex>> fields;
  std::vector<double> wavenumbers;
  for (const double frequency_hz : frequencies_hz) {
    fields.push_back(test::case_field(frequency_hz, 1, eight));
    wavenumbers.push_back(test::wavenumber(frequency_hz));
  }
  SimulatedArray array(fields, 40.0, 9U);
  array.fail(27, Fault::kDead, 0.0);  // seen at each frequency: the same microphone is left out everywhere
  constexpr std::size_t kWindows = 16;
  std::vector<std::complex<float>> spectra;
  std::vector<std::vector<std::complex<float>>> apart(frequencies_hz.size());
  for (std::size_t window = 0; window < kWindows; ++window) {
    const auto values = array.next();
    spectra.insert(spectra.end(), values.begin(), values.end());
    for (std::size_t f = 0; f < apart.size(); ++f) {
      apart[f].insert(apart[f].end(), values.begin() + static_cast<std::ptrdiff_t>(64 * f),
                      values.begin() + static_cast<std::ptrdiff_t>(64 * (f + 1)));
    }
  }
  SpectraJudge::Known known;
  known.excluded.assign(64, 0);
  known.suspects.assign(64, 0);
  known.deviations.assign(64, 0.0);
  SpectraJudge together(eight, wavenumbers, test::kStandoff_m);
  together.judge(spectra, known);
  for (std::size_t f = 0; f < apart.size(); ++f) {
    SpectraJudge alone(eight, {wavenumbers[f]}, test::kStandoff_m);
    alone.judge(apart[f], known);
    for (std::size_t channel = 0; channel < 64; ++channel) {
      EXPECT_EQ(together.log_odds(f, channel), alone.log_odds(0, channel)) << "channel " << channel << " at " << f;
    }
    EXPECT_GT(alone.log_odds(0, 27), 10.0);
  }
}

}  // namespace
}  // namespace nearfield::health
