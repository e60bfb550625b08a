#include "ring/phase_rotation.hpp"

#include <fmt/format.h>

#include <cmath>
#include <numbers>

#include "core/error.hpp"

namespace nearfield::ring {
namespace {

__extension__ using Wide = unsigned __int128;

/// f/F by long division, one fractional bit at a time. Doubling a fraction below 1 and subtracting 1 are exact.
Wide share_of_bit_rate(double frequency_hz, std::uint32_t bit_rate_hz) {
  double whole = 0.0;
  double fraction = std::modf(frequency_hz, &whole);
  auto rest = static_cast<std::uint64_t>(whole);
  Wide quotient = 0;
  for (int bit = 0; bit < 128; ++bit) {
    fraction *= 2.0;
    const bool carry = fraction >= 1.0;
    fraction -= carry ? 1.0 : 0.0;
    rest = 2 * rest + (carry ? 1 : 0);
    const bool one = rest >= bit_rate_hz;
    rest -= one ? bit_rate_hz : 0;
    quotient = (quotient << 1U) | (one ? 1U : 0U);
  }
  return quotient;
}

}  // namespace

TonePhase::TonePhase(double frequency_hz, std::uint32_t bit_rate_hz) {
  if (!(frequency_hz >= 0.0 && frequency_hz < bit_rate_hz)) {
    throw ConfigError(fmt::format("phase reference: expected frequencies from 0 Hz to {} Hz, found {} Hz", bit_rate_hz,
                                  frequency_hz));
  }
  const Wide step = share_of_bit_rate(frequency_hz, bit_rate_hz);
  step_high_ = static_cast<std::uint64_t>(step >> 64U);
  step_low_ = static_cast<std::uint64_t>(step);
}

std::uint64_t TonePhase::turns(std::uint64_t bit_time) const {
  const auto below = static_cast<std::uint64_t>((static_cast<Wide>(step_low_) * bit_time) >> 64U);
  return step_high_ * bit_time + below;
}

std::complex<float> TonePhase::to_stream(std::uint64_t bit_time) const {
  // The signed view keeps small angles exact: -half a turn to half a turn.
  const double turn = std::ldexp(static_cast<double>(static_cast<std::int64_t>(turns(bit_time))), -64);
  const double angle = -2.0 * std::numbers::pi * turn;
  return {static_cast<float>(std::cos(angle)), static_cast<float>(std::sin(angle))};
}

}  // namespace nearfield::ring
