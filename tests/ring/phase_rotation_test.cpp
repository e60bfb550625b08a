#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "core/error.hpp"
#include "ring/frame_encoder.hpp"
#include "ring/ring_support.hpp"
#include "support/images.hpp"

namespace nearfield::ring {
namespace {

/// frac(f t / F) for a whole frequency, by integers alone, in units of 2^-64 turns.
std::uint64_t exact_turns(std::uint64_t frequency_hz, std::uint64_t bit_time, std::uint32_t bit_rate_hz) {
  __extension__ using Wide = unsigned __int128;
  const Wide rest = static_cast<Wide>(frequency_hz) * bit_time % bit_rate_hz;
  return static_cast<std::uint64_t>((rest << 64U) / bit_rate_hz);
}

TEST(TonePhase, IsExactAfterAnyTime) {
  for (const std::uint32_t bit_rate_hz : {kBitRate_hz, 1'000'000U, 1'638'400U, 6'144'000U}) {
    for (const std::uint64_t frequency_hz : {0ULL, 1ULL, 997ULL, 1000ULL, 23437ULL, 749'999ULL}) {
      const TonePhase phase(static_cast<double>(frequency_hz), bit_rate_hz);
      for (const std::uint64_t bit_time : {0ULL, 1ULL, 32ULL, 1'500'000ULL, 1ULL << 40U, (1ULL << 63U) - 1, ~0ULL}) {
        // The step is cut at 2^-128, so turns() lies at most one unit below.
        const std::uint64_t difference = exact_turns(frequency_hz, bit_time, bit_rate_hz) - phase.turns(bit_time);
        EXPECT_LE(difference, 1U) << frequency_hz << " Hz at " << bit_time;
      }
    }
  }
}

TEST(TonePhase, KeepsAllDigitsOfAFrequency) {
  // 1007.08 Hz is no whole multiple of anything; 2^60 bit-times more must turn it as the exact rational says.
  const double frequency_hz = 1007.0813;
  const auto scaled = static_cast<std::uint64_t>(std::ldexp(frequency_hz, 43));  // exact: 53 bits, below 2^10
  ASSERT_EQ(std::ldexp(static_cast<double>(scaled), -43), frequency_hz);
  __extension__ using Wide = unsigned __int128;
  const std::uint64_t bit_time = (1ULL << 60U) + 12345;
  // f t / F mod 1 = (scaled t mod F 2^43) / (F 2^43)
  const Wide modulus = static_cast<Wide>(kBitRate_hz) << 43U;
  const Wide rest = static_cast<Wide>(scaled) * bit_time % modulus;
  const double expected = static_cast<double>(rest) / static_cast<double>(modulus);
  const double found = std::ldexp(static_cast<double>(TonePhase(frequency_hz).turns(bit_time)), -64);
  EXPECT_NEAR(found, expected, 1e-15);  // both are rounded to double once
}

TEST(TonePhase, RefusesWhatIsNoTone) {
  EXPECT_THROW(TonePhase(-1.0), ConfigError);
  EXPECT_THROW(TonePhase(1.5e6), ConfigError);
  EXPECT_THROW(TonePhase(std::nan("")), ConfigError);
}

std::span<const float> payload_of(const FrameEncoder& encoder) { return values_of<float>(encoder.payload()); }

/// A steady tone's phasor, as the front ends give it, stands still in the stream's reference, months after the start.
TEST(PhaseReferenceTest, SteadyToneStandsStill) {
  const ImagesHeader header = test::ring_header(2, 1, 2);
  FrameEncoder window(result_header(header), 1, PhaseReference::kWindow);
  FrameEncoder stream(result_header(header), 1, PhaseReference::kStream);
  test::TestFrame frame(header);
  const std::complex<double> amplitude = std::polar(0.25, 0.7);
  double turned = 0.0;
  for (std::uint64_t hop = 0; hop < 50; ++hop) {
    frame.make(hop);
    frame.frame.first_bit_time = (1ULL << 62U) + 77 + 1024 * hop;
    for (std::size_t f = 0; f < 2; ++f) {
      // 500 Hz and 750.25 Hz: 4 f is whole, so that the tone's phase is known by integers.
      const auto quarter_hz = static_cast<std::uint64_t>(4.0 * header.frequencies_hz[f]);
      __extension__ using Wide = unsigned __int128;
      const auto rest = static_cast<std::uint64_t>(static_cast<Wide>(quarter_hz) * frame.frame.first_bit_time %
                                                   (4 * std::uint64_t{kBitRate_hz}));
      const double angle = 2.0 * std::numbers::pi * static_cast<double>(rest) / (4.0 * kBitRate_hz);
      const std::complex<double> phasor = amplitude * std::polar(1.0, angle);
      frame.images.images[2 * f] = frame.images.images[2 * f + 1] = std::complex<float>(phasor);
    }
    window.take(frame.frame);
    stream.take(frame.frame);
    const std::size_t first = 8;  // four values for each of two frequencies come before the images
    for (std::size_t i = 0; i < 4; ++i) {
      const auto at = [&](const FrameEncoder& encoder) {
        const std::complex<float> value(payload_of(encoder)[first + 2 * i], payload_of(encoder)[first + 2 * i + 1]);
        return std::complex<double>(value);
      };
      EXPECT_LT(std::abs(at(stream) - amplitude), 1e-7);  // four roundings of 2^-25 of 0.25
      turned = std::max(turned, std::abs(at(window) - amplitude));
    }
  }
  EXPECT_GT(turned, 0.4);  // without it the phasor goes round
}

TEST(PhaseReferenceTest, PointsTurnWithTheirFrequency) {
  const ImagesHeader header = test::ring_header_with_points();
  FrameEncoder window(result_header(header), 1, PhaseReference::kWindow);
  FrameEncoder stream(result_header(header), 1, PhaseReference::kStream);
  test::TestFrame frame(header);
  frame.make(9);
  for (std::size_t i = 0; i < frame.images.points.size(); ++i) {
    // Its image's first pixel: 3 points and 12 pixels for each plane and frequency.
    frame.images.points[i] = frame.images.images[i / 3 * 12];
  }
  window.take(frame.frame);
  stream.take(frame.frame);
  const std::size_t points = 8;
  const std::size_t images = points + 2 * frame.images.points.size();
  for (std::size_t i = 0; i < frame.images.points.size(); ++i) {
    for (std::size_t part = 0; part < 2; ++part) {
      EXPECT_EQ(payload_of(stream)[points + 2 * i + part], payload_of(stream)[images + 2 * (i / 3 * 12) + part]);
    }
    EXPECT_NE(payload_of(stream)[points + 2 * i], payload_of(window)[points + 2 * i]);
  }
}

// They are real: turning them would only spoil them.
TEST(PhaseReferenceTest, IntensitiesHaveNoPhase) {
  ImagesHeader header = test::ring_header(2, 1, 2);
  header.quantity = "active_intensity";
  FrameEncoder stream(result_header(header), 1, PhaseReference::kStream);
  test::TestFrame frame(header);
  stream.take(frame.make(9));
  const std::size_t first = 10;  // the radiated power of two frequencies too comes before the images
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(payload_of(stream)[first + 2 * i], test::expected_value(9, i).re);
    EXPECT_EQ(payload_of(stream)[first + 2 * i + 1], test::expected_value(9, i).im);
  }
}

// The frequency may be any axis of a product; what has none, or no complex values, stays as it is.
TEST(PhaseReferenceTest, TurnsComplexProductsAlongTheirFrequency) {
  ResultHeader header;
  header.processor = "modes";
  header.axes = {{.name = "mode", .unit = "1", .values = {1.0, 2.0, 3.0}},
                 {.name = "frequency", .unit = "Hz", .values = {500.0, 750.25}}};
  header.products = {
      {.name = "amplitude", .quantity = "modal amplitude", .unit = "m/s", .axes = {"mode", "frequency"}},
      {.name = "shape", .quantity = "modal shape", .unit = "1", .axes = {"mode"}},
      {.name = "level", .quantity = "level", .unit = "dB", .type = ElementType::kFloat32, .axes = {"frequency"}}};
  const std::vector<std::complex<float>> amplitudes = {{1, 2}, {3, 4}, {5, 6}, {7, 8}, {9, 10}, {11, 12}};
  const std::vector<std::complex<float>> shapes = {{1, 2}, {3, 4}, {5, 6}};
  const std::vector<float> levels = {1, 2};
  const std::vector<std::span<const std::byte>> products = {
      std::as_bytes(std::span(amplitudes)), std::as_bytes(std::span(shapes)), std::as_bytes(std::span(levels))};
  Frame frame;
  frame.first_bit_time = 777;
  frame.products = products;
  FrameEncoder stream(header, 1, PhaseReference::kStream);
  stream.take(frame);
  const auto turned = values_of<std::complex<float>>(stream.payload());
  for (std::size_t i = 0; i < amplitudes.size(); ++i) {
    const std::complex<float> expected =
        amplitudes[i] * TonePhase(header.axes[1].values[i % 2]).to_stream(frame.first_bit_time);
    EXPECT_LT(std::abs(turned[i] - expected), 1e-5F) << i;  // roundings of values up to 16
  }
  EXPECT_GT(std::abs(turned[0] - amplitudes[0]), 0.1F);
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    EXPECT_EQ(turned[amplitudes.size() + i], shapes[i]);
  }
  EXPECT_EQ(payload_of(stream)[18], 1.0F);
  EXPECT_EQ(payload_of(stream)[19], 2.0F);
}

}  // namespace
}  // namespace nearfield::ring
