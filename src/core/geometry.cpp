#include "nearfield/geometry.hpp"

#include <cmath>
#include <numbers>

namespace nearfield {

double full_scale_pa(double sensitivity_dbfs) { return std::numbers::sqrt2 / std::pow(10.0, sensitivity_dbfs / 20.0); }

}  // namespace nearfield
