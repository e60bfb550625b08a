#include "config/schema/pages.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>
#include <sstream>
#include <vector>

#include "config/schema/processor_kinds.hpp"
#include "config/schema/sections.hpp"
#include "nearfield/daemon_settings.hpp"

namespace nearfield::schema {
namespace {

constexpr std::size_t kCommentColumn = 36;
constexpr std::size_t kLineWidth = 120;

constexpr std::string_view kHeadOfDefaults =
    R"(# Settings of Nearfield, complete, every key at its default, as `nearfield settings` prints them. Leave out what you do
# not want to change; an unknown key is an error. One setting can be overridden on the command line:
# --set holography.standoff_m=0.05
# Lengths are in metres, frequencies in hertz. Rows run downwards and columns to the right, seen from the back of the
# array.
)";

constexpr std::string_view kHeadOfPage = R"(# Settings

Every key of a configuration, with its default. [config/nearfield.yaml](../config/nearfield.yaml) is the same as a file.
`nearfield settings --markdown` prints this page, and `nearfield settings --json` the same for programs. `nearfield settings --schema`
prints a JSON Schema: with `nearfield settings --schema > nearfield.schema.json` and `# yaml-language-server: $schema=nearfield.schema.json`
as the first line of a configuration beside it, editors with the YAML language server complete keys and mark what is wrong.

Nearfield reads a configuration with `-c FILE`; `--set KEY=VALUE` overrides one key of it. An unknown key or a wrong value
is an error. `version: 1` may stand before all keys. A running daemon follows a change of a key marked *live*, by
`nearfield ctl set` or `nearfield ctl reload`, as far as its source's ring holds its windows; for one marked
*restart* it has to be started again.
)";

/// True if only the words are allowed.
bool is_choice(const Facts& facts) { return facts.type == "choice"; }

/// "m, 1e-6 to 100".
std::string measure(const Facts& facts) {
  return fmt::format("{}{}{}", facts.unit, facts.unit.empty() || facts.range.empty() ? "" : ", ", facts.range);
}

/// "hann (periodic) or none".
std::string alternatives(const std::vector<Word>& words) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string_view separator = i == 0 ? "" : i + 1 == words.size() ? " or " : ", ";
    text += fmt::format("{}{}{}", separator, words[i].word,
                        words[i].meaning.empty() ? "" : fmt::format(" ({})", words[i].meaning));
  }
  return text;
}

/// "; off: none": words in addition to other values.
std::string special_words(const Facts& facts) {
  std::string text;
  for (const Word& word : facts.words) {
    text += fmt::format("; {}: {}", word.word, word.meaning);
  }
  return text;
}

/// The current value; texts that need no quotes in YAML have none.
std::string shown_value(const Section::Entry& entry) {
  const std::string value = entry.written();
  const bool may_be_bare = (entry.facts.type == "text" || entry.facts.type == "path") && value.size() > 2;
  const bool is_bare = may_be_bare && std::all_of(value.begin() + 1, value.end() - 1, [](unsigned char character) {
                         return std::isalnum(character) != 0 ||
                                std::string_view("./:_").find(static_cast<char>(character)) != std::string_view::npos;
                       });
  return is_bare && value.front() == '"' ? value.substr(1, value.size() - 2) : value;
}

std::string comment_of(const Section::Entry& entry) {
  const std::string figures = measure(entry.facts);
  return fmt::format("{}{}{}{}", figures, figures.empty() ? "" : "; ", entry.meaning,
                     is_choice(entry.facts) ? ": " + alternatives(entry.facts.words) : special_words(entry.facts));
}

/// Lines of at most `width` characters, broken at spaces.
std::vector<std::string> wrapped(const std::string& text, std::size_t width) {
  std::vector<std::string> lines(1);
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    if (!lines.back().empty() && lines.back().size() + 1 + word.size() > width) {
      lines.emplace_back();
    }
    lines.back() += lines.back().empty() ? word : ' ' + word;
  }
  return lines;
}

/// The lines of a setting: its default, and its meaning as a comment.
std::string annotated(const Section::Entry& entry, const std::string& indent) {
  std::string lines;
  std::string start = fmt::format("{}{}: {}", indent, entry.key, shown_value(entry));
  for (const std::string& line : wrapped(comment_of(entry), kLineWidth - kCommentColumn - 2)) {
    lines += fmt::format("{:<{}}{}# {}\n", start, kCommentColumn, start.size() < kCommentColumn ? "" : "  ", line);
    start.clear();
  }
  return lines;
}

/// A section with its meaning, and all its settings.
std::string annotated(const Section& section, const std::string& indent) {
  std::string lines;
  for (const Section::Entry& entry : section.entries()) {
    if (!entry.section) {
      lines += annotated(entry, indent);
      continue;
    }
    const std::string below = indent + "  ";
    lines += fmt::format("{}{}{}:\n", indent.empty() ? "\n" : "", indent, entry.key);
    for (const std::string& line : wrapped(entry.meaning, kLineWidth - below.size() - 2)) {
      lines += line.empty() ? "" : fmt::format("{}# {}\n", below, line);
    }
    lines += annotated(*entry.section, below);
  }
  return lines;
}

/// Text as a cell of a Markdown table.
std::string cell(const std::string& text) {
  std::string escaped;
  for (const char character : text) {
    if (character == '|' || character == '*') {
      escaped += '\\';
    }
    escaped += character;
  }
  return escaped;
}

std::string values_of(const Facts& facts) {
  if (is_choice(facts)) {
    return alternatives(facts.words);
  }
  const std::string figures = measure(facts);
  return fmt::format("{}{}{}{}", facts.type, figures.empty() ? "" : ", ", figures, special_words(facts));
}

std::string name_of(Effect effect) { return effect == Effect::kLive ? "live" : "restart"; }

void tabulate(const Section& section, const std::string& path, Effect above, std::string& out) {
  constexpr std::string_view kHeader = "\n| key | default | values | meaning | change |\n|---|---|---|---|---|\n";
  bool has_table = false;
  for (const Section::Entry& entry : section.entries()) {
    const Effect effect = above == Effect::kRestart ? above : entry.effect;
    if (entry.section) {
      const std::string name = path.empty() ? entry.key : path + '.' + entry.key;
      out += fmt::format("\n## {}\n", name);
      out += entry.meaning.empty() ? "" : fmt::format("\n{}\n", cell(entry.meaning));
      tabulate(*entry.section, name, effect, out);
      has_table = false;
      continue;
    }
    out += has_table ? "" : kHeader;
    has_table = true;
    out += fmt::format("| `{}` | `{}` | {} | {} | {} |\n", entry.key, shown_value(entry), cell(values_of(entry.facts)),
                       cell(entry.meaning), name_of(effect));
  }
}

nlohmann::ordered_json json_of(const NamedSetting& setting) {
  const Facts& facts = setting.entry->facts;
  const std::string value = setting.entry->written();
  nlohmann::ordered_json one = {{"key", setting.key}, {"type", facts.type}};
  // YAML's numbers, booleans, null, quoted texts and lists of them are JSON; a bare word is not.
  one["default"] =
      nlohmann::ordered_json::accept(value) ? nlohmann::ordered_json::parse(value) : nlohmann::ordered_json(value);
  one["unit"] = facts.unit;
  one["range"] = facts.range;
  const bool is_integral = facts.type.find("integer") != std::string::npos;
  const auto bound = [is_integral](double limit) {
    return is_integral ? nlohmann::ordered_json(static_cast<std::int64_t>(limit)) : nlohmann::ordered_json(limit);
  };
  if (facts.minimum) {
    one[facts.open_minimum ? "exclusive_minimum" : "minimum"] = bound(*facts.minimum);
  }
  if (facts.maximum) {
    one["maximum"] = bound(*facts.maximum);
  }
  one["words"] = nlohmann::ordered_json::array();
  for (const Word& word : facts.words) {
    one["words"].push_back({{"word", word.word}, {"meaning", word.meaning}});
  }
  one["meaning"] = setting.entry->meaning;
  one["effect"] = name_of(setting.effect);
  return one;
}

}  // namespace

Settings with_each_kind() {
  Settings settings;
  for (const ProcessorKind& kind : processor_kinds()) {
    ProcessorSettings processor;
    processor.name = kind.name;
    processor.kind = kind.name;
    processor.own = kind.make();
    settings.processors.push_back(std::move(processor));
  }
  settings.daemon->limits.push_back({.name = "NAME"});
  return settings;
}

std::string annotated_defaults() {
  Settings defaults;
  const std::string version = fmt::format("{:<{}}# of this file's format\n", "version: 1", kCommentColumn);
  return std::string(kHeadOfDefaults) + version + annotated(describe(defaults), "");
}

std::string settings_page() {
  Settings defaults = with_each_kind();
  std::string out(kHeadOfPage);
  tabulate(describe(defaults), "", Effect::kLive, out);
  return out;
}

std::string settings_json() {
  Settings defaults = with_each_kind();
  const Section all = describe(defaults);
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const NamedSetting& setting : all_settings(all)) {
    list.push_back(json_of(setting));
  }
  return list.dump(2) + '\n';
}

}  // namespace nearfield::schema
