#include "core/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace nearfield {
namespace {

/// True for the control characters U+0080 to U+009F, two bytes in UTF-8, which terminals interpret like ESC sequences.
bool is_late_control(std::string_view text, std::size_t at) {
  return text[at] == '\xc2' && at + 1 < text.size() && static_cast<unsigned char>(text[at + 1]) >= 0x80U &&
         static_cast<unsigned char>(text[at + 1]) < 0xa0U;
}

}  // namespace

std::string printable(std::string_view text, LineEnds line_ends) {
  std::string shown;
  shown.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (text[i] == '\n') {
      shown += line_ends == LineEnds::kKept ? "\n" : "\\n";
    } else if (text[i] == '\t') {
      shown += "\\t";
    } else if (byte < 0x20U || byte == 0x7fU) {
      shown += fmt::format("\\x{:02x}", byte);
    } else if (is_late_control(text, i)) {
      shown += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[++i]));
    } else {
      shown += text[i];
    }
  }
  return shown;
}

std::string shown_text(std::string_view text) {
  constexpr std::size_t kMostShown = 60;
  std::size_t length = std::min(text.size(), kMostShown);
  while (length < text.size() && length > 0 && (static_cast<unsigned char>(text[length]) & 0xC0U) == 0x80U) {
    --length;  // not inside a UTF-8 sequence
  }
  return printable(text.substr(0, length)) + (length < text.size() ? "..." : "");
}

double without_rounding(double length_m) {
  constexpr double kRounding_m = 1e-12;
  return std::abs(length_m) < kRounding_m ? 0.0 : length_m;
}

std::string text_of_extent(std::span<const double> xyz_m) {
  constexpr std::array kNames = {"x", "y", "z"};
  std::string text;
  for (std::size_t axis = 0; axis < kNames.size(); ++axis) {
    double least = std::numeric_limits<double>::infinity();
    double most = -least;
    for (std::size_t i = axis; i < xyz_m.size(); i += kNames.size()) {
      least = std::min(least, xyz_m[i]);
      most = std::max(most, xyz_m[i]);
    }
    text += fmt::format("{}{:.6g} to {:.6g} m in {}", axis == 0 ? "" : ", ", without_rounding(least),
                        without_rounding(most), kNames[axis]);
  }
  return text;
}

std::string FileTextStyle::operator()(std::string_view text) const {
  return is_shown_ ? "\"" + shown_text(text) + "\"" : "other text";
}

std::string message_for_owner(const std::exception& error) {
  const auto* const of_file = dynamic_cast<const FileTextError*>(&error);
  return of_file != nullptr ? of_file->for_owner() : error.what();
}

}  // namespace nearfield
