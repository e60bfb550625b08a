#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <memory>
#include <system_error>

#include "capture/files.hpp"
#include "cli/command.hpp"
#include "cli/paths.hpp"
#include "nearfield/error.hpp"

namespace nearfield::cli {
namespace {

struct Arguments {
  std::string input;
  std::string output;
};

constexpr const char* kTitles = "frame,first_sample,timestamp_ns,flags,plane_m,frequency_hz,x_m,y_m,re,im\n";

/// A line for each plane, frequency and point of a frame.
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

/// As `path`.partial first, so that no half of a file passes for one.
template <typename Write>
void write_file(const std::string& path, const Write& write) {
  const std::string partial = path + ".partial";
  const auto require = [&](bool ok) {
    if (!ok) {
      const std::string reason = std::strerror(errno);
      std::remove(partial.c_str());
      throw IoError(fmt::format("{}: can't write: {}", path, reason));
    }
  };
  std::FILE* file = std::fopen(partial.c_str(), "w");
  require(file != nullptr);
  try {
    write(file);
  } catch (const std::system_error&) {  // of fmt::print, which leaves errno
  }
  const bool written = std::ferror(file) == 0;
  require(std::fclose(file) == 0 && written);
  require(std::rename(partial.c_str(), path.c_str()) == 0);
}

void run(const Arguments& arguments) {
  const ImagesReader reader(arguments.input);
  const ImagesHeader& header = reader.header();
  if (header.points.empty()) {
    throw DataError(fmt::format("{}: expected /points, found none: replay with holography.points", arguments.input));
  }
  const auto write = [&](std::FILE* to) {
    fmt::print(to, "{}", kTitles);
    for (std::uint64_t number = 0; number < reader.frames(); ++number) {
      fmt::print(to, "{}", lines_of(header, reader.read(number), number));
    }
  };
  if (arguments.output.empty()) {
    write(stdout);
    return;
  }
  require_own_output(arguments.output, {arguments.input});
  write_file(arguments.output, write);
}

}  // namespace

void add_points(CLI::App& app) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = app.add_subcommand("points", "Values at chosen points, from a replay, as CSV");
  command->add_option("input", arguments->input, "images of a replay with holography.points, HDF5")->required();
  command->add_option("-o,--output", arguments->output, "CSV; without it standard output");
  command->callback([arguments] { run(*arguments); });
}

}  // namespace nearfield::cli
