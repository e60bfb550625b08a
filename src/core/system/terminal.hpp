#pragma once

namespace nearfield {

/// True if a line written to the descriptor can be replaced by the next one: a terminal whose TERM is not "dumb".
bool can_redraw(int descriptor);

/// False if NO_COLOR is set and not empty (no-color.org), or can_redraw() is false.
bool takes_colours(int descriptor);

/// Size of a terminal in characters and lines.
struct TextSize {
  int columns = 0;
  int lines = 0;
};

/// Size of the terminal at a file descriptor; 80 x 24 if it is not a terminal or does not report its size.
TextSize terminal_size(int descriptor);

}  // namespace nearfield
