#include "ring/ring_sink.hpp"

#include <stdexcept>
#include <string_view>

#include "nearfield/runtime_folder.h"

namespace nearfield::ring {

static_assert(std::string_view(NF_RING_DEFAULT_SOCKET) == NF_SYSTEM_FOLDER "/" NF_FRAMES_SOCKET,
              "the public header names the service's socket");

RingSink::~RingSink() {
  server_.reset();
  writer_.reset();
}

void RingSink::begin_epoch(const ImagesHeader& header, std::uint64_t epoch) {
  if (writer_ != nullptr && writer_->fits(header)) {
    return;
  }
  auto next = std::make_unique<RingWriter>(header, epoch, options_);
  server_->offer(next->memory());
  writer_ = std::move(next);  // the old ring ends here: whoever sees that gets the new one
}

void RingSink::write(const LiveFrame& frame) {
  if (writer_ == nullptr) {
    throw std::logic_error("ring: a frame came before the first epoch");
  }
  writer_->write(frame);
}

}  // namespace nearfield::ring
