#include <fmt/format.h>

#include "config/config.hpp"
#include "config/schema/sections.hpp"
#include "config/yaml_text.hpp"

namespace nearfield {
namespace {

void write(const schema::Section& section, const std::string& indent, std::string& out) {
  for (const schema::Section::Entry& entry : section.entries()) {
    if (entry.section && entry.section->entries().empty()) {
      continue;
    }
    if (entry.section) {
      out += fmt::format("{}{}:\n", indent, entry.key);
      write(*entry.section, indent + "  ", out);
    } else {
      out += fmt::format("{}{}: {}\n", indent, entry.key, entry.written());
    }
  }
}

}  // namespace

std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (const char character : text) {
    const auto byte = static_cast<unsigned char>(character);
    if (character == '"' || character == '\\') {
      result += '\\';
      result += character;
    } else if (byte < 0x20U || byte == 0x7FU) {
      result += fmt::format("\\x{:02x}", byte);
    } else {
      result += character;
    }
  }
  return result + '"';
}

std::string to_yaml(const Settings& settings) {
  Settings copy = settings;  // a description is bound to variables that it could change
  std::string out = "version: 1\n";
  write(schema::describe(copy), "", out);
  return out;
}

}  // namespace nearfield
