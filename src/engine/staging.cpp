#include "engine/staging.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.hpp"

namespace nearfield {

PacedStaging::PacedStaging(const ocl::Device& device, std::size_t half_words, std::string_view stage)
    : device_(device), memory_(device.allocate_host<std::uint32_t>(2 * half_words, stage)), half_words_(half_words) {}

std::span<const std::uint32_t> PacedStaging::keep(std::span<const std::uint32_t> wire) {
  if (wire.size() > half_words_) {
    throw Error(ExitCode::kInternal,
                fmt::format("engine: expected at most {} wire words at a time, found {}", half_words_, wire.size()));
  }
  if (used_ + wire.size() > half_words_) {
    fetched_[half_].emplace(device_);
    half_ = 1 - half_;
    used_ = 0;
    if (fetched_[half_]) {
      fetched_[half_]->wait();
    }
  }
  const std::span<std::uint32_t> room = memory_.values().subspan(half_ * half_words_ + used_, wire.size());
  std::copy(wire.begin(), wire.end(), room.begin());
  used_ += wire.size();
  return room;
}

}  // namespace nearfield
