#include "ring/ring_sink.hpp"

#include <stdexcept>
#include <string_view>
#include <utility>

#include "nearfield/runtime_folder.h"

namespace nearfield::ring {

static_assert(std::string_view(NF_RING_DEFAULT_SOCKET) == NF_SYSTEM_FOLDER "/" NF_FRAMES_SOCKET,
              "the public header names the service's socket");

RingSink::~RingSink() {
  server_.reset();
  writer_.reset();
}

void RingSink::prepare(const ResultHeader& header, const Beginning& beginning) {
  const bool needed = writer_ == nullptr || !writer_->fits(header);
  prepared_ = needed ? std::make_unique<RingWriter>(header, beginning.epoch, options_) : nullptr;
}

void RingSink::begin(const ResultHeader& header, const Beginning& beginning) {
  if (writer_ != nullptr && writer_->fits(header)) {
    return;
  }
  std::unique_ptr<RingWriter> next = std::move(prepared_);
  if (next == nullptr || !next->fits(header)) {
    next = std::make_unique<RingWriter>(header, beginning.epoch, options_);
  }
  server_->offer(next->memory());
  ended_ = std::exchange(writer_, std::move(next));
  if (ended_ != nullptr) {
    ended_->end();  // a reader that sees this asks the server again and gets the new ring
  }
}

void RingSink::free_unused_rings() {
  prepared_.reset();
  ended_.reset();
}

void RingSink::write(const Frame& frame) {
  if (writer_ == nullptr) {
    throw std::logic_error("ring: a frame came before the first epoch");
  }
  writer_->write(frame);
}

}  // namespace nearfield::ring
