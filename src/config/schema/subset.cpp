#include "config/schema/subset.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <string_view>
#include <utility>

#include "config/words.hpp"

namespace nearfield::schema {
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
