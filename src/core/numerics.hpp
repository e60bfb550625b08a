#pragma once
#include <cmath>
#include <complex>
#include <cstddef>
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

}  // namespace nearfield
