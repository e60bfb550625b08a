#pragma once

#include <spawn.h>

namespace nearfield {

/// Has a child that posix_spawn starts with `attributes` meet signals as a new program does: a daemon blocks some and
/// ignores others.
void use_default_signals(posix_spawnattr_t& attributes);

}  // namespace nearfield
