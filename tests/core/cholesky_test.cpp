#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "core/numerics.hpp"

namespace nearfield {
namespace {

// The inverse of the matrix of min(i, j), i and j from 1, is tridiagonal: 2 on the diagonal, 1 at its end, -1 beside
// it.
TEST(Cholesky, SolvesWhatIsKnown) {
  for (const std::size_t n : {1U, 2U, 7U, 16U}) {
    std::vector<double> matrix(n * n, std::numeric_limits<double>::quiet_NaN());  // the upper half is not read
    std::vector<double> values;
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j <= i; ++j) {
        matrix[i * n + j] = static_cast<double>(j + 1);
      }
      values.push_back(std::sin(1.0 + static_cast<double>(i)));
    }
    const std::vector<double> b = values;
    solve_cholesky(matrix, values);
    for (std::size_t i = 0; i < n; ++i) {
      const double before = i > 0 ? b[i - 1] : 0.0;
      const double expected = i + 1 < n ? 2.0 * b[i] - before - b[i + 1] : b[i] - before;
      EXPECT_NEAR(values[i], expected, 1e-12) << "condition number 4 n^2, of " << n;
    }
  }
}

}  // namespace
}  // namespace nearfield
