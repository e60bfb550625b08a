#pragma once
#include <string>
#include <vector>

namespace nearfield::control {

/// Everything that is wrong with a configuration of nearfieldd, one message each, as "FILE:LINE: KEY: expected ...,
/// found
/// ..."; none when it is right. Throws NoInputError when the file can't be read. Looks at no device.
std::vector<std::string> configuration_problems(const std::string& path, const std::vector<std::string>& overrides);

}  // namespace nearfield::control
