/* The reader of nearfield_ring.h: reading frames. It only reads the shared memory, and copies a frame before it
 * checks it. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* syscall(), POLLRDHUP */
#endif
#include "nearfield_ring.h"

#include <linux/futex.h>
#include <math.h> /* NAN */
#include <poll.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "nearfield_ring_parts.h"

enum { kAttempts = 16 };
static const int64_t kSecond_ns = 1000000000;
static const int64_t kLook_ns = 100000000; /* interval at which a waiting reader checks that the writer lives */

void nf_ring_microphones(const nf_ring* ring, uint32_t* microphones, float* missing_information) {
  *microphones = ring->microphones;
  *missing_information = ring->missing_information;
}

uint32_t nf_ring_version(void) { return NF_RING_VERSION; }

int64_t nf_ring_now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * kSecond_ns + now.tv_nsec;
}

/* ---- CRC32C (Castagnoli, reflected polynomial 0x82F63B78) ---- */

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) static uint32_t crc32c_sse42(uint32_t crc, const uint8_t* bytes, size_t count) {
  uint64_t wide = crc;
  size_t i = 0;
  for (; i + 8 <= count; i += 8) {
    uint64_t word;
    memcpy(&word, bytes + i, sizeof word);
    wide = __builtin_ia32_crc32di(wide, word);
  }
  crc = (uint32_t)wide;
  for (; i < count; ++i) {
    crc = __builtin_ia32_crc32qi(crc, bytes[i]);
  }
  return crc;
}
#endif

static uint32_t crc32c(const uint32_t* table, const uint8_t* bytes, size_t count) {
  uint32_t crc = 0xFFFFFFFFU;
#if defined(__x86_64__)
  if (__builtin_cpu_supports("sse4.2")) {
    return ~crc32c_sse42(crc, bytes, count);
  }
#endif
  for (size_t i = 0; i < count; ++i) {
    crc = (crc >> 8) ^ table[(crc ^ bytes[i]) & 0xFFU];
  }
  return ~crc;
}

/* Checks the CRCs of the head and of every copied product. */
static int crcs_are_right(const nf_ring* ring, const nf_ring_slot* slot) {
  const nf_description* d = &ring->description;
  const size_t start = offsetof(nf_ring_slot, sequence);
  if (crc32c(ring->crc_table, ring->copy + start, d->head_bytes - start) != slot->crc32c) {
    return 0;
  }
  for (size_t i = 0; i < d->header.products; ++i) {
    uint32_t expected;
    memcpy(&expected, ring->copy + d->header.slot_head_bytes + i * sizeof expected, sizeof expected);
    if (ring->is_selected[i] &&
        crc32c(ring->crc_table, ring->copy + d->places[i].offset, d->places[i].bytes) != expected) {
      return 0;
    }
  }
  return 1;
}

/* ---- Atomic words of the shared header ---- */

static uint32_t wake_word(const nf_ring* ring) {
  return __atomic_load_n(&nf_ring_shared(ring)->wake, __ATOMIC_ACQUIRE);
}

static int has_ended(const nf_ring* ring) {
  return __atomic_load_n(&nf_ring_shared(ring)->state, __ATOMIC_ACQUIRE) != NF_RING_LIVE;
}

/* FUTEX_WAIT only reads the word, so a read-only mapping is sufficient. */
static void wait_for_change(const nf_ring* ring, uint32_t seen, int64_t timeout_ns) {
  const struct timespec timeout = {.tv_sec = timeout_ns / kSecond_ns, .tv_nsec = timeout_ns % kSecond_ns};
  syscall(SYS_futex, &nf_ring_shared(ring)->wake, FUTEX_WAIT, seen, &timeout, NULL, 0);
}

static int writer_is_gone(const nf_ring* ring) {
  struct pollfd look = {.fd = ring->connection, .events = POLLRDHUP};
  return poll(&look, 1, 0) == 1 && (look.revents & (POLLHUP | POLLRDHUP | POLLERR)) != 0;
}

/* ---- Reading ---- */

/* Copies the words from `first` to `end`, offsets in a slot that are multiples of 8. */
static void copy_words(const nf_ring* ring, const uint64_t* slot, size_t first, size_t end) {
  for (size_t i = first / 8; i < end / 8; ++i) {
    const uint64_t word = __atomic_load_n(slot + i, __ATOMIC_RELAXED);
    memcpy(ring->copy + 8 * i, &word, sizeof word);
  }
}

/* Reader of the sequence lock (Boehm, "Can seqlocks get along with programming language memory models?", MSPC 2012):
 * every shared word is read atomically, and the fence keeps those reads before the lock's second one. */
static int copy_slot(const nf_ring* ring, uint64_t number) {
  const nf_description* d = &ring->description;
  const nf_ring_header* h = &d->header;
  const uint8_t* place = ring->map + h->header_bytes + (number - 1) % h->slot_count * h->slot_bytes;
  const uint64_t* slot = (const uint64_t*)(const void*)place;
  if (__atomic_load_n(slot, __ATOMIC_ACQUIRE) != 2 * number) {
    return 0;
  }
  copy_words(ring, slot, sizeof *slot, d->head_bytes);
  for (size_t i = 0; i < h->products; ++i) {
    if (ring->is_selected[i]) {
      copy_words(ring, slot, d->places[i].offset, d->places[i].offset + nf_padded(d->places[i].bytes));
    }
  }
  __atomic_thread_fence(__ATOMIC_ACQUIRE);
  return __atomic_load_n(slot, __ATOMIC_RELAXED) == 2 * number;
}

static const void* known_product(const nf_ring* ring, int known) {
  const ptrdiff_t index = ring->description.known[known];
  return index >= 0 ? ring->frame_products[index] : NULL;
}

static nf_ring_status hand_out(nf_ring* ring, uint64_t number, nf_frame* frame) {
  nf_ring_slot slot;
  memcpy(&slot, ring->copy, sizeof slot);
  if (ring->check_crc && !crcs_are_right(ring, &slot)) {
    return NF_RING_CORRUPT;
  }
  for (size_t i = 0; i < ring->description.header.products; ++i) {
    ring->frame_products[i] = ring->is_selected[i] ? ring->copy + ring->description.places[i].offset : NULL;
  }
  const int64_t now_ns = nf_ring_now_ns();
  ring->microphones = slot.microphones;
  ring->missing_information = slot.missing_information;
  *frame = (nf_frame){.number = number,
                      .sequence = slot.sequence,
                      .first_bit_time = slot.first_bit_time,
                      .window_centre_bit_time = slot.window_centre_bit_time,
                      .window_bit_times = slot.window_bit_times,
                      .stream_id = slot.stream_id,
                      .group_delay_ns = slot.group_delay_ns,
                      .capture_mono_ns = slot.capture_mono_ns,
                      .capture_tai_ns = slot.capture_tai_ns,
                      .publish_mono_ns = slot.publish_mono_ns,
                      .publish_tai_ns = slot.publish_tai_ns,
                      .flags = slot.flags,
                      .valid_microphones = slot.valid_microphones,
                      .missing_bit_times = slot.missing_bit_times,
                      .shed_hops = slot.shed_hops,
                      .epoch = slot.epoch,
                      .read_mono_ns = now_ns,
                      .age_ns = now_ns - slot.capture_mono_ns,
                      .products = ring->frame_products,
                      .cutoff_rad_per_m = known_product(ring, kCutoff),
                      .slope = known_product(ring, kSlope),
                      .noise_pa = known_product(ring, kNoise),
                      .error_estimate = known_product(ring, kErrorEstimate),
                      .radiated_power_w = known_product(ring, kRadiatedPower),
                      .points = known_product(ring, kPoints),
                      .images = known_product(ring, kImages)};
  return NF_RING_OK;
}

nf_ring_status nf_ring_read_latest(nf_ring* ring, int64_t max_age_ns, nf_frame* frame) {
  nf_ring_status status = NF_RING_TORN;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    if (has_ended(ring)) {
      return NF_RING_RETIRED;
    }
    const uint64_t number = nf_ring_published(ring);
    if (number == 0) {
      status = NF_RING_NONE;
      break;
    }
    if (!copy_slot(ring, number)) {
      continue;
    }
    status = hand_out(ring, number, frame);
    if (status == NF_RING_OK && frame->age_ns > max_age_ns) {
      status = NF_RING_TOO_OLD;
      if (nf_ring_published(ring) != number) {
        continue; /* this reader was delayed during the copy */
      }
    }
    if (status == NF_RING_OK) {
      ring->last = number;
    }
    break;
  }
  const int none = status == NF_RING_NONE || status == NF_RING_TOO_OLD;
  return none && writer_is_gone(ring) ? NF_RING_GONE : status;
}

/* The next frame to read when `newest` is published: the slot after the newest's is being overwritten. */
static uint64_t next_number(const nf_ring* ring, uint64_t newest) {
  const uint64_t next = ring->last + 1;
  const uint64_t slots = ring->description.header.slot_count;
  return newest >= next + (slots - 1) ? newest - slots / 2 + 1 : next;
}

nf_ring_status nf_ring_read_next(nf_ring* ring, int64_t timeout_ns, nf_frame* frame, uint64_t* skipped) {
  const int64_t start_ns = nf_ring_now_ns();
  for (int torn = 0; torn < kAttempts;) {
    const uint32_t seen = wake_word(ring);
    const int ended = has_ended(ring); /* before `published`: no frame comes after it */
    const uint64_t newest = nf_ring_published(ring);
    if (newest > ring->last) {
      const uint64_t number = next_number(ring, newest);
      if (!copy_slot(ring, number)) {
        ++torn;
        continue;
      }
      if (skipped != NULL) {
        *skipped = number - ring->last - 1;
      }
      ring->last = number;
      return hand_out(ring, number, frame);
    }
    if (ended) {
      return NF_RING_RETIRED;
    }
    if (writer_is_gone(ring)) {
      return NF_RING_GONE;
    }
    const int64_t left_ns = timeout_ns < 0 ? kLook_ns : start_ns + timeout_ns - nf_ring_now_ns();
    if (left_ns <= 0) {
      return NF_RING_TIMEOUT;
    }
    wait_for_change(ring, seen, left_ns < kLook_ns ? left_ns : kLook_ns);
  }
  return NF_RING_TORN;
}

/* ---- Contents of a frame ---- */

const void* nf_frame_product(const nf_ring* ring, const nf_frame* frame, size_t index) {
  return index < ring->description.header.products ? frame->products[index] : NULL;
}

uint64_t nf_frame_rows(const nf_ring* ring, const nf_frame* frame, size_t index) {
  const uint64_t* rows = nf_frame_product(ring, frame, index);
  const nf_product* product = nf_ring_product_at(ring, index);
  if (rows == NULL || product->form != NF_FORM_TABLE) {
    return 0;
  }
  return *rows < product->most_rows ? *rows : product->most_rows;
}

const void* nf_frame_column(const nf_ring* ring, const nf_frame* frame, size_t index, size_t column) {
  const uint8_t* values = nf_frame_product(ring, frame, index);
  const nf_product* product = nf_ring_product_at(ring, index);
  return values == NULL || column >= product->column_count ? NULL : values + product->columns[column].offset;
}

const nf_complex* nf_ring_points(const nf_ring_layout* layout, const nf_frame* frame, uint32_t plane,
                                 uint32_t frequency) {
  return frame->points == NULL ? NULL
                               : frame->points + ((size_t)plane * layout->frequencies + frequency) * layout->points;
}

const nf_complex* nf_ring_image(const nf_ring_layout* layout, const nf_frame* frame, uint32_t plane,
                                uint32_t frequency) {
  return frame->images == NULL
             ? NULL
             : frame->images + ((size_t)plane * layout->frequencies + frequency) * layout->rows * layout->columns;
}

static double distance(double a, double b) { return a > b ? a - b : b - a; }

static size_t nearest(const double* positions, uint32_t count, double position) {
  size_t best = 0;
  for (size_t i = 1; i < count; ++i) {
    best = distance(positions[i], position) < distance(positions[best], position) ? i : best;
  }
  return best;
}

size_t nf_ring_pixel_at(const nf_ring_layout* layout, double x_m, double y_m) {
  return nearest(layout->y_m, layout->rows, y_m) * layout->columns + nearest(layout->x_m, layout->columns, x_m);
}

double nf_ring_radiated_power_w(const nf_ring_layout* layout, const nf_frame* frame, uint32_t plane,
                                uint32_t frequency) {
  if (frame->images == NULL && frame->radiated_power_w != NULL) {
    return (double)frame->radiated_power_w[(size_t)plane * layout->frequencies + frequency];
  }
  if (frame->images == NULL || strcmp(layout->quantity, "active_intensity") != 0 || layout->rows < 2 ||
      layout->columns < 2) {
    return (double)NAN;
  }
  const nf_complex* image = nf_ring_image(layout, frame, plane, frequency);
  const double width_m = layout->x_m[layout->columns - 1] - layout->x_m[0];
  const double height_m = layout->y_m[layout->rows - 1] - layout->y_m[0];
  double sum = 0.0;
  for (size_t i = 0; i < (size_t)layout->rows * layout->columns; ++i) {
    sum += (double)image[i].re;
  }
  return sum * width_m / (layout->columns - 1) * height_m / (layout->rows - 1);
}

_Static_assert(NF_RING_VERSION == 3, "the text below names the format");

const char* nf_ring_status_text(nf_ring_status status) {
  static const char* const texts[] = {"ok",
                                      "no frame has been published yet",
                                      "the newest frame is too old",
                                      "no frame came in time",
                                      "the writer overtook every attempt to read",
                                      "the frame's CRC is wrong",
                                      "the ring has ended",
                                      "the writer is gone",
                                      "nothing listens at the socket",
                                      "this user is not permitted",
                                      "the server has all the readers it takes",
                                      "the daemon has no ring yet",
                                      "what was handed over is no ring of format 3",
                                      "a system call failed",
                                      "its server belongs to a user who is not trusted here",
                                      "the ring has no product of this name"};
  const size_t count = sizeof texts / sizeof texts[0];
  return (size_t)status < count ? texts[(size_t)status] : "unknown status";
}
