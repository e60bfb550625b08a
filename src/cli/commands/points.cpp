#include <fmt/format.h>

#include <complex>
#include <iterator>
#include <memory>
#include <string_view>

#include "cli/command.hpp"
#include "core/error.hpp"
#include "core/images.hpp"
#include "core/system/files.hpp"
#include "files/results_file.hpp"

namespace nearfield::cli {
namespace {

struct PointsArguments {
  std::string input;
  std::string output;
};

constexpr const char* kTitles = "frame,first_sample,timestamp_ns,flags,plane_m,frequency_hz,x_m,y_m,re,im\n";

/// One line for each plane, frequency and point of a frame.
std::string lines_of(const ResultHeader& header, const Frame& frame, std::uint64_t number) {
  std::string text;
  const auto values = values_in<std::complex<float>>(header, frame.products, "points");
  const std::vector<double>& points_m = header.coordinates("point");
  std::size_t index = 0;
  for (const double plane_m : header.coordinates("z")) {
    for (const double frequency_hz : header.coordinates("frequency")) {
      for (std::size_t point = 0; point < points_m.size(); point += 2) {
        const std::complex<float> value = values[index++];
        fmt::format_to(std::back_inserter(text), "{},{},{},{},{},{},{},{},{},{}\n", number, frame.first_bit_time,
                       frame.timestamp_ns, frame.flags, plane_m, frequency_hz, points_m[point], points_m[point + 1],
                       value.real(), value.imag());
      }
    }
  }
  return text;
}

void run(const PointsArguments& arguments) {
  const ResultsReader reader = open_images(arguments.input);
  const ResultHeader& header = reader.header(0);
  if (points_of(header) == nullptr) {
    throw DataError(fmt::format("{}: expected /points, found none: replay with holography.points", arguments.input));
  }
  const auto write = [&](const auto& put) {
    put(kTitles);
    for (std::uint64_t number = 0; number < reader.frames(0); ++number) {
      put(lines_of(header, reader.read(0, number).frame, number));
    }
  };
  if (arguments.output.empty() || arguments.output == "-") {
    write([](std::string_view text) { fmt::print("{}", text); });
    return;
  }
  require_own_output(arguments.output, {arguments.input});
  PartialFile file(arguments.output);
  write([&file](std::string_view text) { file.write(text); });
  file.finish();
}

}  // namespace

void add_points(CLI::App& app) {
  auto arguments = std::make_shared<PointsArguments>();
  CLI::App* command = app.add_subcommand("points", "Values at chosen points, from a replay, as CSV");
  command->add_option("input", arguments->input, "images of a replay with holography.points, HDF5")->required();
  command->add_option("-o,--output", arguments->output, "CSV; - is standard output, as without it");
  command->callback([arguments] { run(*arguments); });
}

}  // namespace nearfield::cli
