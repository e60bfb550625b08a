#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <memory>
#include <optional>
#include <random>

#include "cli/command.hpp"
#include "core/daemon_settings.hpp"
#include "core/error.hpp"
#include "encode/sound_file.hpp"
#include "stream/sending/packet_sender.hpp"

namespace nearfield::cli {
namespace {

struct SendArguments {
  std::string input;
  SendSettings settings;
  bool no_crc = false;
  std::optional<double> pascal_per_unit;
};

void print(const SendArguments& arguments, const Playback& playback, const SendReport& report) {
  const char* unit = playback.kind() == PayloadKind::kBits ? "bit-times" : "samples";
  const double played_s = static_cast<double>(report.elements) / playback.rate_hz();
  fmt::print("{}: {} {} ({:.3f} s) in {:.3f} s to {}: {} datagrams, {} bytes, {:.1f} MB/s\n", arguments.input,
             report.elements, unit, played_s, report.elapsed_s, arguments.settings.to, report.datagrams, report.bytes,
             static_cast<double>(report.bytes) / std::max(report.elapsed_s, 1e-9) * 1e-6);
  const FaultCounts& faults = report.faults;
  fmt::print("of {} packets: {} lost, {} reordered, {} duplicated, {} truncated, {} with inverted bits\n",
             faults.packets, faults.lost, faults.reordered, faults.duplicated, faults.truncated, faults.flipped);
  if (report.refused > 0) {
    spdlog::warn("{}: no process listened, {} times", arguments.settings.to, report.refused);
  }
}

void run(SendArguments& arguments) {
  if (!parse_host_port(arguments.settings.to)) {
    throw UsageError(fmt::format("--to: expected HOST:PORT, such as {}, found \"{}\"", DaemonSettings::Source{}.address,
                                 arguments.settings.to));
  }
  const Playback playback = Playback::of(arguments.input, load_track, arguments.pascal_per_unit);
  for (const std::string& warning : playback.warnings()) {
    spdlog::warn("{}", warning);
  }
  SendSettings& settings = arguments.settings;
  settings.crc = !arguments.no_crc;
  if (settings.stream_id == 0) {
    settings.stream_id = std::random_device{}();
  }
  StopSignal::watch();
  print(arguments, playback, send_packets(playback, settings, StopSignal::raised));
}

}  // namespace

void add_send(CLI::App& app) {
  auto arguments = std::make_shared<SendArguments>();
  SendSettings& settings = arguments->settings;
  settings.to = DaemonSettings::Source{}.address;
  settings.stream_id = 0;
  CLI::App* command = app.add_subcommand("send", "Play a recording or a scene as live UDP packets");
  command->add_option("input", arguments->input, "capture, time data (HDF5, WAV, RF64, UFF, MAT), or a scene, YAML")
      ->required();
  command->add_option("--to", settings.to, "HOST:PORT that receives; by default where nearfieldd listens")
      ->capture_default_str();
  command->add_option("--pascal-per-unit", arguments->pascal_per_unit,
                      "of time data whose file does not say it, such as a WAV file's full scale");
  auto* rate = command->add_option("--rate", settings.rate, "times real time");
  command->add_flag("--fast", settings.fast, "as fast as the network takes, whatever gets lost")->excludes(rate);
  command->add_flag("--loop", settings.loop, "begin again at the end, until SIGINT or --duration");
  command->add_option("--duration", settings.duration_s, "seconds of the stream; 0: all");
  command->add_option("--bit-times", settings.elements_per_packet,
                      "bit-times (or samples) in a packet; 0: 256, or as many as a packet holds if fewer");
  command->add_option("--first", settings.first_element, "number of the first bit-time (or sample)");
  command->add_option("--stream-id", settings.stream_id, "0: a random one, so that each run is a restart");
  command->add_flag("--no-crc", arguments->no_crc, "leave the CRC out");
  command->add_option("--loss", settings.faults.loss, "share of packets lost on purpose");
  command->add_option("--reorder", settings.faults.reorder, "share of packets that 1 to 4 later ones overtake");
  command->add_option("--duplicate", settings.faults.duplicate, "share of packets sent twice");
  command->add_option("--truncate", settings.faults.truncate, "share of packets cut short");
  command->add_option("--flip", settings.faults.flip, "share of packets with 1 to 3 bits inverted");
  command->add_option("--seed", settings.faults.seed, "of the faults");
  command->callback([arguments] { run(*arguments); });
}

}  // namespace nearfield::cli
