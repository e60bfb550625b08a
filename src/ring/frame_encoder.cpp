#include "ring/frame_encoder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <stdexcept>

#include "core/crc32c.hpp"
#include "core/error.hpp"
#include "core/settings.hpp"
#include "core/system/clocks.hpp"
#include "core/system/host.hpp"
#include "ring/header_block.hpp"

namespace nearfield::ring {
namespace {

static_assert(std::endian::native == std::endian::little);
static_assert(sizeof(nf_ring_slot) == 128);
static_assert(offsetof(nf_ring_header, published) == 192 && offsetof(nf_ring_header, wake) == 200 &&
              offsetof(nf_ring_header, state) == 204 && offsetof(nf_ring_header, products_offset) == 104);
static_assert(offsetof(nf_ring_slot, crc32c) == 8 && offsetof(nf_ring_slot, sequence) == 16 &&
              offsetof(nf_ring_slot, publish_tai_ns) == 80 && offsetof(nf_ring_slot, microphones) == 120);
static_assert(kFlagExtrapolationFellBack == int{NF_FLAG_EXTRAPOLATION_FELL_BACK} &&
              kFlagMaskedMicrophones == int{NF_FLAG_MASKED_MICROPHONES} &&
              kFlagMissingBits == int{NF_FLAG_MISSING_BITS} && kFlagOverload == int{NF_FLAG_OVERLOAD} &&
              kFlagNonFiniteInput == int{NF_FLAG_NON_FINITE_INPUT} && kFlagClipped == int{NF_FLAG_CLIPPED} &&
              kFlagWavenumberAboveNyquist == int{NF_FLAG_WAVENUMBER_ABOVE_NYQUIST} &&
              kFlagCommonToAll == int{NF_FLAG_COMMON_TO_ALL} && kFlagLimit == int{NF_FLAG_LIMIT} &&
              kFlagMemoryNotFull == int{NF_FLAG_MEMORY_NOT_FULL} &&
              kFlagInformationMissing == int{NF_FLAG_INFORMATION_MISSING} &&
              kFlagDoubtfulInput == int{NF_FLAG_DOUBTFUL_INPUT});

constexpr std::string_view kFrequency = "frequency";
constexpr std::size_t kCrcStart = 16;  ///< offset of the first of the head's bytes that the CRC covers

/// Writes boot_id() as 16 bytes, or nothing if it is unknown.
void write_boot_id(std::uint8_t* bytes) {
  std::string text = boot_id();
  std::erase(text, '-');
  if (text.size() != 32 || text.find_first_not_of("0123456789abcdef") != std::string::npos) {
    return;
  }
  for (std::size_t i = 0; i < 16; ++i) {
    bytes[i] = static_cast<std::uint8_t>(std::stoul(text.substr(2 * i, 2), nullptr, 16));
  }
}

}  // namespace

FrameEncoder::FrameEncoder(const ResultHeader& header, std::uint64_t epoch, PhaseReference reference,
                           std::uint32_t bit_rate_hz)
    : header_(header), epoch_(epoch), reference_(reference), bit_rate_hz_(bit_rate_hz) {
  if (const std::string flaw = flaw_of(header); !flaw.empty()) {
    throw ConfigError(fmt::format("ring: {}: {}", header.processor, flaw));
  }
  places_ = places_of(header);
  crcs_.resize(round_up(header.products.size(), 2));
  payload_.resize(places_.bytes);
  slot_bytes_ = round_up(used_bytes(), kLine);
  for (const Product& product : header.products) {
    rotations_.push_back(rotation_of(product));
  }
  if (std::any_of(rotations_.begin(), rotations_.end(), [](const Rotation& one) { return one.outer > 0; })) {
    for (const double frequency_hz : header.axis(kFrequency)->values) {
      phases_.emplace_back(frequency_hz, bit_rate_hz_);
    }
    turns_.resize(phases_.size());
  }
}

FrameEncoder::Rotation FrameEncoder::rotation_of(const Product& product) const {
  const auto axis = std::find(product.axes.begin(), product.axes.end(), kFrequency);
  if (reference_ != PhaseReference::kStream || product.form == Product::Form::kTable ||
      product.type != ElementType::kComplex64 || product.quantity == name_of(Quantity::kActiveIntensity) ||
      axis == product.axes.end() || header_.axis(kFrequency)->components != 1) {
    return {};
  }
  const auto sizes = [&](auto first, auto last) {
    std::size_t values = 1;
    std::for_each(first, last, [&](const std::string& name) { values *= header_.axis(name)->size(); });
    return values;
  };
  return {.outer = sizes(product.axes.begin(), axis), .inner = sizes(axis + 1, product.axes.end())};
}

std::vector<std::byte> FrameEncoder::header_block(std::uint32_t slot_count, std::uint64_t ring_id) const {
  nf_ring_header h{};
  h.magic = NF_RING_MAGIC;
  h.version = NF_RING_VERSION;
  h.slot_bytes = slot_bytes_;
  h.slot_count = slot_count;
  h.bit_rate_hz = bit_rate_hz_;
  write_boot_id(h.boot_id);
  h.ring_id = ring_id;
  h.epoch = epoch_;
  h.phase_reference = reference_ == PhaseReference::kStream ? NF_PHASE_OF_STREAM : NF_PHASE_OF_WINDOW;
  return make_header_block(h, header_, head_bytes());
}

void FrameEncoder::take(const Frame& frame) {
  if (frame.products.size() != header_.products.size()) {
    throw std::invalid_argument(fmt::format("frame for the ring: expected {} products, found {}",
                                            header_.products.size(), frame.products.size()));
  }
  std::transform(phases_.begin(), phases_.end(), turns_.begin(),
                 [&](const TonePhase& phase) { return phase.to_stream(frame.first_bit_time); });
  for (std::size_t i = 0; i < frame.products.size(); ++i) {
    const std::span<const std::byte> from = frame.products[i];
    const auto [offset, bytes] = places_.places[i];
    if (from.size() != bytes) {
      throw std::invalid_argument(fmt::format("frame for the ring: expected {} bytes of {}, found {}", bytes,
                                              header_.products[i].name, from.size()));
    }
    std::byte* const to = payload_.data() + offset;
    if (rotations_[i].outer > 0) {
      rotate(rotations_[i], from, to);
    } else {
      std::memcpy(to, from.data(), bytes);
    }
    crcs_[i] = crc32c({to, bytes});
  }
  head_ = {};
  head_.sequence = frame.sequence;
  head_.first_bit_time = frame.first_bit_time;
  head_.window_centre_bit_time = frame.first_bit_time + frame.window_bit_times / 2;
  head_.window_bit_times = frame.window_bit_times;
  head_.stream_id = frame.stream_id;
  // Time from the window's centre to its end, rounded.
  head_.group_delay_ns = (std::uint64_t{frame.window_bit_times} * 1'000'000'000 / 2 + bit_rate_hz_ / 2) / bit_rate_hz_;
  head_.capture_mono_ns = frame.capture_mono_ns;
  head_.capture_tai_ns = frame.capture_tai_ns;
  head_.flags = frame.flags;
  head_.valid_microphones = frame.valid_microphones;
  head_.microphones = frame.microphones;
  head_.missing_information = frame.missing_information;
  head_.missing_bit_times = frame.missing_bit_times;
  head_.shed_hops = frame.shed_hops;
  head_.epoch = frame.epoch;
}

void FrameEncoder::rotate(const Rotation& rotation, std::span<const std::byte> from, std::byte* to) const {
  const auto values = values_of<std::complex<float>>(from);
  auto* turned = reinterpret_cast<float*>(to);
  for (std::size_t image = 0; image < rotation.outer * turns_.size(); ++image) {
    const std::complex<float> turn = turns_[image % turns_.size()];
    for (const std::complex<float>& value : values.subspan(image * rotation.inner, rotation.inner)) {
      *turned++ = value.real() * turn.real() - value.imag() * turn.imag();
      *turned++ = value.real() * turn.imag() + value.imag() * turn.real();
    }
  }
}

void FrameEncoder::stamp() {
  head_.publish_tai_ns = clock_ns(CLOCK_TAI);
  head_.publish_mono_ns = monotonic_ns();
  const std::uint32_t crc_of_head = crc32c(std::as_bytes(std::span(&head_, 1)).subspan(kCrcStart));
  head_.crc32c = crc32c(std::as_bytes(std::span(crcs_)), crc_of_head);
}

}  // namespace nearfield::ring
