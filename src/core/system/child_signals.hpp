#pragma once

#include <spawn.h>

namespace nearfield {

/// Gives a child that posix_spawn starts with `attributes` the default handling of signals: a daemon blocks some and
/// ignores others.
void use_default_signals(posix_spawnattr_t& attributes);

}  // namespace nearfield
