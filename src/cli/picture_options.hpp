#pragma once
#include <CLI/CLI.hpp>
#include <string>

#include "publish/pictures/picture_scale.hpp"

/// Options for the appearance of pictures.
namespace nearfield::cli {

struct PictureArguments {
  bool decibels = false;
  double range_db = 40.0;
  std::string top = "common";  ///< "common", "own", "hold", or a level
  CLI::Option* range = nullptr;
};

/// Adds --db, --range and --top; the arguments must live until the command line is parsed.
void add_picture_options(CLI::App& command, PictureArguments& arguments);

/// Throws UsageError on a range that is not above 0, on an invalid top, and on a range or a level without --db.
ScaleChoice scale_of(const PictureArguments& arguments);

}  // namespace nearfield::cli
