#include <spdlog/spdlog.h>

#include "cli/command.hpp"

namespace nearfield::cli {

void say_waiting(double wait_s) { spdlog::info("waiting for nearfieldd, at most {:g} s", wait_s); }

}  // namespace nearfield::cli
