#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <memory>

#include "cli/command.hpp"
#include "core/error.hpp"
#include "files/nfr/nfr_convert.hpp"

namespace nearfield::cli {
namespace {

struct ConvertArguments {
  std::string input;
  std::string output;
  std::string what;
  nfr::ConvertRange range;
  nfr::FramesChoice frames;
};

/// The user's choice, or the kind of data that the recording has.
bool converts_bits(const ConvertArguments& arguments, const nfr::Summary& summary) {
  if (!arguments.what.empty()) {
    return arguments.what == "bits";
  }
  if (arguments.frames.processor) {
    return false;
  }
  if (summary.bits.records > 0 && summary.frames > 0) {
    throw UsageError(fmt::format("--what: {} holds bits and images; expected bits or images", arguments.input));
  }
  return summary.bits.records > 0;
}

void convert_bits(const ConvertArguments& arguments, nfr::Reader& reader) {
  const char* const elements = reader.info().elements();
  nfr::ConvertedBits result;
  {
    Progress progress("convert");
    result = nfr::convert_bits(reader, arguments.output, arguments.range, [&](double share) { progress.show(share); });
  }
  if (result.missing_bit_times > 0) {
    spdlog::warn("{} {} are missing, in {} runs; they are silence{}", result.missing_bit_times, elements, result.runs,
                 reader.info().holds_samples ? ", and time data does not say where" : ", and /missing lists them");
    spdlog::warn("of the whole recording, {} {}", elements, nfr::text_of_losses(reader.summary().bits));
  }
  fmt::print("{}: {} {} from {}, {} of them missing\n", arguments.output, result.bit_times, elements,
             arguments.range.from.value_or(reader.summary().bits.first_bit_time), result.missing_bit_times);
}

void convert_images(const ConvertArguments& arguments, const nfr::Reader& reader) {
  nfr::ConvertedFrames result;
  {
    Progress progress("convert");
    result = nfr::convert_frames(reader, arguments.output, arguments.frames, arguments.range,
                                 [&](double share) { progress.show(share); });
  }
  if (result.damaged > 0) {
    spdlog::warn("{} images are damaged and left out", result.damaged);
  }
  fmt::print("{}: {} images\n", arguments.output, result.frames);
}

void run(const ConvertArguments& arguments) {
  require_own_output(arguments.output, {arguments.input});
  if (arguments.range.from && arguments.range.to && *arguments.range.from >= *arguments.range.to) {
    throw UsageError(
        fmt::format("--from, --to: expected from < to, found {} and {}", *arguments.range.from, *arguments.range.to));
  }
  if (arguments.what == "bits" && arguments.frames.processor) {
    throw UsageError("--processor: expected it with images, found --what bits");
  }
  nfr::Reader reader{std::filesystem::path(arguments.input)};
  const nfr::Summary& summary = reader.summary();
  if (summary.damaged_places > 0) {
    spdlog::warn("{}: {} damaged places, {} records are lost", arguments.input, summary.damaged_places,
                 summary.lost_records);
  }
  if (summary.tail_bytes > 0) {
    spdlog::warn("{}: the last record is incomplete; its {} bytes are left out", arguments.input, summary.tail_bytes);
  }
  converts_bits(arguments, summary) ? convert_bits(arguments, reader) : convert_images(arguments, reader);
}

}  // namespace

void add_convert(CLI::App& app) {
  auto arguments = std::make_shared<ConvertArguments>();
  CLI::App* command =
      app.add_subcommand("convert", "Turn a live recording (.nfr) into HDF5: a capture, time data, or images");
  command->add_option("input", arguments->input, "recording")->required();
  command->add_option("-o,--output", arguments->output, "capture, time data of a recording of samples, or images, HDF5")
      ->required();
  command->add_option("--what", arguments->what, "bits (or samples) or images, where the recording holds both")
      ->check(CLI::IsMember({"bits", "images"}));
  command->add_option("--from", arguments->range.from, "first bit-time or sample of the stream, or index of an image");
  command->add_option("--to", arguments->range.to, "one after the last");
  command->add_option("--epoch", arguments->frames.epoch, "of the images, where there are several");
  command->add_option("--processor", arguments->frames.processor,
                      "name of the one whose results are converted; default: the first that has some");
  command->callback([arguments] { run(*arguments); });
}

}  // namespace nearfield::cli
