#pragma once
#include <cmath>
#include <cstdint>
#include <string_view>
#include <vector>

namespace nearfield {

/// The bytes and operations that a stage needs at least, in one launch of a plan's batch: what it reads and writes
/// once, however often it really does. Complex multiply-adds count 8, transforms of N points 5 N lg N, every population
/// count, mask, shift and addition one.
struct StageWork {
  std::string_view stage;  ///< as ocl::Recorder names it, "front_end/popcount/slide"
  double bytes = 0.0;
  double operations = 0.0;
};
/// Of one kind of front end or processor; stages that are not in it have no known work.
using WorkModel = std::vector<StageWork>;

namespace work {

inline constexpr double kFloat = sizeof(float);  ///< bytes, as the next two
inline constexpr double kComplex = 2 * sizeof(float);
inline constexpr double kWord = sizeof(std::uint32_t);
inline constexpr double kComplexMultiply = 6.0;  ///< operations, as the next one
inline constexpr double kMultiplyAdd = 8.0;

/// Operations of a complex transform.
inline double transform_operations(double points) { return 5.0 * points * std::log2(points); }

}  // namespace work
}  // namespace nearfield
