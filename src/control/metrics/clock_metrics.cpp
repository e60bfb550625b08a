#include "control/metrics/clock_metrics.hpp"

#include <functional>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>

#include "core/system/clocks.hpp"

namespace nearfield::control {

nlohmann::json clock_status() {
  std::string why;
  const std::optional<ClockState> state = read_clock_state(&why);
  if (!state) {
    return {{"synchronised", nullptr},
            {"most_error_s", nullptr},
            {"likely_error_s", nullptr},
            {"tai_offset_s", nullptr},
            {"text", why}};
  }
  return {{"synchronised", state->is_synchronised},
          {"most_error_s", state->most_error_s},
          {"likely_error_s", state->likely_error_s},
          {"tai_offset_s", state->tai_offset_s},
          {"text", ""}};
}

void add_clock_metrics(Metrics& metrics) {
  const auto add = [&metrics](const char* name, const char* help, std::function<double(const ClockState&)> value) {
    metrics.add_reader(name, help, [value = std::move(value)] {
      const std::optional<ClockState> state = read_clock_state();
      return state ? value(*state) : std::numeric_limits<double>::quiet_NaN();
    });
  };
  add("clock_synchronised", "1 while the kernel counts the system's clock as synchronised; NaN: not known",
      [](const ClockState& state) { return state.is_synchronised ? 1.0 : 0.0; });
  add("clock_most_error_seconds", "Bound of the clock's error against UTC (maxerror); NaN: not known",
      [](const ClockState& state) { return state.most_error_s; });
  add("clock_likely_error_seconds", "The clock's error as the program that sets it estimates it; NaN: not known",
      [](const ClockState& state) { return state.likely_error_s; });
  add("clock_tai_offset_seconds", "TAI - UTC as the kernel has it, 0 where no program set it; NaN: not known",
      [](const ClockState& state) { return static_cast<double>(state.tai_offset_s); });
}

}  // namespace nearfield::control
