#pragma once
#include <span>

namespace nearfield {

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
