#include "cli/picture_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "cli/python.hpp"
#include "core/error.hpp"
#include "publish/pictures/sources_table.hpp"

namespace nearfield::cli {

void add_picture_options(CLI::App& command, PictureArguments& arguments) {
  command.add_flag("--db", arguments.decibels, "pictures show levels in dB, of sound pressures re 20 uPa");
  arguments.range =
      command
          .add_option("--range", arguments.range_db, "with --db: dB from the top of a picture's scale to its bottom")
          ->capture_default_str();
  command
      .add_option("--top", arguments.top,
                  "top of the scale: common, the largest value of the same map in all frames; own, each picture's own "
                  "maximum; hold, the largest value so far of the same map; or with --db a level of sound pressure "
                  "in dB re 20 uPa")
      ->capture_default_str();
}

ScaleChoice scale_of(const PictureArguments& arguments) {
  ScaleChoice choice;
  choice.options.decibels = arguments.decibels;
  if (!(arguments.range_db > 0.0) || !std::isfinite(arguments.range_db)) {
    throw UsageError(fmt::format("--range: expected a number of dB > 0, found {}", arguments.range_db));
  }
  choice.options.floor_db = -arguments.range_db;
  choice.is_common = arguments.top == "common";
  choice.is_held = arguments.top == "hold" || choice.is_common;
  if (arguments.top != "own" && !choice.is_held) {
    double level_db = 0.0;
    const char* end = arguments.top.data() + arguments.top.size();
    const auto [stop, error] = std::from_chars(arguments.top.data(), end, level_db);
    if (error != std::errc() || stop != end || !(std::abs(level_db) <= 300.0)) {
      throw UsageError(fmt::format("--top: expected common, own, hold, or a level in dB of at most 300, found \"{}\"",
                                   arguments.top));
    }
    choice.top_db = level_db;
  }
  if (!arguments.decibels && (choice.top_db || arguments.range->count() > 0)) {
    throw UsageError(fmt::format("{}: goes with --db", choice.top_db ? "--top" : "--range"));
  }
  return choice;
}

bool has_overviews(const ResultsReader& reader) {
  constexpr std::array kBearings = {"angle", "azimuth", "elevation"};
  for (std::size_t processor = 0; processor < reader.processors(); ++processor) {
    const ResultHeader& header = reader.header(processor);
    const bool has_bearings =
        std::any_of(kBearings.begin(), kBearings.end(), [&](const char* name) { return header.axis(name) != nullptr; });
    if ((sources_table(header) && reader.frames(processor) > 0) || (has_bearings && reader.frames(processor) > 1)) {
      return true;
    }
  }
  return false;
}

void become_overviews(const OverviewsCall& call, std::vector<std::string> words) {
  words.insert(words.end(), {"--output=" + call.folder, fmt::format("--range={}", call.pictures.range_db),
                             "--top=" + call.pictures.top});
  if (call.pictures.decibels) {
    words.emplace_back("--db");
  }
  words.insert(words.end(), {"--", call.input});
  become_python({.command = call.command, .module = "nearfield.overviews"}, std::move(words));
}

}  // namespace nearfield::cli
