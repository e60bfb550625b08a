#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "processors/beamform/snapshots.hpp"
#include "processors/beamform_support.hpp"

/// Bits that a window lacks, in the frames of averages and of methods that map several windows.
namespace nearfield {
namespace {

using test::Beamformer;
using test::Complex;

constexpr int kWindows = 400;

/// Of each window, mostly 0.
std::vector<std::uint64_t> random_losses(unsigned seed) {
  std::mt19937 generator(seed);
  std::vector<std::uint64_t> losses(kWindows);
  for (std::uint64_t& loss : losses) {
    loss = generator() % 7 == 0 ? 1 + generator() % 1000 : 0;
  }
  return losses;
}

Snapshots every_fourth(AverageKind kind, double snapshots) {
  constexpr double kRate_hz = 46875.0;
  const AverageSettings average = {.kind = kind, .seconds = snapshots * 512.0 / kRate_hz};
  return Snapshots(average, WindowKind::kHann, 1024, 128.0, kRate_hz);
}

// Against the weights of all snapshots before: exp(-age/seconds), and 1 in the block that was published last.
TEST(HeldLosses, OfAnAverageAreThoseOfItsSnapshots) {
  for (const AverageKind kind : {AverageKind::kLinear, AverageKind::kExponential}) {
    constexpr int kSnapshots = 5;
    Snapshots snapshots = every_fourth(kind, kSnapshots);
    const std::vector<std::uint64_t> losses = random_losses(3);
    LossesOfAverage held;
    std::vector<std::uint64_t> of_snapshots;
    std::uint64_t expected = 0;
    for (int window = 0; window < kWindows; ++window) {
      const std::uint64_t missing = losses[static_cast<std::size_t>(window)];
      const Snapshots::Step step = snapshots.next();
      held.add(step, missing);
      if (step.is_snapshot) {
        of_snapshots.push_back(missing);
      }
      if (step.publishes) {
        expected = 0;
        const std::size_t in_block = (of_snapshots.size() - 1) % kSnapshots;
        for (std::size_t age = 0; age < of_snapshots.size(); ++age) {
          const bool counts =
              kind == AverageKind::kLinear ? age <= in_block : std::exp(-static_cast<double>(age) / kSnapshots) >= 1e-3;
          expected = std::max(expected, counts ? of_snapshots[of_snapshots.size() - 1 - age] : 0);
        }
      }
      ASSERT_EQ(held.published(), expected) << window;
    }
    held.forget();
    EXPECT_EQ(held.published(), 0U);
  }
}

// A window that lacks bits is the only one with sound: what it is part of is above 0, and has its loss.
TEST(HeldLosses, AreInTheFramesThatHoldTheWindow) {
  struct Case {
    Method method;
    AverageKind kind;
    int batch;
  };
  for (const Case& one :
       {Case{Method::kDas, AverageKind::kLinear, 1}, Case{Method::kDas, AverageKind::kLinear, 3},
        Case{Method::kFunctional, AverageKind::kNone, 1}, Case{Method::kFunctional, AverageKind::kNone, 3},
        Case{Method::kCleanSc, AverageKind::kNone, 1}}) {
    Beamformer beamformer(6, 8, {4000.0});
    beamformer.settings.front_end.window_samples = 1024;
    beamformer.settings.front_end.hop_samples = 256;
    beamformer.own.grid.distance_m = {0.4};
    beamformer.own.grid.step_m = 0.2;
    beamformer.own.method = one.method;
    beamformer.own.sources = 1;
    beamformer.own.map_rate_hz = 30.0;
    beamformer.own.average = {.kind = one.kind, .seconds = 5.0 * 512.0 / beamformer.rate_hz, .snapshots = 8};
    beamformer.batch = one.batch;
    const std::unique_ptr<Processor> device =
        processor_entry("beamform").make(test::beamform_device(), beamformer.plan());
    const std::unique_ptr<reference::Processor> reference =
        processor_entry("beamform").make_reference(beamformer.plan());
    const std::vector<Complex> sound = beamformer.monopole({0.05, -0.03, -0.4});
    const std::vector<Complex> silence(sound.size());
    const auto windows = static_cast<std::size_t>(one.batch);
    int with_losses = 0;
    int without = 0;
    for (std::uint64_t first = 0; first < 120; first += windows) {
      std::vector<Complex> spectra;
      std::vector<std::uint64_t> losses;
      for (std::uint64_t window = first; window < first + windows; ++window) {
        const bool is_lossy = window % 48 == 6;  // a snapshot
        losses.push_back(is_lossy ? 7 + window : 0);
        const std::vector<Complex>& of_window = is_lossy ? sound : silence;
        spectra.insert(spectra.end(), of_window.begin(), of_window.end());
      }
      std::vector<reference::WindowInput> inputs;
      for (std::size_t window = 0; window < windows; ++window) {
        inputs.push_back({.spectra = std::span(spectra).subspan(window * sound.size(), sound.size())});
      }
      (void)reference->compute(inputs);
      const auto input = test::beamform_device().upload<std::complex<float>>(test::narrow(spectra), "test");
      const auto status =
          test::beamform_device().upload<std::uint32_t>(std::vector<std::uint32_t>(windows * kStatusWords), "test");
      device->enqueue({.spectra = input, .status = status, .windows = windows});
      test::beamform_device().wait();
      for (std::size_t window = 0; window < windows; ++window) {
        const FrameStamp stamp = {.sequence = first + window, .missing_bit_times = losses[window]};
        const WindowProducts found = device->products({.window = window, .stamp = stamp});
        const WindowProducts same = reference->products({.window = window, .stamp = stamp});
        const auto has_sound = [](const WindowProducts& made) {
          const auto values = values_of<float>(made.products.front());
          return std::any_of(values.begin(), values.end(), [](float value) { return value > 0.0F; });
        };
        const bool is_held = has_sound(found);
        ASSERT_EQ(has_sound(same), is_held) << first + window;
        const std::uint64_t expected = is_held ? 7 + 6 + (first + window - 6) / 48 * 48 : 0;
        ASSERT_EQ(found.missing_bit_times, expected) << name_of(one.method) << " " << first + window;
        ASSERT_EQ(same.missing_bit_times, expected) << name_of(one.method) << " " << first + window;
        with_losses += is_held ? 1 : 0;
        without += is_held ? 0 : 1;
      }
    }
    EXPECT_GT(with_losses, 10) << name_of(one.method);
    EXPECT_GT(without, 10) << name_of(one.method);
  }
}

// A mask begins a new history: what is published keeps its loss, and the maps of the new one have none. Windows that
// were computed and have no stamp yet belong to the old one. A stream that begins has no losses.
TEST(HeldLosses, OfAHistoryEndWithIt) {
  Beamformer beamformer(6, 8, {4000.0});
  beamformer.own.method = Method::kCleanSc;
  beamformer.own.sources = 1;
  beamformer.own.average.snapshots = 8;
  beamformer.rate_hz = 0.0;  // each window is a snapshot, and has a map
  StampedLosses<LossesOfHistory> losses{LossesOfHistory(beamformer.places().history)};
  HistorySchedule schedule = beamformer.places().history;
  const auto add = [&](std::uint64_t missing, bool is_stamped) {
    losses.begin();
    losses.next(schedule.next());
    if (is_stamped) {
      losses.stamp({.stamp = FrameStamp{.missing_bit_times = missing}});
    }
    return losses.missing_bit_times(0);
  };
  for (int window = 0; window < 8; ++window) {
    (void)add(0, true);
  }
  EXPECT_EQ(add(9, true), 9U);
  EXPECT_EQ(add(0, true), 9U);
  EXPECT_EQ(add(0, false), 0U);  // not asked yet
  schedule.forget();
  losses.held().drop_snapshots();
  losses.stamp({.stamp = FrameStamp{.missing_bit_times = 5}});
  EXPECT_EQ(losses.missing_bit_times(0), 9U);
  EXPECT_EQ(add(0, true), 9U);  // two snapshots are too few for a map: the old one is there
  EXPECT_EQ(add(0, true), 9U);
  EXPECT_EQ(add(0, true), 0U);
  EXPECT_EQ(add(4, true), 4U);
  schedule.forget();
  losses.held().forget();
  EXPECT_EQ(add(0, true), 0U);
}

}  // namespace
}  // namespace nearfield
