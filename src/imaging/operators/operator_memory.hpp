#pragma once
#include <cstddef>

#include "imaging/pnah/pnah_plan.hpp"

namespace nearfield {

/// What the imager operators takes, in bytes, with as many modes as microphones, which are fewer in nearly all cases.
struct OperatorMemory {
  double tables_bytes = 0.0;  ///< of all frequencies
  double search_bytes = 0.0;  ///< of the search for point sources, on the host: a basis of each frequency
  double model_bytes = 0.0;   ///< while the model of one frequency is made, in double precision
};
OperatorMemory operator_memory(const PnahPlan& plan, std::size_t sources);

/// What there is of it.
struct OperatorRoom {
  double device_bytes = 0.0;
  double free_bytes = 0.0;  ///< on the host
};

/// Throws ConfigError, with the setting that has to change, where the tables do not fit into the device's memory, or
/// those and one model not into the host's.
void require_memory(const PnahPlan& plan, const OperatorMemory& need, const OperatorRoom& room);

/// How many models are made at the same time: one a processor, as many as `free_bytes` has room for beside the tables.
/// At least 1.
std::size_t models_together(const OperatorMemory& need, std::size_t frequencies, std::size_t processors,
                            double free_bytes);

}  // namespace nearfield
