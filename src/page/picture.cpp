#include "page/picture.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <cstring>
#include <nlohmann/json.hpp>
#include <span>
#include <stdexcept>
#include <string_view>

#include "core/error.hpp"

namespace nearfield::page {
namespace {

using nlohmann::json;

constexpr std::size_t kPictureAlignment = 8;
constexpr std::uint32_t kPictureMagic = 0x4950464E;  ///< the bytes "NFPI"

struct ElementKind {
  const char* name;
  std::size_t bytes;
};

ElementKind element_kind(std::uint32_t type) {
  constexpr std::array<ElementKind, 5> kKinds = {
      {{"complex64", 8}, {"float32", 4}, {"float64", 8}, {"uint32", 4}, {"uint64", 8}}};
  return type < kKinds.size() ? kKinds[type] : ElementKind{"?", 0};
}

const char* form_name(std::uint32_t form) {
  constexpr std::array<const char*, 3> kForms = {"array", "figure", "table"};
  return form < kForms.size() ? kForms[form] : "?";
}

json axis_json(const nf_axis& axis) {
  const std::span<const double> values(axis.values, std::size_t{axis.size} * axis.components);
  return {{"name", axis.name},
          {"unit", axis.unit},
          {"components", axis.components},
          {"values", std::vector<double>(values.begin(), values.end())}};
}

json product_json(const nf_product& product) {
  json described = {{"name", product.name},           {"quantity", product.quantity},
                    {"unit", product.unit},           {"form", form_name(product.form)},
                    {"axes", json::array()},          {"columns", json::array()},
                    {"most_rows", product.most_rows}, {"type", nullptr}};
  if (product.form != NF_FORM_TABLE) {
    described["type"] = element_kind(product.type).name;
  }
  for (std::uint32_t i = 0; i < product.axis_count; ++i) {
    described["axes"].push_back(product.axes[i]->name);
  }
  for (std::uint32_t i = 0; i < product.column_count; ++i) {
    const nf_column& column = product.columns[i];
    described["columns"].push_back(
        {{"name", column.name}, {"unit", column.unit}, {"type", element_kind(column.type).name}});
  }
  return described;
}

void check_axes(const nf_product& product, const FixedAxes& fixed_axes) {
  for (const auto& [name, index] : fixed_axes) {
    const nf_axis* found = nullptr;
    std::vector<std::string> names;
    for (std::uint32_t i = 0; i < product.axis_count; ++i) {
      names.emplace_back(product.axes[i]->name);
      found = names.back() == name ? product.axes[i] : found;
    }
    if (found == nullptr) {
      throw UsageError(fmt::format("select: expected axes of {}, which has [{}]; found \"{}\"", product.name,
                                   fmt::join(names, ", "), name));
    }
    if (index >= found->size) {
      throw UsageError(fmt::format("select.{}: expected an index below {}, found {}", name, found->size, index));
    }
  }
}

/// Copies whole trailing axes as one run; iterates over the others, the fastest one last.
Slice slice_of(const nf_product& product, std::size_t index, const FixedAxes& fixed_axes) {
  Slice slice{.product = index, .run_bytes = element_kind(product.type).bytes, .places = {0}};
  std::size_t stride = slice.run_bytes;
  bool is_run = true;
  for (std::uint32_t i = product.axis_count; i-- > 0;) {
    const nf_axis& axis = *product.axes[i];
    const auto fixed = fixed_axes.find(axis.name);
    if (fixed != fixed_axes.end()) {
      for (std::size_t& place : slice.places) {
        place += fixed->second * stride;
      }
      is_run = false;
    } else if (is_run) {
      slice.run_bytes *= axis.size;
    } else {
      std::vector<std::size_t> places;
      places.reserve(slice.places.size() * axis.size);
      for (std::size_t entry = 0; entry < axis.size; ++entry) {
        for (const std::size_t place : slice.places) {
          places.push_back(place + entry * stride);
        }
      }
      slice.places = std::move(places);
    }
    stride *= axis.size;
  }
  return slice;
}

template <typename Value>
void append(std::string& bytes, const Value& value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

void pad(std::string& bytes) {
  bytes.append((kPictureAlignment - bytes.size() % kPictureAlignment) % kPictureAlignment, '\0');
}

nf_ring_slot head_of(const nf_frame& frame) {
  nf_ring_slot head{};
  head.lock = 2 * frame.number;
  head.sequence = frame.sequence;
  head.first_bit_time = frame.first_bit_time;
  head.window_centre_bit_time = frame.window_centre_bit_time;
  head.window_bit_times = frame.window_bit_times;
  head.stream_id = frame.stream_id;
  head.group_delay_ns = frame.group_delay_ns;
  head.capture_mono_ns = frame.capture_mono_ns;
  head.capture_tai_ns = frame.capture_tai_ns;
  head.publish_mono_ns = frame.publish_mono_ns;
  head.publish_tai_ns = frame.publish_tai_ns;
  head.flags = frame.flags;
  head.valid_microphones = frame.valid_microphones;
  head.missing_bit_times = frame.missing_bit_times;
  head.shed_hops = frame.shed_hops;
  head.epoch = frame.epoch;
  return head;
}

/// Appends the columns of a table with the rows of the frame, each column padded.
void append_table(std::string& bytes, const nf_ring* ring, const nf_frame& frame, std::size_t index) {
  const nf_product& table = *nf_ring_product_at(ring, index);
  const auto rows = static_cast<std::size_t>(nf_frame_rows(ring, &frame, index));
  for (std::uint32_t i = 0; i < table.column_count; ++i) {
    if (const void* const column = nf_frame_column(ring, &frame, index, i)) {
      bytes.append(static_cast<const char*>(column), rows * element_kind(table.columns[i].type).bytes);
    }
    pad(bytes);
  }
}

void append_slice(std::string& bytes, const nf_ring* ring, const nf_frame& frame, const Slice& slice) {
  const auto* const values = static_cast<const char*>(nf_frame_product(ring, &frame, slice.product));
  if (values == nullptr) {
    throw std::logic_error("a picture of a product that was not read");
  }
  for (const std::size_t place : slice.places) {
    bytes.append(values + place, slice.run_bytes);
  }
}

}  // namespace

json layout_json(const nf_ring_layout& layout) {
  json described = {{"processor", layout.processor},
                    {"ring_id", std::to_string(layout.ring_id)},
                    {"bit_rate_hz", layout.bit_rate_hz},
                    {"phase_reference", layout.phase_reference == NF_PHASE_OF_STREAM ? "stream" : "window"},
                    {"axes", json::array()},
                    {"products", json::array()}};
  for (std::uint32_t i = 0; i < layout.axis_count; ++i) {
    described["axes"].push_back(axis_json(layout.axes[i]));
  }
  for (std::uint32_t i = 0; i < layout.product_count; ++i) {
    described["products"].push_back(product_json(layout.products[i]));
  }
  return described;
}

PicturePlan::PicturePlan(const nf_ring_layout& layout, const std::string& product, const FixedAxes& fixed_axes) {
  std::vector<std::string> names;
  for (std::uint32_t i = 0; i < layout.product_count; ++i) {
    const nf_product& candidate = layout.products[i];
    names.emplace_back(candidate.name);
    if (names.back() == product) {
      check_axes(candidate, fixed_axes);
      slices_.insert(slices_.begin(), slice_of(candidate, i, fixed_axes));
    } else if (candidate.form == NF_FORM_FIGURE) {
      slices_.push_back(slice_of(candidate, i, {}));
    }
  }
  if (slices_.empty() || layout.products[slices_.front().product].name != product) {
    throw UsageError(fmt::format("product: expected one of {}, which has [{}]; found \"{}\"", layout.processor,
                                 fmt::join(names, ", "), product));
  }
}

std::string PicturePlan::encode(std::uint32_t id, const nf_ring* ring, const nf_frame& frame,
                                std::int64_t sent_mono_ns) const {
  std::string message;
  append(message, kPictureMagic);
  append(message, id);
  append(message, static_cast<std::uint32_t>(sizeof(nf_ring_slot)));
  append(message, static_cast<std::uint32_t>(slices_.size()));
  append(message, sent_mono_ns);
  append(message, head_of(frame));
  for (const Slice& slice : slices_) {
    const bool is_table = nf_ring_product_at(ring, slice.product)->form == NF_FORM_TABLE;
    append(message, static_cast<std::uint32_t>(slice.product));
    append(message, is_table ? static_cast<std::uint32_t>(nf_frame_rows(ring, &frame, slice.product)) : 0U);
    const std::size_t bytes_at = message.size();
    append(message, std::uint64_t{0});
    const std::size_t begin = message.size();
    is_table ? append_table(message, ring, frame, slice.product) : append_slice(message, ring, frame, slice);
    const auto bytes = static_cast<std::uint32_t>(message.size() - begin);
    std::memcpy(message.data() + bytes_at, &bytes, sizeof bytes);
    pad(message);
  }
  return message;
}

}  // namespace nearfield::page
