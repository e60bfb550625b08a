#include "config/load_yaml.hpp"

#include <fmt/format.h>
#include <unistd.h>
#include <yaml-cpp/eventhandler.h>

#include <array>
#include <cerrno>
#include <iostream>
#include <optional>
#include <sstream>
#include <system_error>
#include <utility>

#include "config/yaml_reader.hpp"
#include "core/error.hpp"
#include "core/system/files.hpp"

namespace nearfield {
namespace {

constexpr std::size_t kMostBytes = std::size_t{1} << 20U;

/// Position of a tab in the indentation of a line up to the marked one, which YAML forbids and its parsers report
/// badly; empty if there is none.
std::optional<YamlPosition> tab_of_indent(const std::string& text, int last_line) {
  std::size_t begin = 0;
  for (int line = 0; line <= last_line && begin < text.size(); ++line) {
    const std::size_t content = text.find_first_not_of(" \t", begin);
    if (content == std::string::npos) {
      return std::nullopt;
    }
    const std::size_t tab = std::string_view(text).substr(begin, content - begin).find('\t');
    const bool blank = text[content] == '\n' || text[content] == '\r' || text[content] == '#';
    if (!blank && tab != std::string_view::npos) {
      return YamlPosition{.line = line + 1, .column = static_cast<int>(tab) + 1};
    }
    const std::size_t end = text.find('\n', content);
    begin = end == std::string::npos ? text.size() : end + 1;
  }
  return std::nullopt;
}

/// ":LINE:COLUMN"; empty for a text that is not a file.
std::string place_in(const std::string& label, YamlPosition position) {
  return label.starts_with(kOverrideLabel) ? "" : fmt::format(":{}:{}", position.line, position.column);
}

[[noreturn]] void throw_syntax_error(const std::string& text, const std::string& label, const YAML::Exception& error) {
  const YAML::Mark& mark = error.mark;
  const std::optional<YamlPosition> tab = mark.is_null() ? std::nullopt : tab_of_indent(text, mark.line);
  const YamlPosition position = tab.value_or(YamlPosition{.line = mark.line + 1, .column = mark.column + 1});
  throw ConfigError(fmt::format("{}{}: expected YAML, found a syntax error: {}{}", label,
                                mark.is_null() ? "" : place_in(label, position), error.msg,
                                tab ? "; the line is indented by a tab, YAML wants spaces" : ""));
}

/// Parses a document to its end and stores only its position.
class DeafHandler : public YAML::EventHandler {
 public:
  void OnDocumentStart(const YAML::Mark& mark) override { begin_ = {.line = mark.line + 1, .column = mark.column + 1}; }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& /*mark*/, YAML::anchor_t /*anchor*/) override {}
  void OnAlias(const YAML::Mark& /*mark*/, YAML::anchor_t /*anchor*/) override {}
  void OnScalar(const YAML::Mark& /*mark*/, const std::string& /*tag*/, YAML::anchor_t /*anchor*/,
                const std::string& /*value*/) override {}
  void OnSequenceStart(const YAML::Mark& /*mark*/, const std::string& /*tag*/, YAML::anchor_t /*anchor*/,
                       YAML::EmitterStyle::value /*style*/) override {}
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark& /*mark*/, const std::string& /*tag*/, YAML::anchor_t /*anchor*/,
                  YAML::EmitterStyle::value /*style*/) override {}
  void OnMapEnd() override {}
  [[nodiscard]] YamlPosition begin() const { return begin_; }

 private:
  YamlPosition begin_;
};

/// Start of a second document; empty if there is none. YAML::LoadAll would count them, but never returns on text that
/// begins with a comma: it finds empty documents without end.
std::optional<YamlPosition> second_document(const std::string& text) {
  std::istringstream stream(text);
  YAML::Parser parser(stream);
  DeafHandler handler;
  const bool has_two = parser.HandleNextDocument(handler) && parser.HandleNextDocument(handler);
  return has_two ? std::optional(handler.begin()) : std::nullopt;
}

/// Reads at most one byte more than allowed.
std::string read_standard_input() {
  std::string text;
  std::array<char, 65536> chunk{};
  while (text.size() <= kMostBytes) {
    std::cin.read(chunk.data(), chunk.size());
    if (std::cin.gcount() == 0) {
      break;
    }
    text.append(chunk.data(), static_cast<std::size_t>(std::cin.gcount()));
  }
  return text;
}

std::optional<std::string>& kept_standard_input() {
  static std::optional<std::string> text;
  return text;
}

/// Detects a file that was cut off after a key: at the end of a text the parser takes "front_end" without a colon for a
/// key without a value, and the section would silently have its defaults.
void require_colon_of_last_key(const std::string& text, const std::string& label, YAML::Node node) {
  while (node.IsMap() && node.size() > 0) {
    YAML::const_iterator last = node.begin();
    for (YAML::const_iterator next = node.begin(); next != node.end(); ++next) {
      last = next->first.Mark().pos > last->first.Mark().pos ? next : last;
    }
    const YAML::Mark mark = last->first.Mark();
    if (last->second.IsNull() && !mark.is_null() &&
        text.find(':', static_cast<std::size_t>(mark.pos)) == std::string::npos) {
      throw ConfigError(fmt::format("{}{}: expected a colon after the last key, found \"{}\" alone: is the file whole?",
                                    label, place_in(label, {.line = mark.line + 1, .column = mark.column + 1}),
                                    last->first.Scalar()));
    }
    node.reset(last->second);
  }
}

}  // namespace

YAML::Node parse_yaml(const std::string& text, const std::string& label) {
  if (text.size() > kMostBytes) {
    throw ConfigError(fmt::format("{}: expected a YAML file of at most {} bytes, found more", label, kMostBytes));
  }
  try {
    if (const std::optional<YamlPosition> second = second_document(text)) {
      throw ConfigError(
          fmt::format("{}{}: expected one YAML document, found text beyond it", label, place_in(label, *second)));
    }
    YAML::Node node = YAML::Load(text);
    require_colon_of_last_key(text, label, node);
    return node;
  } catch (const YAML::Exception& error) {
    throw_syntax_error(text, label, error);
  }
}

const std::string& standard_input_text() {
  std::optional<std::string>& text = kept_standard_input();
  if (!text) {
    text = read_standard_input();
  }
  return *text;
}

void give_standard_input(std::string text) { kept_standard_input() = std::move(text); }

void put_on_standard_input(const std::string& text) {
  if (dup2(memory_file(text).get(), STDIN_FILENO) < 0) {
    throw IoError(fmt::format("standard input of a process: {}", std::generic_category().message(errno)));
  }
}

YAML::Node load_yaml(const std::string& path) {
  if (path == kStandardInput) {
    return parse_yaml(standard_input_text(), "standard input");
  }
  // At most one byte more than allowed, whatever the path refers to.
  return parse_yaml(read_regular_file(path, "a YAML file", kMostBytes + 1), path);
}

}  // namespace nearfield
