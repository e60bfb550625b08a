#include "config/device_choice.hpp"

#include <fmt/format.h>

#include <optional>

#include "config/words.hpp"
#include "core/error.hpp"

namespace nearfield {
namespace {

struct DeviceChoice {
  std::string name;   ///< empty: unchanged
  std::string index;  ///< empty: the first
};

/// Empty if the text is not a choice.
std::optional<DeviceChoice> device_choice(const std::string& text) {
  constexpr std::size_t kMostDigits = 4;
  const bool number_only = text.find_first_not_of("0123456789") == std::string::npos;
  const std::size_t colon = text.rfind(':');
  if (colon == 0) {
    return std::nullopt;
  }
  DeviceChoice choice{.name = number_only ? "" : text.substr(0, colon),
                      .index = number_only ? text : (colon == std::string::npos ? "" : text.substr(colon + 1))};
  if (choice.index.find_first_not_of("0123456789") != std::string::npos || choice.index.size() > kMostDigits) {
    return std::nullopt;
  }
  return choice;
}

}  // namespace

void choose_device(DeviceSettings& device, const std::string& text) {
  if (text.empty()) {
    return;
  }
  const std::optional<DeviceChoice> choice = device_choice(text);
  if (!choice) {
    throw UsageError(fmt::format("--device: expected {}, found \"{}\"", kDeviceChoice, text));
  }
  device.platform = choice->name.empty() ? device.platform : choice->name;
  device.index = choice->index.empty() ? 0 : std::stoi(choice->index);
}

std::vector<std::string> device_overrides(const std::string& text) {
  if (text.empty()) {
    return {};
  }
  DeviceSettings device;
  choose_device(device, text);
  std::vector<std::string> overrides = {fmt::format("device.index={}", device.index)};
  if (device.platform != DeviceSettings{}.platform) {
    overrides.push_back("device.platform=" + nearfield::quoted(device.platform));
  }
  return overrides;
}

bool is_device_choice(const std::string& text) { return !text.empty() && device_choice(text).has_value(); }

DeviceSettings device_of(const Settings& settings, const ProcessorSettings& processor) {
  DeviceSettings device = settings.device;
  choose_device(device, processor.device.value_or(""));
  return device;
}

}  // namespace nearfield
