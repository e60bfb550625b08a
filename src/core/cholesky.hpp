#pragma once
#include <cstddef>
#include <span>

namespace nearfield {

/// Solves A x = b in place, A [row][column] symmetric and positive definite: its lower half becomes its Cholesky
/// factor, its upper half is not read, `values` is b and becomes x. Small systems only; the order of the sums is fixed,
/// so that results are identical to the bit wherever this is compiled without contraction.
void solve_cholesky(std::span<double> matrix, std::span<double> values);

}  // namespace nearfield
