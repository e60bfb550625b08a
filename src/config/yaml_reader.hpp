#pragma once
#include <yaml-cpp/yaml.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace nearfield {

/// Label of settings that do not come from a file: from `--set`, `ctl set` or the page. Its messages have no line.
inline constexpr std::string_view kOverrideLabel = "given by set";

/// A position in a YAML file, both from 1. Columns count bytes, like the parser's own messages.
struct YamlPosition {
  int line = 1;
  int column = 1;
};

/// Collects all problems of one YAML document, so that a user sees all of them at once.
class YamlProblems {
 public:
  void add(std::string message) { problems_.push_back({std::move(message), {}, {}}); }
  /// A key that is unknown. `place` is "FILE:LINE:COLUMN", `path` the dotted name of its mapping. The nearest known key
  /// is determined when the messages are made: the mapping to which it belongs may be read later.
  void add_unknown(std::string place, std::string path, std::string key);
  /// Adds a key that exists, for the suggestions.
  void add_known(std::string path, std::string key) { known_.insert({std::move(path), std::move(key)}); }
  [[nodiscard]] bool empty() const { return problems_.empty(); }
  [[nodiscard]] std::vector<std::string> messages() const;
  /// Throws a ConfigError that lists every problem, one a line, if there is any.
  void throw_if_any() const;

 private:
  struct Problem {
    std::string message;      ///< unknown key: its place
    std::string path;         ///< unknown key only
    std::string unknown_key;  ///< empty: not about an unknown key
  };
  [[nodiscard]] std::string nearest_known(const Problem& problem) const;

  std::vector<Problem> problems_;
  std::set<std::pair<std::string, std::string>> known_;  ///< (path of the mapping, key)
};

/// Rule for a number: its bounds, and how a message describes them ("a length > 0 m").
struct NumberRule {
  double minimum;
  double maximum;
  bool open_minimum = false;  ///< the minimum itself is excluded
  std::string_view expected;
};

/// Reads one YAML mapping, key by key. Every reader returns an empty value when the key is absent or wrong; errors are
/// added to the problems as `FILE:LINE:COLUMN: DOTTED.KEY: expected ..., found "..."`, where line and column are those
/// of the value, or of the key where there is no value or only the alias of another one. A key given twice is a
/// problem; its first value is used. Unknown keys are reported by finish(), with the nearest known key.
///
/// Numbers are plain decimal YAML scalars: quoted ones, hexadecimal ones, NaN and infinity are refused. A null value is
/// refused everywhere except for a mapping, where it stands for an empty one (a section whose keys are all commented
/// out).
class YamlMap {
 public:
  /// `label` is the file's name or kOverrideLabel; `path` is the dotted name of this mapping, "" at the top.
  YamlMap(std::string label, std::string path, const YAML::Node& node, YamlProblems& problems);

  std::optional<double> number(const std::string& key, const NumberRule& rule);
  std::optional<int> integer(const std::string& key, int minimum, int maximum);
  std::optional<std::int64_t> integer64(const std::string& key, std::int64_t minimum, std::int64_t maximum);
  std::optional<bool> boolean(const std::string& key);
  std::optional<std::string> text(const std::string& key);
  /// A list of nonempty texts.
  std::optional<std::vector<std::string>> texts(const std::string& key);
  /// One of `choices`; returns its index.
  std::optional<std::size_t> choice(const std::string& key, const std::vector<std::string_view>& choices);
  /// A number or a list of numbers.
  std::optional<std::vector<double>> numbers(const std::string& key, const NumberRule& rule);
  /// An integer or a list of integers.
  std::optional<std::vector<int>> integers(const std::string& key, int minimum, int maximum);
  /// A list of exactly `count` numbers.
  std::optional<std::vector<double>> vector(const std::string& key, std::size_t count, const NumberRule& rule);
  /// A list of lists of two numbers.
  std::optional<std::vector<std::array<double, 2>>> pairs(const std::string& key, const NumberRule& rule);
  /// The mapping below `key`; an empty one when absent. Call finish() on it too.
  YamlMap map(const std::string& key);
  /// The mappings of the list below `key`; none when absent.
  std::vector<YamlMap> maps(const std::string& key);
  [[nodiscard]] bool has(const std::string& key) const;
  /// True when the key is present and null.
  bool is_null(const std::string& key);
  /// True when the key is present and holds a list; lets a key be words or a list.
  bool is_list(const std::string& key);
  /// True when the key is present and holds this word; lets a key be a word or a number ("auto").
  bool is_word(const std::string& key, std::string_view word);
  /// Text of the scalar at the key; empty if there is none.
  std::string scalar(const std::string& key);
  /// True when the key is present and holds a list of this word alone.
  bool is_list_of_word(const std::string& key, std::string_view word);
  /// Adds a problem at this key: `expected ..., found ...`.
  void problem(const std::string& key, const std::string& expected);
  /// Adds a problem at an element of the list at this key, with this message.
  void problem_of_element(const std::string& key, std::size_t index, const std::string& message);
  /// The dotted name of a key of this mapping.
  [[nodiscard]] std::string dotted(const std::string& key) const;
  /// Position of this key's value for messages: "FILE:LINE:COLUMN", or the label alone for kOverrideLabel. For an
  /// absent key, the position of this mapping.
  [[nodiscard]] std::string place(const std::string& key) const;
  /// Position of an element of the list at this key.
  [[nodiscard]] std::string place_of_element(const std::string& key, std::size_t index) const;
  /// Number of elements of the list at this key; 0 if there is none.
  [[nodiscard]] std::size_t elements(const std::string& key) const;
  /// Position of this mapping's key; for the mapping of a whole file, that of its first key.
  [[nodiscard]] std::string place_of_all() const { return place_of(position_); }
  /// Reports the unknown keys.
  void finish();

 private:
  struct Entry {
    std::string key;
    YamlPosition at;  ///< position of the key
    YAML::Node value;
  };

  void collect_entries(const YAML::Node& node);
  [[nodiscard]] const Entry* entry(const std::string& key) const;
  /// Marks the key as known; nullptr when absent.
  const Entry* find(const std::string& key);
  [[nodiscard]] std::string place_of(YamlPosition position) const;
  [[nodiscard]] YamlPosition position_of(const Entry& entry) const;
  void wrong(YamlPosition position, const std::string& dotted_key, std::string_view expected, const YAML::Node& found);
  std::optional<std::vector<double>> number_list(const Entry& entry, const NumberRule& rule);

  std::string label_;
  std::string path_;
  YamlPosition position_;
  YamlProblems* problems_;
  std::vector<Entry> entries_;
  std::map<std::string, std::size_t, std::less<>> index_;  ///< key -> entries_
  std::set<std::string> known_keys_;
};

/// Parses a YAML file of one document; an empty file yields a null node. Throws NoInputError when it can't be read,
/// ConfigError with line and column on a syntax error, on a second document and above 1 MiB.
YAML::Node load_yaml(const std::string& path);

/// Like load_yaml(), for text; `label` replaces the file's name in messages.
YAML::Node parse_yaml(const std::string& text, const std::string& label);

}  // namespace nearfield
