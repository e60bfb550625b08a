#pragma once
#include <functional>
#include <memory>

#include "imaging/search.hpp"

namespace nearfield {

using MakeSearch = std::function<std::unique_ptr<Search>()>;

/// A search that is made when it first searches, on the thread that does: a start does not wait for its models, which
/// take tenths of a second. `make` owns what it needs, and returns no null. Where it throws, so does search(), which
/// tries again the next time.
std::unique_ptr<Search> defer_search(MakeSearch make);

}  // namespace nearfield
