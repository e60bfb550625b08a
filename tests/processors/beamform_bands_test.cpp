#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <random>

#include "config/schema/processor_kinds.hpp"
#include "core/error.hpp"
#include "processors/beamform_support.hpp"

/// Mean squares of bands in place of maps of single frequencies.
namespace nearfield {
namespace {

using test::Beamformer;
using test::difference_of;

/// Windows come half a window apart: each is a snapshot, and a block.
Beamformer mapping(std::vector<double> frequencies_hz) {
  Beamformer beamformer(6, 8, std::move(frequencies_hz));
  beamformer.settings.front_end.hop_samples = beamformer.settings.front_end.window_samples / 2;
  beamformer.own.average = {.kind = AverageKind::kLinear, .seconds = 1e-6};
  beamformer.own.grid.step_m = 0.13;
  return beamformer;
}

/// Those that a front end of its own computes for the bands.
std::vector<double> bins_of_bands(const std::vector<double>& centres_hz) {
  BeamformSettings own;
  own.third_octave_hz = centres_hz;
  ProcessorSettings processor;
  processor.kind = "beamform";
  processor.own = own.copy();
  return settings_of(Settings(), processor, 46875.0).front_end.frequencies_hz;
}

// IEC 61260-1:2014, 5.2 to 5.5: of base ten, exact mid-band frequencies are 1000 Hz times 10^(n/10) and edges these
// times 10^(-+1/20), so that bands touch; nominal frequencies name them.
TEST(BeamformBands, AreThoseOfTheStandard) {
  BeamformSettings own;
  own.third_octave_hz = {25,  31.5, 40,   50,   63,   80,   100,  125,  160,  200,  250,  315,   400,   500,   630,
                         800, 1000, 1250, 1600, 2000, 2500, 3150, 4000, 5000, 6300, 8000, 10000, 12500, 16000, 20000};
  const std::vector<Band> bands = own.bands_hz();
  ASSERT_EQ(bands.size(), 30U);
  for (int i = 0; i < 30; ++i) {
    const Band& band = bands[static_cast<std::size_t>(i)];
    EXPECT_NEAR(std::sqrt(band.low_hz * band.high_hz) / (1000.0 * std::pow(10.0, (i - 16) / 10.0)), 1.0, 1e-12);
    EXPECT_NEAR(band.high_hz / band.low_hz, std::pow(10.0, 0.1), 1e-12);
    EXPECT_NEAR(i == 0 ? 1.0 : band.low_hz / bands[static_cast<std::size_t>(i) - 1].high_hz, 1.0, 1e-12);
  }
  EXPECT_NEAR(bands[16].low_hz, 891.2509, 1e-4);
  EXPECT_NEAR(bands[16].high_hz, 1122.0185, 1e-4);
}

// Edges are 1000 Hz times 10^((n -+ 1/2)/10): 891.25 to 1122.0 Hz are 19.469 to 24.511 bins of 45.776 Hz, 1412.5 to
// 1778.3 Hz 30.857 to 38.847 bins. A hann window's noise bandwidth is 1.5 bins.
TEST(BeamformBands, AreSumsOfTheMapsOfTheirBins) {
  const std::vector<double> frequencies_hz = bins_of_bands({1000.0, 1600.0});
  ASSERT_EQ(frequencies_hz.size(), 7U + 9U);
  EXPECT_NEAR(frequencies_hz[0], 19 * 46875.0 / 1024.0, 1e-6);
  EXPECT_NEAR(frequencies_hz[7], 31 * 46875.0 / 1024.0, 1e-6);
  const double low = 891.250938 / (46875.0 / 1024.0);
  const double high = 1122.018454 / (46875.0 / 1024.0);
  for (const Method method : {Method::kDas, Method::kCapon}) {
    Beamformer lines = mapping(frequencies_hz);
    lines.own.method = method;
    lines.own.average = {.kind = method == Method::kDas ? AverageKind::kLinear : AverageKind::kNone, .seconds = 1e-6};
    Beamformer bands = lines;
    bands.own.third_octave_hz = {1000.0, 1600.0};
    test::ReferenceMapper reference_of_lines(lines);
    test::ReferenceMapper reference(bands);
    test::DeviceMapper device(bands);
    const ResultHeader header = header_of(bands.places());
    ASSERT_EQ(header.products.size(), 2U);
    EXPECT_EQ(header.products[0].name, "bands");
    EXPECT_EQ(header.products[0].axes.front(), "band");
    EXPECT_EQ(header.axis("frequency"), nullptr);
    EXPECT_EQ(flaw_of(header), "");
    const std::size_t pixels = bands.places().pixels();
    for (unsigned window = 0; window < 8; ++window) {
      const auto field = test::widen(test::narrow(test::busy_field(lines, window)));
      const std::vector<float> maps = reference_of_lines.powers(field);
      const std::vector<float> expected = reference.powers(field);
      const std::vector<float> found = device.powers(field);
      ASSERT_EQ(expected.size(), 2 * pixels);
      if (std::isnan(maps.front())) {  // until there are enough snapshots
        EXPECT_TRUE(std::isnan(found.front()));
        continue;
      }
      EXPECT_LE(difference_of(found, expected), 1e-4);
      for (std::size_t pixel = 0; pixel < pixels; ++pixel) {
        double sum = 0.0;
        for (std::size_t f = 0; f < 7; ++f) {
          const double share = f == 0 ? 19.5 - low : f == 6 ? high - 24.5 : 1.0;
          sum += share * static_cast<double>(maps[f * pixels + pixel]) / 1.5;
        }
        EXPECT_NEAR(static_cast<double>(expected[pixel]) / sum, 1.0, 1e-6);
      }
    }
  }
}

// Bands of the front end come beside the single frequencies, which are the first of the spectra.
TEST(BeamformBands, OfTheFrontEndComeBesideMaps) {
  const double bin_hz = 46875.0 / 1024.0;
  Beamformer beamformer = mapping({44 * bin_hz, 20 * bin_hz, 21 * bin_hz, 22 * bin_hz});
  beamformer.settings.front_end.bands_hz = {{.low_hz = 19.5 * bin_hz, .high_hz = 22.5 * bin_hz}};
  ProcessorPlan plan = beamformer.plan();
  plan.frequencies_hz = {44 * bin_hz};
  const ResultHeader header = header_of(BeamformPlan(plan));
  ASSERT_EQ(header.products.size(), 3U);
  EXPECT_EQ(header.products[0].name, "map");
  EXPECT_EQ(header.axis("frequency")->values, std::vector<double>({44 * bin_hz}));
  EXPECT_EQ(header.axis("band")->values, std::vector<double>({19.5 * bin_hz, 22.5 * bin_hz}));
  const auto reference = processor_entry("beamform").make_reference(plan);
  const std::vector<test::Complex> field = test::busy_field(beamformer, 3U);
  (void)reference->compute(std::array{reference::WindowInput{.spectra = field}});
  const Products products = reference->products({.window = 0}).products;
  const std::size_t pixels = beamformer.places().pixels();
  EXPECT_EQ(products[0].size(), pixels * sizeof(float));
  EXPECT_EQ(products[1].size(), pixels * sizeof(float));
}

TEST(BeamformBands, NeedAllTheirBins) {
  Beamformer beamformer = mapping({1007.08, 1052.86});
  beamformer.own.third_octave_hz = {1000.0};
  EXPECT_THROW((void)beamformer.places(), ConfigError);
  beamformer.rate_hz = 0.0;  // of spectra, which have no bins
  EXPECT_THROW((void)beamformer.places(), ConfigError);
}

}  // namespace
}  // namespace nearfield
