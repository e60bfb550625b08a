#include <gtest/gtest.h>

#include <map>
#include <numbers>
#include <string>

#include "health/drawn_fields.hpp"
#include "health/monitor.hpp"
#include "support/draws.hpp"

/// The closed figures of docs/results/measured.md: healthy microphones in fields of ten kinds, and one bad one among
/// them. NEARFIELD_DRAWS=5000 for the page's; the suite draws 30.
namespace nearfield::health {
namespace {

using test::DrawnFields;
using Complex = std::complex<double>;

constexpr double kSoundSpeed = 343.0;
/// Windows of two seconds, as nearfieldd passes them on.
constexpr int kWindows = 64;
/// A healthy array is in the same state after one second as after two: its field is steady.
constexpr int kHealthyWindows = 32;

enum class Fault { kNone, kDead, kWeak, kPhase, kSwapped, kNoisy };
constexpr std::array kFaults = {Fault::kDead, Fault::kWeak, Fault::kPhase, Fault::kSwapped, Fault::kNoisy};
constexpr const char* kFaultNames[] = {"none", "dead", "6 dB", "20 degrees", "swapped", "noisy"};

/// One array before fields of one kind, one at each frequency, steady but for the phase of each window.
class Scene {
 public:
  explicit Scene(int draw) : fields_(static_cast<unsigned>(draw) * 7919U + 17U) {
    constexpr int kSides[] = {6, 7, 8, 10, 12, 16, 16, 24, 32};
    kind_ = draw % DrawnFields::kKinds;
    setup_ = fields_.setup(kSides[fields_.integer(0, 8)]);
    noise_ = std::pow(10.0, -fields_.uniform(20.0, 80.0) / 20.0);
    const int frequencies = fields_.integer(0, 2) == 0 ? 2 : 1;
    for (int f = 0; f < frequencies; ++f) {
      test::DrawnSetup setup = setup_;
      setup.wavenumber_rad_per_m *= f == 0 ? 1.0 : fields_.uniform(0.4, 0.9);
      wavenumbers_.push_back(setup.wavenumber_rad_per_m);
      tones_.push_back(fields_.field(setup, kind_));
    }
  }
  [[nodiscard]] int kind() const { return kind_; }
  [[nodiscard]] double noise() const { return noise_; }
  [[nodiscard]] std::size_t channels() const { return tones_.front().size(); }
  [[nodiscard]] std::size_t frequencies() const { return tones_.size(); }
  [[nodiscard]] const std::vector<double>& wavenumbers() const { return wavenumbers_; }
  [[nodiscard]] const test::DrawnSetup& setup() const { return setup_; }
  DrawnFields& random() { return fields_; }
  [[nodiscard]] MonitorPlan plan() const {
    MonitorPlan plan;
    plan.geometry = setup_.geometry;
    plan.standoff_m = setup_.standoff_m;
    plan.sound_speed_m_s = kSoundSpeed;
    for (const double wavenumber : wavenumbers_) {
      plan.frequencies_hz.push_back(wavenumber * kSoundSpeed / (2.0 * std::numbers::pi));
    }
    return plan;
  }
  /// `bad` and, where it is swapped, `other`; noisy with `level` times the field's rms pressure.
  std::vector<std::complex<float>> window(Fault fault = Fault::kNone, std::size_t bad = 0, std::size_t other = 0,
                                          double level = 0.0) {
    std::normal_distribution<double> normal(0.0, std::sqrt(0.5));
    const auto noise = [&](double rms) {
      const double re = rms * normal(fields_.random());
      return Complex(re, rms * normal(fields_.random()));
    };
    std::vector<std::complex<float>> spectra;
    for (const DrawnFields::Field& tone : tones_) {
      const Complex turn = std::polar(1.0, fields_.uniform(0.0, 6.3));
      std::vector<Complex> values;
      for (std::size_t i = 0; i < tone.size(); ++i) {
        Complex gain = 1.0;
        if (i == bad && fault != Fault::kNone) {
          gain = fault == Fault::kDead ? 0.0 : fault == Fault::kWeak ? 0.5 : 1.0;
          gain = fault == Fault::kPhase ? std::polar(1.0, std::numbers::pi / 9.0) : gain;
        }
        values.push_back(gain * turn * tone[i] + noise(noise_));
        values.back() += i == bad && fault == Fault::kNoisy ? noise(level) : 0.0;
      }
      if (fault == Fault::kSwapped) {
        std::swap(values[bad], values[other]);
      }
      for (const Complex& value : values) {
        spectra.emplace_back(value);
      }
    }
    return spectra;
  }

 private:
  DrawnFields fields_;
  int kind_ = 0;
  test::DrawnSetup setup_;
  double noise_ = 0.0;
  std::vector<double> wavenumbers_;
  std::vector<DrawnFields::Field> tones_;
};

struct Counts {
  long judged = 0;
  long masked = 0;      ///< by default
  long masked_all = 0;  ///< with mask: all
  long arrays = 0;
};

TEST(HealthNeverHarms, HealthyMicrophonesInFieldsOfTenKinds) {
  const int draws = nearfield::test::draws(30);
  std::map<int, Counts> by_kind;
  Counts all;
  for (int draw = 0; draw < draws; ++draw) {
    Scene scene(draw);
    Monitor monitor(scene.plan());
    for (int i = 0; i < kHealthyWindows; ++i) {
      monitor.add_spectra(scene.window());
    }
    Counts& kind = by_kind[scene.kind()];
    for (Counts* counts : {&kind, &all}) {
      counts->judged += static_cast<long>(scene.channels());
      counts->masked += static_cast<long>(monitor.to_mask(HealthMask::kCertain).size());
      counts->masked_all += static_cast<long>(monitor.to_mask(HealthMask::kAll).size());
      ++counts->arrays;
    }
    if (!monitor.bad().empty()) {
      std::printf("draw %d, %s, %d a side, standoff %.2f pitches, noise %.2g:", draw, DrawnFields::kNames[scene.kind()],
                  scene.setup().geometry.rows, scene.setup().standoff_m / scene.setup().geometry.pitch_x_m,
                  scene.noise());
      for (const int channel : monitor.bad()) {
        std::printf(" %d (%s)", channel,
                    std::string(name_of(monitor.conditions()[static_cast<std::size_t>(channel)])).c_str());
      }
      std::printf("\n");
    }
  }
  for (const auto& [kind, counts] : by_kind) {
    std::printf("%-42s %5ld arrays %8ld microphones: %ld masked by default, %ld with all\n", DrawnFields::kNames[kind],
                counts.arrays, counts.judged, counts.masked, counts.masked_all);
  }
  std::printf("%-42s %5ld arrays %8ld microphones: %ld masked by default, %ld with all\n", "all", all.arrays,
              all.judged, all.masked, all.masked_all);
  EXPECT_EQ(all.masked, 0);
  EXPECT_LE(all.masked_all, 1 + all.judged / 80000)
      << "1.2 in 10^5 of 5,000 fields are known (docs/results/measured.md)";
}

/// Log odds that a decision would give at least, were the array as it is but for this fault.
double reach(const SpectraJudge& judge, const Scene& scene, Fault fault, std::size_t bad, std::size_t other) {
  double sum = 0.0;
  for (std::size_t f = 0; f < scene.frequencies(); ++f) {
    const Complex own = judge.tone(f, bad);
    const Complex value = fault == Fault::kDead    ? 0.0
                          : fault == Fault::kWeak  ? 0.5 * own
                          : fault == Fault::kPhase ? own * std::polar(1.0, std::numbers::pi / 9.0)
                                                   : judge.tone(f, other);
    sum += judge.log_odds_of(f, bad, value);
  }
  return sum;
}

TEST(HealthNeverHarms, AndFindsWhatTheFieldReaches) {
  const int draws = nearfield::test::draws(30);
  std::map<Fault, long> tried;
  std::map<Fault, long> reached;
  std::map<Fault, long> named;
  std::map<Fault, long> beside;
  for (int draw = 0; draw < draws; ++draw) {
    for (const Fault fault : kFaults) {
      Scene scene(draw);
      const auto last = static_cast<int>(scene.channels()) - 1;
      const auto bad = static_cast<std::size_t>(scene.random().integer(0, last));
      const auto other = (bad + static_cast<std::size_t>(scene.random().integer(1, last))) % scene.channels();
      const double level = std::pow(10.0, scene.random().uniform(-0.5, 0.5));
      ++tried[fault];
      if (fault == Fault::kNoisy) {
        if (level < 6.0 * scene.noise()) {
          continue;
        }
      } else {
        SpectraJudge judge(scene.setup().geometry, scene.wavenumbers(), scene.setup().standoff_m);
        std::vector<std::complex<float>> healthy;
        for (int i = 0; i < 16; ++i) {
          const auto window = scene.window();
          healthy.insert(healthy.end(), window.begin(), window.end());
        }
        SpectraJudge::Known known;
        known.excluded.assign(scene.channels(), 0);
        known.suspects.assign(scene.channels(), 0);
        known.excluded[other] = fault == Fault::kSwapped ? 1 : 0;  // it predicts nothing once it is swapped
        known.deviations.assign(scene.channels(), 0.0);
        judge.judge(healthy, known);
        if (reach(judge, scene, fault, bad, other) < 12.0) {
          continue;
        }
      }
      ++reached[fault];
      Monitor monitor(scene.plan());
      bool is_named = false;
      for (int i = 0; i < kWindows && !is_named; ++i) {
        monitor.add_spectra(scene.window(fault, bad, other, level));
        is_named = is_bad(monitor.conditions()[bad]);
      }
      named[fault] += is_named ? 1 : 0;
      for (const int channel : monitor.bad()) {
        const auto at = static_cast<std::size_t>(channel);
        beside[fault] += at != bad && !(fault == Fault::kSwapped && at == other) ? 1 : 0;
      }
      if (!is_named && draws <= 100) {
        std::printf("draw %d, %s, %d a side: %s at %zu not found\n", draw, DrawnFields::kNames[scene.kind()],
                    scene.setup().geometry.rows, kFaultNames[static_cast<int>(fault)], bad);
      }
    }
  }
  for (const Fault fault : kFaults) {
    std::printf("%-12s %5ld tried, %5.1f %% reached; %5.1f %% of these named, %ld healthy ones beside them\n",
                kFaultNames[static_cast<int>(fault)], tried[fault],
                100.0 * static_cast<double>(reached[fault]) / static_cast<double>(tried[fault]),
                100.0 * static_cast<double>(named[fault]) / static_cast<double>(reached[fault]), beside[fault]);
    EXPECT_GT(reached[fault], 0) << kFaultNames[static_cast<int>(fault)];
    EXPECT_GE(static_cast<double>(named[fault]), 0.95 * static_cast<double>(reached[fault]))
        << kFaultNames[static_cast<int>(fault)];
  }
}

}  // namespace
}  // namespace nearfield::health
