#pragma once
#include <yaml-cpp/yaml.h>

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace nearfield {

/// Collects everything that is wrong with one YAML document, so that a user sees all of it at once.
class YamlProblems {
 public:
  void add(std::string message) { messages_.push_back(std::move(message)); }
  [[nodiscard]] bool empty() const { return messages_.empty(); }
  [[nodiscard]] const std::vector<std::string>& messages() const { return messages_; }
  /// Throws a ConfigError that lists every problem, one a line, if there is any.
  void throw_if_any() const;

 private:
  std::vector<std::string> messages_;
};

/// A number that a user may give: its bounds, and how a message describes them ("a length > 0 m").
struct NumberRule {
  double minimum;
  double maximum;
  bool open_minimum = false;  ///< the minimum itself is excluded
  std::string_view expected;
};

/// Reads one YAML mapping, key by key. Every reader returns nothing when the key is absent or wrong; what is wrong goes
/// into the problems as `FILE:LINE: DOTTED.KEY: expected ..., found "..."`. Keys that nobody asked for are reported by
/// finish(), with the nearest known key.
class YamlMap {
 public:
  /// `label` is the file's name or, for --set, "--set"; `path` the dotted name of this mapping, "" at the top.
  YamlMap(std::string label, std::string path, const YAML::Node& node, YamlProblems& problems);

  std::optional<double> number(const std::string& key, const NumberRule& rule);
  std::optional<int> integer(const std::string& key, int minimum, int maximum);
  std::optional<bool> boolean(const std::string& key);
  std::optional<std::string> text(const std::string& key);
  /// One of `choices`; returns its index.
  std::optional<std::size_t> choice(const std::string& key, const std::vector<std::string_view>& choices);
  /// A number or a list of numbers.
  std::optional<std::vector<double>> numbers(const std::string& key, const NumberRule& rule);
  std::optional<std::vector<int>> integers(const std::string& key, int minimum, int maximum);
  /// A list of exactly `count` numbers.
  std::optional<std::vector<double>> vector(const std::string& key, std::size_t count, const NumberRule& rule);
  /// The mapping below `key`; an empty one when absent. Call finish() on it too.
  YamlMap map(const std::string& key);
  /// The mappings of the list below `key`; none when absent.
  std::vector<YamlMap> maps(const std::string& key);
  [[nodiscard]] bool has(const std::string& key) const;
  /// True when the key is there and is null.
  bool is_null(const std::string& key);
  /// True when the key is there and holds this word; lets a key be a word or a number ("auto").
  bool is_word(const std::string& key, std::string_view word);
  /// Adds a problem at this key.
  void problem(const std::string& key, const std::string& expected);
  /// Reports the keys nobody asked for.
  void finish();

 private:
  [[nodiscard]] YAML::Node find(const std::string& key);
  [[nodiscard]] std::string dotted(const std::string& key) const;
  std::string label_;
  std::string path_;
  YAML::Node node_;
  YamlProblems* problems_;
  std::vector<std::string> known_keys_;
};

/// Parses a YAML file. Throws NoInputError when it can't be read, ConfigError with line and column on a syntax error.
YAML::Node load_yaml(const std::string& path);

}  // namespace nearfield
