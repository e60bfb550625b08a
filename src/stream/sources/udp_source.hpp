#pragma once
#include <memory>

#include "stream/source.hpp"

namespace nearfield {

/// Receives packets "NFB1" in batches, into preallocated buffers.
std::unique_ptr<Source> make_udp_source(const SourceSettings& settings);

}  // namespace nearfield
