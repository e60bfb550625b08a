#pragma once
#include <functional>
#include <optional>
#include <string>

namespace nearfield::h5 {

/// Calls `read`, which calls HDF5, in a child process that has this one's open files, and returns what it returned.
/// Nothing when the child crashes, uses more than two seconds of processor time, or has not ended after half a minute:
/// libhdf5 1.10.8 does both on damaged strings of variable length. Texts longer than `most_bytes` are nothing, too. Any
/// thread may call. Throws IoError when there can be no child.
std::optional<std::string> text_from_child(const std::function<std::optional<std::string>()>& read,
                                           std::size_t most_bytes);

}  // namespace nearfield::h5
