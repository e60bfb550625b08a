#include "core/system/terminal.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <string_view>

namespace nearfield {
namespace {

std::string_view environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string_view() : std::string_view(value);
}

}  // namespace

bool can_redraw(int descriptor) { return isatty(descriptor) == 1 && environment("TERM") != "dumb"; }

bool takes_colours(int descriptor) { return can_redraw(descriptor) && environment("NO_COLOR").empty(); }

TextSize terminal_size(int descriptor) {
  constexpr TextSize kUsual{.columns = 80, .lines = 24};
  winsize size{};
  if (ioctl(descriptor, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0) {
    return kUsual;
  }
  return {.columns = size.ws_col, .lines = size.ws_row};
}

}  // namespace nearfield
