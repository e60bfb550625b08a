/* What the two files of the reader share; no part of the API. */
#ifndef NEARFIELD_RING_PARTS_H
#define NEARFIELD_RING_PARTS_H

#include "nearfield_ring.h"

struct nf_ring {
  char* path;
  int connection;
  const uint8_t* map; /* shared, read-only */
  size_t map_bytes;
  nf_ring_header constants; /* the header up to `published`, copied */
  nf_ring_layout layout;
  char* axes;        /* what the layout points to */
  uint8_t* copy;     /* of one slot */
  size_t copy_words; /* of a slot, from its start, that are copied */
  uint64_t last;     /* number of the frame read last */
  int check_crc;
  int points_only;
  uint32_t crc_table[256];
};

static inline const nf_ring_header* nf_ring_shared(const nf_ring* ring) {
  return (const nf_ring_header*)(const void*)ring->map;
}

/* Number of the newest frame. */
static inline uint64_t nf_ring_published(const nf_ring* ring) {
  return __atomic_load_n(&nf_ring_shared(ring)->published, __ATOMIC_ACQUIRE);
}

#endif
