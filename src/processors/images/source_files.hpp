#pragma once
#include <memory>

#include "imaging/operators/prior.hpp"
#include "processors/processor.hpp"

namespace nearfield {

/// Reads the sources for the prior of operators that a processor's settings name by path: positions, or templates,
/// interpolated linearly between the frequencies of their file. Null if the settings name none. Throws ConfigError
/// where templates are for another array, do not cover a frequency or contain more noise than source, and what reading
/// throws.
std::shared_ptr<const OperatorSources> read_sources(const ProcessorPlan& plan, const OperatorSettings& operators);

}  // namespace nearfield
