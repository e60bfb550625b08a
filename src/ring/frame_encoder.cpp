#include "ring/frame_encoder.hpp"

#include <fmt/format.h>
#include <isa-l/crc.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <ctime>
#include <fstream>
#include <limits>
#include <stdexcept>

#include "nearfield/error.hpp"
#include "nearfield/settings.hpp"

namespace nearfield::ring {
namespace {

static_assert(std::endian::native == std::endian::little);
static_assert(sizeof(nf_ring_header) == 256 && sizeof(nf_ring_slot) == 128);
static_assert(offsetof(nf_ring_header, published) == 192 && offsetof(nf_ring_header, wake) == 200 &&
              offsetof(nf_ring_header, state) == 204 && offsetof(nf_ring_header, points) == 144);
static_assert(offsetof(nf_ring_slot, crc32c) == 8 && offsetof(nf_ring_slot, sequence) == 16 &&
              offsetof(nf_ring_slot, publish_tai_ns) == 80 && offsetof(nf_ring_slot, spare) == 120);
static_assert(kFlagExtrapolationFellBack == int{NF_FLAG_EXTRAPOLATION_FELL_BACK} &&
              kFlagMaskedMicrophones == int{NF_FLAG_MASKED_MICROPHONES} &&
              kFlagMissingBits == int{NF_FLAG_MISSING_BITS} && kFlagOverload == int{NF_FLAG_OVERLOAD} &&
              kFlagNonFiniteInput == int{NF_FLAG_NON_FINITE_INPUT} && kFlagClipped == int{NF_FLAG_CLIPPED} &&
              kFlagWavenumberAboveNyquist == int{NF_FLAG_WAVENUMBER_ABOVE_NYQUIST});

constexpr std::size_t kLine = 64;
constexpr std::size_t kCrcStart = 16;  ///< of the head's bytes that the CRC covers

constexpr std::size_t round_up(std::size_t value, std::size_t step) { return (value + step - 1) / step * step; }

/// CRC32C as isa-l carries it on: start with all ones, invert at the end.
std::uint32_t carry_crc(std::uint32_t crc, const void* bytes, std::size_t count) {
  // isa-l's signature lacks the const.
  auto* start = static_cast<unsigned char*>(const_cast<void*>(bytes));  // NOLINT(cppcoreguidelines-pro-type-const-cast)
  return crc32_iscsi(start, static_cast<int>(count), crc);
}

/// The kernel's UUID as 16 bytes; zeros where it cannot be read (a service that sees only processes in /proc).
void read_boot_id(std::uint8_t* bytes) {
  std::string text;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> text;
  std::erase(text, '-');
  if (text.size() != 32 || text.find_first_not_of("0123456789abcdef") != std::string::npos) {
    return;
  }
  for (std::size_t i = 0; i < 16; ++i) {
    bytes[i] = static_cast<std::uint8_t>(std::stoul(text.substr(2 * i, 2), nullptr, 16));
  }
}

void copy_text(std::span<char> to, const std::string& text) {
  text.copy(to.data(), to.size() - 1);  // zero-terminated: `to` is zero before
}

void copy_part(std::span<const float> part, std::size_t expected, const char* name, float* to) {
  if (part.size() != expected) {
    throw std::invalid_argument(
        fmt::format("frame for the ring: expected {} values of {}, found {}", expected, name, part.size()));
  }
  std::copy(part.begin(), part.end(), to);
}

}  // namespace

std::int64_t clock_ns(int clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

FrameEncoder::FrameEncoder(const ResultHeader& description, std::uint64_t epoch, PhaseReference reference)
    : description_(description),
      header_(images_header_of(description).value()),
      epoch_(epoch),
      reference_(reference),
      points_at_(4 * header_.frequencies_hz.size()),
      images_at_(points_at_ + 2 * header_.planes_m.size() * header_.frequencies_hz.size() * header_.points.size()),
      slot_bytes_(0) {
  const ImagesHeader& header = header_;
  const std::size_t values = images_at_ + 2 * header.values_per_frame();
  slot_bytes_ = round_up(sizeof(nf_ring_slot) + values * sizeof(float), kLine);
  if (header.values_per_frame() == 0 || slot_bytes_ > std::size_t{std::numeric_limits<int>::max()}) {
    throw ConfigError(
        fmt::format("ring: expected images of 1 value to 2 GiB a frame, found {} planes x {} frequencies x "
                    "{} rows x {} columns",
                    header.planes_m.size(), header.frequencies_hz.size(), header.y_m.size(), header.x_m.size()));
  }
  if (reference == PhaseReference::kStream && header.quantity != name_of(Quantity::kActiveIntensity)) {
    for (const double frequency_hz : header.frequencies_hz) {
      phases_.emplace_back(frequency_hz);
    }
  }
  payload_.assign(values, 0.0F);
}

std::vector<std::byte> FrameEncoder::header_block(std::uint32_t slot_count, std::uint64_t ring_id) const {
  nf_ring_header h{};
  std::vector<double> tables;
  const auto append = [&](const std::vector<double>& values) {
    const std::size_t offset = sizeof h + tables.size() * sizeof(double);
    tables.insert(tables.end(), values.begin(), values.end());
    return static_cast<std::uint32_t>(offset);
  };
  h.magic = NF_RING_MAGIC;
  h.version = NF_RING_VERSION;
  h.slot_bytes = slot_bytes_;
  h.slot_count = slot_count;
  h.bit_rate_hz = kBitRate_hz;
  read_boot_id(h.boot_id);
  h.ring_id = ring_id;
  h.epoch = epoch_;
  h.planes = static_cast<std::uint32_t>(header_.planes_m.size());
  h.frequencies = static_cast<std::uint32_t>(header_.frequencies_hz.size());
  h.rows = static_cast<std::uint32_t>(header_.y_m.size());
  h.columns = static_cast<std::uint32_t>(header_.x_m.size());
  h.phase_reference = reference_ == PhaseReference::kStream ? NF_PHASE_OF_STREAM : NF_PHASE_OF_WINDOW;
  h.frequencies_offset = append(header_.frequencies_hz);
  h.planes_offset = append(header_.planes_m);
  h.x_offset = append(header_.x_m);
  h.y_offset = append(header_.y_m);
  std::vector<double> points_xy_m;
  for (const PlanePoint& point : header_.points) {
    points_xy_m.insert(points_xy_m.end(), {point.x_m, point.y_m});
  }
  h.points = static_cast<std::uint32_t>(header_.points.size());
  h.points_xy_offset = append(points_xy_m);
  h.points_offset = static_cast<std::uint32_t>(sizeof(nf_ring_slot) + points_at_ * sizeof(float));
  h.images_offset = static_cast<std::uint32_t>(sizeof(nf_ring_slot) + images_at_ * sizeof(float));
  copy_text(h.quantity, header_.quantity);
  copy_text(h.unit, header_.unit);
  const std::size_t table_bytes = tables.size() * sizeof(double);
  h.header_bytes = static_cast<std::uint32_t>(round_up(sizeof h + table_bytes, kLine));
  std::vector<std::byte> block(h.header_bytes);
  std::memcpy(block.data(), &h, sizeof h);
  std::memcpy(block.data() + sizeof h, tables.data(), table_bytes);
  return block;
}

void FrameEncoder::take(const Frame& whole) {
  const LiveFrame frame = live_frame_of(description_, whole);
  const std::size_t n = header_.frequencies_hz.size();
  copy_part(frame.cutoff_rad_per_m, n, "cutoff_rad_per_m", payload_.data());
  copy_part(frame.slope, n, "slope", payload_.data() + n);
  copy_part(frame.noise_pa, n, "noise_pa", payload_.data() + 2 * n);
  copy_part(frame.error_estimate, n, "error_estimate", payload_.data() + 3 * n);
  take_values(frame, "points", frame.points, header_.points.size(), points_at_);
  take_values(frame, "images", frame.images, header_.pixels(), images_at_);
  points_crc_ = carry_crc(~0U, payload_.data(), images_at_ * sizeof(float));
  payload_crc_ = carry_crc(points_crc_, payload_.data() + images_at_, payload_bytes() - images_at_ * sizeof(float));
  head_ = {};
  head_.sequence = frame.sequence;
  head_.first_bit_time = frame.first_bit_time;
  head_.window_centre_bit_time = frame.first_bit_time + frame.window_bit_times / 2;
  head_.window_bit_times = frame.window_bit_times;
  head_.stream_id = frame.stream_id;
  // From the centre to the window's end, at 1.5 bit-times a microsecond, rounded.
  head_.group_delay_ns = (std::uint64_t{frame.window_bit_times} * 1'000'000'000 / 2 + kBitRate_hz / 2) / kBitRate_hz;
  head_.capture_mono_ns = frame.capture_mono_ns;
  head_.capture_tai_ns = frame.capture_tai_ns;
  head_.flags = frame.flags;
  head_.valid_microphones = frame.valid_microphones;
  head_.missing_bit_times = frame.missing_bit_times;
  head_.shed_hops = frame.shed_hops;
  head_.epoch = frame.epoch;
}

void FrameEncoder::take_values(const LiveFrame& frame, const char* name, std::span<const std::complex<float>> values,
                               std::size_t per_frequency, std::size_t at) {
  const std::size_t n = header_.frequencies_hz.size();
  if (values.size() != header_.planes_m.size() * n * per_frequency) {
    throw std::invalid_argument(fmt::format("frame for the ring: expected {} values of {}, found {}",
                                            header_.planes_m.size() * n * per_frequency, name, values.size()));
  }
  if (values.empty()) {
    return;  // without points
  }
  float* to = payload_.data() + at;
  if (phases_.empty()) {
    std::memcpy(to, values.data(), values.size_bytes());
    return;
  }
  for (std::size_t first = 0, image = 0; first < values.size(); first += per_frequency, ++image) {
    const std::complex<float> turn = phases_[image % n].to_stream(frame.first_bit_time);
    for (const std::complex<float>& value : values.subspan(first, per_frequency)) {
      *to++ = value.real() * turn.real() - value.imag() * turn.imag();
      *to++ = value.real() * turn.imag() + value.imag() * turn.real();
    }
  }
}

void FrameEncoder::stamp() {
  head_.publish_tai_ns = clock_ns(CLOCK_TAI);
  head_.publish_mono_ns = clock_ns(CLOCK_MONOTONIC);
  const auto* bytes = reinterpret_cast<const unsigned char*>(&head_);
  head_.crc32c = ~carry_crc(payload_crc_, bytes + kCrcStart, sizeof head_ - kCrcStart);
  head_.points_crc32c = ~carry_crc(points_crc_, bytes + kCrcStart, sizeof head_ - kCrcStart);
}

}  // namespace nearfield::ring
