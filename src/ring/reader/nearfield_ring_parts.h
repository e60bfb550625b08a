/* Declarations shared by the files of the reader; not part of the API. */
#ifndef NEARFIELD_RING_PARTS_H
#define NEARFIELD_RING_PARTS_H

#include "nearfield_ring.h"

/* Place of a product in a slot, and in the copy of one, which begins alike. */
typedef struct nf_place {
  size_t offset;
  size_t bytes;
} nf_place;

/* Products that have a member of nf_frame. */
enum {
  kCutoff,
  kSlope,
  kNoise,
  kErrorEstimate,
  kRadiatedPower,
  kPoints,
  kImages,
  kKnownProducts,
};

/* A ring's header with its tables, copied and checked, and their description in the API. */
typedef struct nf_description {
  uint8_t* block; /* header_bytes long; the layout points into it */
  nf_ring_header header;
  nf_ring_layout layout;
  nf_axis* axes;
  nf_product* products;
  const nf_axis** product_axes;    /* axes of all products, consecutive */
  nf_column* columns;              /* likewise */
  nf_place* places;                /* [product] */
  size_t head_bytes;               /* head of a slot, with the products' CRCs and their padding */
  size_t used_bytes;               /* used part of a slot */
  ptrdiff_t known[kKnownProducts]; /* indices of products; -1: none */
} nf_description;

struct nf_ring {
  char* path;
  char* processor; /* NULL: the first one */
  int connection;
  const uint8_t* map; /* shared, read-only */
  size_t map_bytes;
  nf_description description;
  uint8_t* copy;                /* one slot */
  const void** frame_products;  /* [product]: nf_frame.products */
  uint8_t* is_selected;         /* [product] */
  const char* const* selection; /* names; NULL: all */
  size_t selection_count;
  void* own_selection;  /* memory of `selection`, if it was allocated */
  uint64_t last;        /* number of the frame read last */
  uint32_t microphones; /* in that frame, like missing_information */
  float missing_information;
  int check_crc;
  uint32_t crc_table[256];
};

/* Copies and checks the header block of `bytes` of shared memory; NF_RING_BAD, NF_RING_SYSTEM. nf_description_free()
 * frees what it allocated, after a failure too. */
__attribute__((visibility("hidden"))) nf_ring_status nf_description_read(nf_description* description,
                                                                         const uint8_t* map, uint64_t bytes);
__attribute__((visibility("hidden"))) void nf_description_free(nf_description* description);

static inline const nf_ring_header* nf_ring_shared(const nf_ring* ring) {
  return (const nf_ring_header*)(const void*)ring->map;
}

/* Number of the newest frame. */
static inline uint64_t nf_ring_published(const nf_ring* ring) {
  return __atomic_load_n(&nf_ring_shared(ring)->published, __ATOMIC_ACQUIRE);
}

/* Rounds up to a multiple of 8. */
static inline size_t nf_padded(size_t bytes) { return (bytes + 7) & ~(size_t)7; }

#endif
