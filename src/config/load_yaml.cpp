#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>

#include <sstream>

#include "config/yaml_reader.hpp"
#include "core/system/regular_file.hpp"
#include "nearfield/error.hpp"

namespace nearfield {
namespace {

constexpr std::size_t kMostBytes = std::size_t{1} << 20U;

/// True when a line up to the marked one is indented by a tab, which YAML forbids and its parsers report badly.
bool has_tab_indent(const std::string& text, int last_line) {
  std::size_t begin = 0;
  for (int line = 0; line <= last_line && begin < text.size(); ++line) {
    const std::size_t content = text.find_first_not_of(" \t", begin);
    if (content == std::string::npos) {
      return false;
    }
    const std::string_view indent = std::string_view(text).substr(begin, content - begin);
    const bool blank = text[content] == '\n' || text[content] == '\r' || text[content] == '#';
    if (!blank && indent.find('\t') != std::string_view::npos) {
      return true;
    }
    const std::size_t end = text.find('\n', content);
    begin = end == std::string::npos ? text.size() : end + 1;
  }
  return false;
}

[[noreturn]] void throw_syntax_error(const std::string& text, const std::string& label, const YAML::Exception& error) {
  const bool placed = !label.starts_with(kOverrideLabel) && !error.mark.is_null();
  const std::string place = placed ? fmt::format(":{}:{}", error.mark.line + 1, error.mark.column + 1) : "";
  const bool tab = !error.mark.is_null() && has_tab_indent(text, error.mark.line);
  throw ConfigError(fmt::format("{}{}: expected YAML, found a syntax error: {}{}", label, place, error.msg,
                                tab ? "; a line is indented by a tab, YAML wants spaces" : ""));
}

/// Parses a document to its end and keeps nothing.
class DeafHandler : public YAML::EventHandler {
 public:
  void OnDocumentStart(const YAML::Mark& /*mark*/) override {}
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
};

/// YAML::LoadAll would count them, but never returns on text that begins with a comma: it finds empty documents without
/// end.
bool holds_several_documents(const std::string& text) {
  std::istringstream stream(text);
  YAML::Parser parser(stream);
  DeafHandler handler;
  return parser.HandleNextDocument(handler) && parser.HandleNextDocument(handler);
}

}  // namespace

YAML::Node parse_yaml(const std::string& text, const std::string& label) {
  if (text.size() > kMostBytes) {
    throw ConfigError(fmt::format("{}: expected a YAML file of at most {} bytes, found more", label, kMostBytes));
  }
  try {
    if (holds_several_documents(text)) {
      throw ConfigError(fmt::format("{}: expected one YAML document, found text beyond it", label));
    }
    return YAML::Load(text);
  } catch (const YAML::Exception& error) {
    throw_syntax_error(text, label, error);
  }
}

YAML::Node load_yaml(const std::string& path) {
  // One byte more than is allowed, whatever the path leads to.
  return parse_yaml(read_regular_file(path, "a YAML file", kMostBytes + 1), path);
}

}  // namespace nearfield
