#pragma once
#include <string>
#include <string_view>

namespace nearfield {

/// The path that stands for standard input in load_yaml().
inline constexpr std::string_view kStandardInput = "-";

/// What standard input holds, read by the first call and kept for all later ones.
const std::string& standard_input_text();

/// For a process whose own standard input is something else: the text that standard_input_text() returns. To be called
/// before that.
void give_standard_input(std::string text);

/// Has standard input of this process, and of those that it starts from now on, hold `text`. Throws IoError.
void put_on_standard_input(const std::string& text);

}  // namespace nearfield
