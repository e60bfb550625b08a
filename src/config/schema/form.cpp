#include "config/schema/form.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "config/words.hpp"
#include "core/daemon_settings.hpp"
#include "core/numerics.hpp"
#include "core/settings.hpp"

namespace nearfield::schema {
namespace {

using std::filesystem::path;

constexpr double kUnmentioned = 1e9;  ///< a maximum that only excludes absurd values

/// Shortest digits; powers of ten outside 0.001 to 100000 in exponent form.
std::string figure(double value) {
  constexpr double kLargestInDigits = 1e5;
  constexpr double kSmallestInDigits = 1e-3;
  const double exponent = std::log10(value);
  const bool is_power = value > 0.0 && std::abs(exponent - std::round(exponent)) < 1e-12;
  return is_power && (value > kLargestInDigits || value < kSmallestInDigits)
             ? fmt::format("1e{}", std::lround(exponent))
             : fmt::format("{}", value);
}

Facts facts_of(const std::string& type, const Range& range) {
  return {.type = type,
          .unit = std::string(range.unit),
          .range = in_words(range),
          .minimum = range.minimum,
          .maximum = range.maximum < kUnmentioned ? std::optional(range.maximum) : std::nullopt,
          .open_minimum = range.open_minimum};
}

Facts facts_of_integers(const std::string& type, std::int64_t minimum, std::int64_t maximum, const std::string& unit) {
  const bool is_open = maximum == std::numeric_limits<int>::max();
  return {.type = type,
          .unit = unit,
          .range = minimum == maximum ? fmt::format("only {}", minimum)
                   : is_open          ? fmt::format(">= {}", minimum)
                                      : fmt::format("{} to {}", minimum, maximum),
          .minimum = static_cast<double>(minimum),
          .maximum = static_cast<double>(maximum)};
}

template <typename Value>
std::string digits(const Value& value) {
  return fmt::format("{}", value);
}

std::string list_of_texts(const std::vector<std::string>& texts) {
  std::vector<std::string> all(texts.size());
  std::transform(texts.begin(), texts.end(), all.begin(), quoted);
  return list(all);
}

}  // namespace

std::string in_words(const Range& range) {
  const std::string minimum = figure(range.minimum);
  if (range.maximum >= kUnmentioned) {
    return fmt::format("{} {}", range.open_minimum ? ">" : ">=", minimum);
  }
  return fmt::format("{}{} to {}", range.open_minimum ? "> " : "", minimum, figure(range.maximum));
}

std::string expected(const Range& range) {
  const std::string unit = range.unit.empty() ? "" : fmt::format(" {}", range.unit);
  if (range.open_minimum && range.maximum < kUnmentioned) {
    return fmt::format("{0} > {1}{3}, at most {2}{3}", range.what, figure(range.minimum), figure(range.maximum), unit);
  }
  return fmt::format("{} {}{}", range.what, in_words(range), unit);
}

NumberRule rule_of(const Range& range, std::string_view text) {
  return {.minimum = range.minimum, .maximum = range.maximum, .open_minimum = range.open_minimum, .expected = text};
}

Form<double> number(const Range& range) {
  return {.facts = facts_of("number", range),
          .read = [range, text = expected(range)](YamlMap& map, const std::string& key,
                                                  const path&) { return map.number(key, rule_of(range, text)); },
          .write = digits<double>};
}

Form<double> length_m() {
  constexpr Range kFits{.what = "a length from", .minimum = kShortestLengthM, .maximum = kLongestLengthM, .unit = "m"};
  constexpr Range kPositive{.what = "a length", .unit = "m", .open_minimum = true};
  Form<double> form = where(
      number(kPositive), [](double length) { return length >= kShortestLengthM && length <= kLongestLengthM; },
      fmt::format("a length from {} to {} m", kShortestLengthM, kLongestLengthM));
  form.facts = facts_of("number", kFits);
  return form;
}

Form<std::vector<double>> numbers(const Range& range) {
  return {.facts = facts_of("list of numbers", range),
          .read = [range, text = expected(range)](YamlMap& map, const std::string& key,
                                                  const path&) { return map.numbers(key, rule_of(range, text)); },
          .write = list<double>};
}

Form<int> integer(int minimum, int maximum, const std::string& unit) {
  return {.facts = facts_of_integers("integer", minimum, maximum, unit),
          .read = [minimum, maximum](YamlMap& map, const std::string& key,
                                     const path&) { return map.integer(key, minimum, maximum); },
          .write = digits<int>};
}

Form<int> fft_length(int fewest) {
  constexpr int kMost = 65536;
  return ranging(where(integer(fewest, kMost, "decimated samples"), is_fft_length,
                       [](int samples) {
                         return fmt::format("a product of powers of 2, 3, 5 and 7 (the next one is {})",
                                            next_fft_length(samples));
                       }),
                 fmt::format("{} to {}, a product of powers of 2, 3, 5 and 7", fewest, kMost));
}

Form<std::int64_t> integer64(std::int64_t minimum, std::int64_t maximum, const std::string& unit) {
  return {.facts = facts_of_integers("integer", minimum, maximum, unit),
          .read = [minimum, maximum](YamlMap& map, const std::string& key,
                                     const path&) { return map.integer64(key, minimum, maximum); },
          .write = digits<std::int64_t>};
}

Form<std::vector<int>> integers(int minimum, int maximum) {
  return {.facts = facts_of_integers("list of integers", minimum, maximum, ""),
          .read = [minimum, maximum](YamlMap& map, const std::string& key,
                                     const path&) { return map.integers(key, minimum, maximum); },
          .write = list<int>};
}

Form<bool> boolean() {
  return {.facts = {.type = "boolean"},
          .read = [](YamlMap& map, const std::string& key, const path&) { return map.boolean(key); },
          .write = digits<bool>};
}

Form<std::string> text() {
  return {.facts = {.type = "text"},
          .read = [](YamlMap& map, const std::string& key, const path&) { return map.text(key); },
          .write = quoted};
}

Form<std::vector<std::string>> texts() {
  return {.facts = {.type = "list of texts"},
          .read = [](YamlMap& map, const std::string& key, const path&) { return map.texts(key); },
          .write = list_of_texts};
}

Form<std::string> word(std::vector<Word> words) {
  Form<std::string> form;
  form.facts = {.type = "choice", .words = words};
  form.read = [words = std::move(words)](YamlMap& map, const std::string& key,
                                         const path&) -> std::optional<std::string> {
    std::vector<std::string_view> choices(words.size());
    std::transform(words.begin(), words.end(), choices.begin(),
                   [](const Word& one) -> std::string_view { return one.word; });
    const std::optional<std::size_t> index = map.choice(key, choices);
    return index ? std::optional(words[*index].word) : std::nullopt;
  };
  form.write = [](const std::string& value) { return value; };
  return form;
}

Form<std::string> or_null(Form<std::string> form, const std::string& meaning_of_null) {
  form.facts.words.push_back({"null", meaning_of_null});
  form.read = [read = std::move(form.read)](YamlMap& map, const std::string& key,
                                            const path& folder) -> std::optional<std::string> {
    return map.is_null(key) ? std::optional<std::string>("") : read(map, key, folder);
  };
  form.write = [write = std::move(form.write)](const std::string& value) {
    return value.empty() ? "null" : write(value);
  };
  return form;
}

Form<std::string> path_or_null(const std::string& meaning_of_null,
                               std::function<bool(const std::string& text)> is_verbatim) {
  Form<std::string> form = where(
      text(), [](const std::string& value) { return !value.empty(); }, "a path or null");
  form.facts.type = "path";
  form.read = [read = std::move(form.read), is_verbatim = std::move(is_verbatim)](
                  YamlMap& map, const std::string& key, const path& folder) -> std::optional<std::string> {
    std::optional<std::string> value = read(map, key, folder);
    if (value && !(is_verbatim && is_verbatim(*value))) {
      value = std::filesystem::absolute(folder / *value).lexically_normal().string();
    }
    return value;
  };
  return or_null(std::move(form), meaning_of_null);
}

Form<std::string> host_port(const std::string& expected) {
  return where(
      text(), [](const std::string& value) { return parse_host_port(value).has_value(); }, expected);
}

namespace {

using Kind = SubsetSettings::Kind;

constexpr int kFewestChosen = 4;  ///< minimum for a map

std::string expected_subset() {
  return fmt::format(
      "all, \"grid RxC\" of 1 to {0} rows and columns, \"spiral N\" or \"random N\" of {1} to {2} microphones, or a "
      "list "
      "of at least {1} channels from 0 to {3}, each once",
      kMaxSide, kFewestChosen, kMaxMicrophones, kMaxMicrophones - 1);
}

bool parse_count(std::string_view text, int least, int most, int& value) {
  const char* const end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && at == end && value >= least && value <= most;
}

std::optional<SubsetSettings> read_subset(YamlMap& map, const std::string& key) {
  if (map.is_list(key)) {
    std::optional<std::vector<int>> channels = map.integers(key, 0, kMaxMicrophones - 1);
    if (!channels) {
      return std::nullopt;
    }
    std::sort(channels->begin(), channels->end());
    const bool has_twice = std::adjacent_find(channels->begin(), channels->end()) != channels->end();
    if (has_twice || channels->size() < static_cast<std::size_t>(kFewestChosen)) {
      map.problem(key, expected_subset());
      return std::nullopt;
    }
    return SubsetSettings{.kind = Kind::kChannels, .channels = std::move(*channels)};
  }
  const std::optional<std::string> text = map.text(key);
  if (!text) {
    return std::nullopt;
  }
  std::optional<SubsetSettings> subset = subset_of(*text);
  if (!subset) {
    map.problem(key, expected_subset());
  }
  return subset;
}

std::string write_subset(const SubsetSettings& subset) {
  switch (subset.kind) {
    case Kind::kAll:
      break;
    case Kind::kGrid:
      return fmt::format("grid {}x{}", subset.rows, subset.columns);
    case Kind::kSpiral:
      return fmt::format("spiral {}", subset.count);
    case Kind::kRandom:
      return fmt::format("random {}", subset.count);
    case Kind::kChannels:
      return list(subset.channels);
  }
  return "all";
}

}  // namespace

std::optional<SubsetSettings> subset_of(std::string_view text) {
  SubsetSettings result;
  if (text == "all") {
    return result;
  }
  const std::size_t space = text.find(' ');
  const std::string_view kind = text.substr(0, space);
  const std::string_view rest = space == std::string_view::npos ? std::string_view() : text.substr(space + 1);
  if (kind == "grid") {
    const std::size_t x = rest.find('x');
    result.kind = Kind::kGrid;
    const bool fits = x != std::string_view::npos && parse_count(rest.substr(0, x), 1, kMaxSide, result.rows) &&
                      parse_count(rest.substr(x + 1), 1, kMaxSide, result.columns) &&
                      result.rows * result.columns >= kFewestChosen;
    return fits ? std::optional(result) : std::nullopt;
  }
  result.kind = kind == "spiral" ? Kind::kSpiral : Kind::kRandom;
  const bool fits =
      (kind == "spiral" || kind == "random") && parse_count(rest, kFewestChosen, kMaxMicrophones, result.count);
  return fits ? std::optional(result) : std::nullopt;
}

Form<SubsetSettings> subset() {
  Form<SubsetSettings> form;
  form.facts = {
      .type = "text or list of integers",
      .range = fmt::format("all, grid RxC, spiral N, random N, or channels from 0 to {}", kMaxMicrophones - 1)};
  form.read = [](YamlMap& map, const std::string& key, const std::filesystem::path&) { return read_subset(map, key); };
  form.write = write_subset;
  return form;
}

}  // namespace nearfield::schema
