#include <gtest/gtest.h>

#include <cmath>

#include "frontend/samples/decimator.hpp"
#include "frontend/samples/samples_reference.hpp"

namespace nearfield {
namespace {

constexpr double kPassBandHz = 15000.0;
constexpr double kSampleRateHz = kBitRateHz / kDecimation;

double folded_hz(double frequency_hz) { return std::abs(std::remainder(frequency_hz, kSampleRateHz)); }

double to_db(double ratio) { return 20.0 * std::log10(ratio); }

// Every 10 Hz from 0 to half the bit rate, with the taps as the kernel has them.
TEST(DecimatorDesign, RippleAndRejectionOnADenseGrid) {
  const DecimatorDesign design = design_decimator();
  double highest = 0.0, lowest = 2.0, worst_alias = 0.0, worst_alias_hz = 0.0;
  for (double frequency_hz = 0.0; frequency_hz <= kBitRateHz / 2.0; frequency_hz += 10.0) {
    const double gain = std::abs(design.response(frequency_hz, kBitRateHz));
    if (frequency_hz <= kPassBandHz) {
      highest = std::max(highest, gain);
      lowest = std::min(lowest, gain);
    } else if (folded_hz(frequency_hz) <= kPassBandHz && gain > worst_alias) {
      worst_alias = gain;
      worst_alias_hz = frequency_hz;
    }
  }
  std::printf("analytic: gain to 15 kHz %+.6f to %+.6f dB; worst alias %.1f dB at %.0f Hz\n", to_db(lowest),
              to_db(highest), to_db(worst_alias), worst_alias_hz);
  EXPECT_LT(to_db(highest), 0.01);
  EXPECT_GT(to_db(lowest), -0.01);
  EXPECT_LT(to_db(worst_alias / lowest), -90.0);
}

// The reference integrates by another rule, so what is left is float rounding of the taps.
TEST(DecimatorDesign, TapsAgreeWithTheReference) {
  const std::vector<float> taps = design_decimator().fir_taps;
  const std::vector<double> expected = reference::fir_taps();
  ASSERT_EQ(taps.size(), expected.size());
  for (std::size_t i = 0; i < taps.size(); ++i) {
    EXPECT_NEAR(static_cast<double>(taps[i]), expected[i], 2e-8) << i;
  }
  EXPECT_EQ(static_cast<std::size_t>(kDecimatorHistoryWords), reference::history_words());
}

// Closed form against the transform of the reference's impulse response; 1e-6 is the rounding of the taps.
TEST(DecimatorDesign, ResponseAgreesWithTheReferencesImpulseResponse) {
  const DecimatorDesign design = design_decimator();
  const std::vector<double> impulse = reference::impulse_response();
  for (const double frequency_hz : {0.0, 45.776, 1007.08, 9000.0, 15000.0, 20000.0, 40000.0, 180000.0, 740000.0}) {
    EXPECT_LT(
        std::abs(design.response(frequency_hz, kBitRateHz) - reference::response(impulse, frequency_hz, kBitRateHz)),
        1e-6)
        << frequency_hz;
  }
}

// eight consecutive ones of five integrators: the sum of all 36 taps is 8^5, and a byte of ones then zeros steps
// through the partial sums of boxcar(8)^5.
TEST(DecimatorReference, CicOfAConstantIsFullScale) {
  reference::Cic cic;
  std::int64_t last = 0;
  for (int bit = 0; bit < 80; ++bit) {
    last = cic.push(1).value_or(last);
  }
  EXPECT_EQ(last, 32768);
}

TEST(DecimatorReference, SilenceIsExactlyZero) {
  reference::Decimator decimator(reference::fir_taps());
  decimator.start_from_silence();
  for (int bit = 0; bit < 320; ++bit) {
    EXPECT_EQ(decimator.push(bit % 2 != 0 ? 1 : -1).value_or(0.0), 0.0);
  }
}

}  // namespace
}  // namespace nearfield
