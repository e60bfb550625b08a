/* The reader of nearfield_ring.h: the contents of a ring's header and tables. They are copied first and checked then,
 * so that no other process can change them after the check; no offset, size or count is trusted before. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <stdlib.h>
#include <string.h>

#include "nearfield_ring.h"
#include "nearfield_ring_parts.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the ring's fields are little-endian");
_Static_assert(sizeof(void*) == 8, "the ring is mapped whole");
_Static_assert(sizeof(nf_ring_header) == 256 && sizeof(nf_ring_slot) == 128, "format 3");
_Static_assert(sizeof(nf_ring_axis) == 24 && sizeof(nf_ring_product) == 64 && sizeof(nf_ring_column) == 24, "format 3");
_Static_assert(offsetof(nf_ring_header, slot_bytes) == 16 && offsetof(nf_ring_header, boot_id) == 32, "format 3");
_Static_assert(offsetof(nf_ring_header, fields_bytes) == 68 && offsetof(nf_ring_header, processor) == 88, "format 3");
_Static_assert(offsetof(nf_ring_header, published) == 192 && offsetof(nf_ring_header, wake) == 200, "format 3");
_Static_assert(offsetof(nf_ring_product, most_rows) == 40 && offsetof(nf_ring_column, offset) == 16, "format 3");
_Static_assert(offsetof(nf_ring_slot, sequence) == 16 && offsetof(nf_ring_slot, window_bit_times) == 40, "format 3");
_Static_assert(offsetof(nf_ring_slot, capture_mono_ns) == 56 && offsetof(nf_ring_slot, flags) == 88, "format 3");
_Static_assert(offsetof(nf_ring_slot, epoch) == 112, "format 3");

enum {
  kMostHeaderBytes = 1 << 26,
  kMostAxes = 1024,
  kMostProducts = 1024,
  kMostAxesOfProduct = 16,
  kMostColumns = 4096,
  kMostTextBytes = 256 /* with the terminating zero */
};

/* ---- Sizes ---- */

/* True if a table lies in the header's block; count and stride are below 2^32. */
static int table_fits(const nf_ring_header* h, uint32_t offset, uint64_t count, uint64_t stride, uint32_t alignment) {
  return offset % alignment == 0 && offset >= h->fields_bytes && count <= h->header_bytes &&
         offset + count * stride <= h->header_bytes;
}

/* Checks a structure's size: at least that of the first version of this format. */
static int is_stride(uint32_t bytes, size_t least) { return bytes >= least && bytes % 8 == 0; }

static int header_is_good(const nf_ring_header* h, uint64_t bytes) {
  if (h->magic != NF_RING_MAGIC || h->version != NF_RING_VERSION || h->header_bytes % 64 != 0 ||
      h->header_bytes > kMostHeaderBytes || h->header_bytes > bytes || h->slot_bytes % 64 != 0 || h->slot_count < 2) {
    return 0;
  }
  if (!is_stride(h->fields_bytes, sizeof(nf_ring_header)) || !is_stride(h->slot_head_bytes, sizeof(nf_ring_slot)) ||
      !is_stride(h->axis_bytes, sizeof(nf_ring_axis)) || !is_stride(h->product_bytes, sizeof(nf_ring_product)) ||
      !is_stride(h->column_bytes, sizeof(nf_ring_column))) {
    return 0;
  }
  if (h->fields_bytes > h->header_bytes || h->slot_head_bytes > h->slot_bytes || h->axes > kMostAxes ||
      h->products == 0 || h->products > kMostProducts || !table_fits(h, h->axes_offset, h->axes, h->axis_bytes, 8) ||
      !table_fits(h, h->products_offset, h->products, h->product_bytes, 8)) {
    return 0;
  }
  const uint64_t slots_bytes = bytes - h->header_bytes;
  return slots_bytes % h->slot_bytes == 0 && slots_bytes / h->slot_bytes == h->slot_count;
}

static size_t bytes_of(uint32_t type) {
  switch (type) {
    case NF_TYPE_COMPLEX64:
    case NF_TYPE_FLOAT64:
    case NF_TYPE_UINT64:
      return 8;
    case NF_TYPE_FLOAT32:
    case NF_TYPE_UINT32:
      return 4;
    default:
      return 0;
  }
}

/* ---- Axes ---- */

/* NULL if there is no terminated text. */
static const char* text_at(const nf_description* d, uint32_t offset) {
  if (offset < d->header.fields_bytes || offset >= d->header.header_bytes) {
    return NULL;
  }
  const size_t left = d->header.header_bytes - offset;
  const uint8_t* text = d->block + offset;
  return memchr(text, 0, left < kMostTextBytes ? left : kMostTextBytes) != NULL ? (const char*)text : NULL;
}

static int read_axis(const nf_description* d, size_t index, nf_axis* axis) {
  nf_ring_axis from;
  memcpy(&from, d->block + d->header.axes_offset + index * d->header.axis_bytes, sizeof from);
  if (from.size == 0 || from.components == 0 || from.components > d->header.header_bytes ||
      !table_fits(&d->header, from.values_offset, from.size, 8ULL * from.components, 8)) {
    return 0;
  }
  *axis = (nf_axis){.name = text_at(d, from.name),
                    .unit = text_at(d, from.unit),
                    .size = from.size,
                    .components = from.components,
                    .values = (const double*)(const void*)(d->block + from.values_offset)};
  return axis->name != NULL && axis->unit != NULL;
}

/* ---- Products ---- */

static nf_ring_product product_at(const nf_description* d, size_t index) {
  nf_ring_product product;
  memcpy(&product, d->block + d->header.products_offset + index * d->header.product_bytes, sizeof product);
  return product;
}

/* Counts the axes and columns of all products; 0 if one has more than permitted, or refers outside the block. */
static int count_parts(const nf_description* d, size_t* axes, size_t* columns) {
  const nf_ring_header* h = &d->header;
  *axes = *columns = 0;
  for (size_t i = 0; i < h->products; ++i) {
    const nf_ring_product from = product_at(d, i);
    *axes += from.axes;
    *columns += from.columns;
    if (from.axes > kMostAxesOfProduct || from.columns > kMostColumns || *columns > kMostColumns ||
        (from.axes > 0 && !table_fits(h, from.axes_offset, from.axes, sizeof(uint32_t), 4)) ||
        (from.columns > 0 && !table_fits(h, from.columns_offset, from.columns, h->column_bytes, 8))) {
      return 0;
    }
  }
  return 1;
}

/* Reads an array's axes, [axis_count]. */
static int read_array(const nf_description* d, const nf_ring_product* from, nf_product* product, const nf_axis** axes) {
  const size_t value_bytes = bytes_of(from->type);
  if (value_bytes == 0 || from->columns != 0) {
    return 0;
  }
  product->values = 1;
  for (size_t i = 0; i < from->axes; ++i) {
    uint32_t index;
    memcpy(&index, d->block + from->axes_offset + i * sizeof index, sizeof index);
    if (index >= d->header.axes) {
      return 0;
    }
    axes[i] = &d->axes[index];
    product->values *= axes[i]->size; /* both are at most 2^40 and 2^23 */
    if (product->values > d->header.slot_bytes) {
      return 0;
    }
  }
  product->axis_count = from->axes;
  product->axes = axes;
  return from->bytes == product->values * value_bytes;
}

/* Reads a table's columns, [column_count]. */
static int read_table(const nf_description* d, const nf_ring_product* from, nf_product* product, nf_column* columns) {
  if (from->axes != 0 || from->columns == 0 || from->most_rows == 0 || from->most_rows > d->header.slot_bytes) {
    return 0;
  }
  uint64_t end = sizeof(uint64_t); /* after the number of rows */
  for (size_t i = 0; i < from->columns; ++i) {
    nf_ring_column column;
    memcpy(&column, d->block + from->columns_offset + i * d->header.column_bytes, sizeof column);
    columns[i] = (nf_column){
        .name = text_at(d, column.name), .unit = text_at(d, column.unit), .type = column.type, .offset = column.offset};
    const uint64_t bytes = from->most_rows * bytes_of(column.type);
    if (columns[i].name == NULL || columns[i].unit == NULL || column.type == NF_TYPE_COMPLEX64 || bytes == 0 ||
        column.offset % 8 != 0 || column.offset < end || column.offset > from->bytes ||
        bytes > from->bytes - column.offset) {
      return 0;
    }
    end = column.offset + bytes;
  }
  product->column_count = from->columns;
  product->columns = columns;
  product->most_rows = from->most_rows;
  return 1;
}

/* Reads the place of a product whose predecessor ends at *end. */
static int read_place(const nf_ring_header* h, const nf_ring_product* from, size_t* end, nf_place* place) {
  if (from->offset % 8 != 0 || from->offset < *end || from->bytes == 0 || from->offset > h->slot_bytes ||
      from->bytes > h->slot_bytes - from->offset) {
    return 0;
  }
  *place = (nf_place){.offset = (size_t)from->offset, .bytes = (size_t)from->bytes};
  *end = place->offset + nf_padded(place->bytes); /* at most slot_bytes, a multiple of 8 too */
  return 1;
}

static int read_products(nf_description* d) {
  const nf_axis** axes = d->product_axes;
  nf_column* columns = d->columns;
  d->used_bytes = d->head_bytes;
  if (d->head_bytes > d->header.slot_bytes) {
    return 0;
  }
  for (size_t i = 0; i < d->header.products; ++i) {
    const nf_ring_product from = product_at(d, i);
    nf_product* product = &d->products[i];
    *product = (nf_product){.name = text_at(d, from.name),
                            .quantity = text_at(d, from.quantity),
                            .unit = text_at(d, from.unit),
                            .form = from.form,
                            .type = from.type};
    if (product->name == NULL || product->quantity == NULL || product->unit == NULL || from.form > NF_FORM_TABLE ||
        !read_place(&d->header, &from, &d->used_bytes, &d->places[i])) {
      return 0;
    }
    const int is_good =
        from.form == NF_FORM_TABLE ? read_table(d, &from, product, columns) : read_array(d, &from, product, axes);
    if (!is_good) {
      return 0;
    }
    axes += from.axes;
    columns += from.columns;
  }
  return 1;
}

/* ---- Axes and products of a processor of images ---- */

enum { kFrequency, kPlane, kRow, kColumn, kPoint, kKnownAxes };

typedef struct Known {
  const char* name;
  uint32_t type;
  int axes[5]; /* ends with kKnownAxes */
} Known;

static const Known kKnown[kKnownProducts] = {
    [kCutoff] = {"cutoff_rad_per_m", NF_TYPE_FLOAT32, {kFrequency, kKnownAxes}},
    [kSlope] = {"slope", NF_TYPE_FLOAT32, {kFrequency, kKnownAxes}},
    [kNoise] = {"noise_pa", NF_TYPE_FLOAT32, {kFrequency, kKnownAxes}},
    [kErrorEstimate] = {"error_estimate", NF_TYPE_FLOAT32, {kFrequency, kKnownAxes}},
    [kRadiatedPower] = {"radiated_power_w", NF_TYPE_FLOAT32, {kPlane, kFrequency, kKnownAxes}},
    [kPoints] = {"points", NF_TYPE_COMPLEX64, {kPlane, kFrequency, kPoint, kKnownAxes}},
    [kImages] = {"images", NF_TYPE_COMPLEX64, {kPlane, kFrequency, kRow, kColumn, kKnownAxes}},
};

/* NULL if there is no axis of this name with so many numbers per entry. */
static const nf_axis* find_axis(const nf_description* d, const char* name, uint32_t components) {
  for (size_t i = 0; i < d->header.axes; ++i) {
    if (strcmp(d->axes[i].name, name) == 0) {
      return d->axes[i].components == components ? &d->axes[i] : NULL;
    }
  }
  return NULL;
}

/* `axes` [kKnownAxes] */
static int is_known(const nf_product* product, const Known* known, const nf_axis* const* axes) {
  if (product->form == NF_FORM_TABLE || product->type != known->type || strcmp(product->name, known->name) != 0) {
    return 0;
  }
  size_t count = 0;
  for (; known->axes[count] != kKnownAxes; ++count) {
    if (count >= product->axis_count || product->axes[count] != axes[known->axes[count]]) {
      return 0;
    }
  }
  return count == product->axis_count;
}

static void find_known(nf_description* d, const nf_axis* const* axes) {
  for (size_t k = 0; k < kKnownProducts; ++k) {
    d->known[k] = -1;
    for (size_t i = 0; i < d->header.products && d->known[k] < 0; ++i) {
      d->known[k] = is_known(&d->products[i], &kKnown[k], axes) ? (ptrdiff_t)i : -1;
    }
  }
}

static uint32_t size_of(const nf_axis* axis) { return axis != NULL ? axis->size : 0; }

static const double* values_of(const nf_axis* axis) { return axis != NULL ? axis->values : NULL; }

static int fill_layout(nf_description* d) {
  const nf_ring_header* h = &d->header;
  const nf_axis* const axes[kKnownAxes] = {[kFrequency] = find_axis(d, "frequency", 1),
                                           [kPlane] = find_axis(d, "z", 1),
                                           [kRow] = find_axis(d, "y", 1),
                                           [kColumn] = find_axis(d, "x", 1),
                                           [kPoint] = find_axis(d, "point", 2)};
  find_known(d, axes);
  const ptrdiff_t shown = d->known[kImages] >= 0 ? d->known[kImages] : d->known[kPoints];
  d->layout = (nf_ring_layout){.planes = size_of(axes[kPlane]),
                               .frequencies = size_of(axes[kFrequency]),
                               .rows = size_of(axes[kRow]),
                               .columns = size_of(axes[kColumn]),
                               .frequencies_hz = values_of(axes[kFrequency]),
                               .planes_m = values_of(axes[kPlane]),
                               .x_m = values_of(axes[kColumn]),
                               .y_m = values_of(axes[kRow]),
                               .points = size_of(axes[kPoint]),
                               .points_xy_m = values_of(axes[kPoint]),
                               .quantity = shown >= 0 ? d->products[shown].quantity : "",
                               .unit = shown >= 0 ? d->products[shown].unit : "",
                               .phase_reference = h->phase_reference,
                               .bit_rate_hz = h->bit_rate_hz,
                               .slot_count = h->slot_count,
                               .ring_id = h->ring_id,
                               .processor = text_at(d, h->processor),
                               .axis_count = h->axes,
                               .product_count = h->products,
                               .axes = d->axes,
                               .products = d->products,
                               .memory_hops = h->memory_hops == 0            ? NF_MEMORY_UNKNOWN
                                              : h->memory_hops == UINT32_MAX ? NF_MEMORY_UNBOUNDED
                                                                             : (int64_t)h->memory_hops - 1};
  return d->layout.processor != NULL;
}

/* ---- The whole description ---- */

static int copy_block(nf_description* d, const uint8_t* map) {
  const size_t before = offsetof(nf_ring_header, published); /* later fields change while they are copied */
  d->block = calloc(1, d->header.header_bytes);
  if (d->block == NULL) {
    return 0;
  }
  memcpy(d->block, &d->header, before);
  memcpy(d->block + sizeof d->header, map + sizeof d->header, d->header.header_bytes - sizeof d->header);
  return 1;
}

/* Never allocates 0 bytes, for which calloc() may return NULL. */
static void* array_of(size_t count, size_t bytes) { return calloc(count + 1, bytes); }

nf_ring_status nf_description_read(nf_description* d, const uint8_t* map, uint64_t bytes) {
  memset(d, 0, sizeof *d);
  if (bytes < sizeof d->header) {
    return NF_RING_BAD;
  }
  memcpy(&d->header, map, offsetof(nf_ring_header, published));
  if (!header_is_good(&d->header, bytes)) {
    return NF_RING_BAD;
  }
  size_t product_axes;
  size_t columns;
  if (!copy_block(d, map)) {
    return NF_RING_SYSTEM;
  }
  if (!count_parts(d, &product_axes, &columns)) {
    return NF_RING_BAD;
  }
  d->head_bytes = nf_padded(d->header.slot_head_bytes + sizeof(uint32_t) * (size_t)d->header.products);
  d->axes = array_of(d->header.axes, sizeof *d->axes);
  d->products = array_of(d->header.products, sizeof *d->products);
  d->product_axes = array_of(product_axes, sizeof *d->product_axes);
  d->columns = array_of(columns, sizeof *d->columns);
  d->places = array_of(d->header.products, sizeof *d->places);
  if (d->axes == NULL || d->products == NULL || d->product_axes == NULL || d->columns == NULL || d->places == NULL) {
    return NF_RING_SYSTEM;
  }
  for (size_t i = 0; i < d->header.axes; ++i) {
    if (!read_axis(d, i, &d->axes[i])) {
      return NF_RING_BAD;
    }
  }
  return read_products(d) && fill_layout(d) ? NF_RING_OK : NF_RING_BAD;
}

void nf_description_free(nf_description* d) {
  free(d->block);
  free(d->axes);
  free(d->products);
  free((void*)d->product_axes);
  free(d->columns);
  free(d->places);
  memset(d, 0, sizeof *d);
}
