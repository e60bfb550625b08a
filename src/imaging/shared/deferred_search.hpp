#pragma once
#include <functional>
#include <memory>

#include "imaging/shared/search.hpp"

namespace nearfield {

using MakeSearch = std::function<std::unique_ptr<Search>()>;

/// A search that is constructed at its first search(), on the thread of that call: a start does not wait for its
/// models, which take tenths of a second. `make` owns what it needs, and does not return null. If it throws, so does
/// search(), and the next call tries again.
std::unique_ptr<Search> defer_search(MakeSearch make);

}  // namespace nearfield
