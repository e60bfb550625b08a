#include "config/device_choice.hpp"

#include <fmt/format.h>

#include "nearfield/error.hpp"

namespace nearfield {

void choose_device(DeviceSettings& device, const std::string& text) {
  if (text.empty()) {
    return;
  }
  const bool number_only = text.find_first_not_of("0123456789") == std::string::npos;
  const std::size_t colon = text.rfind(':');
  const std::string name = number_only ? "" : text.substr(0, colon);
  const std::string index = number_only ? text : (colon == std::string::npos ? "" : text.substr(colon + 1));
  if (index.find_first_not_of("0123456789") != std::string::npos || index.size() > 4) {
    throw UsageError(fmt::format("--device: expected INDEX, NAME or NAME:INDEX, found \"{}\"", text));
  }
  device.platform = name.empty() ? device.platform : name;
  device.index = index.empty() ? 0 : std::stoi(index);
}

}  // namespace nearfield
