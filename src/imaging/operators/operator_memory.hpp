#pragma once
#include <cstddef>

#include "imaging/shared/image_plan.hpp"

namespace nearfield {

/// Memory of the imager operators, in bytes, with as many modes as samples of microphones; nearly all cases have fewer.
struct OperatorMemory {
  double tables_bytes = 0.0;  ///< for all frequencies
  double search_bytes = 0.0;  ///< for the search for point sources, on the host: a basis per frequency
  double model_bytes = 0.0;   ///< while the model of one frequency is made, in double precision
};
OperatorMemory operator_memory(const ImagePlan& plan, std::size_t sources);

/// Available memory.
struct OperatorRoom {
  double device_bytes = 0.0;
  double free_bytes = 0.0;  ///< on the host
};

/// Throws ConfigError, with the setting that has to change, if the tables do not fit into the device's memory, or the
/// tables and one model not into the host's.
void require_memory(const ImagePlan& plan, const OperatorMemory& need, const OperatorRoom& room);

/// Number of models made at the same time: one per processor, as far as `free_bytes` suffices beside the tables. At
/// least 1.
std::size_t models_together(const OperatorMemory& need, std::size_t frequencies, std::size_t processors,
                            double free_bytes);

}  // namespace nearfield
