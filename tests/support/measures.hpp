#pragma once
#include <cmath>
#include <complex>
#include <random>
#include <span>
#include <vector>

namespace nearfield::test {

/// |a - b| / |b|, Euclidean, NaN if anything is not finite.
template <class A, class B>
double relative_l2(const std::vector<std::complex<A>>& a, const std::vector<std::complex<B>>& b) {
  if (a.size() != b.size() || b.empty()) {
    return std::nan("");
  }
  double difference = 0.0;
  double norm = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const std::complex<double> x(static_cast<double>(a[i].real()), static_cast<double>(a[i].imag()));
    const std::complex<double> y(static_cast<double>(b[i].real()), static_cast<double>(b[i].imag()));
    difference += std::norm(x - y);
    norm += std::norm(y);
  }
  return std::sqrt(difference / norm);
}

inline std::vector<std::complex<double>> widen(const std::vector<std::complex<float>>& values) {
  return {values.begin(), values.end()};
}

inline std::vector<std::complex<float>> narrow(const std::vector<std::complex<double>>& values) {
  std::vector<std::complex<float>> out;
  out.reserve(values.size());
  for (const auto& value : values) {
    out.emplace_back(static_cast<float>(value.real()), static_cast<float>(value.imag()));
  }
  return out;
}

}  // namespace nearfield::test
