/* The reader of nearfield_ring.h: how a ring is found, checked and mapped. It trusts no size that it has not checked.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* memfd seals, ucred, secure_getenv */
#endif
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "nearfield/runtime_folder.h"
#include "nearfield_ring.h"
#include "nearfield_ring_parts.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the ring's fields are little-endian");
_Static_assert(sizeof(void*) == 8, "the ring is mapped whole");
_Static_assert(sizeof(nf_ring_header) == 256 && sizeof(nf_ring_slot) == 128 && sizeof(nf_ring_hello) == 16, "layout 2");
_Static_assert(offsetof(nf_ring_header, slot_bytes) == 16 && offsetof(nf_ring_header, boot_id) == 32, "layout 2");
_Static_assert(offsetof(nf_ring_header, planes) == 64 && offsetof(nf_ring_header, quantity) == 104, "layout 2");
_Static_assert(offsetof(nf_ring_header, published) == 192 && offsetof(nf_ring_header, wake) == 200, "layout 2");
_Static_assert(offsetof(nf_ring_slot, sequence) == 16 && offsetof(nf_ring_slot, window_bit_times) == 40, "layout 2");
_Static_assert(offsetof(nf_ring_slot, capture_mono_ns) == 56 && offsetof(nf_ring_slot, flags) == 88, "layout 2");
_Static_assert(offsetof(nf_ring_slot, epoch) == 112, "layout 2");

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22 /* Linux 5.14 */
#endif

enum { kMaxSide = 1 << 20 };
static const uint64_t kMaxBytes = UINT64_C(1) << 40; /* of a ring; sums of sizes up to it cannot overflow */

/* ---- Connection ---- */

static nf_ring_status status_of_connect(int error) {
  switch (error) {
    case ENOENT:
    case ENOTDIR:
    case ECONNREFUSED:
      return NF_RING_NO_SOCKET;
    case EACCES:
    case EPERM:
      return NF_RING_REFUSED;
    case EAGAIN:
      return NF_RING_BUSY;
    default:
      return NF_RING_SYSTEM;
  }
}

static nf_ring_status connect_to(const char* path, int* connection) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  if (strlen(path) >= sizeof address.sun_path) {
    errno = ENAMETOOLONG;
    return NF_RING_SYSTEM;
  }
  strcpy(address.sun_path, path);
  *connection = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  if (*connection < 0) {
    return NF_RING_SYSTEM;
  }
  const struct timeval second = {.tv_sec = 1};
  setsockopt(*connection, SOL_SOCKET, SO_RCVTIMEO, &second, sizeof second);
  setsockopt(*connection, SOL_SOCKET, SO_SNDTIMEO, &second, sizeof second); /* connect() too */
  if (connect(*connection, (const struct sockaddr*)&address, sizeof address) != 0) {
    return status_of_connect(errno);
  }
  return NF_RING_OK;
}

/* ---- Whose the server is ---- */

/* Whether every folder and link on the way to the folder `path`, which is absolute, belongs to root or to this
 * process's user, the last one perhaps to the server, and nobody else can put another one in its place. */
static int way_is_safe(char* path, uid_t server) {
  for (char* end = strchr(path + 1, '/');; end = strchr(end + 1, '/')) {
    if (end != NULL) {
      *end = '\0';
    }
    struct stat status;
    const int found = lstat(path, &status) == 0;
    if (end != NULL) {
      *end = '/';
    }
    if (!found || (!S_ISLNK(status.st_mode) && (status.st_mode & (S_IWGRP | S_IWOTH)) != 0)) {
      return 0;
    }
    const int is_the_servers = end == NULL && S_ISDIR(status.st_mode) && status.st_uid == server;
    if (status.st_uid != 0 && status.st_uid != geteuid() && !is_the_servers) {
      return 0;
    }
    if (end == NULL) {
      return 1;
    }
  }
}

/* The folder of a socket as it was named, made absolute; NULL: no memory. */
static char* folder_of(const char* path) {
  char* here = path[0] == '/' ? strdup("") : getcwd(NULL, 0);
  char* folder = here != NULL ? malloc(strlen(here) + strlen(path) + 2) : NULL;
  if (folder != NULL) {
    strcpy(folder, here);
    strcat(folder, path[0] == '/' ? "" : "/");
    strcat(folder, path);
    char* last = strrchr(folder, '/');
    last[last == folder ? 1 : 0] = '\0';
  }
  free(here);
  return folder;
}

/* Root, this process's own user, or a user to whom one of these two gave the socket's folder: /run/nearfield, say,
 * which systemd makes for a service's user. In /tmp anybody can make a folder and serve a ring of his own. */
static int is_trusted(int connection, const char* path) {
  struct ucred server;
  socklen_t bytes = sizeof server;
  if (getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &server, &bytes) != 0) {
    return 0;
  }
  if (server.uid == 0 || server.uid == geteuid()) {
    return 1;
  }
  char* folder = folder_of(path);
  char* real = folder != NULL ? realpath(folder, NULL) : NULL;
  const int trusted = real != NULL && way_is_safe(folder, server.uid) && way_is_safe(real, server.uid);
  free(real);
  free(folder);
  return trusted;
}

/* The hand-over's message; *memory becomes the ring's descriptor. */
static nf_ring_status receive_memory(int connection, int* memory) {
  nf_ring_hello hello;
  memset(&hello, 0, sizeof hello);
  struct iovec text = {.iov_base = &hello, .iov_len = sizeof hello};
  union {
    struct cmsghdr align;
    char bytes[CMSG_SPACE(sizeof(int))];
  } control;
  struct msghdr message = {
      .msg_iov = &text, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof control.bytes};
  ssize_t count;
  do {
    count = recvmsg(connection, &message, MSG_CMSG_CLOEXEC);
  } while (count < 0 && errno == EINTR);
  if (count < 0) {
    return errno == ECONNRESET ? NF_RING_GONE : NF_RING_SYSTEM;
  }
  const struct cmsghdr* rights = CMSG_FIRSTHDR(&message);
  if (rights != NULL && rights->cmsg_type == SCM_RIGHTS && rights->cmsg_len == CMSG_LEN(sizeof(int))) {
    memcpy(memory, CMSG_DATA(rights), sizeof(int));
  }
  if (count == 0) {
    return NF_RING_GONE;
  }
  if (count != (ssize_t)sizeof hello || hello.magic != NF_RING_MAGIC || hello.version != NF_RING_VERSION ||
      hello.status < NF_RING_OK || hello.status > NF_RING_SYSTEM) {
    return NF_RING_BAD;
  }
  return hello.status == NF_RING_OK && *memory < 0 ? NF_RING_BAD : (nf_ring_status)hello.status;
}

/* ---- Mapping ---- */

static int table_fits(const nf_ring_header* header, uint32_t offset, uint32_t count) {
  return offset % 8 == 0 && offset >= sizeof *header && (uint64_t)offset + 8ULL * count <= header->header_bytes;
}

static uint64_t image_bytes(const nf_ring_header* header) {
  return 8ULL * header->planes * header->frequencies * header->rows * header->columns;
}

static uint64_t points_bytes(const nf_ring_header* header) {
  return 8ULL * header->planes * header->frequencies * header->points;
}

static int slot_is_good(const nf_ring_header* h) {
  return h->points_offset % 8 == 0 && h->points_offset >= sizeof(nf_ring_slot) + 16ULL * h->frequencies &&
         h->images_offset % 8 == 0 && h->images_offset >= h->points_offset + points_bytes(h) &&
         h->images_offset + image_bytes(h) <= h->slot_bytes;
}

static int header_is_good(const nf_ring_header* h, uint64_t bytes) {
  if (h->magic != NF_RING_MAGIC || h->version != NF_RING_VERSION || h->header_bytes % 64 != 0 ||
      h->slot_bytes % 64 != 0) {
    return 0;
  }
  const uint32_t sides[] = {h->planes, h->frequencies, h->rows, h->columns};
  uint64_t pixels = 1;
  for (int i = 0; i < 4; ++i) {
    if (sides[i] == 0 || sides[i] > kMaxSide || (pixels *= sides[i]) > bytes) {
      return 0;
    }
  }
  if (!table_fits(h, h->frequencies_offset, h->frequencies) || !table_fits(h, h->planes_offset, h->planes) ||
      !table_fits(h, h->x_offset, h->columns) || !table_fits(h, h->y_offset, h->rows) || h->points > kMaxSide ||
      !table_fits(h, h->points_xy_offset, 2 * h->points)) {
    return 0;
  }
  if (!slot_is_good(h) || h->slot_count < 2 || h->header_bytes > bytes) {
    return 0;
  }
  const uint64_t slots_bytes = bytes - h->header_bytes;
  return slots_bytes % h->slot_bytes == 0 && slots_bytes / h->slot_bytes == h->slot_count;
}

static nf_ring_status map_memory(nf_ring* ring, int memory) {
  struct stat status;
  const int seals = fcntl(memory, F_GET_SEALS);
  if (seals < 0 || (seals & F_SEAL_SHRINK) == 0 || fstat(memory, &status) != 0 ||
      (uint64_t)status.st_size < sizeof(nf_ring_header) || (uint64_t)status.st_size > kMaxBytes) {
    return NF_RING_BAD;
  }
  void* map = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_SHARED, memory, 0);
  if (map == MAP_FAILED) {
    return NF_RING_SYSTEM;
  }
  ring->map = map;
  ring->map_bytes = (size_t)status.st_size;
  memcpy(&ring->constants, map, offsetof(nf_ring_header, published));
  if (!header_is_good(&ring->constants, ring->map_bytes)) {
    return NF_RING_BAD;
  }
  /* Pages are mapped now and not at the first reads, but only where all are there: the kernel would find memory for
   * those that were never written. Before Linux 5.14 they are mapped when they are read. */
  if ((uint64_t)status.st_blocks * 512 >= ring->map_bytes) {
    madvise(map, ring->map_bytes, MADV_POPULATE_READ);
  }
  return NF_RING_OK;
}

static nf_ring_status copy_layout(nf_ring* ring) {
  const nf_ring_header* h = &ring->constants;
  const size_t doubles = (size_t)h->planes + h->frequencies + h->rows + h->columns + 2 * (size_t)h->points;
  nf_ring_points_only(ring, 0);
  ring->axes = malloc(8 * doubles + sizeof h->quantity + sizeof h->unit);
  ring->copy = malloc(8 * ring->copy_words); /* room for all, whatever is copied later */
  if (ring->axes == NULL || ring->copy == NULL) {
    return NF_RING_SYSTEM;
  }
  double* frequencies_hz = (double*)(void*)ring->axes;
  double* planes_m = frequencies_hz + h->frequencies;
  double* x_m = planes_m + h->planes;
  double* y_m = x_m + h->columns;
  double* points_xy_m = y_m + h->rows;
  char* quantity = ring->axes + 8 * doubles;
  char* unit = quantity + sizeof h->quantity;
  memcpy(frequencies_hz, ring->map + h->frequencies_offset, 8ULL * h->frequencies);
  memcpy(planes_m, ring->map + h->planes_offset, 8ULL * h->planes);
  memcpy(x_m, ring->map + h->x_offset, 8ULL * h->columns);
  memcpy(y_m, ring->map + h->y_offset, 8ULL * h->rows);
  memcpy(points_xy_m, ring->map + h->points_xy_offset, 16ULL * h->points);
  memcpy(quantity, h->quantity, sizeof h->quantity);
  memcpy(unit, h->unit, sizeof h->unit);
  quantity[sizeof h->quantity - 1] = '\0';
  unit[sizeof h->unit - 1] = '\0';
  ring->layout = (nf_ring_layout){.planes = h->planes,
                                  .frequencies = h->frequencies,
                                  .rows = h->rows,
                                  .columns = h->columns,
                                  .frequencies_hz = frequencies_hz,
                                  .planes_m = planes_m,
                                  .x_m = x_m,
                                  .y_m = y_m,
                                  .points = h->points,
                                  .points_xy_m = points_xy_m,
                                  .quantity = quantity,
                                  .unit = unit,
                                  .phase_reference = h->phase_reference,
                                  .bit_rate_hz = h->bit_rate_hz,
                                  .slot_count = h->slot_count,
                                  .ring_id = h->ring_id};
  return NF_RING_OK;
}

/* ---- Opening and closing ---- */

/* CRC32C: Castagnoli, reflected polynomial 0x82F63B78. */
static void fill_crc_table(uint32_t* table) {
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) {
      crc = (crc >> 1) ^ ((crc & 1U) != 0 ? 0x82F63B78U : 0U);
    }
    table[byte] = crc;
  }
}

static void release(nf_ring* ring) {
  const int error = errno;
  if (ring->map != NULL) {
    munmap((void*)(uintptr_t)ring->map, ring->map_bytes);
  }
  if (ring->connection >= 0) {
    close(ring->connection);
  }
  free(ring->copy);
  free(ring->axes);
  free(ring->path);
  errno = error;
}

static nf_ring_status establish(nf_ring* ring) {
  nf_ring_status status = connect_to(ring->path, &ring->connection);
  int memory = -1;
  if (status == NF_RING_OK && !is_trusted(ring->connection, ring->path)) {
    status = NF_RING_UNTRUSTED;
  }
  if (status == NF_RING_OK) {
    status = receive_memory(ring->connection, &memory);
  }
  if (status == NF_RING_OK) {
    status = map_memory(ring, memory);
  }
  if (memory >= 0) {
    close(memory);
  }
  if (status == NF_RING_OK) {
    status = copy_layout(ring);
  }
  if (status == NF_RING_OK) {
    ring->last = nf_ring_published(ring);
  }
  return status;
}

/* A copy of the path, or the default. It is chosen once: a handle that is reopened stays with its daemon's path. */
static char* path_to_ask(const char* socket_path) {
  char path[sizeof(((struct sockaddr_un*)NULL)->sun_path)];
  if (socket_path != NULL) {
    return strdup(socket_path);
  }
  return strdup(nf_socket_to_ask(NF_FRAMES_SOCKET, path, sizeof path) ? path : NF_RING_DEFAULT_SOCKET);
}

nf_ring_status nf_ring_open(const char* socket_path, nf_ring** ring) {
  *ring = NULL;
  nf_ring* fresh = calloc(1, sizeof *fresh);
  if (fresh == NULL) {
    return NF_RING_SYSTEM;
  }
  fresh->connection = -1;
  fresh->path = path_to_ask(socket_path);
  fill_crc_table(fresh->crc_table);
  const nf_ring_status status = fresh->path != NULL ? establish(fresh) : NF_RING_SYSTEM;
  if (status != NF_RING_OK) {
    nf_ring_close(fresh);
    return status;
  }
  *ring = fresh;
  return NF_RING_OK;
}

/* The newest frame that a reader of `ring` has had of `fresh`. What another ring still holds is new to it: all frames
 * where none has been written over, else the newest half, as a late reader gets of any ring. */
static uint64_t last_before(const nf_ring* ring, const nf_ring* fresh) {
  const uint64_t slots = fresh->constants.slot_count;
  if (fresh->constants.ring_id == ring->constants.ring_id) {
    return ring->last;
  }
  return fresh->last < slots ? 0 : fresh->last - slots / 2;
}

nf_ring_status nf_ring_reopen(nf_ring* ring) {
  nf_ring* fresh;
  const nf_ring_status status = nf_ring_open(ring->path, &fresh);
  if (status == NF_RING_OK) {
    fresh->check_crc = ring->check_crc;
    nf_ring_points_only(fresh, ring->points_only);
    fresh->last = last_before(ring, fresh);
    release(ring);
    *ring = *fresh;
    free(fresh);
  }
  return status;
}

void nf_ring_close(nf_ring* ring) {
  if (ring != NULL) {
    release(ring);
    free(ring);
  }
}

const nf_ring_layout* nf_ring_get_layout(const nf_ring* ring) { return &ring->layout; }

void nf_ring_check_crc(nf_ring* ring, int on) { ring->check_crc = on; }

void nf_ring_points_only(nf_ring* ring, int on) {
  const nf_ring_header* h = &ring->constants;
  ring->points_only = on;
  ring->copy_words = (size_t)(h->images_offset + (on ? 0 : image_bytes(h))) / 8;
}
