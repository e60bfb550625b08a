#pragma once
#include <functional>
#include <optional>
#include <string>

namespace nearfield::h5 {

/// Calls `read`, which calls HDF5, in a child process with this one's open files, and returns its result. Returns
/// nothing when the child crashes, uses more than two seconds of processor time, or has not ended after half a minute:
/// libhdf5 1.10.8 does both on damaged strings of variable length. Texts longer than `most_bytes` also give nothing.
/// May be called on any thread. Throws IoError when no child can be created.
std::optional<std::string> text_from_child(const std::function<std::optional<std::string>()>& read,
                                           std::size_t most_bytes);

}  // namespace nearfield::h5
