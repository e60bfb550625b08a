#include "cl/arena.hpp"

#include <fmt/format.h>

namespace nearfield::ocl {
namespace {

/// Alignment of parts of a buffer that is valid on any device.
constexpr std::size_t kPartBytes = 4096;

}  // namespace

void Arena::reserve_bytes(const std::string& name, std::size_t bytes, std::size_t count) {
  places_.emplace(name, Place{.offset = bytes_, .count = count});
  bytes_ += round_up(bytes, kPartBytes);
}

Defines Arena::defines() const {
  Defines defines = {{"HAS_ARENA", "1"}};
  for (const auto& [name, place] : places_) {
    defines[name + "_AT"] = fmt::format("{}ul", place.offset);
  }
  return defines;
}

}  // namespace nearfield::ocl
