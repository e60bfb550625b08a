#pragma once
#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <span>

namespace nearfield {

/// True if neither part is NaN or infinite.
template <class Real>
bool is_finite(std::complex<Real> value) {
  return std::isfinite(value.real()) && std::isfinite(value.imag());
}

/// Solves A x = b in place, A [row][column] symmetric and positive definite: its lower half becomes its Cholesky
/// factor, its upper half is not read, `values` is b and becomes x. Small systems only; the order of the sums is fixed,
/// so that results are identical to the bit wherever this is compiled without contraction.
void solve_cholesky(std::span<double> matrix, std::span<double> values);

/// A node of a Gauss-Legendre rule on [0, 1].
struct GaussNode {
  double position;
  double weight;
};

/// The rule that resolves a smooth integrand whose phase turns by `phase_rad` over the interval, to about 1e-10. Phases
/// above 100 rad get the largest rule: cut such an interval first.
std::span<const GaussNode> gauss_rule(double phase_rad);

/// Largest phase, in radians, that one interval of gauss_rule() resolves.
inline constexpr double kMaxGaussPhase = 100.0;

/// True when n = 2^a 3^b 5^c 7^d, the lengths that every FFT here takes.
bool is_fft_length(int n);
/// The smallest such length not below n.
int next_fft_length(int n);

/// splitmix64 (G. Steele, D. Lea, C. Flood, OOPSLA 2014): a small generator whose results, unlike those of <random>'s
/// distributions, do not depend on the standard library.
class RandomStream {
 public:
  /// Streams with different numbers are independent.
  RandomStream(std::uint64_t seed, std::uint64_t stream) : state_(seed) {
    state_ = next() + stream * 0xD1B54A32D192ED03U;
  }

  std::uint64_t next() {
    state_ += 0x9E3779B97F4A7C15U;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
    return z ^ (z >> 31);
  }

  /// Uniform on [-1, 1).
  double uniform() { return static_cast<double>(next() >> 11) * 0x1p-52 - 1.0; }

 private:
  std::uint64_t state_;
};

}  // namespace nearfield
