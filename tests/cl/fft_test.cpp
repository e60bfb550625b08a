#include "cl/fft.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <random>

namespace nearfield::ocl {
namespace {

using ComplexF = std::complex<float>;

std::vector<ComplexF> random_grid(std::size_t count, unsigned seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> normal;
  std::vector<ComplexF> values(count);
  for (ComplexF& value : values) {
    const float real = normal(generator);
    value = {real, normal(generator)};
  }
  return values;
}

// A plane wave of one bin has its whole energy in that bin; float32 rounding is 1e-6 of it.
TEST(ComplexFft2d, PlaneWaveFallsIntoItsBin) {
  const Device device = Device::open({});
  const int rows = 36, columns = 60, batch = 2, row_bin = 5, column_bin = 41;
  ComplexFft2d fft(device, rows, columns, batch, "test");
  std::vector<ComplexF> values(static_cast<std::size_t>(rows * columns * batch));
  for (int row = 0; row < rows; ++row) {
    for (int column = 0; column < columns; ++column) {
      const double turns =
          static_cast<double>(row * row_bin) / rows + static_cast<double>(column * column_bin) / columns;
      values[static_cast<std::size_t>((rows + row) * columns + column)] =
          ComplexF(std::polar(1.0, 2.0 * std::numbers::pi * turns));
    }
  }
  const auto data = device.upload<ComplexF>(values, "test");
  fft.enqueue_forward(data);
  const auto found = device.download(data, "test");
  for (std::size_t i = 0; i < found.size(); ++i) {
    const auto bin = static_cast<std::size_t>((rows + row_bin) * columns + column_bin);
    const float expected = i == bin ? static_cast<float>(rows * columns) : 0.0F;
    ASSERT_NEAR(std::abs(found[i] - expected), 0.0F, 1e-5F * static_cast<float>(rows * columns)) << i;
  }
}

// Forward then backward gives the input times the number of points.
TEST(ComplexFft2d, ForwardThenBackward) {
  const Device device = Device::open({});
  for (const auto& [rows, columns] : {std::pair{96, 96}, std::pair{36, 60}, std::pair{35, 35}, std::pair{48, 192}}) {
    const int batch = 3;
    ComplexFft2d fft(device, rows, columns, batch, "test");
    const auto values = random_grid(static_cast<std::size_t>(rows * columns * batch), 7U);
    const auto data = device.upload<ComplexF>(values, "test");
    fft.enqueue_forward(data);
    fft.enqueue_backward(data);
    const auto found = device.download(data, "test");
    for (std::size_t i = 0; i < found.size(); ++i) {
      ASSERT_NEAR(std::abs(found[i] / static_cast<float>(rows * columns) - values[i]), 0.0F, 2e-5F);
    }
  }
}

TEST(Device, UnknownPlatformNamesThoseThereAre) {
  try {
    (void)Device::open({.platform = "no such vendor"});
    FAIL() << "expected a DeviceError";
  } catch (const DeviceError& error) {
    EXPECT_NE(std::string(error.what()).find("no such vendor"), std::string::npos);
    EXPECT_NE(std::string(error.what()).find(list_devices().front().name), std::string::npos);
  }
}

}  // namespace
}  // namespace nearfield::ocl
