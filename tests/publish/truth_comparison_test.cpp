#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <functional>
#include <numbers>

#include "core/error.hpp"
#include "files/files.hpp"
#include "publish/comparison/comparison.hpp"
#include "support/command.hpp"
#include "support/images.hpp"

namespace nearfield {
namespace {

using ::testing::HasSubstr;
using Field = std::vector<std::complex<float>>;

const ArrayGeometry kGeometry{.rows = 3, .columns = 4, .pitch_x_m = 0.02, .pitch_y_m = 0.03};
constexpr double kTone_hz = 1000.0;

/// Values of two frequencies, of which the images have the second.
Field field_of(double phase_step) {
  Field field;
  for (int i = 0; i < 2 * kGeometry.channels(); ++i) {
    field.emplace_back(std::polar(1.0 + 0.1 * i, phase_step * i));
  }
  return field;
}

class CompareWithTruth : public testing::Test {
 protected:
  void SetUp() override { write_capture(pressure_, velocity_); }
  void write_capture(const Field& pressure, const Field& velocity) {
    CaptureInfo info;
    info.measurement.geometry = kGeometry;
    info.measurement.standoff_m = 0.03;
    info.layout = WireLayout::kRowMajor;
    info.words_per_bit_time = words_per_bit_time(info.layout, kGeometry);
    CaptureWriter writer(capture_, info);
    writer.append(std::vector<std::uint32_t>(32));
    writer.write_truth({.frequencies_hz = {500.0, kTone_hz},
                        .pressure = pressure,
                        .normal_velocity = velocity,
                        .aperture_pressure = {},
                        .sources = {}});
    writer.finish();
  }
  /// Two planes, of which the second is z = 0 and has the values; frequencies 1000 Hz, and one without truth.
  void write_images(const std::string& quantity, const Field& values, double plane_m = 0.0) {
    ImagesHeader header;
    header.quantity = quantity;
    header.unit = "Pa";
    header.frequencies_hz = {kTone_hz + 0.2, 1500.0};
    header.planes_m = {0.01, plane_m};
    for (int column = 0; column < kGeometry.columns; ++column) {
      header.x_m.push_back(kGeometry.x_m(column));
    }
    for (int row = 0; row < kGeometry.rows; ++row) {
      header.y_m.push_back(kGeometry.y_m(row));
    }
    ImageFrame frame;
    frame.images.assign(header.values_per_frame(), {7.0F, 0.0F});
    std::copy(values.begin(), values.end(), frame.images.begin() + static_cast<std::ptrdiff_t>(2 * header.pixels()));
    frame.cutoff_rad_per_m.assign(2, 0.0F);
    frame.slope.assign(2, 0.0F);
    frame.noise_pa.assign(2, 0.0F);
    frame.error_estimate.assign(2, 0.0F);
    frame.radiated_power_w.assign(quantity == "active_intensity" ? 4 : 0, 0.0F);
    ImagesWriter writer(images_, header, 1);
    writer.write(frame);
    writer.finish();
  }
  /// The values of the second frequency.
  static Field second(const std::function<std::complex<double>(std::size_t)>& value) {
    Field values;
    for (int i = kGeometry.channels(); i < 2 * kGeometry.channels(); ++i) {
      values.emplace_back(value(static_cast<std::size_t>(i)));
    }
    return values;
  }
  std::complex<double> p(std::size_t i) const { return std::complex<double>(pressure_[i]); }
  std::complex<double> v(std::size_t i) const { return std::complex<double>(velocity_[i]); }
  [[nodiscard]] double relative_l2() const {
    const Comparison comparison = compare_with_truth(capture_, images_);
    EXPECT_EQ(comparison.images.size(), 1U) << "one plane, one frequency";
    return comparison.overall.metrics.back().worst;
  }
  [[nodiscard]] std::string refusal() const {
    try {
      (void)compare_with_truth(capture_, images_);
    } catch (const DataError& error) {
      return error.what();
    }
    return "";
  }

  test::TemporaryFolder folder_;
  std::string capture_ = folder_ / "c.h5";
  std::string images_ = folder_ / "i.h5";
  Field pressure_ = field_of(0.3);
  Field velocity_ = field_of(-0.2);
};

constexpr double kOfFloat32 = 1e-6;  // rounding of the files' values

TEST_F(CompareWithTruth, ThePhaseOfAWholeImageIsNoError) {
  write_images("pressure", second([&](std::size_t i) { return p(i) * std::polar(1.0, 1.3); }));
  EXPECT_LT(relative_l2(), kOfFloat32);
  write_images("pressure", second([&](std::size_t i) { return p(i) * std::polar(1.1, -2.0); }));
  EXPECT_NEAR(relative_l2(), 0.1, kOfFloat32);
}

TEST_F(CompareWithTruth, EachQuantityHasItsOwn) {
  write_images("normal_velocity", second([&](std::size_t i) { return v(i); }));
  EXPECT_LT(relative_l2(), kOfFloat32);
  write_images("displacement", second([&](std::size_t i) {
                 return v(i) / std::complex<double>(0.0, 2.0 * std::numbers::pi * kTone_hz);
               }));
  EXPECT_LT(relative_l2(), kOfFloat32);
  write_images("active_intensity", second([&](std::size_t i) { return (p(i) * std::conj(v(i))).real() / 2.0; }));
  EXPECT_LT(relative_l2(), kOfFloat32);
  write_images("active_intensity", second([&](std::size_t i) { return -(p(i) * std::conj(v(i))).real() / 2.0; }));
  EXPECT_NEAR(relative_l2(), 2.0, kOfFloat32) << "the sign of an intensity is no phase";
}

TEST_F(CompareWithTruth, WhatIsNotThereIsNamed) {
  write_images("pressure", second([&](std::size_t i) { return p(i); }), -0.01);
  EXPECT_THAT(refusal(), HasSubstr("a plane at z = 0"));
  write_images("active_intensity", second([&](std::size_t i) { return p(i); }));
  write_capture(pressure_, {});
  EXPECT_THAT(refusal(), HasSubstr("/truth/normal_velocity"));
}

// Files of spectra may have a truth, too.
TEST_F(CompareWithTruth, OfAFileOfSpectra) {
  SpectraFile file;
  file.measurement = {.geometry = kGeometry, .standoff_m = 0.03};
  file.frames = 1;
  file.frequencies_hz = {500.0, kTone_hz};
  file.spectra.assign(2 * static_cast<std::size_t>(kGeometry.channels()), {1.0F, 0.0F});
  capture_ = folder_ / "s.h5";
  write_images("pressure", second([&](std::size_t i) { return 1.1 * p(i); }));
  write_spectra(capture_, file);
  EXPECT_THAT(refusal(), HasSubstr("found none"));
  write_spectra(capture_, file,
                Truth{.frequencies_hz = file.frequencies_hz,
                      .pressure = pressure_,
                      .normal_velocity = {},
                      .aperture_pressure = {},
                      .sources = {}});
  EXPECT_NEAR(relative_l2(), 0.1, kOfFloat32);
}

TEST_F(CompareWithTruth, ATolerance) {
  write_images("pressure", second([&](std::size_t i) { return 1.1 * p(i); }));
  const Comparison comparison = compare_with_truth(capture_, images_);
  EXPECT_EQ(beyond_tolerance(comparison, 0.11), std::nullopt);
  EXPECT_THAT(beyond_tolerance(comparison, 0.09).value_or(""), HasSubstr("frame 0 has a relative L2 of 0.1, expected"));
  write_images("pressure", Field(static_cast<std::size_t>(kGeometry.channels()), {std::nanf(""), 0.0F}));
  EXPECT_THAT(beyond_tolerance(compare_with_truth(capture_, images_), 0.09).value_or(""), HasSubstr("nothing finite"));
}

}  // namespace
}  // namespace nearfield
