#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "processors/srp_phat_support.hpp"

/// weights: snr, the bins that are louder than their floor.
namespace nearfield {
namespace {

using far_field::Position;
using test::Complex;
using test::SrpFrame;
using test::SrpOnDevice;
using test::SrpReference;
using test::SrpSetup;

constexpr std::size_t kFloorBins = 12;
const Position kFloorSource = {0.3, -0.2, -std::sqrt(0.87)};

SrpSetup with_floors() {
  SrpSetup setup(5, 5, 40, kFloorBins);
  setup.look_far(45.0, 9.0);
  setup.own.weights = SrpWeights::kSnr;
  return setup;
}

/// Noise of 0.1 at each microphone, and of the second window on a source in the first half of the bins.
std::array<std::vector<Complex>, 3> windows_of(const SrpSetup& setup) {
  std::mt19937 generator(51);
  std::array<std::vector<Complex>, 3> windows;
  for (std::size_t w = 0; w < windows.size(); ++w) {
    windows.at(w) = setup.noise(generator);
    const std::vector<Complex> source = setup.source(kFloorSource, generator);
    for (std::size_t i = 0; i < source.size(); ++i) {
      const bool has_source = w > 0 && i < source.size() / 2;
      const Complex amplitude = source[i / 25 * 25];  // of its bin, made 1
      windows.at(w)[i] = 0.1 * windows.at(w)[i] + (has_source ? source[i] / std::abs(amplitude) : 0.0);
    }
  }
  return windows;
}

// Where a source is in half of the bins, those are kept, and their coherence is not spoiled by the others. The first
// window is its own floor, and so is one after the stream began anew.
TEST(SrpFloors, LeaveOutWhatIsNoLouderThanBefore) {
  SrpSetup setup = with_floors();
  const auto windows = windows_of(setup);
  SrpReference reference(setup);
  SrpOnDevice device(setup);
  for (const bool is_again : {false, true}) {
    for (std::size_t w = 0; w < windows.size(); ++w) {
      const SrpFrame expected = reference.look(windows.at(w));
      const SrpFrame found = device.look(windows.at(w));
      ASSERT_EQ(found.map.size(), expected.map.size());
      for (std::size_t i = 0; i < found.map.size(); ++i) {
        ASSERT_NEAR(found.map[i], expected.map[i], 1e-4) << w << " " << is_again;
      }
      for (const SrpFrame& frame : {expected, found}) {
        ASSERT_EQ(frame.rows.size(), w == 0 ? 0U : 1U);
        if (w > 0) {
          EXPECT_GT(frame.rows[0][test::kConfidence], 0.95);  // noise 20 dB below leaves 0.98
          EXPECT_NEAR(frame.rows[0][test::kX], kFloorSource.x, 0.02);
        }
      }
    }
    reference.forget();
    device.forget();
  }
  setup.own.weights = SrpWeights::kPhat;
  EXPECT_LT(SrpReference(setup).look(windows[1]).rows.at(0)[test::kConfidence], 0.7);
}

TEST(SrpFloors, FollowTheWindowsOfABatchInTheirOrder) {
  SrpSetup setup = with_floors();
  const auto windows = windows_of(setup);
  SrpReference reference(setup);
  SrpFrame expected;
  std::vector<Complex> all;
  for (const std::vector<Complex>& window : windows) {
    expected = reference.look(window);
    all.insert(all.end(), window.begin(), window.end());
  }
  setup.batch = 3;
  const std::unique_ptr<Processor> device = processor_entry("srp_phat").make(test::srp_device(), setup.plan());
  const auto input = test::srp_device().upload<std::complex<float>>(test::narrow(all), "test");
  const auto status = test::srp_device().upload<std::uint32_t>(std::vector<std::uint32_t>(3 * kStatusWords), "test");
  device->enqueue({.spectra = input, .status = status, .windows = 3});
  test::srp_device().wait();
  const SrpFrame found = test::frame_of(device->header(), device->products({.window = 2}).products, 0);
  for (std::size_t i = 0; i < found.map.size(); ++i) {
    ASSERT_NEAR(found.map[i], expected.map[i], 1e-4) << i;
  }
}

// So many decibels a second, in the steps of windows.
TEST(SrpFloors, RiseWithTime) {
  SrpSetup setup = with_floors();
  const SrpPlan plan = setup.places();
  EXPECT_NEAR(std::pow(plan.floor_rise(), 1.0 / plan.hop_s), std::pow(10.0, 0.1), 1e-9);
  setup.own.floor_rise_db_s = 0.0;
  EXPECT_EQ(setup.places().floor_rise(), 1.0);
}

}  // namespace
}  // namespace nearfield
