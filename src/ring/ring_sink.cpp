#include "ring/ring_sink.hpp"

#include <stdexcept>

namespace nearfield::ring {

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
