#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <vector>

#include "config/schema/processor_kinds.hpp"
#include "imaging/priors/make_mask.hpp"
#include "processors/processor.hpp"

namespace nearfield {
namespace {

class RowPowerTest : public testing::Test {
 protected:
  static constexpr int kRows = 3;
  static constexpr int kColumns = 5;
  RowPowerTest() {
    plan_.settings = &settings_;
    plan_.own = own_.get();
    plan_.array.geometry = {.rows = kRows, .columns = kColumns, .pitch_x_m = 0.02, .pitch_y_m = 0.03};
    plan_.array.frequencies_hz = {500.0, 800.0};
    plan_.frequencies_hz = plan_.array.frequencies_hz;
    // A wave of amplitude 2 Pa at the first frequency; at the second one row r has amplitude r.
    for (int line = 0; line < 2 * kRows; ++line) {
      for (int column = 0; column < kColumns; ++column) {
        spectra_.push_back(
            std::polar(line < kRows ? 2.0F : static_cast<float>(line - kRows), 0.7F * static_cast<float>(column)));
      }
    }
  }
  /// [frequency][row], with this mask.
  std::vector<float> power_of(Processor& processor, const std::vector<int>& masked) {
    const auto input = device_.upload<std::complex<float>>(spectra_, "test");
    const auto status = device_.upload<std::uint32_t>(std::vector<std::uint32_t>(kStatusWords), "test");
    processor.use(make_mask(plan_.array, masked));
    processor.enqueue({.spectra = input, .status = status, .windows = 1});
    device_.wait();
    const auto values = values_of<float>(processor.products({.window = 0}).products.front());
    return {values.begin(), values.end()};
  }
  ocl::Device device_ = ocl::Device::open(DeviceSettings());
  Settings settings_;
  std::unique_ptr<KindSettings> own_ = schema::processor_kind("row_power")->make();
  ProcessorPlan plan_;
  std::vector<std::complex<float>> spectra_;
};

// The mean square of a sine is half of its squared amplitude, whatever its phases along the row.
TEST_F(RowPowerTest, IsHalfOfTheSquaredAmplitude) {
  const auto processor = processor_entry("row_power").make(device_, plan_);
  const std::vector<float> power = power_of(*processor, {});
  const std::vector<float> expected = {2.0F, 2.0F, 2.0F, 0.0F, 0.5F, 2.0F};
  ASSERT_EQ(power.size(), expected.size());
  for (std::size_t i = 0; i < power.size(); ++i) {
    EXPECT_NEAR(power[i], expected[i], 1e-6) << i;  // rounding of five sums
  }
}

TEST_F(RowPowerTest, LeavesMaskedMicrophonesOut) {
  const auto processor = processor_entry("row_power").make(device_, plan_);
  spectra_[6] = {1e6F, 0.0F};                              // row 1, column 1, first frequency
  spectra_[kRows * kColumns + 6] = {std::nanf(""), 0.0F};  // and second
  const std::vector<float> power = power_of(*processor, {6});
  EXPECT_NEAR(power[1], 2.0F, 1e-6);
  EXPECT_NEAR(power[4], 0.5F, 1e-6);
}

TEST_F(RowPowerTest, ARowThatIsMaskedWholeHasNoPower) {
  const auto processor = processor_entry("row_power").make(device_, plan_);
  const std::vector<float> power = power_of(*processor, {0, 1, 2, 3, 4});
  EXPECT_TRUE(std::isnan(power[0]));
  EXPECT_TRUE(std::isnan(power[3]));
  EXPECT_NEAR(power[1], 2.0F, 1e-6);
}

TEST_F(RowPowerTest, CountsCalibratedPressures) {
  plan_.array.gains.assign(spectra_.size(), {0.0F, 3.0F});
  const auto processor = processor_entry("row_power").make(device_, plan_);
  EXPECT_NEAR(power_of(*processor, {})[0], 18.0F, 1e-5);
}

// Bins that bands alone need follow the requested frequencies.
TEST_F(RowPowerTest, TakesTheFrequenciesThatWereAskedFor) {
  plan_.frequencies_hz = {500.0};
  plan_.batch = 2;
  const auto processor = processor_entry("row_power").make(device_, plan_);
  EXPECT_EQ(power_of(*processor, {}).size(), static_cast<std::size_t>(kRows));
  auto two = spectra_;
  two.insert(two.end(), spectra_.begin(), spectra_.end());
  two[spectra_.size()] = {12.0F, 0.0F};  // row 0 of the second window
  const auto input = device_.upload<std::complex<float>>(two, "test");
  const auto status = device_.upload<std::uint32_t>(std::vector<std::uint32_t>(2 * kStatusWords), "test");
  processor->enqueue({.spectra = input, .status = status, .windows = 2});
  device_.wait();
  EXPECT_NEAR(values_of<float>(processor->products({.window = 0}).products.front())[0], 2.0F, 1e-6);
  EXPECT_NEAR(values_of<float>(processor->products({.window = 1}).products.front())[0],
              2.0F + 0.5F * (144.0F - 4.0F) / 5.0F, 1e-5);
}

TEST_F(RowPowerTest, NamesItsAxes) {
  const ResultHeader header = processor_entry("row_power").make(device_, plan_)->header();
  EXPECT_EQ(header.products.at(0).axes, std::vector<std::string>({"frequency", "y"}));
  EXPECT_EQ(header.axis("y")->values, std::vector<double>({-0.03, 0.0, 0.03}));
  EXPECT_EQ(header.axis("frequency")->unit, "Hz");
}

}  // namespace
}  // namespace nearfield
