#include "cli/commands/tap_sound.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/error.hpp"

namespace nearfield::cli {
namespace {

/// The ring's description of its products as a header.
ResultHeader header_of(const nf_ring_layout& layout) {
  ResultHeader header;
  header.processor = layout.processor;
  for (std::size_t i = 0; i < layout.axis_count; ++i) {
    const nf_axis& axis = layout.axes[i];
    header.axes.push_back({.name = axis.name,
                           .unit = axis.unit,
                           .values = {axis.values, axis.values + std::size_t{axis.size} * axis.components},
                           .components = axis.components});
  }
  for (std::size_t i = 0; i < layout.product_count; ++i) {
    const nf_product& one = layout.products[i];
    Product product{.name = one.name,
                    .quantity = one.quantity,
                    .unit = one.unit,
                    .form = Product::Form{one.form},
                    .type = ElementType{one.type}};
    for (std::size_t axis = 0; axis < one.axis_count; ++axis) {
      product.axes.emplace_back(one.axes[axis]->name);
    }
    header.products.push_back(std::move(product));
  }
  return header;
}

}  // namespace

TapSound::TapSound(std::string folder, double gain_db, const nf_ring* ring) : folder_(std::move(folder)) {
  if (folder_.empty()) {
    return;
  }
  const nf_ring_layout& layout = *nf_ring_get_layout(ring);
  const std::optional<BeamLayout> beams = beams_of(header_of(layout));
  if (!beams) {
    throw NoInputError(fmt::format(
        "--wav: expected a processor that makes beams, found {}; --processor names another one", layout.processor));
  }
  ring_id_ = layout.ring_id;
  files_ = std::make_unique<BeamFiles>(folder_, layout.processor, *beams, gain_db);
}

void TapSound::add(const nf_ring* ring, const nf_frame& frame) {
  if (!files_) {
    return;
  }
  const nf_ring_layout& layout = *nf_ring_get_layout(ring);
  if (layout.ring_id != ring_id_ && beams_of(header_of(layout)) != files_->layout()) {
    const SoundReport kept = std::exchange(files_, nullptr)->finish();
    throw DataError(
        fmt::format("--wav: the daemon's configuration has changed the beams; start the tap again. Until then: {}",
                    fmt::join(kept.files, ", ")));
  }
  ring_id_ = layout.ring_id;
  if (stream_id_ && *stream_id_ != frame.stream_id) {
    files_->begin_anew();
  }
  changes_ += epoch_ && *epoch_ != frame.epoch ? 1U : 0U;
  stream_id_ = frame.stream_id;
  epoch_ = frame.epoch;
  const BeamLayout& beams = files_->layout();
  // 32 for bits, 1 for samples
  const auto elements_per_sample =
      static_cast<std::uint64_t>(std::max(std::llround(layout.bit_rate_hz / beams.rate_hz), 1LL));
  frames_with_losses_ += frame.missing_bit_times > 0 ? 1U : 0U;
  const auto* const values = static_cast<const float*>(nf_frame_product(ring, &frame, beams.product));
  files_->add(frame.first_bit_time / elements_per_sample, {values, beams.beams * beams.samples});
}

SoundReport TapSound::finish() {
  if (!files_) {
    return {};
  }
  SoundReport report = files_->finish();
  if (frames_with_losses_ > 0) {
    report.warnings.push_back(
        fmt::format("{}: {} frames have bits that never came, which are silence", folder_, frames_with_losses_));
  }
  if (changes_ > 0) {
    report.warnings.push_back(
        fmt::format("{}: the daemon's configuration changed {} times meanwhile; the weights of the beams may have, too",
                    folder_, changes_));
  }
  return report;
}

}  // namespace nearfield::cli
