#pragma once
#include <cmath>
#include <complex>

namespace nearfield {

/// True if neither part is NaN or infinite.
template <class Real>
bool is_finite(std::complex<Real> value) {
  return std::isfinite(value.real()) && std::isfinite(value.imag());
}

}  // namespace nearfield
