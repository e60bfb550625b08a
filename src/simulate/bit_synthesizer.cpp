#include "simulate/bit_synthesizer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <numbers>

#include "core/error.hpp"
#include "core/numerics.hpp"

namespace nearfield {
namespace {

constexpr double kOutOfBandGain = 1.5;

/// A stable modulator's quantiser input stays below 1.3 (order 4, peaks up to 0.5), 3.3 (order 2, 0.316) or 18 (order
/// 2, 0.95); an unstable loop passes any bound.
constexpr double kRunaway = 64.0;

/// Bit-times between checks for a runaway. An unstable loop grows by less than a factor of 3 per bit, so nothing
/// overflows.
constexpr std::size_t kBitsPerCheck = 64;

/// |B(w)| of the fourth-order Butterworth polynomial, which is the noise transfer function's gain at half the bit rate
/// when w is the pre-warped cut-off: a pole s of the analogue filter maps to (1 + s)/(1 - s), and 2/(1 + z) = 1 - s.
double butterworth_polynomial(double w) {
  using std::numbers::pi;
  return (w * w + 2 * std::sin(pi / 8) * w + 1) * (w * w + 2 * std::sin(3 * pi / 8) * w + 1);
}

double solve_cutoff() {
  double low = 0.0;
  double high = 1.0;
  for (int step = 0; step < 100; ++step) {
    const double middle = (low + high) / 2;
    (butterworth_polynomial(middle) < kOutOfBandGain ? low : high) = middle;
  }
  return low;
}

std::array<double, 5> butterworth_denominator(double cutoff) {
  std::array<std::complex<double>, 5> product{1.0};
  for (int pole = 0; pole < 4; ++pole) {
    const std::complex<double> s = std::polar(cutoff, std::numbers::pi * (2 * pole + 5) / 8);
    const std::complex<double> z = (1.0 + s) / (1.0 - s);
    for (std::size_t i = 4; i > 0; --i) {
      product[i] -= z * product[i - 1];
    }
  }
  std::array<double, 5> denominator{};
  std::transform(product.begin(), product.end(), denominator.begin(), [](auto value) { return value.real(); });
  return denominator;
}

}  // namespace

NoiseTransfer noise_transfer(SigmaDeltaOrder order) {
  if (order == SigmaDeltaOrder::kSecond) {
    return {{1, -2, 1, 0, 0}, {1, 0, 0, 0, 0}};
  }
  return {{1, -4, 6, -4, 1}, butterworth_denominator(solve_cutoff())};
}

double stable_peak(SigmaDeltaOrder order) { return order == SigmaDeltaOrder::kSecond ? 0.9 : 0.5; }

SigmaDelta32::SigmaDelta32(SigmaDeltaOrder order, std::uint64_t seed, std::uint64_t first_lane) : order_(order) {
  constexpr std::size_t kWarmUpBits = 512;
  constexpr double kWarmUpPeak = 0.25;
  const NoiseTransfer transfer = noise_transfer(order);
  for (std::size_t i = 0; i < 4; ++i) {
    forward_[i] = transfer.numerator[i + 1] - transfer.denominator[i + 1];
    backward_[i] = transfer.denominator[i + 1];
  }
  std::array<double, kWarmUpBits * kLanes> past;
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    RandomStream random(seed, first_lane + lane);
    for (std::size_t bit = 0; bit < kWarmUpBits; ++bit) {
      past[bit * kLanes + lane] = kWarmUpPeak * random.uniform();
    }
  }
  std::array<std::uint32_t, kWarmUpBits> words;
  modulate(past, words);
}

std::uint32_t SigmaDelta32::step(const double* input, Lanes& largest) {
  std::array<std::uint64_t, kLanes> bits;
  if (order_ == SigmaDeltaOrder::kSecond) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      const double y = input[lane] + state_[0][lane];
      const double error = std::copysign(1.0, y) - y;
      state_[0][lane] = state_[1][lane] - 2 * error;
      state_[1][lane] = error;
      largest[lane] = std::max(largest[lane], std::abs(y));
      bits[lane] = y >= 0 ? std::uint64_t{1} << lane : 0U;
    }
  } else {
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      const double shaped = state_[0][lane];
      const double y = input[lane] + shaped;
      const double error = std::copysign(1.0, y) - y;
      state_[0][lane] = state_[1][lane] + forward_[0] * error - backward_[0] * shaped;
      state_[1][lane] = state_[2][lane] + forward_[1] * error - backward_[1] * shaped;
      state_[2][lane] = state_[3][lane] + forward_[2] * error - backward_[2] * shaped;
      state_[3][lane] = forward_[3] * error - backward_[3] * shaped;
      largest[lane] = std::max(largest[lane], std::abs(y));
      bits[lane] = y >= 0 ? std::uint64_t{1} << lane : 0U;
    }
  }
  std::uint64_t word = 0;
  for (const std::uint64_t bit : bits) {
    word |= bit;
  }
  return static_cast<std::uint32_t>(word);
}

void SigmaDelta32::clear_runaways(const Lanes& largest) {
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    if (!(largest[lane] < kRunaway)) {
      ++resets_[lane];
      for (Lanes& state : state_) {
        state[lane] = 0.0;
      }
    }
  }
}

void SigmaDelta32::modulate(std::span<const double> input, std::span<std::uint32_t> words) {
  for (std::size_t begin = 0; begin < words.size(); begin += kBitsPerCheck) {
    const std::size_t end = std::min(begin + kBitsPerCheck, words.size());
    alignas(64) Lanes largest{};
    for (std::size_t bit_time = begin; bit_time < end; ++bit_time) {
      words[bit_time] = step(input.data() + bit_time * kLanes, largest);
    }
    clear_runaways(largest);
  }
}

namespace {

constexpr std::size_t kLanes = SigmaDelta32::kLanes;
constexpr std::size_t kBlockBits = 256;  // times 32 lanes of doubles: 64 KiB, within the second-level cache

/// First random streams of a seed; the modulators use 0 .. channels - 1.
constexpr std::uint64_t kOffsetStream = 1U << 20;
constexpr std::uint64_t kNoiseStream = 2U << 20;

using Lanes = std::array<double, kLanes>;

}  // namespace

/// The 32 microphones of a word.
struct BitSynthesizer::Group {
  SigmaDelta32 modulators;
  std::array<int, kLanes> channels{};  // kSpareBit for unused lanes
  std::uint32_t live_mask = 0;
  Lanes offsets{};
  Lanes peaks{};
  alignas(64) std::array<std::uint64_t, kLanes> noise_states{};
};

/// e^{j 2 pi f t} of one tone over a block, computed for each bit-time from its own phase, so that no error
/// accumulates.
struct BitSynthesizer::Carrier {
  std::array<double, kBlockBits> cosine;
  std::array<double, kBlockBits> sine;

  Carrier(double cycles_per_bit, std::uint64_t first_bit_time, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      const double cycles = cycles_per_bit * static_cast<double>(first_bit_time + i);
      const double angle = 2 * std::numbers::pi * (cycles - std::floor(cycles));
      cosine[i] = std::cos(angle);
      sine[i] = std::sin(angle);
    }
  }
};

WireLayout default_layout(const ArrayGeometry& geometry) {
  return geometry.rows == 32 && geometry.columns == 32 ? WireLayout::kSoramaCam : WireLayout::kRowMajor;
}

std::vector<int> OverloadReport::overloaded_channels() const {
  std::vector<int> channels;
  for (std::size_t channel = 0; channel < peaks.size(); ++channel) {
    if (peaks[channel] > stable_peak || resets[channel] > 0) {
      channels.push_back(static_cast<int>(channel));
    }
  }
  return channels;
}

std::string describe(const OverloadReport& report) {
  const std::vector<int> channels = report.overloaded_channels();
  if (channels.empty()) {
    return "";
  }
  const auto worst = std::max_element(report.peaks.begin(), report.peaks.end());
  return fmt::format(
      "{} of {} microphones go beyond {:.1f} dBFS, where the modulator is stable: highest peak {:.1f} dBFS at channel "
      "{}",
      channels.size(), report.peaks.size(), 20 * std::log10(report.stable_peak), 20 * std::log10(*worst),
      worst - report.peaks.begin());
}

BitSynthesizer::BitSynthesizer(const BitSynthesizerSettings& settings)
    : settings_(settings),
      words_per_bit_time_(nearfield::words_per_bit_time(settings.layout, settings.geometry)),
      // A uniform deviate on [-1, 1) has a variance of 1/3.
      noise_scale_(settings.noise_rms * std::sqrt(3 * settings.sample_rate_hz / 2 / kNoiseBandHz)),
      input_(kBlockBits * kLanes),
      group_words_(kBlockBits) {
  std::vector<bool> dead(static_cast<std::size_t>(settings.geometry.channels()), false);
  for (const int channel : settings.dead_channels) {
    if (channel < 0 || channel >= settings.geometry.channels()) {
      throw ConfigError(
          fmt::format("dead channels: expected 0 to {}, found {}", settings.geometry.channels() - 1, channel));
    }
    dead[static_cast<std::size_t>(channel)] = true;
  }
  const std::vector<int> channels = channel_of_wire_bit(settings.layout, settings.geometry);
  for (std::size_t first = 0; first < channels.size(); first += kLanes) {
    Group group{.modulators = SigmaDelta32(settings.order, settings.seed, first)};
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      const int channel = channels[first + lane];
      group.channels[lane] = channel;
      if (channel == kSpareBit || dead[static_cast<std::size_t>(channel)]) {
        continue;
      }
      const auto number = static_cast<std::uint64_t>(channel);
      group.live_mask |= 1U << lane;
      group.offsets[lane] = settings.dc_offset_range * RandomStream(settings.seed, kOffsetStream + number).uniform();
      group.noise_states[lane] = RandomStream(settings.seed, kNoiseStream + number).next() | 1U;
    }
    groups_.push_back(group);
  }
}

BitSynthesizer::~BitSynthesizer() = default;
BitSynthesizer::BitSynthesizer(BitSynthesizer&&) noexcept = default;
BitSynthesizer& BitSynthesizer::operator=(BitSynthesizer&&) noexcept = default;

void BitSynthesizer::fill_tones(const Group& group, std::span<const ArrayTone> tones,
                                std::span<const Carrier> carriers) {
  for (std::size_t i = 0; i < group_words_.size(); ++i) {
    std::copy(group.offsets.begin(), group.offsets.end(), input_.begin() + static_cast<std::ptrdiff_t>(i * kLanes));
  }
  for (std::size_t tone = 0; tone < tones.size(); ++tone) {
    alignas(64) Lanes in_phase{};
    alignas(64) Lanes quadrature{};
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      if ((group.live_mask >> lane & 1U) != 0) {
        const std::complex<double> phasor = tones[tone].phasors[static_cast<std::size_t>(group.channels[lane])];
        in_phase[lane] = phasor.real();
        quadrature[lane] = phasor.imag();
      }
    }
    for (std::size_t i = 0; i < group_words_.size(); ++i) {
      const double cosine = carriers[tone].cosine[i];
      const double sine = carriers[tone].sine[i];
      double* input = input_.data() + i * kLanes;
      for (std::size_t lane = 0; lane < kLanes; ++lane) {
        input[lane] += in_phase[lane] * cosine - quadrature[lane] * sine;
      }
    }
  }
}

void BitSynthesizer::fill_samples(const Group& group, std::span<const float> samples) {
  const auto channels = static_cast<std::size_t>(settings_.geometry.channels());
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    if ((group.live_mask >> lane & 1U) == 0) {
      continue;
    }
    const auto channel = static_cast<std::size_t>(group.channels[lane]);
    for (std::size_t i = 0; i < group_words_.size(); ++i) {
      input_[i * kLanes + lane] += static_cast<double>(samples[i * channels + channel]);
    }
  }
}

/// Uniform deviates from xorshift64 (G. Marsaglia, J. Stat. Softw. 8(14), 2003), one generator per lane: white, and
/// normal after any narrow filter. Normal deviates would cost several times as much as the modulators.
void BitSynthesizer::add_noise(Group& group) {
  constexpr std::uint64_t kOneToTwo = 0x3FF0000000000000U;
  for (std::size_t i = 0; i < group_words_.size(); ++i) {
    double* input = input_.data() + i * kLanes;
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      std::uint64_t x = group.noise_states[lane];
      x ^= x << 13;
      x ^= x >> 7;
      x ^= x << 17;
      group.noise_states[lane] = x;
      const double deviate = std::bit_cast<double>(x >> 12 | kOneToTwo) - 1.5;
      input[lane] += 2 * noise_scale_ * deviate;
    }
  }
}

void BitSynthesizer::update_peaks(Group& group) const {
  for (std::size_t i = 0; i < group_words_.size(); ++i) {
    const double* input = input_.data() + i * kLanes;
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      group.peaks[lane] = std::max(group.peaks[lane], std::abs(input[lane]));
    }
  }
}

void BitSynthesizer::generate(std::uint64_t first_bit_time, std::span<const ArrayTone> tones,
                              std::span<const float> samples, std::span<std::uint32_t> words) {
  const auto stride = static_cast<std::size_t>(words_per_bit_time_);
  const auto channels = static_cast<std::size_t>(settings_.geometry.channels());
  const std::size_t bit_times = words.size() / stride;
  for (std::size_t begin = 0; begin < bit_times; begin += kBlockBits) {
    const std::size_t count = std::min(kBlockBits, bit_times - begin);
    group_words_.resize(count);
    std::vector<Carrier> carriers;
    carriers.reserve(tones.size());
    for (const ArrayTone& tone : tones) {
      carriers.emplace_back(tone.frequency_hz / settings_.sample_rate_hz, first_bit_time + begin, count);
    }
    for (std::size_t word = 0; word < groups_.size(); ++word) {
      Group& group = groups_[word];
      fill_tones(group, tones, carriers);
      if (!samples.empty()) {
        fill_samples(group, samples.subspan(begin * channels, count * channels));
      }
      if (noise_scale_ > 0) {
        add_noise(group);
      }
      update_peaks(group);
      group.modulators.modulate(std::span(input_).first(count * kLanes), group_words_);
      for (std::size_t i = 0; i < count; ++i) {
        words[(begin + i) * stride + word] = group_words_[i] & group.live_mask;
      }
    }
  }
}

OverloadReport BitSynthesizer::report() const {
  const auto channels = static_cast<std::size_t>(settings_.geometry.channels());
  OverloadReport report{std::vector<double>(channels), std::vector<std::uint64_t>(channels),
                        stable_peak(settings_.order)};
  for (const Group& group : groups_) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      if ((group.live_mask >> lane & 1U) != 0) {
        report.peaks[static_cast<std::size_t>(group.channels[lane])] = group.peaks[lane];
        report.resets[static_cast<std::size_t>(group.channels[lane])] = group.modulators.resets()[lane];
      }
    }
  }
  return report;
}

}  // namespace nearfield
