#pragma once
#include <cmath>
#include <cstdint>
#include <string_view>
#include <vector>

namespace nearfield {

/// Minimum bytes and operations of a stage, in one launch of a plan's batch: each input and output counts once, however
/// often it is accessed. Complex multiply-adds count 8, transforms of N points 5 N lg N, every population count, mask,
/// shift and addition one.
struct StageWork {
  std::string_view stage;  ///< name as in ocl::Recorder, "front_end/popcount/slide"
  double bytes = 0.0;
  double operations = 0.0;
};
/// Work of one kind of front end or processor; stages not listed have no known work.
using WorkModel = std::vector<StageWork>;

namespace work {

inline constexpr double kFloat = sizeof(float);  ///< in bytes, like the next two
inline constexpr double kComplex = 2 * sizeof(float);
inline constexpr double kWord = sizeof(std::uint32_t);
inline constexpr double kComplexMultiply = 6.0;  ///< in operations, like the next one
inline constexpr double kMultiplyAdd = 8.0;

/// Operations per complex transform.
inline double transform_operations(double points) { return 5.0 * points * std::log2(points); }

}  // namespace work
}  // namespace nearfield
