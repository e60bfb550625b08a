#include "core/cholesky.hpp"

#include <cmath>

namespace nearfield {
namespace {

void factor(std::span<double> matrix, std::size_t n) {
  for (std::size_t j = 0; j < n; ++j) {
    for (std::size_t i = j; i < n; ++i) {
      double sum = matrix[i * n + j];
      for (std::size_t k = 0; k < j; ++k) {
        sum -= matrix[i * n + k] * matrix[j * n + k];
      }
      matrix[i * n + j] = i == j ? std::sqrt(sum) : sum / matrix[j * n + j];
    }
  }
}

}  // namespace

void solve_cholesky(std::span<double> matrix, std::span<double> values) {
  const std::size_t n = values.size();
  factor(matrix, n);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t k = 0; k < i; ++k) {
      values[i] -= matrix[i * n + k] * values[k];
    }
    values[i] /= matrix[i * n + i];
  }
  for (std::size_t i = n; i-- > 0;) {
    for (std::size_t k = i + 1; k < n; ++k) {
      values[i] -= matrix[k * n + i] * values[k];
    }
    values[i] /= matrix[i * n + i];
  }
}

}  // namespace nearfield
