#include "ring/ring_output.hpp"

#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "core/error.hpp"
#include "nearfield/runtime_folder.h"

namespace nearfield::ring {
namespace {

static_assert(std::string_view(NF_RING_DEFAULT_SOCKET) == NF_SYSTEM_FOLDER "/" NF_FRAMES_SOCKET,
              "the public header names the service's socket");

/// Name of a processor's channel. The first processor keeps its channel under any name.
std::string channel_name(const ResultHeader& header, const Beginning& beginning) {
  return beginning.processor == 0 ? "" : header.processor;
}

}  // namespace

std::filesystem::path socket_of_processor(const std::filesystem::path& first, const std::string& processor) {
  if (processor.empty() || processor.find('/') != std::string::npos) {
    throw ConfigError(fmt::format("ring: expected a processor's name that a socket can have, found \"{}\"", processor));
  }
  std::string path(first.native().size() + processor.size() + 2, '\0');
  nf_socket_of_processor(first.c_str(), processor.c_str(), path.data(), path.size());
  return path.c_str();
}

RingOutput::RingOutput(RingOptions options, ServerOptions server) : options_(options), server_(std::move(server)) {
  channel_of("");
}

RingOutput::Channel& RingOutput::channel_of(const std::string& name) {
  return channels_.get(name, [&] {
    ServerOptions server = server_;
    if (!name.empty()) {
      server.socket = socket_of_processor(server_.socket, name);
    }
    Channel channel;
    channel.server = std::make_unique<RingServer>(server);
    return channel;
  });
}

void RingOutput::prepare(const ResultHeader& header, const Beginning& beginning) {
  Channel& channel = channel_of(channel_name(header, beginning));
  const bool needed = channel.writer == nullptr || !channel.writer->fits(header);
  channel.prepared = needed ? std::make_unique<RingWriter>(header, beginning.epoch, options_) : nullptr;
}

void RingOutput::begin(const ResultHeader& header, const Beginning& beginning) {
  const std::string name = channel_name(header, beginning);
  Channel& channel = channel_of(name);
  if (channel.writer == nullptr || !channel.writer->fits(header)) {
    std::unique_ptr<RingWriter> next = std::move(channel.prepared);
    if (next == nullptr || !next->fits(header)) {
      next = std::make_unique<RingWriter>(header, beginning.epoch, options_);
    }
    channel.server->offer(next->memory());
    channel.ended = std::exchange(channel.writer, std::move(next));
    if (channel.ended != nullptr) {
      channel.ended->end();  // a reader that reads this connects to the server again and receives the new ring
    }
  }
  channels_.route(beginning.processor, name, beginning.epoch);
}

void RingOutput::free_unused() {
  channels_.free_unused([](Channel& channel) {
    channel.prepared.reset();
    channel.ended.reset();
  });
}

std::size_t RingOutput::readers() const {
  std::size_t readers = 0;
  channels_.for_each([&](const Channel& channel) { readers += channel.server->clients(); });
  return readers;
}

std::uint64_t RingOutput::refused_readers() const {
  std::uint64_t readers = 0;
  channels_.for_each([&](const Channel& channel) { readers += channel.server->refused(); });
  return readers;
}

const RingWriter* RingOutput::writer(std::size_t processor) const {
  const Channel* const channel = channels_.find(processor);
  return channel == nullptr ? nullptr : channel->writer.get();
}

}  // namespace nearfield::ring
