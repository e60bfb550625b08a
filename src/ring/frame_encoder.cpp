#include "ring/frame_encoder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <numbers>
#include <numeric>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>

#include "core/crc32c.hpp"
#include "core/error.hpp"
#include "core/settings.hpp"
#include "core/system/clocks.hpp"
#include "core/system/host.hpp"

namespace nearfield::ring {
namespace {

__extension__ using Wide = unsigned __int128;

/// f/F by long division, one fractional bit at a time. Doubling a fraction below 1 and subtracting 1 are exact.
Wide share_of_bit_rate(double frequency_hz, std::uint32_t bit_rate_hz) {
  double whole = 0.0;
  double fraction = std::modf(frequency_hz, &whole);
  auto rest = static_cast<std::uint64_t>(whole);
  Wide quotient = 0;
  for (int bit = 0; bit < 128; ++bit) {
    fraction *= 2.0;
    const bool carry = fraction >= 1.0;
    fraction -= carry ? 1.0 : 0.0;
    rest = 2 * rest + (carry ? 1 : 0);
    const bool one = rest >= bit_rate_hz;
    rest -= one ? bit_rate_hz : 0;
    quotient = (quotient << 1U) | (one ? 1U : 0U);
  }
  return quotient;
}

}  // namespace

TonePhase::TonePhase(double frequency_hz, std::uint32_t bit_rate_hz) {
  if (!(frequency_hz >= 0.0 && frequency_hz < bit_rate_hz)) {
    throw ConfigError(fmt::format("phase reference: expected frequencies from 0 Hz to {} Hz, found {} Hz", bit_rate_hz,
                                  frequency_hz));
  }
  const Wide step = share_of_bit_rate(frequency_hz, bit_rate_hz);
  step_high_ = static_cast<std::uint64_t>(step >> 64U);
  step_low_ = static_cast<std::uint64_t>(step);
}

std::uint64_t TonePhase::turns(std::uint64_t bit_time) const {
  const auto below = static_cast<std::uint64_t>((static_cast<Wide>(step_low_) * bit_time) >> 64U);
  return step_high_ * bit_time + below;
}

std::complex<float> TonePhase::to_stream(std::uint64_t bit_time) const {
  // The signed view keeps small angles exact: -half a turn to half a turn.
  const double turn = std::ldexp(static_cast<double>(static_cast<std::int64_t>(turns(bit_time))), -64);
  const double angle = -2.0 * std::numbers::pi * turn;
  return {static_cast<float>(std::cos(angle)), static_cast<float>(std::sin(angle))};
}

namespace {

static_assert(std::endian::native == std::endian::little);
static_assert(sizeof(nf_ring_header) == 256 && sizeof(nf_ring_axis) == 24 && sizeof(nf_ring_product) == 64 &&
              sizeof(nf_ring_column) == 24);
static_assert(static_cast<int>(Product::Form::kArray) == NF_FORM_ARRAY &&
              static_cast<int>(Product::Form::kFigure) == NF_FORM_FIGURE &&
              static_cast<int>(Product::Form::kTable) == NF_FORM_TABLE);
static_assert(static_cast<int>(ElementType::kComplex64) == NF_TYPE_COMPLEX64 &&
              static_cast<int>(ElementType::kFloat32) == NF_TYPE_FLOAT32 &&
              static_cast<int>(ElementType::kFloat64) == NF_TYPE_FLOAT64 &&
              static_cast<int>(ElementType::kUint32) == NF_TYPE_UINT32 &&
              static_cast<int>(ElementType::kUint64) == NF_TYPE_UINT64);

// Limits of nearfield_ring.h.
constexpr std::size_t kMostHeaderBytes = std::size_t{1} << 26U;
constexpr std::size_t kMostAxes = 1024;
constexpr std::size_t kMostProducts = 1024;
constexpr std::size_t kMostAxesOfProduct = 16;
constexpr std::size_t kMostColumns = 4096;
constexpr std::size_t kMostText = 255;

constexpr std::size_t kWord = 8;

void require(std::size_t count, std::size_t most, const char* what, const std::string& whose) {
  if (count > most) {
    throw ConfigError(fmt::format("ring: expected at most {} {} in {}, found {}", most, what, whose, count));
  }
}

void require_room(const ResultHeader& header) {
  require(header.axes.size(), kMostAxes, "axes", header.processor);
  require(header.products.size(), kMostProducts, "products", header.processor);
  std::size_t columns = 0;
  for (const Product& product : header.products) {
    require(product.axes.size(), kMostAxesOfProduct, "axes", product.name);
    columns += product.columns.size();
  }
  require(columns, kMostColumns, "columns of tables", header.processor);
  std::size_t values = 0;
  for (const Axis& axis : header.axes) {
    values += axis.values.size();
  }
  // The other tables take less than the other half.
  require(values, kMostHeaderBytes / 2 / sizeof(double), "values of axes", header.processor);
}

/// A block of memory that grows.
class Block {
 public:
  explicit Block(std::size_t bytes) : bytes_(bytes) {}
  /// Appends and returns the offset, a multiple of 8.
  template <class T>
  std::uint32_t append(std::span<const T> values) {
    const std::size_t offset = bytes_.size();
    bytes_.resize(round_up(offset + values.size_bytes(), kWord));
    if (!values.empty()) {
      std::memcpy(bytes_.data() + offset, values.data(), values.size_bytes());
    }
    return static_cast<std::uint32_t>(offset);
  }
  std::uint32_t append_text(const std::string& text) {
    require(text.size(), kMostText, "characters", "\"" + text + "\"");
    return append(std::span(text.c_str(), text.size() + 1));
  }
  std::vector<std::byte> take(std::size_t step) {
    bytes_.resize(round_up(bytes_.size(), step));
    return std::move(bytes_);
  }

 private:
  std::vector<std::byte> bytes_;
};

std::vector<nf_ring_axis> append_axes(Block& block, const ResultHeader& header) {
  std::vector<nf_ring_axis> axes;
  for (const Axis& axis : header.axes) {
    axes.push_back({.name = block.append_text(axis.name),
                    .unit = block.append_text(axis.unit),
                    .size = static_cast<std::uint32_t>(axis.size()),
                    .components = static_cast<std::uint32_t>(axis.components),
                    .values_offset = block.append(std::span(axis.values)),
                    .reserved = 0});
  }
  return axes;
}

std::uint32_t append_columns(Block& block, const Product& product) {
  std::vector<nf_ring_column> columns;
  std::size_t offset = sizeof(std::uint64_t);  // after the number of rows, see ResultHeader::bytes()
  for (const Column& column : product.columns) {
    columns.push_back({.name = block.append_text(column.name),
                       .unit = block.append_text(column.unit),
                       .type = static_cast<std::uint32_t>(column.type),
                       .reserved = 0,
                       .offset = offset});
    offset += round_up(product.most_rows * bytes_of(column.type), kWord);
  }
  return block.append(std::span<const nf_ring_column>(columns));
}

std::uint32_t append_indices(Block& block, const ResultHeader& header, const Product& product) {
  std::vector<std::uint32_t> indices;
  for (const std::string& name : product.axes) {
    indices.push_back(static_cast<std::uint32_t>(header.axis(name) - header.axes.data()));
  }
  return block.append(std::span<const std::uint32_t>(indices));
}

std::vector<nf_ring_product> append_products(Block& block, const ResultHeader& header, std::size_t products_offset) {
  const ProductPlaces places = places_of(header);
  std::vector<nf_ring_product> products;
  for (std::size_t i = 0; i < header.products.size(); ++i) {
    const Product& product = header.products[i];
    products.push_back({.name = block.append_text(product.name),
                        .quantity = block.append_text(product.quantity),
                        .unit = block.append_text(product.unit),
                        .form = static_cast<std::uint32_t>(product.form),
                        .type = static_cast<std::uint32_t>(product.type),
                        .axes = static_cast<std::uint32_t>(product.axes.size()),
                        .axes_offset = append_indices(block, header, product),
                        .columns = static_cast<std::uint32_t>(product.columns.size()),
                        .columns_offset = append_columns(block, product),
                        .reserved = 0,
                        .most_rows = product.most_rows,
                        .offset = products_offset + places.places[i].offset,
                        .bytes = places.places[i].bytes});
  }
  return products;
}

/// Code of nf_ring_header.memory_hops.
std::uint32_t coded(const std::optional<std::int64_t>& memory_hops) {
  constexpr std::uint32_t kAll = std::numeric_limits<std::uint32_t>::max();
  return !memory_hops ? 0U : *memory_hops < 0 ? kAll : static_cast<std::uint32_t>(*memory_hops) + 1U;
}

}  // namespace

std::vector<std::byte> make_header_block(const nf_ring_header& fields, const ResultHeader& header,
                                         std::size_t products_offset) {
  require_room(header);
  nf_ring_header h = fields;
  Block block(sizeof h);
  h.fields_bytes = sizeof h;
  h.slot_head_bytes = sizeof(nf_ring_slot);
  h.axis_bytes = sizeof(nf_ring_axis);
  h.product_bytes = sizeof(nf_ring_product);
  h.column_bytes = sizeof(nf_ring_column);
  h.processor = block.append_text(header.processor);
  h.memory_hops = coded(header.memory_hops);
  const std::vector<nf_ring_axis> axes = append_axes(block, header);
  const std::vector<nf_ring_product> products = append_products(block, header, products_offset);
  h.axes = static_cast<std::uint32_t>(axes.size());
  h.axes_offset = block.append(std::span(axes));
  h.products = static_cast<std::uint32_t>(products.size());
  h.products_offset = block.append(std::span(products));
  std::vector<std::byte> bytes = block.take(kLine);
  h.header_bytes = static_cast<std::uint32_t>(bytes.size());
  std::memcpy(bytes.data(), &h, sizeof h);
  return bytes;
}

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
              kFlagDoubtfulInput == int{NF_FLAG_DOUBTFUL_INPUT} && kFlagSearchPending == int{NF_FLAG_SEARCH_PENDING} &&
              kFlagEitherSide == int{NF_FLAG_EITHER_SIDE});

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
