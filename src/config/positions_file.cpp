#include "config/positions_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <pugixml.hpp>
#include <string_view>
#include <utility>
#include <vector>

#include "config/config.hpp"
#include "core/error.hpp"
#include "core/system/files.hpp"
#include "core/text.hpp"

namespace nearfield {
namespace {

constexpr std::string_view kPositionsKey = "array.positions";
constexpr std::string_view kPositionsHeader = "x_m,y_m,z_m";
constexpr std::string_view kBlanks = " \t\r\n";
/// Upper limit for a file of kMaxMicrophones positions.
constexpr std::size_t kMostPositionBytes = std::size_t{4} << 20U;

using Positions = std::vector<MicrophonePosition>;

std::string_view without_blanks(std::string_view text) {
  const std::size_t first = text.find_first_not_of(kBlanks);
  return first == std::string_view::npos ? std::string_view()
                                         : text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

/// Accepts "nan" and "inf"; flaw_of_positions() refuses them with a message of what it expects.
bool parse_number(std::string_view text, double& value) {
  text = without_blanks(text);
  const char* const end = text.data() + text.size();
  const auto [at, error] = number_from(text.data(), end, value);
  return error == std::errc() && at == end;
}

bool parse_line(std::string_view line, MicrophonePosition& position) {
  for (double* const target : {&position.x_m, &position.y_m, &position.z_m}) {
    const std::size_t comma = line.find(',');
    const bool is_last = target == &position.z_m;
    if ((comma == std::string_view::npos) != is_last || !parse_number(line.substr(0, comma), *target)) {
      return false;
    }
    line = is_last ? std::string_view() : line.substr(comma + 1);
  }
  return true;
}

[[noreturn]] void refuse(const std::string& path, std::string_view what) {
  throw DataError(fmt::format("{}: {}: {}", kPositionsKey, path, what));
}

[[noreturn]] void refuse_line(const std::string& path, std::size_t number, std::string_view expected,
                              std::string_view line) {
  throw FileTextError([&](const FileTextStyle& shown) {
    return fmt::format("{}: {}: line {}: expected {}, found {}", kPositionsKey, path, number, expected, shown(line));
  });
}

Positions positions_of_csv(std::string_view text, const std::string& path) {
  Positions positions;
  bool has_header = false;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = text.find('\n');
    const std::string_view line = without_blanks(text.substr(0, end));
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    if (line.empty() || line.front() == '#') {
      continue;
    }
    if (!has_header) {
      if (!is_heading_of_places(line)) {
        refuse_line(path, number, fmt::format("the header {}", kPositionsHeader), line);
      }
      has_header = true;
    } else if (!parse_line(line, positions.emplace_back())) {
      refuse_line(path, number, fmt::format("{}, three numbers in m", kPositionsHeader), line);
    }
  }
  if (!has_header) {
    refuse(path, fmt::format("expected CSV with the header {}, or XML, found nothing", kPositionsHeader));
  }
  return positions;
}

/// The position that an element gives; `number`, counted from 1, names the element in messages.
MicrophonePosition position_of(const pugi::xml_node& node, std::size_t number, const std::string& path) {
  MicrophonePosition position;
  for (const auto& [name, target] :
       {std::pair{"x", &position.x_m}, std::pair{"y", &position.y_m}, std::pair{"z", &position.z_m}}) {
    const std::string_view found = node.attribute(name).value();
    if (!parse_number(found, *target)) {
      throw FileTextError([&, attribute = name](const FileTextStyle& shown) {
        return fmt::format("{}: {}: pos {}: expected a number in m as the attribute {}, found {}", kPositionsKey, path,
                           number, attribute, shown(found));
      });
    }
  }
  return position;
}

Positions positions_of_xml(std::string_view text, const std::string& path) {
  pugi::xml_document document;
  const pugi::xml_parse_result parsed = document.load_buffer(text.data(), text.size());
  if (!parsed) {
    refuse(path, fmt::format("expected XML, found at byte {}: {}", parsed.offset, parsed.description()));
  }
  Positions positions;
  /// Visits the elements in the order of the document, without recursion, however deep it is.
  for (pugi::xml_node node = document.first_child(); node;) {
    if (std::string_view(node.name()) == "pos") {
      positions.push_back(position_of(node, positions.size() + 1, path));
    }
    pugi::xml_node next = node.first_child();
    while (!next && node) {
      next = node.next_sibling();
      node = node.parent();
    }
    node = next;
  }
  return positions;
}

std::string content_of(const std::string& path) {
  std::string text;
  try {
    text = read_regular_file(path, "a CSV or XML file of positions", kMostPositionBytes + 1);
  } catch (const NoInputError& error) {
    throw ConfigError(fmt::format("{}: {}", kPositionsKey, error.what()));
  }
  if (text.size() > kMostPositionBytes) {
    refuse(path, fmt::format("expected at most {} bytes, found more", kMostPositionBytes));
  }
  return text;
}

}  // namespace

ArrayGeometry read_positions(const std::string& path, const std::optional<AxesOfFile>& axes) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  const std::string content = content_of(path);
  std::string_view text = content;
  text.remove_prefix(text.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0);
  const bool is_xml = without_blanks(text).starts_with('<');
  Positions positions = is_xml ? positions_of_xml(text, path) : positions_of_csv(text, path);
  if (const std::string flaw = flaw_of_positions(positions); !flaw.empty()) {
    refuse(path, flaw);
  }
  constexpr AxesOfFile kOfXml = {.x = 1, .y = 2, .z = -3};
  for (MicrophonePosition& one : positions) {
    one = on_axes(axes.value_or(is_xml ? kOfXml : AxesOfFile()), one);
  }
  return geometry_of(std::move(positions));
}

namespace {

/// A key that images require, and the word for its value in a message.
struct NeededKey {
  std::string_view key;
  std::string_view value;
};
constexpr std::array kLines = {
    std::array{NeededKey{"array.rows", "ROWS"}, NeededKey{"array.columns", "COLUMNS"}},
    std::array{NeededKey{"array.pitch_x_m", "METRES"}, NeededKey{"array.pitch_y_m", "METRES"}},
    std::array{NeededKey{"holography.standoff_m", "METRES"}, NeededKey{"", ""}},
};

constexpr const char* kPascalPerUnit = "array.pascal_per_unit";

}  // namespace

std::string geometry_not_given(const Settings& settings) {
  std::string lines;
  for (const auto& keys : kLines) {
    std::string line;
    for (const auto& [key, value] : keys) {
      if (!key.empty() && !settings.explicit_keys.contains(std::string(key))) {
        line += fmt::format(" --set {}={}", key, value);
      }
    }
    lines += line.empty() ? "" : "\n " + line;
  }
  return lines;
}

void require_geometry(const Settings& settings, const std::string& name, int channels) {
  const std::string lines = geometry_not_given(settings);
  if (!lines.empty()) {
    throw ConfigError(
        fmt::format("{} has {} channels and does not say where its microphones stand. Expected their rows and columns, "
                    "the distances between them (or array.positions, a file of all places) and the distance from the "
                    "surface, in the configuration or as options:{}",
                    name, channels, lines));
  }
}

std::optional<double> pascal_per_unit_for(const Settings& settings, const std::string& name, bool file_says_it) {
  const bool is_of_another_file = file_says_it && !settings.explicit_keys.contains(kPascalPerUnit);
  return pascal_per_unit_for(is_of_another_file ? std::nullopt : settings.array.pascal_per_unit, name, file_says_it);
}

std::optional<double> pascal_per_unit_for(std::optional<double> given, const std::string& name, bool file_says_it) {
  if (!file_says_it && !given) {
    throw ConfigError(
        fmt::format("{} does not say how many pascal its values are. Expected the pascal of full scale where they are "
                    "integers, or of the value 1 where they are floats (1 where these are pascal):\n  --set {}=PASCAL\n"
                    "  (encode and send: --pascal-per-unit PASCAL)",
                    name, kPascalPerUnit));
  }
  if (file_says_it && given) {
    throw ConfigError(fmt::format("{} (--pascal-per-unit): found {}, but {} says its own unit; remove the setting",
                                  kPascalPerUnit, *given, name));
  }
  return given;
}

}  // namespace nearfield
