#pragma once
#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "files/results_file.hpp"
#include "publish/pictures/value_scale.hpp"

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

/// True if a processor of the file has a table `sources`, or several frames of an array over bearings.
bool has_overviews(const ResultsReader& reader);

/// Pictures that the Python package draws.
struct OverviewsCall {
  std::string command;  ///< for messages
  std::string input;    ///< images, HDF5
  std::string folder;
  PictureArguments pictures;
};
/// Becomes Python to draw tracks and bearings of the input, or what other words of nearfield.overviews ask for.
[[noreturn]] void become_overviews(const OverviewsCall& call, std::vector<std::string> words = {});

}  // namespace nearfield::cli
