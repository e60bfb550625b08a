#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <iterator>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "config/yaml_reader.hpp"
#include "core/settings.hpp"

/// Kinds of setting values: how each is read from YAML, written, and described.
namespace nearfield::schema {

/// A word that stands for a value, and its meaning; the meaning is empty if the word is self-explanatory.
struct Word {
  std::string word;
  std::string meaning;
};

/// Description of a value for pages and editors.
struct Facts {
  std::string type;                    ///< "number", "list of integers", ...; "choice" if only words are allowed
  std::string unit = {};               ///< empty for words and plain counts
  std::string range = {};              ///< "1 to 64"; empty if every value of the type is allowed
  std::optional<double> minimum = {};  ///< for a number, or each number of a list
  std::optional<double> maximum = {};  ///< likewise
  bool open_minimum = false;           ///< the minimum itself is excluded
  std::vector<Word> words = {};
};

/// A kind of value.
template <typename Value>
struct Form {
  Facts facts;
  /// The value below `key`. Empty when the key is absent or its value is wrong, which is added to the map's problems.
  /// Relative paths count from `folder`.
  std::function<std::optional<Value>(YamlMap& map, const std::string& key, const std::filesystem::path& folder)> read;
  /// The value as YAML, in one line.
  std::function<std::string(const Value& value)> write;
};

/// The range of a number. Messages and pages use these figures: "a speed from 1 to 100000 m/s".
struct Range {
  std::string_view what;  ///< beginning of a message: "a speed from"; without a preposition if only one end is stated
  double minimum = 0.0;
  double maximum = std::numeric_limits<double>::max();  ///< 1e9 and more are not mentioned
  std::string_view unit = "";
  bool open_minimum = false;  ///< the minimum itself is excluded
};
/// The bounds in words, such as "> 0 to 300".
std::string in_words(const Range& range);
/// The expectation in a message: "a range > 0 dB, at most 300 dB".
std::string expected(const Range& range);
/// For readers of single keys; `text` is expected(range) and must outlive the rule.
NumberRule rule_of(const Range& range, std::string_view text);

Form<double> number(const Range& range);
/// From 1e-6 to 100 m, which floating point can square and divide by safely.
Form<double> length_m();
/// One number, or a list of them.
Form<std::vector<double>> numbers(const Range& range);
Form<int> integer(int minimum, int maximum, const std::string& unit = "");
/// Decimated samples that an FFT transforms, from `fewest` to 65536.
Form<int> fft_length(int fewest);
Form<std::int64_t> integer64(std::int64_t minimum, std::int64_t maximum, const std::string& unit = "");
/// One integer, or a list of them.
Form<std::vector<int>> integers(int minimum, int maximum);
Form<bool> boolean();
Form<std::string> text();
/// A list of nonempty texts.
Form<std::vector<std::string>> texts();
/// One of these words.
Form<std::string> word(std::vector<Word> words);
/// A path, stored as an absolute one; null is stored as an empty text. Texts for which `is_verbatim` is true are not
/// changed.
Form<std::string> path_or_null(const std::string& meaning_of_null,
                               std::function<bool(const std::string& text)> is_verbatim = {});
/// HOST:PORT; `expected` is for messages.
Form<std::string> host_port(const std::string& expected);

/// One of these values of an enumeration, named by name_of().
template <typename Kind>
Form<Kind> choice(const std::vector<std::pair<Kind, std::string>>& kinds) {
  Form<Kind> form;
  form.facts.type = "choice";
  std::vector<std::string_view> names;
  for (const auto& [kind, meaning] : kinds) {
    names.push_back(name_of(kind));
    form.facts.words.push_back({std::string(name_of(kind)), meaning});
  }
  form.read = [kinds, names](YamlMap& map, const std::string& key, const std::filesystem::path&) {
    const std::optional<std::size_t> index = map.choice(key, names);
    return index ? std::optional<Kind>(kinds[*index].first) : std::nullopt;
  };
  form.write = [](Kind kind) { return std::string(name_of(kind)); };
  return form;
}

/// `form`, or a word that stands for the value `meant`; for lists also a list of that word alone.
template <typename Value>
Form<Value> or_word(const Word& word, const std::type_identity_t<Value>& meant, Form<Value> form) {
  form.facts.words.push_back(word);
  form.read = [word, meant, read = std::move(form.read)](YamlMap& map, const std::string& key,
                                                         const std::filesystem::path& folder) -> std::optional<Value> {
    const bool is_meant =
        map.is_word(key, word.word) ||
        (!std::is_scalar_v<Value> && !std::is_same_v<Value, std::string> && map.is_list_of_word(key, word.word));
    return is_meant ? std::optional<Value>(meant) : read(map, key, folder);
  };
  form.write = [word, meant, write = std::move(form.write)](const Value& value) {
    return value == meant ? word.word : write(value);
  };
  return form;
}

/// `form`, or null, which stands for an empty text.
Form<std::string> or_null(Form<std::string> form, const std::string& meaning_of_null);

/// `form`, or a word that stands for no value, as determined by `is_nothing`.
template <typename Value, typename IsNothing>
Form<std::optional<Value>> or_nothing(Form<Value> form, const Word& word, const IsNothing& is_nothing) {
  Form<std::optional<Value>> optional;
  optional.facts = std::move(form.facts);
  optional.facts.words.push_back(word);
  optional.read = [is_nothing, read = std::move(form.read)](
                      YamlMap& map, const std::string& key,
                      const std::filesystem::path& folder) -> std::optional<std::optional<Value>> {
    if (is_nothing(map, key)) {
      return std::optional<Value>();
    }
    const std::optional<Value> value = read(map, key, folder);
    return value ? std::optional<std::optional<Value>>(value) : std::nullopt;
  };
  optional.write = [nothing = word.word, write = std::move(form.write)](const std::optional<Value>& value) {
    return value ? write(*value) : nothing;
  };
  return optional;
}

/// `form`, or null.
template <typename Value>
Form<std::optional<Value>> or_none(Form<Value> form, const std::string& meaning_of_null) {
  return or_nothing(std::move(form), {"null", meaning_of_null},
                    [](YamlMap& map, const std::string& key) { return map.is_null(key); });
}

/// `form`, or auto.
template <typename Value>
Form<std::optional<Value>> or_auto(Form<Value> form, const std::string& meaning_of_auto) {
  return or_nothing(std::move(form), {"auto", meaning_of_auto},
                    [](YamlMap& map, const std::string& key) { return map.is_word(key, "auto"); });
}

/// `form` restricted to the values that pass `holds`; `expected` is the message's expectation for other values.
template <typename Value>
Form<Value> where(Form<Value> form, std::function<bool(const std::type_identity_t<Value>&)> holds,
                  std::function<std::string(const std::type_identity_t<Value>&)> expected) {
  form.read = [holds = std::move(holds), expected = std::move(expected), read = std::move(form.read)](
                  YamlMap& map, const std::string& key, const std::filesystem::path& folder) -> std::optional<Value> {
    std::optional<Value> value = read(map, key, folder);
    if (value && !holds(*value)) {
      map.problem(key, expected(*value));
      value.reset();
    }
    return value;
  };
  return form;
}
template <typename Value>
Form<Value> where(Form<Value> form, std::function<bool(const std::type_identity_t<Value>&)> holds,
                  const std::string& expected) {
  return where(std::move(form), std::move(holds), [expected](const Value&) { return expected; });
}

/// `form` with this description of its range.
template <typename Value>
Form<Value> ranging(Form<Value> form, std::string range) {
  form.facts.range = std::move(range);
  return form;
}

/// `form` with a word for one of its values that has a special meaning.
template <typename Value>
Form<Value> naming(Form<Value> form, const Word& word) {
  form.facts.words.push_back(word);
  return form;
}

/// all, "grid RxC", "spiral N", "random N" or a list of channels.
Form<SubsetSettings> subset();
/// Parses any of these except a list; empty for other text.
std::optional<SubsetSettings> subset_of(std::string_view text);

}  // namespace nearfield::schema
