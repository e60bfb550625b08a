#pragma once
#include <functional>

namespace nearfield::daemon {

/// Main function of `nearfieldd --warm`, which WarmProcess starts: reads a WarmRequest from standard input, loads the
/// settings and every file that they name, reports that, waits for a byte at kGoOnDescriptor, makes an epoch like the
/// daemon, and reports that; one line of JSON each on standard output. Compiled kernels remain in the caches on disk.
/// `fault`, if any, is called before the epoch is made. Returns an exit code.
int run_warm_child(const std::function<void()>& fault);

}  // namespace nearfield::daemon
