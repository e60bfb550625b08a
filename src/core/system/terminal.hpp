#pragma once

namespace nearfield {

/// Whether a line that was written there can be replaced by the next one: a terminal, and none that calls itself dumb.
bool can_redraw(int descriptor);

/// False where NO_COLOR is set to anything but nothing (no-color.org), and where can_redraw() is.
bool takes_colours(int descriptor);

/// Characters and lines of a text.
struct TextSize {
  int columns = 0;
  int lines = 0;
};

/// Of the terminal at a file descriptor; 80 x 24 where it is none, or does not say.
TextSize terminal_size(int descriptor);

}  // namespace nearfield
