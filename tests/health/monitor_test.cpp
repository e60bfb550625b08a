#include "health/monitor.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <set>
#include <string>

#include "health/array_simulation.hpp"
#include "support/draws.hpp"

namespace nearfield::health {
namespace {

using test::Complex;
using test::Fault;
using test::SimulatedArray;
using Fields = std::vector<std::vector<Complex>>;

constexpr double kSnr_db = 40.0;
const std::vector<double> kTones = {500.0, 2000.0, 4000.0};
/// Windows of one second, as nearfieldd hands them over.
constexpr int kSecond = 32;

int length_of(const char* variable, int otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr ? otherwise : std::atoi(text);
}

MonitorPlan plan_of(const std::vector<double>& frequencies_hz, const ArrayGeometry& geometry = {}) {
  MonitorPlan plan;
  plan.geometry = geometry;
  plan.standoff_m = test::kStandoff_m;
  plan.sound_speed_m_s = test::kSoundSpeed;
  plan.frequencies_hz = frequencies_hz;
  return plan;
}

/// A field at each tone, drawn from the cases of research-notes.md; sines of 27 and 35 cm up to 2 kHz only.
Fields draw_fields(std::mt19937& random, const ArrayGeometry& geometry) {
  Fields fields;
  for (const double frequency_hz : kTones) {
    fields.push_back(
        test::case_field(frequency_hz, static_cast<int>(random() % (frequency_hz > 3000.0 ? 2 : 3)), geometry));
  }
  return fields;
}

void watch(Monitor& monitor, SimulatedArray& array, int windows, double level = 1.0) {
  for (int i = 0; i < windows; ++i) {
    monitor.add_spectra(array.next(level));
  }
}

Condition condition(const Monitor& monitor, int channel) {
  return monitor.conditions()[static_cast<std::size_t>(channel)];
}

// 51 of 1024, dead, stuck, noisy or weak, all of them found by their spectra alone within a second: the draws that miss
// one may be 1 in 100. NEARFIELD_DRAWS sets more than the suite's 12.
TEST(Monitor, FindsFiveInAHundredBadMicrophonesWithinASecond) {
  const int draws = nearfield::test::draws(12);
  int complete = 0;
  int accused = 0;
  for (int draw = 0; draw < draws; ++draw) {
    std::mt19937 random(static_cast<unsigned>(draw) + 1000U);
    SimulatedArray array(draw_fields(random, {}), kSnr_db, static_cast<unsigned>(draw));
    array.spoil(51);
    Monitor monitor(plan_of(kTones));
    watch(monitor, array, kSecond);
    bool has_missed = false;
    for (const auto& [channel, fault] : array.faults()) {
      has_missed = has_missed || !is_bad(condition(monitor, channel));
    }
    complete += has_missed ? 0 : 1;
    for (const int channel : monitor.bad()) {
      accused += array.faults().contains(channel) ? 0 : 1;
    }
  }
  std::printf("all 51 found in %d of %d draws, %d healthy ones accused beside them\n", complete, draws, accused);
  EXPECT_GE(complete, 99 * draws / 100);
  // Beside bad microphones, whose neighbours are predicted from fewer: one in ten draws.
  EXPECT_LE(accused, 1 + draws / 10);
}

// Fields change every 1.25 s, levels by 60 dB and to silence; sources come up to the surface and stand beside the
// array. NEARFIELD_HEALTHY_S sets more than the suite's 20 s, a third each for microphones that are alike, alike
// within 0.3 dB, and as a data sheet has them, 1 dB and 3 degrees.
TEST(Monitor, AccusesNoHealthyMicrophone) {
  constexpr int kWindowsAField = 40;
  const int fields_each = length_of("NEARFIELD_HEALTHY_S", 20) * kSecond / kWindowsAField / 3;
  const ArrayGeometry geometry;
  for (const double spread_db : {0.0, 0.3, 1.0}) {
    std::mt19937 random(7U);
    const auto uniform = [&](double low, double high) { return std::uniform_real_distribution(low, high)(random); };
    SimulatedArray array(draw_fields(random, geometry), kSnr_db, 3U);
    array.spread(spread_db, 0.05 * spread_db);
    Monitor monitor(plan_of(kTones));
    std::set<int> accused;
    for (int i = 0; i < fields_each; ++i) {
      Fields fields = draw_fields(random, geometry);
      if (i % 3 == 2) {
        fields.front() =
            test::point_field(kTones.front(), uniform(-0.4, 0.4), uniform(-0.4, 0.4), uniform(-0.05, -0.001), geometry);
        fields.back() =
            test::point_field(kTones.back(), uniform(-0.4, 0.4), uniform(-0.4, 0.4), uniform(-0.05, -0.001), geometry);
      }
      for (std::vector<Complex>& field : fields) {
        const double rms = std::sqrt(test::mean_power(field));
        std::transform(field.begin(), field.end(), field.begin(), [rms](Complex value) { return value / rms; });
      }
      array.set_fields(fields);
      const double level = i % 10 == 9 ? 0.0 : std::pow(10.0, uniform(-2.0, 1.0));
      for (int window = 0; window < kWindowsAField; ++window) {
        if (monitor.add_spectra(array.next(level))) {
          for (const Change& change : monitor.changes()) {
            if (is_bad(change.now)) {
              accused.insert(change.channel);
            }
          }
        }
      }
    }
    std::printf("%.1f dB: %zu microphones accused in %.0f s\n", spread_db, accused.size(), fields_each * 1.25);
    // Microphones 1 dB off and more, in phase too, may look wrong at the nodes of a field: 1 in 100.
    EXPECT_LE(accused.size(), spread_db < 1.0 ? 0U : 10U);
  }
}

// A steady tone of waves of a plate much larger than the array, 60 dB above the noise: at the corners of a small array
// the neighbours only extrapolate, and what they miss there is many times what they miss inside.
TEST(Monitor, AccusesNoHealthyMicrophoneAtTheCornersOfASmallArray) {
  const int draws = nearfield::test::draws(20);
  for (const int side : {6, 8, 16}) {
    const ArrayGeometry geometry{.rows = side, .columns = side, .pitch_x_m = 0.02, .pitch_y_m = 0.02};
    int accused = 0;
    for (int draw = 0; draw < draws; ++draw) {
      std::mt19937 random(static_cast<unsigned>(draw) + 77U);
      const auto uniform = [&](double low, double high) { return std::uniform_real_distribution(low, high)(random); };
      const double frequency_hz = uniform(500.0, 4000.0);
      const double x_m = uniform(0.15, 0.4);
      const double y_m = uniform(0.15, 0.4);
      const double at_x_m = uniform(-0.2, 0.2);
      const double at_y_m = uniform(-0.2, 0.2);
      std::vector<Complex> field;
      for (int row = 0; row < side; ++row) {
        for (int column = 0; column < side; ++column) {
          field.emplace_back(std::sin(2.0 * std::numbers::pi * (geometry.x_m(column) - at_x_m) / x_m) *
                             std::sin(2.0 * std::numbers::pi * (geometry.y_m(row) - at_y_m) / y_m));
        }
      }
      SimulatedArray array({field}, 60.0, static_cast<unsigned>(draw));
      Monitor monitor(plan_of({frequency_hz}, geometry));
      watch(monitor, array, kSecond);
      accused += static_cast<int>(monitor.bad().size());
    }
    std::printf("%d x %d: %d healthy microphones accused in %d draws\n", side, side, accused, draws);
    // Before extrapolation was allowed for, 5, 40 and 30 in 100 draws; now 1, 9 and 2.
    EXPECT_LE(accused, draws * 3 / 20) << side << " x " << side;
  }
}

TEST(Monitor, NamesTheCause) {
  const ArrayGeometry geometry{.rows = 16, .columns = 16, .pitch_x_m = 0.02, .pitch_y_m = 0.02};
  SimulatedArray array({test::case_field(500.0, 0, geometry), test::point_field(2000.0, 0.1, 0.05, -0.05, geometry)},
                       kSnr_db, 5U);
  array.fail(40, Fault::kDead, 0.0);
  array.fail(85, Fault::kStuck, 0.0);
  array.fail(130, Fault::kNoisy, 0.5);
  array.fail(0, Fault::kWeak, 0.0);
  array.swap(200, 122);
  array.swap(220, 35);
  Monitor monitor(plan_of({500.0, 2000.0}, geometry));
  watch(monitor, array, kSecond);
  EXPECT_EQ(condition(monitor, 40), Condition::kDead);
  EXPECT_EQ(condition(monitor, 85), Condition::kDead) << "bits would say stuck";
  EXPECT_EQ(condition(monitor, 130), Condition::kNoisy);
  EXPECT_EQ(condition(monitor, 0), Condition::kWeak);
  EXPECT_EQ(condition(monitor, 200), Condition::kSwapped);
  EXPECT_EQ(condition(monitor, 122), Condition::kSwapped);
  EXPECT_EQ(monitor.bad().size(), 8U);
}

TEST(Monitor, LeavesSlowerThanItEntersAndNotInSilence) {
  const ArrayGeometry geometry{.rows = 12, .columns = 12, .pitch_x_m = 0.02, .pitch_y_m = 0.02};
  SimulatedArray array({test::case_field(1000.0, 0, geometry)}, kSnr_db, 6U);
  array.fail(66, Fault::kWeak, 0.5);
  Monitor monitor(plan_of({1000.0}, geometry));
  watch(monitor, array, static_cast<int>(Monitor::kStep) * 2);
  EXPECT_FALSE(is_bad(condition(monitor, 66))) << "after two decisions";
  watch(monitor, array, static_cast<int>(Monitor::kStep));
  EXPECT_EQ(condition(monitor, 66), Condition::kWeak);
  array.heal();
  watch(monitor, array, 10 * kSecond, 0.0);
  EXPECT_EQ(condition(monitor, 66), Condition::kWeak) << "silence says nothing";
  watch(monitor, array, 2 * kSecond);
  EXPECT_EQ(condition(monitor, 66), Condition::kWeak) << "after two seconds";
  watch(monitor, array, 2 * kSecond);
  EXPECT_EQ(condition(monitor, 66), Condition::kOk);
}

TEST(Monitor, NotFiniteIsDeadAndHandsDecideForThemselves) {
  const ArrayGeometry geometry{.rows = 12, .columns = 12, .pitch_x_m = 0.02, .pitch_y_m = 0.02};
  SimulatedArray array({test::case_field(1000.0, 0, geometry)}, kSnr_db, 6U);
  for (const int channel : {20, 66, 100}) {
    array.fail(channel, Fault::kWeak, 1.0);
  }
  MonitorPlan plan = plan_of({1000.0}, geometry);
  plan.excluded = {20};
  plan.trusted = {66};
  Monitor monitor(plan);
  for (int i = 0; i < kSecond; ++i) {
    auto spectra = array.next();
    spectra[7] = {std::numeric_limits<float>::quiet_NaN(), 0.0F};
    monitor.add_spectra(spectra);
  }
  EXPECT_EQ(condition(monitor, 7), Condition::kDead);
  EXPECT_EQ(monitor.bad(), (std::vector<int>{7, 100}));
}

TEST(Monitor, CalibrationComesFirst) {
  const ArrayGeometry geometry{.rows = 12, .columns = 12, .pitch_x_m = 0.02, .pitch_y_m = 0.02};
  MonitorPlan plan = plan_of({1000.0}, geometry);
  plan.gains.assign(144, 1.0F);
  plan.gains[66] = 4.0F;
  SimulatedArray array({test::case_field(1000.0, 0, geometry)}, kSnr_db, 6U);
  Monitor monitor(plan);
  watch(monitor, array, kSecond);
  EXPECT_EQ(monitor.bad(), (std::vector<int>{66}));
}

BitStatistics bits_of(std::size_t channels) {
  BitStatistics bits;
  bits.bit_times = 512;
  bits.ones.assign(channels, 256);
  bits.toggles.assign(channels, 300);
  bits.longest_run.assign(channels, 4);
  return bits;
}

TEST(Monitor, BitsThatDoNotChangeOrOnlyChangeAreBadButNotOfAnIdleArray) {
  const ArrayGeometry geometry{.rows = 8, .columns = 8, .pitch_x_m = 0.02, .pitch_y_m = 0.02};
  SimulatedArray array({test::case_field(1000.0, 0, geometry)}, kSnr_db, 6U);
  BitStatistics bits = bits_of(64);
  bits.toggles[9] = 0;
  bits.longest_run[30] = 0;
  Monitor monitor(plan_of({1000.0}, geometry));
  Monitor idle(plan_of({1000.0}, geometry));
  for (int i = 0; i < kSecond; ++i) {
    monitor.add_bits(bits);
    monitor.add_spectra(array.next());
    BitStatistics silence = bits;
    silence.longest_run.assign(64, 0);
    idle.add_bits(silence);
    idle.add_spectra(array.next());
  }
  EXPECT_EQ(monitor.bad(), (std::vector<int>{9, 30}));
  EXPECT_EQ(condition(monitor, 9), Condition::kStuck);
  EXPECT_EQ(condition(monitor, 30), Condition::kDead);
  EXPECT_EQ(idle.bad(), (std::vector<int>{9}));
}

}  // namespace
}  // namespace nearfield::health
