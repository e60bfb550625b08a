#pragma once
#include <string>
#include <string_view>

namespace nearfield {

/// The path that stands for standard input in load_yaml().
inline constexpr std::string_view kStandardInput = "-";

/// The content of standard input, read by the first call and kept for later ones.
const std::string& standard_input_text();

/// Sets the text that standard_input_text() returns, for a process whose own standard input is something else. Call it
/// first.
void give_standard_input(std::string text);

/// Makes `text` the standard input of this process, and of those that it starts from now on. Throws IoError.
void put_on_standard_input(const std::string& text);

}  // namespace nearfield
