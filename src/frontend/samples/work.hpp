#pragma once
#include "frontend/common/work.hpp"

namespace nearfield::work {

/// Work of the ring of bits and the decimator of SampleSource.
WorkModel decimator(const FrontEndSizes& s);

}  // namespace nearfield::work
