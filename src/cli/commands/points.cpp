#include <fmt/format.h>

#include <iterator>
#include <memory>
#include <string_view>

#include "cli/command.hpp"
#include "core/error.hpp"
#include "core/system/partial_file.hpp"
#include "files/files.hpp"

namespace nearfield::cli {
namespace {

struct PointsArguments {
  std::string input;
  std::string output;
};

constexpr const char* kTitles = "frame,first_sample,timestamp_ns,flags,plane_m,frequency_hz,x_m,y_m,re,im\n";

/// One line for each plane, frequency and point of a frame.
std::string lines_of(const ImagesHeader& header, const ImageFrame& frame, std::uint64_t number) {
  std::string text;
  std::size_t index = 0;
  for (const double plane_m : header.planes_m) {
    for (const double frequency_hz : header.frequencies_hz) {
      for (const PlanePoint& point : header.points) {
        const std::complex<float> value = frame.points[index++];
        fmt::format_to(std::back_inserter(text), "{},{},{},{},{},{},{},{},{},{}\n", number, frame.first_sample,
                       frame.timestamp_ns, frame.flags, plane_m, frequency_hz, point.x_m, point.y_m, value.real(),
                       value.imag());
      }
    }
  }
  return text;
}

void run(const PointsArguments& arguments) {
  const ImagesReader reader(arguments.input);
  const ImagesHeader& header = reader.header();
  if (header.points.empty()) {
    throw DataError(fmt::format("{}: expected /points, found none: replay with holography.points", arguments.input));
  }
  const auto write = [&](const auto& put) {
    put(kTitles);
    for (std::uint64_t number = 0; number < reader.frames(); ++number) {
      put(lines_of(header, reader.read(number), number));
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
