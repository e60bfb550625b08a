// Spectral errors of popcount against the true field, for bits of simulated modulators.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <complex>
#include <numbers>

#include "frontend/front_end.hpp"
#include "frontend/front_end_reference.hpp"
#include "frontend/popcount/settings.hpp"
#include "simulate/bit_synthesizer.hpp"
#include "simulate/fields.hpp"

namespace nearfield {
namespace {

using ComplexD = std::complex<double>;
using ComplexF = std::complex<float>;

constexpr double kPi = std::numbers::pi;
constexpr std::size_t kWindow = 1024;

/// Two point sources of unlike strength and phase, behind the array and off its axis, 3 cm from its plane and more. The
/// rms over the microphones of the peak amplitude is `level_dbfs` below full scale.
std::vector<ComplexD> field_of(const ArrayGeometry& geometry, double frequency_hz, double level_dbfs) {
  const std::array<Monopole, 2> sources = {Monopole{{-0.13, 0.07, 0.0}, 1.0},
                                           Monopole{{0.21, -0.16, -0.05}, std::polar(0.7, 1.9)}};
  const Tonal tonal{frequency_hz, {}};
  std::vector<ComplexD> values;
  double squares = 0.0;
  for (int row = 0; row < geometry.rows; ++row) {
    for (int column = 0; column < geometry.columns; ++column) {
      ComplexD sum = 0.0;
      for (const Monopole& source : sources) {
        sum += monopole_field(source, tonal, {geometry.x_m(column), geometry.y_m(row), 0.03}).pressure_pa;
      }
      values.push_back(sum);
      squares += std::norm(sum);
    }
  }
  const double rms = std::sqrt(squares / static_cast<double>(values.size()));
  for (ComplexD& value : values) {
    value *= std::pow(10.0, level_dbfs / 20.0) / rms;
  }
  return values;
}

struct Sound {
  SigmaDeltaOrder modulator = SigmaDeltaOrder::kSecond;
  double level_dbfs = -32.0;
  double frequency_hz = 1007.08;
};

/// A capture of one window, and what it should give.
struct Capture {
  explicit Capture(const Sound& sound) : truth{sound.frequency_hz, field_of({}, sound.frequency_hz, sound.level_dbfs)} {
    BitSynthesizer synthesizer({.order = sound.modulator, .seed = 7});
    wire.resize(kWindow * kBitsPerWord * static_cast<std::size_t>(synthesizer.words_per_bit_time()));
    synthesizer.generate(0, std::span<const ArrayTone>(&truth, 1), {}, wire);
  }
  ArrayTone truth;
  std::vector<std::uint32_t> wire;
};

FrontEndPlan plan_of(const Sound& sound, std::string_view kind, int order = 1) {
  FrontEndPlan plan;
  plan.settings.kind = kind;
  plan.settings.frequencies_hz = {sound.frequency_hz};
  plan.settings.own.edit<PopcountSettings>().order = order;
  return plan;
}

double relative_error(const std::vector<ComplexD>& found, const std::vector<ComplexD>& truth) {
  double difference = 0.0;
  double norm = 0.0;
  for (std::size_t i = 0; i < truth.size(); ++i) {
    difference += std::norm(found[i] - truth[i]);
    norm += std::norm(truth[i]);
  }
  return std::sqrt(difference / norm);
}

/// ||found - truth|| / ||truth|| over the microphones.
double error_of(const FrontEndPlan& plan, const Capture& capture) {
  const ocl::Device device = ocl::Device::open({});
  const auto front_end = make_front_end(device, plan);
  const auto output = device.allocate<ComplexF>(capture.truth.phasors.size(), "test");
  const auto status = device.upload<std::uint32_t>(std::vector<std::uint32_t>(4, 0U), "test");
  front_end->enqueue_bits(0, capture.wire);
  front_end->enqueue_spectra(0, output, status);
  EXPECT_EQ(device.download(status, "test").at(0), 0U);
  std::vector<ComplexD> found;
  for (const ComplexF& value : device.download(output, "test")) {
    found.push_back(ComplexD(value) / full_scale_pa(plan.sensitivity_dbfs));
  }
  return relative_error(found, capture.truth.phasors);
}

/// The hann-windowed DFT of all bits.
double error_of_all_bits(const Capture& capture) {
  const std::size_t channels = capture.truth.phasors.size();
  const std::vector<int> wire_bits = wire_bit_of_channel(WireLayout::kSoramaCam, {});
  const std::size_t wire_words = capture.wire.size() / (kWindow * kBitsPerWord);
  const double bits = static_cast<double>(kWindow * kBitsPerWord);
  std::vector<ComplexD> sums(channels, 0.0);
  for (std::size_t t = 0; t < kWindow * kBitsPerWord; ++t) {
    const auto time = static_cast<double>(t);
    const ComplexD factor = std::polar((0.5 - 0.5 * std::cos(2.0 * kPi * time / bits)) * 4.0 / bits,
                                       -2.0 * kPi * capture.truth.frequency_hz / kBitRateHz * time);
    for (std::size_t channel = 0; channel < channels; ++channel) {
      const auto bit = static_cast<std::size_t>(wire_bits[channel]);
      const bool is_one = ((capture.wire[t * wire_words + bit / 32] >> (bit % 32)) & 1U) != 0;
      sums[channel] += is_one ? factor : -factor;
    }
  }
  return relative_error(sums, capture.truth.phasors);
}

class PopcountAccuracy : public ::testing::TestWithParam<std::tuple<SigmaDeltaOrder, double, double>> {};

// Limits of the issue, at -32 dBFS: 0.05 % for orders 1 and 2 at 1 and 2 kHz, 1.5 % for order 2 at 10 kHz. Frequencies
// are those of bins 22, 44 and 218, so that the FFT's front end sees the same.
TEST_P(PopcountAccuracy, AgainstTheTrueField) {
  const auto [modulator, level_dbfs, frequency_hz] = GetParam();
  const double bin_hz = kBitRateHz / kBitsPerWord / kWindow;
  const Sound sound{modulator, level_dbfs, std::round(frequency_hz / bin_hz) * bin_hz};
  const Capture capture(sound);
  std::array<double, 3> errors{};
  for (int order = 0; order < 3; ++order) {
    FrontEndPlan plan = plan_of(sound, "popcount", order);
    errors.at(static_cast<std::size_t>(order)) = error_of(plan, capture);
    plan.settings.own.edit<PopcountSettings>().transform = WordTransform::kFft;
    const double by_fft = error_of(plan, capture);
    EXPECT_NEAR(by_fft, errors.at(static_cast<std::size_t>(order)), 2e-6) << "float32 and nothing else";
  }
  fmt::print(
      "order {} modulator, {} dBFS, {:.0f} Hz: popcount 0 / 1 / 2 {:.3f} / {:.4f} / {:.4f} %, decimated_fft {:.4f} "
      "%, all bits {:.4f} %\n",
      static_cast<int>(modulator), level_dbfs, frequency_hz, 100.0 * errors[0], 100.0 * errors[1], 100.0 * errors[2],
      100.0 * error_of(plan_of(sound, "decimated_fft"), capture), 100.0 * error_of_all_bits(capture));
  if (level_dbfs < -40.0) {
    return;  // printed only, but for the agreement above
  }
  if (frequency_hz < 5000.0) {
    EXPECT_LT(errors[1], 5e-4);
    EXPECT_LT(errors[2], 5e-4);
  } else {
    EXPECT_LT(errors[2], 0.015);
  }
  EXPECT_GT(errors[0], errors[1]) << "basic averaging lets the modulators' noise through";
}

INSTANTIATE_TEST_SUITE_P(Levels, PopcountAccuracy,
                         ::testing::Combine(::testing::Values(SigmaDeltaOrder::kSecond, SigmaDeltaOrder::kFourth),
                                            ::testing::Values(-32.0, -46.0),
                                            ::testing::Values(1000.0, 2000.0, 10000.0)));

// Tones between two bins, every channel with its own phase, the window at word 96: amplitude and phase are those at the
// window's first bit. The error is the modulators' own at this level (about -100 dBFS) and, in order 1, the noise that
// the expansion lets through.
TEST(PopcountAccuracyOfTones, AmplitudeAndPhaseAreThoseAtTheFirstBit) {
  constexpr double kAmplitude = 0.3;
  constexpr std::size_t kFirst = 96;
  const ArrayGeometry geometry{.rows = 4, .columns = 8};
  for (const SigmaDeltaOrder modulator : {SigmaDeltaOrder::kSecond, SigmaDeltaOrder::kFourth}) {
    for (const double frequency_hz : {321.0, 1234.5, 3010.0}) {
      ArrayTone tone{frequency_hz, {}};
      std::vector<ComplexD> expected;
      for (int channel = 0; channel < geometry.channels(); ++channel) {
        tone.phasors.push_back(std::polar(kAmplitude, 0.4 * channel));
        const double turns = frequency_hz * static_cast<double>(kFirst * kBitsPerWord) / kBitRateHz;
        expected.push_back(tone.phasors.back() * std::polar(1.0, 2.0 * kPi * turns));
      }
      BitSynthesizer synthesizer(
          {.layout = WireLayout::kRowMajor, .geometry = geometry, .order = modulator, .seed = 3});
      std::vector<std::uint32_t> wire((kFirst + kWindow) * kBitsPerWord);
      synthesizer.generate(0, std::span<const ArrayTone>(&tone, 1), {}, wire);
      FrontEndPlan plan = plan_of({.frequency_hz = frequency_hz}, "popcount");
      plan.geometry = geometry;
      plan.layout = WireLayout::kRowMajor;
      const auto front_end = reference::make_front_end(plan);
      front_end->push_bits(0, wire);
      const ocl::Device device = ocl::Device::open({});
      const auto on_device = make_front_end(device, plan);
      const auto output = device.allocate<ComplexF>(expected.size(), "test");
      const auto status = device.upload<std::uint32_t>(std::vector<std::uint32_t>(4, 0U), "test");
      on_device->enqueue_bits(0, wire);
      on_device->enqueue_spectra(kFirst, output, status);
      std::vector<ComplexD> found;
      for (const ComplexF& value : device.download(output, "test")) {
        found.push_back(ComplexD(value) / full_scale_pa(plan.sensitivity_dbfs));
      }
      std::vector<ComplexD> of_reference;
      for (const ComplexD& value : front_end->spectra(kFirst)) {
        of_reference.push_back(value / full_scale_pa(plan.sensitivity_dbfs));
      }
      fmt::print("order {} modulator, {} Hz: tone off by {:.2g}, reference {:.2g}\n", static_cast<int>(modulator),
                 frequency_hz, relative_error(found, expected), relative_error(of_reference, expected));
      EXPECT_LT(relative_error(found, expected), 5e-4);
      EXPECT_LT(relative_error(of_reference, expected), 5e-4);
    }
  }
}

}  // namespace
}  // namespace nearfield
