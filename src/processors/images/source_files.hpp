#pragma once
#include <memory>

#include "imaging/operators/prior.hpp"
#include "processors/processor.hpp"

namespace nearfield {

/// Sources of the prior of operators that a processor's settings name by a path: places, or templates, which are
/// linear between the frequencies of their file. Null where they name none. Throws ConfigError where templates are of
/// another array, do not reach a frequency or say more of noise than of their source, and what reading throws.
std::shared_ptr<const OperatorSources> read_sources(const ProcessorPlan& plan, const OperatorSettings& operators);

}  // namespace nearfield
