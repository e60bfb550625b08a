#include "config/yaml_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>

#include "config/words.hpp"
#include "core/error.hpp"
#include "core/text.hpp"

namespace nearfield {
namespace {

constexpr std::size_t kMostProblemsShown = 1000;

bool is_quoted(const YAML::Node& node) { return node.Tag() == "!"; }

std::string describe(const YAML::Node& node) {
  switch (node.Type()) {
    case YAML::NodeType::Scalar:
      return fmt::format("{}\"{}\"", is_quoted(node) ? "the text " : "", shown_text(node.Scalar()));
    case YAML::NodeType::Sequence:
      return node.size() == 0 ? "an empty list" : fmt::format("a list of {}", node.size());
    case YAML::NodeType::Map:
      return "a mapping";
    case YAML::NodeType::Null:
    case YAML::NodeType::Undefined:
      break;
  }
  return "nothing";
}

/// The whole scalar as a number; YAML's leading plus sign is allowed.
template <typename Number>
std::optional<Number> parse(const YAML::Node& node) {
  if (!node.IsScalar() || is_quoted(node)) {
    return std::nullopt;
  }
  std::string_view text = node.Scalar();
  if (text.size() > 1 && text[0] == '+' && text[1] != '-') {
    text.remove_prefix(1);
  }
  Number value{};
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  return error == std::errc{} && stop == end ? std::optional<Number>(value) : std::nullopt;
}

std::optional<double> parse_number(const YAML::Node& node, const NumberRule& rule) {
  const std::optional<double> value = parse<double>(node);
  const bool fits = value && std::isfinite(*value) && *value <= rule.maximum &&
                    (rule.open_minimum ? *value > rule.minimum : *value >= rule.minimum);
  return fits ? value : std::nullopt;
}

template <typename Integer>
std::optional<Integer> parse_integer(const YAML::Node& node, Integer minimum, Integer maximum) {
  const std::optional<Integer> value = parse<Integer>(node);
  return value && *value >= minimum && *value <= maximum ? value : std::nullopt;
}

std::string describe_integers(std::int64_t minimum, std::int64_t maximum) {
  if (minimum == maximum) {
    return fmt::format("{}", minimum);
  }
  if (maximum == std::numeric_limits<int>::max()) {
    return fmt::format("an integer >= {}", minimum);
  }
  return fmt::format("an integer from {} to {}", minimum, maximum);
}

/// Start of a node's text; `otherwise` for a node without text of its own. For an empty value the parser reports the
/// position of what follows it, for an alias that of its anchor, which is above.
YamlPosition position_of_node(const YAML::Node& node, YamlPosition otherwise) {
  const YAML::Mark mark = node.Mark();
  if (mark.is_null() || node.IsNull()) {
    return otherwise;
  }
  const YamlPosition found{.line = mark.line + 1, .column = mark.column + 1};
  const bool is_above =
      found.line < otherwise.line || (found.line == otherwise.line && found.column < otherwise.column);
  return is_above ? otherwise : found;
}

std::string join_path(const std::string& path, const std::string& key) {
  return path.empty() ? shown_text(key) : fmt::format("{}.{}", path, shown_text(key));
}

}  // namespace

void YamlProblems::add_unknown(std::string place, std::string path, std::string key) {
  problems_.push_back({std::move(place), std::move(path), std::move(key)});
}

std::string YamlProblems::nearest_known(const Problem& problem) const {
  Suggestion siblings(problem.unknown_key);
  Suggestion cousins(problem.unknown_key);
  for (const auto& [path, key] : known_) {
    const std::string name = join_path(path, key);
    (path == problem.path ? siblings : cousins).offer(key, name);
    cousins.offer(name, name);
  }
  return siblings.best().empty() ? cousins.best() : siblings.best();
}

std::vector<std::string> YamlProblems::messages() const {
  std::vector<std::string> messages;
  for (const Problem& problem : problems_) {
    if (messages.size() == kMostProblemsShown) {
      messages.push_back(fmt::format("... and {} more", problems_.size() - kMostProblemsShown));
      break;
    }
    if (problem.unknown_key.empty()) {
      messages.push_back(problem.message);
      continue;
    }
    const std::string nearest = nearest_known(problem);
    messages.push_back(fmt::format("{}: {}: unknown key{}", problem.message,
                                   join_path(problem.path, problem.unknown_key),
                                   nearest.empty() || nearest == join_path(problem.path, problem.unknown_key)
                                       ? ""
                                       : fmt::format("; did you mean {}?", nearest)));
  }
  return messages;
}

void YamlProblems::throw_if_any() const {
  if (!empty()) {
    throw ConfigError(fmt::format("{}", fmt::join(messages(), "\n")));
  }
}

YamlMap::YamlMap(std::string label, std::string path, const YAML::Node& node, YamlProblems& problems)
    : label_(std::move(label)), path_(std::move(path)), problems_(&problems) {
  if (!node.IsDefined() || node.IsNull()) {
    return;
  }
  position_ = position_of_node(node, position_);
  if (!node.IsMap()) {
    wrong(position_, path_, "a mapping (lines of \"key: value\")", node);
    return;
  }
  collect_entries(node);
}

void YamlMap::collect_entries(const YAML::Node& node) {
  for (const auto& pair : node) {
    const YamlPosition position = position_of_node(pair.first, position_);
    if (!pair.first.IsScalar() || pair.first.Scalar().empty()) {
      wrong(position, path_, "a word as key", pair.first);
      continue;
    }
    const std::string& key = pair.first.Scalar();
    if (const Entry* first = entry(key)) {
      problems_->add(fmt::format(
          "{}: {}: given twice, first {}", place_of(position), dotted(key),
          first->at.line == position.line ? "in the same line" : fmt::format("in line {}", first->at.line)));
      continue;
    }
    index_.emplace(key, entries_.size());
    entries_.push_back({key, position, pair.second});
  }
}

const YamlMap::Entry* YamlMap::entry(const std::string& key) const {
  const auto found = index_.find(key);
  return found == index_.end() ? nullptr : &entries_[found->second];
}

const YamlMap::Entry* YamlMap::find(const std::string& key) {
  if (known_keys_.insert(key).second) {
    problems_->add_known(path_, key);
  }
  return entry(key);
}

std::string YamlMap::dotted(const std::string& key) const { return join_path(path_, key); }

YamlPosition YamlMap::position_of(const Entry& entry) const { return position_of_node(entry.value, entry.at); }

std::string YamlMap::place_of(YamlPosition position) const {
  return label_ == kOverrideLabel ? label_ : fmt::format("{}:{}:{}", label_, position.line, position.column);
}

std::string YamlMap::place(const std::string& key) const {
  const Entry* found = entry(key);
  return place_of(found == nullptr ? position_ : position_of(*found));
}

std::string YamlMap::place_of_element(const std::string& key, std::size_t index) const {
  const Entry* found = entry(key);
  const bool is_there = found != nullptr && found->value.IsSequence() && index < found->value.size();
  return is_there ? place_of(position_of_node(found->value[index], position_of(*found))) : place(key);
}

std::size_t YamlMap::elements(const std::string& key) const {
  const Entry* found = entry(key);
  return found != nullptr && found->value.IsSequence() ? found->value.size() : 0;
}

void YamlMap::wrong(YamlPosition position, const std::string& dotted_key, std::string_view expected,
                    const YAML::Node& found) {
  problems_->add(fmt::format("{}: {}{}expected {}, found {}", place_of(position), dotted_key,
                             dotted_key.empty() ? "" : ": ", expected, describe(found)));
}

std::optional<double> YamlMap::number(const std::string& key, const NumberRule& rule) {
  const Entry* found = find(key);
  if (found == nullptr) {
    return std::nullopt;
  }
  const std::optional<double> value = parse_number(found->value, rule);
  if (!value) {
    wrong(position_of(*found), dotted(key), rule.expected, found->value);
  }
  return value;
}

std::optional<int> YamlMap::integer(const std::string& key, int minimum, int maximum) {
  const Entry* found = find(key);
  if (found == nullptr) {
    return std::nullopt;
  }
  const std::optional<int> value = parse_integer(found->value, minimum, maximum);
  if (!value) {
    wrong(position_of(*found), dotted(key), describe_integers(minimum, maximum), found->value);
  }
  return value;
}

std::optional<std::int64_t> YamlMap::integer64(const std::string& key, std::int64_t minimum, std::int64_t maximum) {
  const Entry* found = find(key);
  if (found == nullptr) {
    return std::nullopt;
  }
  const std::optional<std::int64_t> value = parse_integer(found->value, minimum, maximum);
  if (!value) {
    wrong(position_of(*found), dotted(key), describe_integers(minimum, maximum), found->value);
  }
  return value;
}

std::optional<bool> YamlMap::boolean(const std::string& key) {
  const Entry* found = find(key);
  if (found == nullptr) {
    return std::nullopt;
  }
  const std::string text = found->value.IsScalar() && !is_quoted(found->value) ? found->value.Scalar() : "";
  if (text == "true" || text == "True" || text == "TRUE") {
    return true;
  }
  if (text == "false" || text == "False" || text == "FALSE") {
    return false;
  }
  wrong(position_of(*found), dotted(key), "true or false", found->value);
  return std::nullopt;
}

std::optional<std::string> YamlMap::text(const std::string& key) {
  const Entry* found = find(key);
  if (found == nullptr) {
    return std::nullopt;
  }
  if (!found->value.IsScalar()) {
    wrong(position_of(*found), dotted(key), "a text", found->value);
    return std::nullopt;
  }
  return found->value.Scalar();
}

std::optional<std::vector<std::string>> YamlMap::texts(const std::string& key) {
  const Entry* found = find(key);
  if (found == nullptr) {
    return std::nullopt;
  }
  if (!found->value.IsSequence()) {
    wrong(position_of(*found), dotted(key), "a list of texts", found->value);
    return std::nullopt;
  }
  std::vector<std::string> values;
  std::size_t index = 0;
  for (const YAML::Node& element : found->value) {
    if (element.IsScalar() && !element.Scalar().empty()) {
      values.push_back(element.Scalar());
    } else {
      wrong(position_of_node(element, position_of(*found)), fmt::format("{}[{}]", dotted(key), index), "a text",
            element);
    }
    ++index;
  }
  return values.size() == index ? std::optional(std::move(values)) : std::nullopt;
}

std::optional<std::size_t> YamlMap::choice(const std::string& key, const std::vector<std::string_view>& choices) {
  const Entry* found = find(key);
  if (found == nullptr) {
    return std::nullopt;
  }
  if (found->value.IsScalar()) {
    const auto chosen = std::find(choices.begin(), choices.end(), found->value.Scalar());
    if (chosen != choices.end()) {
      return static_cast<std::size_t>(chosen - choices.begin());
    }
  }
  wrong(position_of(*found), dotted(key),
        fmt::format("{}{}", choices.size() > 1 ? "one of " : "", fmt::join(choices, ", ")), found->value);
  return std::nullopt;
}

std::optional<std::vector<double>> YamlMap::number_list(const Entry& entry, const NumberRule& rule) {
  std::vector<double> values;
  std::size_t index = 0;
  for (const YAML::Node& element : entry.value) {
    if (const std::optional<double> value = parse_number(element, rule)) {
      values.push_back(*value);
    } else {
      wrong(position_of_node(element, position_of(entry)), fmt::format("{}[{}]", dotted(entry.key), index),
            rule.expected, element);
    }
    ++index;
  }
  return values.size() == index ? std::optional(std::move(values)) : std::nullopt;
}

std::optional<std::vector<double>> YamlMap::numbers(const std::string& key, const NumberRule& rule) {
  const Entry* found = find(key);
  if (found == nullptr) {
    return std::nullopt;
  }
  if (found->value.IsSequence()) {
    return number_list(*found, rule);
  }
  if (const std::optional<double> value = parse_number(found->value, rule)) {
    return std::vector<double>{*value};
  }
  wrong(position_of(*found), dotted(key), fmt::format("{}, or a list of such", rule.expected), found->value);
  return std::nullopt;
}

std::optional<std::vector<int>> YamlMap::integers(const std::string& key, int minimum, int maximum) {
  const Entry* found = find(key);
  if (found == nullptr) {
    return std::nullopt;
  }
  const std::string expected = describe_integers(minimum, maximum);
  if (!found->value.IsSequence()) {
    if (const std::optional<int> value = parse_integer(found->value, minimum, maximum)) {
      return std::vector<int>{*value};
    }
    wrong(position_of(*found), dotted(key), fmt::format("{}, or a list of such", expected), found->value);
    return std::nullopt;
  }
  std::vector<int> values;
  std::size_t index = 0;
  for (const YAML::Node& element : found->value) {
    if (const std::optional<int> value = parse_integer(element, minimum, maximum)) {
      values.push_back(*value);
    } else {
      wrong(position_of_node(element, position_of(*found)), fmt::format("{}[{}]", dotted(key), index), expected,
            element);
    }
    ++index;
  }
  return values.size() == index ? std::optional(std::move(values)) : std::nullopt;
}

std::optional<std::vector<double>> YamlMap::vector(const std::string& key, std::size_t count, const NumberRule& rule) {
  const Entry* found = find(key);
  if (found == nullptr) {
    return std::nullopt;
  }
  if (!found->value.IsSequence() || found->value.size() != count) {
    wrong(position_of(*found), dotted(key), fmt::format("a list of {} numbers, each {}", count, rule.expected),
          found->value);
    return std::nullopt;
  }
  return number_list(*found, rule);
}

std::optional<std::vector<std::array<double, 2>>> YamlMap::pairs(const std::string& key, const NumberRule& rule) {
  const Entry* found = find(key);
  if (found == nullptr) {
    return std::nullopt;
  }
  if (!found->value.IsSequence()) {
    wrong(position_of(*found), dotted(key), fmt::format("a list of pairs, each [{0}, {0}]", rule.expected),
          found->value);
    return std::nullopt;
  }
  std::vector<std::array<double, 2>> values;
  std::size_t index = 0;
  for (const YAML::Node& element : found->value) {
    const bool is_pair = element.IsSequence() && element.size() == 2;
    const auto first = is_pair ? parse_number(element[0], rule) : std::nullopt;
    const auto second = is_pair ? parse_number(element[1], rule) : std::nullopt;
    if (first && second) {
      values.push_back({*first, *second});
    } else {
      wrong(position_of_node(element, position_of(*found)), fmt::format("{}[{}]", dotted(key), index),
            fmt::format("a pair [{0}, {0}]", rule.expected), element);
    }
    ++index;
  }
  return values.size() == index ? std::optional(std::move(values)) : std::nullopt;
}

YamlMap YamlMap::map(const std::string& key) {
  const Entry* found = find(key);
  YamlMap result(label_, dotted(key), found == nullptr ? YAML::Node() : found->value, *problems_);
  result.position_ = found == nullptr ? position_ : found->at;
  return result;
}

std::vector<YamlMap> YamlMap::maps(const std::string& key) {
  const Entry* found = find(key);
  std::vector<YamlMap> result;
  if (found == nullptr) {
    return result;
  }
  if (!found->value.IsSequence()) {
    wrong(position_of(*found), dotted(key), "a list of mappings", found->value);
    return result;
  }
  for (const YAML::Node& element : found->value) {
    const std::string path = fmt::format("{}[{}]", dotted(key), result.size());
    if (element.IsNull()) {
      wrong(position_of_node(element, position_of(*found)), path, "a mapping (lines of \"key: value\")", element);
    }
    result.emplace_back(label_, path, element, *problems_);
  }
  return result;
}

bool YamlMap::has(const std::string& key) const { return entry(key) != nullptr; }

bool YamlMap::is_null(const std::string& key) {
  const Entry* found = find(key);
  return found != nullptr && found->value.IsNull();
}

bool YamlMap::is_list(const std::string& key) {
  const Entry* found = find(key);
  return found != nullptr && found->value.IsSequence();
}

namespace {

/// True for the word itself, or YAML's spelling of it: infinity is .inf there.
bool is_same_word(const YAML::Node& node, std::string_view word) {
  return node.IsScalar() && (node.Scalar() == word || (word == "inf" && !is_quoted(node) &&
                                                       (node.Scalar() == ".inf" || node.Scalar() == "+.inf" ||
                                                        node.Scalar() == ".Inf" || node.Scalar() == ".INF")));
}

/// ", [0.5, -0.5]" for a short list of words and numbers that are valid one by one, to show what is wrong; else empty.
std::string shown_elements(const YAML::Node& node) {
  constexpr std::size_t kMostShown = 4;
  if (!node.IsSequence() || node.size() > kMostShown) {
    return "";
  }
  std::vector<std::string> elements;
  for (const YAML::Node& element : node) {
    if (!element.IsScalar()) {
      return "";
    }
    elements.push_back(printable(element.Scalar()));
  }
  return elements.empty() ? "" : fmt::format(", [{}]", fmt::join(elements, ", "));
}

}  // namespace

bool YamlMap::is_word(const std::string& key, std::string_view word) {
  const Entry* found = find(key);
  return found != nullptr && is_same_word(found->value, word);
}

std::string YamlMap::scalar(const std::string& key) {
  const Entry* found = find(key);
  return found != nullptr && found->value.IsScalar() ? found->value.Scalar() : std::string();
}

bool YamlMap::is_list_of_word(const std::string& key, std::string_view word) {
  const Entry* found = find(key);
  return found != nullptr && found->value.IsSequence() && found->value.size() == 1 &&
         is_same_word(found->value[0], word);
}

void YamlMap::problem(const std::string& key, const std::string& expected) {
  const Entry* found = find(key);
  const YAML::Node value = found == nullptr ? YAML::Node() : found->value;
  problems_->add(fmt::format("{}: {}: expected {}, found {}{}",
                             place_of(found == nullptr ? position_ : position_of(*found)), dotted(key), expected,
                             describe(value), shown_elements(value)));
}

void YamlMap::problem_of_element(const std::string& key, std::size_t index, const std::string& message) {
  problems_->add(fmt::format("{}: {}[{}]: {}", place_of_element(key, index), dotted(key), index, message));
}

void YamlMap::finish() {
  for (const Entry& given : entries_) {
    if (!known_keys_.contains(given.key)) {
      problems_->add_unknown(place_of(given.at), path_, given.key);
    }
  }
}

}  // namespace nearfield
