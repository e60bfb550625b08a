#include "config/schema/pages.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <utility>
#include <vector>

#include "config/schema/processor_kinds.hpp"
#include "config/schema/section.hpp"
#include "core/daemon_settings.hpp"

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

Every key of a configuration, with its default and its values. `nearfield settings --markdown` prints this page, `nearfield settings` the same as a file
([config/nearfield.yaml](../../config/nearfield.yaml)), `nearfield settings --json` for programs, and `nearfield settings --schema` a JSON Schema: with
`# yaml-language-server: $schema=nearfield.schema.json` as the first line of a configuration beside that file, editors with the YAML language server
complete keys and mark what is wrong.

Nearfield reads a configuration with `-c FILE`; `--set KEY=VALUE` overrides one key of it. An unknown key or a wrong value is an error.
`version: 1` may stand before all keys. Relative paths count from the configuration's folder. A running daemon follows a change by
`nearfield ctl set` or `nearfield ctl reload`, as far as its source's ring holds its windows; for keys and sections marked *restart* it has to be
started again.
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

/// Text in Markdown: no emphasis where it has asterisks.
std::string plain(const std::string& text) {
  std::string escaped;
  for (const char character : text) {
    if (character == '*') {
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

/// Settings that the page has described, so that it only names the same ones of another section.
struct Described {
  std::string group;                                                 ///< in which settings are described now
  std::map<std::string, std::pair<std::string, std::string>> where;  ///< key in the group and text: group, default
};

/// Sections whose settings others have too: the first processor's, and those of each kind.
bool is_group(const std::string& path) {
  return path == "holography" || (path.starts_with("processors.") && std::ranges::count(path, '.') == 1);
}

/// The part of a key that sections of unlike groups have in common.
std::string text_in_group(const std::string& key, const Section::Entry& entry) {
  return fmt::format("{}: {}: {}", key, values_of(entry.facts), entry.meaning);
}

/// Group in which a setting stands, or a section's settings with the same defaults and no others; empty if there is
/// none.
std::string group_of(const Section::Entry& entry, const std::string& key, const Described& described) {
  if (described.group.empty()) {
    return "";
  }
  if (!entry.section) {
    const auto found = described.where.find(text_in_group(key, entry));
    return found == described.where.end() ? "" : found->second.first;
  }
  std::string group;
  const std::vector<NamedSetting> settings = all_settings(*entry.section);
  for (const NamedSetting& setting : settings) {
    const auto found = described.where.find(text_in_group(key + '.' + setting.key, *setting.entry));
    if (found == described.where.end() || found->second.second != shown_value(*setting.entry) ||
        (!group.empty() && group != found->second.first)) {
      return "";
    }
    group = found->second.first;
  }
  const auto there = std::ranges::count_if(
      described.where, [&](const auto& one) { return one.first.starts_with(key + '.') && one.second.first == group; });
  return there == std::ssize(settings) ? group : "";
}

/// "`kind` (`sonah`)": the key, with its default where that of the group is another one.
std::string named(const Section::Entry& entry, const std::string& key, const Described& described) {
  if (entry.section || described.where.at(text_in_group(key, entry)).second == shown_value(entry)) {
    return fmt::format("`{}`", entry.key);
  }
  return fmt::format("`{}` (`{}`)", entry.key, shown_value(entry));
}

std::string line_of(const Section::Entry& entry, Effect above) {
  return fmt::format("- `{}` (`{}`; {}): {}{}\n", entry.key, shown_value(entry), plain(values_of(entry.facts)),
                     plain(entry.meaning),
                     above == Effect::kLive && entry.effect == Effect::kRestart ? "; *restart*" : "");
}

std::string heading_of(const std::string& name, const std::string& meaning, Effect effect) {
  const std::string_view mark = effect == Effect::kRestart ? "*restart*" : "";
  const std::string_view space = meaning.empty() || mark.empty() ? "" : " ";
  const std::string text = fmt::format("{}{}{}", plain(meaning), space, mark);
  return fmt::format("\n## {}\n{}", name, text.empty() ? "" : fmt::format("\n{}\n", text));
}

std::string joined(const std::string& path, const std::string& key) { return path.empty() ? key : path + '.' + key; }

/// Writes a section's settings at `path`, whose key in its group is `key`, and its subsections.
void write_section(const Section& section, const std::string& path, const std::string& key, Effect above,
                   Described& described, std::string& out) {
  std::map<std::string, std::string> as_of;  // section of another group: names of settings
  std::string lines;
  std::vector<const Section::Entry*> sections;
  for (const Section::Entry& entry : section.entries()) {
    const std::string below = joined(key, entry.key);
    if (const std::string group = group_of(entry, below, described); !group.empty()) {
      std::string& names = as_of[key.empty() ? group : joined(group, key)];
      names += (names.empty() ? "" : ", ") + named(entry, below, described);
    } else if (entry.section) {
      sections.push_back(&entry);
    } else {
      lines += line_of(entry, above);
      if (!described.group.empty()) {
        described.where.try_emplace(text_in_group(below, entry), described.group, shown_value(entry));
      }
    }
  }
  for (const auto& [other, names] : as_of) {
    out += fmt::format("\nAs of {}: {}.\n", other, names);
  }
  out += lines.empty() ? "" : '\n' + lines;
  for (const Section::Entry* entry : sections) {
    const std::string name = joined(path, entry->key);
    const Effect effect = above == Effect::kRestart ? above : entry->effect;
    const std::string outer = described.group;
    described.group = is_group(name) ? name : outer;
    out += heading_of(name, entry->meaning, effect);
    write_section(*entry->section, name, outer.empty() ? "" : joined(key, entry->key), effect, described, out);
    described.group = outer;
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
  Described described;
  write_section(describe(defaults), "", "", Effect::kLive, described, out);
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
