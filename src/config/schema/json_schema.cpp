#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "config/schema/pages.hpp"
#include "config/schema/processor_kinds.hpp"
#include "config/schema/section.hpp"

namespace nearfield::schema {
namespace {

using Json = nlohmann::ordered_json;

/// Sections whose keys are names chosen by the user.
constexpr std::string_view kProcessors = "processors";
constexpr std::string_view kLimits = "daemon.limits";

Json one_of_types(const std::vector<std::string>& types) { return {{"type", types}}; }

/// A scalar that is read as text whatever it looks like: a port, a user's number.
Json scalar() { return one_of_types({"string", "number"}); }

Json bounded(const std::string& type, const Facts& facts) {
  Json schema = {{"type", type}};
  const auto bound = [&](double value) {
    return type == "integer" ? Json(static_cast<std::int64_t>(value)) : Json(value);
  };
  if (facts.minimum) {
    schema[facts.open_minimum ? "exclusiveMinimum" : "minimum"] = bound(*facts.minimum);
  }
  if (facts.maximum) {
    schema["maximum"] = bound(*facts.maximum);
  }
  return schema;
}

/// "null", "auto"; "longest N" is a pattern.
Json word_schema(const Word& word) {
  if (word.word == "null") {
    return {{"type", "null"}};
  }
  if (word.word.ends_with(" N")) {
    return {{"type", "string"}, {"pattern", fmt::format("^{} [0-9]+$", word.word.substr(0, word.word.size() - 2))}};
  }
  return {{"const", word.word}};
}

Json any_of(const Json& alternatives) {
  return alternatives.size() == 1 ? alternatives.front() : Json{{"anyOf", alternatives}};
}

/// The schema, or one of the words.
Json or_words(const Json& schema, const Facts& facts) {
  Json alternatives = Json::array({schema});
  for (const Word& word : facts.words) {
    alternatives.push_back(word_schema(word));
  }
  return any_of(alternatives);
}

Json array_of(const Json& items) { return {{"type", "array"}, {"items", items}}; }

Json pair_of(const Json& items) { return {{"type", "array"}, {"items", items}, {"minItems", 2}, {"maxItems", 2}}; }

/// One value or a list of them; the list may contain a word, too.
Json one_or_list(const Json& item, const Facts& facts) {
  Json schema = or_words(item, facts);
  return {{"anyOf", Json::array({schema, array_of(schema)})}};
}

Json choice_schema(const Facts& facts) {
  Json words = Json::array();
  for (const Word& word : facts.words) {
    words.push_back(word.word == "null" ? Json() : Json(word.word));
  }
  return {{"enum", words}};
}

/// Schema by the name of a kind of value (Facts::type).
Json value_schema(const Facts& facts) {
  using Maker = Json (*)(const Facts& facts);
  static const std::map<std::string, Maker, std::less<>> kMakers = {
      {"choice", choice_schema},
      {"boolean",
       [](const Facts& f) {
         return or_words({{"type", "boolean"}}, f);
       }},
      {"integer", [](const Facts& f) { return or_words(bounded("integer", f), f); }},
      {"number", [](const Facts& f) { return or_words(bounded("number", f), f); }},
      {"number or level",
       [](const Facts& f) {
         const Json level = {{"type", "string"}, {"pattern", "^[-+]?[0-9.]+ *dBFS$"}};
         return or_words({{"anyOf", Json::array({bounded("number", f), level})}}, f);
       }},
      {"text", [](const Facts& f) { return or_words(scalar(), f); }},
      {"path", [](const Facts& f) { return or_words(scalar(), f); }},
      {"list of texts", [](const Facts& f) { return or_words(array_of(scalar()), f); }},
      {"list of integers", [](const Facts& f) { return one_or_list(bounded("integer", f), f); }},
      {"list of numbers", [](const Facts& f) { return one_or_list(bounded("number", f), f); }},
      {"number or list of numbers", [](const Facts& f) { return one_or_list(bounded("number", f), f); }},
      {"text or list of integers",
       [](const Facts& f) {
         return or_words({{"anyOf", Json::array({{{"type", "string"}}, array_of({{"type", "integer"}})})}}, f);
       }},
      {"pair of numbers", [](const Facts& f) { return or_words(pair_of(bounded("number", f)), f); }},
      {"pair of integers", [](const Facts& f) { return or_words(pair_of(bounded("integer", f)), f); }},
      {"list of pairs",
       [](const Facts& f) {
         return or_words(array_of(pair_of({{"type", "number"}})), f);
       }},
      {"list of pairs of channels",
       [](const Facts& f) {
         return or_words(array_of(pair_of({{"type", "integer"}})), f);
       }},
      {"list of points",
       [](const Facts& f) {
         return or_words(array_of({{"type", "object"}}), f);
       }},
      {"list of sectors",
       [](const Facts& f) {
         return or_words(array_of({{"type", "object"}}), f);
       }},
      {"list of beams",
       [](const Facts& f) {
         return or_words(array_of({{"type", "object"}}), f);
       }},
  };
  const auto found = kMakers.find(facts.type);
  return found == kMakers.end() ? Json::object() : found->second(facts);
}

Json setting_schema(const Section::Entry& entry) {
  Json schema = value_schema(entry.facts);
  schema["description"] =
      entry.facts.unit.empty() ? entry.meaning : fmt::format("{}; {}", entry.meaning, entry.facts.unit);
  const std::string value = entry.written();
  schema["default"] = Json::accept(value) ? Json::parse(value) : Json(value);
  return schema;
}

Json section_schema(const Section& section, const std::string& path);

/// A mapping whose keys are names chosen by the user.
Json named_schema(const Json& of_one) { return {{"type", {"object", "null"}}, {"additionalProperties", of_one}}; }

/// The settings of a processor are those of its kind.
Json processors_schema(const Section& section) {
  Json kinds = Json::array();
  Json cases = Json::array();
  for (const Section::Entry& entry : section.entries()) {
    kinds.push_back(entry.key);
    cases.push_back({{"if", {{"properties", {{"kind", {{"const", entry.key}}}}}, {"required", {"kind"}}}},
                     {"then", section_schema(*entry.section, fmt::format("{}.NAME", kProcessors))}});
  }
  return named_schema(
      {{"type", "object"}, {"required", {"kind"}}, {"properties", {{"kind", {{"enum", kinds}}}}}, {"allOf", cases}});
}

Json section_schema(const Section& section, const std::string& path) {
  if (path == kProcessors) {
    return processors_schema(section);
  }
  if (path == kLimits) {
    return named_schema(section_schema(*section.entries().front().section, fmt::format("{}.NAME", kLimits)));
  }
  Json properties = Json::object();
  for (const Section::Entry& entry : section.entries()) {
    Json& one = properties[entry.key];
    if (entry.section) {
      one = section_schema(*entry.section, path.empty() ? entry.key : path + '.' + entry.key);
      one["description"] = entry.meaning;
    } else {
      one = setting_schema(entry);
    }
  }
  return {{"type", {"object", "null"}}, {"properties", properties}, {"additionalProperties", false}};
}

}  // namespace

std::string settings_schema() {
  Settings defaults = with_each_kind();
  Json schema = {{"$schema", "http://json-schema.org/draft-07/schema#"}, {"title", "Settings of Nearfield"}};
  schema.update(section_schema(describe(defaults), ""));
  schema["properties"]["version"] = {{"const", 1}, {"description", "of this file's format"}};
  return schema.dump(2) + '\n';
}

}  // namespace nearfield::schema
