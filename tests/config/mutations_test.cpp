#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <iostream>
#include <optional>
#include <random>
#include <regex>
#include <sstream>

#include "config/config.hpp"
#include "config/written_file.hpp"
#include "core/error.hpp"
#include "support/places.hpp"

/// Mistakes that people make in configurations, made at random places of the two that ship: each is refused with the
/// file, the line and the column of the key or the value, or means the same as before. The seed decides all of them.
namespace nearfield {
namespace {

constexpr int kMutantsOfAKind = 24;
constexpr std::uint32_t kSeed = 20;

/// A line "  key: value  # comment" of a configuration.
struct Setting {
  std::size_t line = 0;  ///< from 0
  std::string indent;
  std::string key;
  std::string value;  ///< empty: a section
};

class Document {
 public:
  explicit Document(const std::string& name) {
    std::ifstream file(std::string(NEARFIELD_SOURCE_DIR) + "/config/" + name);
    static const std::regex kSetting("^( *)([a-z_0-9]+):(?: +([^ #][^#]*?))? *(?:#.*)?$");
    for (std::string line; std::getline(file, line); lines_.push_back(line)) {
      std::smatch found;
      if (std::regex_match(line, found, kSetting)) {
        settings_.push_back({.line = lines_.size(), .indent = found[1], .key = found[2], .value = found[3]});
      }
    }
  }
  [[nodiscard]] const std::vector<Setting>& settings() const { return settings_; }
  [[nodiscard]] std::string text() const { return joined(lines_); }
  /// With other lines in the place of one.
  [[nodiscard]] std::string with(std::size_t line, const std::string& instead) const {
    std::vector<std::string> lines = lines_;
    lines[line] = instead;
    return joined(lines);
  }
  [[nodiscard]] const std::string& line(std::size_t index) const { return lines_[index]; }
  /// The lines before one, and then that.
  [[nodiscard]] std::string up_to(std::size_t line, const std::string& last) const {
    return joined({lines_.begin(), lines_.begin() + static_cast<std::ptrdiff_t>(line)}) + last;
  }

 private:
  static std::string joined(const std::vector<std::string>& lines) {
    std::string text;
    for (const std::string& line : lines) {
      text += line + "\n";
    }
    return text;
  }
  std::vector<std::string> lines_;
  std::vector<Setting> settings_;
};

struct Mutant {
  std::string text;
  std::size_t line = 0;  ///< where the mistake is, from 1
};

/// Makes a mistake in a setting; nothing where it cannot be made in this one.
using Mutation = std::function<std::optional<Mutant>(const Document&, const Setting&, std::mt19937&)>;

std::size_t pick(std::mt19937& random, std::size_t count) {
  return std::uniform_int_distribution<std::size_t>(0, count - 1)(random);
}

bool is_number(const std::string& text) {
  static const std::regex kNumber("[-+]?[0-9.]+(e[-+]?[0-9]+)?");
  return std::regex_match(text, kNumber);
}

std::string line_of(const Setting& setting, const std::string& key, const std::string& value) {
  return setting.indent + key + ": " + value;
}

Mutant replaced(const Document& document, const Setting& setting, const std::string& line) {
  return {document.with(setting.line, line), setting.line + 1};
}

/// Two letters changed places, one missing, one too many, or a hyphen.
std::optional<Mutant> misspell(const Document& document, const Setting& setting, std::mt19937& random) {
  std::string key = setting.key;
  const std::size_t at = pick(random, key.size());
  switch (pick(random, 4)) {
    case 0:
      std::swap(key[at], key[(at + 1) % key.size()]);
      break;
    case 1:
      key.erase(at, 1);
      break;
    case 2:
      key.insert(at, 1, static_cast<char>('a' + pick(random, 26)));
      break;
    default:
      key.insert(at, 1, '-');
  }
  if (key == setting.key || key.empty() || key.front() == '-') {
    return std::nullopt;
  }
  std::string line = document.line(setting.line);
  return replaced(document, setting, line.replace(setting.indent.size(), setting.key.size(), key));
}

std::optional<Mutant> wrong_type(const Document& document, const Setting& setting, std::mt19937& random) {
  static const std::vector<std::string> kWrong = {"{a: 1}", "[{}]", "three", "12 cm", "0x10", "1,5", "\"7\"", "[[1]]"};
  if (!is_number(setting.value)) {
    return std::nullopt;
  }
  return replaced(document, setting, line_of(setting, setting.key, kWrong[pick(random, kWrong.size())]));
}

std::optional<Mutant> no_number(const Document& document, const Setting& setting, std::mt19937& random) {
  static const std::vector<std::string> kWrong = {".nan", ".inf", "-.inf", "nan", "inf", "1e999", "-1e999", "NaN"};
  if (!is_number(setting.value)) {
    return std::nullopt;
  }
  return replaced(document, setting, line_of(setting, setting.key, kWrong[pick(random, kWrong.size())]));
}

std::optional<Mutant> out_of_range(const Document& document, const Setting& setting, std::mt19937& random) {
  static const std::vector<std::string> kWrong = {"-1e30", "99999999999999999999999999", "-99999999999999999999999999"};
  static const std::regex kUnbounded("above.*|level|tikhonov_lambda|slope");
  if (!is_number(setting.value) || std::regex_match(setting.key, kUnbounded)) {
    return std::nullopt;
  }
  return replaced(document, setting, line_of(setting, setting.key, kWrong[pick(random, kWrong.size())]));
}

std::optional<Mutant> twice(const Document& document, const Setting& setting, std::mt19937& /*random*/) {
  if (setting.value.empty()) {
    return std::nullopt;
  }
  const std::string line = line_of(setting, setting.key, setting.value);
  Mutant mutant = replaced(document, setting, line + "\n" + line);
  ++mutant.line;  // the second one
  return mutant;
}

std::optional<Mutant> tab(const Document& document, const Setting& setting, std::mt19937& /*random*/) {
  if (setting.indent.empty()) {
    return std::nullopt;
  }
  return replaced(document, setting, "\t" + document.line(setting.line).substr(setting.indent.size()));
}

/// Cut off within a key: a file that was copied while it was written.
std::optional<Mutant> truncated(const Document& document, const Setting& setting, std::mt19937& random) {
  const std::string part = setting.indent + setting.key.substr(0, 1 + pick(random, setting.key.size()));
  return Mutant{document.up_to(setting.line, part), setting.line + 1};
}

/// What word processors and web pages make of quotes, spaces and letters.
std::optional<Mutant> foreign_letters(const Document& document, const Setting& setting, std::mt19937& random) {
  static const std::vector<std::string> kLetters = {"\u00a0", "\u200b", "\u0430", "\u00fc", "\u201c", "\xff"};
  std::string key = setting.key;
  key.insert(1 + pick(random, key.size()), kLetters[pick(random, kLetters.size())]);
  std::string line = document.line(setting.line);
  return replaced(document, setting, line.replace(setting.indent.size(), setting.key.size(), key));
}

/// Not in the last line: yaml-cpp takes the file's end for a quotation mark.
std::optional<Mutant> open_bracket(const Document& document, const Setting& setting, std::mt19937& random) {
  static const std::vector<std::string> kOpen = {"[1, 2", "{a: 1", "\"text", "'text", "]", "}", "%", "@x", "`x"};
  if (setting.value.empty() || setting.line == document.settings().back().line) {
    return std::nullopt;
  }
  return replaced(document, setting, line_of(setting, setting.key, kOpen[pick(random, kOpen.size())]));
}

/// One space more or less: in the middle of a section it is an error, of an only key it means the same.
std::optional<Mutant> indented(const Document& document, const Setting& setting, std::mt19937& random) {
  const std::string& line = document.line(setting.line);
  const bool is_less = !setting.indent.empty() && pick(random, 2) == 0;
  return replaced(document, setting, is_less ? line.substr(1) : " " + line);
}

std::optional<Mutant> no_colon(const Document& document, const Setting& setting, std::mt19937& /*random*/) {
  if (setting.value.empty()) {
    return std::nullopt;
  }
  return replaced(document, setting, setting.indent + setting.key + " = " + setting.value);
}

struct Kind {
  const char* name;
  Mutation make;
  bool may_mean_the_same;
  /// A mistake of syntax may be found only where what follows does not fit.
  bool is_found_in_its_line;
};

const std::vector<Kind>& kinds() {
  static const std::vector<Kind> kAll = {{"misspelt key", misspell, false, true},
                                         {"wrong type", wrong_type, false, true},
                                         {"no number", no_number, false, true},
                                         {"out of range", out_of_range, false, true},
                                         {"given twice", twice, false, true},
                                         {"tab", tab, false, false},
                                         {"truncated", truncated, false, false},
                                         {"foreign letters", foreign_letters, false, true},
                                         {"bracket left open", open_bracket, false, false},
                                         {"indentation", indented, true, false},
                                         {"no colon", no_colon, false, false}};
  return kAll;
}

/// A message "FILE:LINE:COLUMN: KEY: expected ..., found ...", taken apart.
struct Placed {
  std::size_t line = 0;
  std::size_t column = 0;
  std::string key;   ///< the last part of the dotted key; empty where the message names none
  std::string text;  ///< behind the place
};

/// Nothing where the message has no line and column.
std::optional<Placed> placed(const std::string& message) {
  static const std::regex kPlace("^lab\\.yaml:([0-9]+):([0-9]+): ((?:.|\n|\r)+)");
  static const std::regex kKey("^(?:[^ :]*\\.)?([^ :.]+): .*");
  std::smatch found;
  if (!std::regex_match(message, found, kPlace)) {
    return std::nullopt;
  }
  Placed result{.line = std::stoul(found[1]), .column = std::stoul(found[2]), .key = "", .text = found[3]};
  std::smatch key;
  if (std::regex_match(result.text, key, kKey)) {
    result.key = key[1];
  }
  return result;
}

/// Whether the place is the beginning of the key that the message names, or of its value or element: what the message
/// has found stands there then. Of a message without a key (of syntax) whether the text goes so far.
bool points_at_key_or_value(const Placed& place, const std::string& document) {
  std::vector<std::string> lines;
  std::istringstream stream(document);
  for (std::string line; std::getline(stream, line); lines.push_back(line)) {
  }
  lines.emplace_back();  // the end of the text
  if (place.line < 1 || place.line > lines.size() || place.column < 1 ||
      place.column > lines[place.line - 1].size() + 1) {
    return false;
  }
  if (place.key.empty()) {
    return true;
  }
  const std::string& line = lines[place.line - 1];
  const std::string rest = line.substr(place.column - 1);
  const std::size_t bracket = place.key.find('[');
  const std::string key = place.key.substr(0, bracket);
  const bool is_element = bracket != std::string::npos;
  if (!is_element && rest.starts_with(key)) {
    return true;
  }
  if (place.text.ends_with(", found nothing")) {  // of a key that is not there: its section
    const std::string section = rest.substr(0, rest.find(':'));
    return !section.empty() && place.text.find(section + "." + key + ": ") != std::string::npos;
  }
  static const std::regex kFound("found (?:the text )?\"([^\"]*)\"");
  std::smatch found;
  if (std::regex_search(place.text, found, kFound)) {  // a text in quotes may go on in further lines
    const std::string begin = found[1].str().substr(0, found[1].str().find(' '));
    return !begin.empty() && (rest.starts_with(begin) || rest.substr(1).starts_with(begin));
  }
  const std::string before = line.substr(0, place.column - 1);
  return is_element ? before.find_first_of("[-,") != std::string::npos
                    : std::regex_match(before, std::regex("^(.*[ {])?" + key + ": +$"));
}

struct Verdict {
  bool is_refused = false;
  std::string complaint;  ///< empty where the mutant was refused as it should be, or means the same
};

/// What is wrong with the messages of a mutant that was refused; empty where nothing is.
std::string complaint(const Kind& kind, const Mutant& mutant, const std::vector<std::string>& messages) {
  bool is_named = false;
  for (const std::string& message : messages) {
    const std::optional<Placed> place = placed(message);
    if (!place) {
      return "a message without line and column: " + message;
    }
    if (!points_at_key_or_value(*place, mutant.text)) {
      return "neither a key nor a value is there: " + message;
    }
    is_named = is_named || place->line == mutant.line;
  }
  return is_named || !kind.is_found_in_its_line ? "" : "another line is named: " + messages.front();
}

Verdict judged(const Kind& kind, const Mutant& mutant, const std::string& meaning) {
  std::string now;
  const std::vector<std::string> messages = error_lines(mutant.text, [&](const std::string& path) {
    try {
      now = to_yaml(load_daemon_settings(path, {}));
    } catch (const ConfigError& error) {
      if (error.exit_code() != ExitCode::kBadConfig) {
        throw std::logic_error("another exit code");
      }
      throw;
    }
  });
  if (messages.empty()) {
    return {.is_refused = false, .complaint = kind.may_mean_the_same && now == meaning ? "" : "it was accepted"};
  }
  return {.is_refused = true, .complaint = complaint(kind, mutant, messages)};
}

TEST(Mutations, EachIsRefusedWithItsPlaceOrMeansTheSame) {
  const std::vector<Document> documents = {Document("nearfield.yaml"), Document("nearfieldd.yaml")};
  std::vector<std::string> meanings;
  for (const Document& document : documents) {
    ASSERT_GE(document.settings().size(), 15U);
    meanings.push_back(to_yaml(load_daemon_settings(WrittenFile(document.text()).path(), {})));
  }
  std::mt19937 random(kSeed);
  std::size_t all = 0;
  std::size_t refused = 0;
  for (const Kind& kind : kinds()) {
    for (int made = 0; made < kMutantsOfAKind;) {
      const std::size_t which = pick(random, documents.size());
      const Document& document = documents[which];
      const Setting& setting = document.settings()[pick(random, document.settings().size())];
      const std::optional<Mutant> mutant = kind.make(document, setting, random);
      if (!mutant) {
        continue;
      }
      ++made;
      const Verdict verdict = judged(kind, *mutant, meanings[which]);
      EXPECT_EQ(verdict.complaint, "") << kind.name << " in line " << mutant->line << " of document " << which
                                       << ", key " << setting.key;
      ++all;
      refused += verdict.is_refused ? 1 : 0;
    }
  }
  std::cout << refused << " of " << all << " mutants refused, " << all - refused << " mean the same\n";
  EXPECT_GE(refused, 200U);
}

}  // namespace
}  // namespace nearfield
