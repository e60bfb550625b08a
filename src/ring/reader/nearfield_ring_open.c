/* The reader of nearfield_ring.h: finding, receiving and mapping a ring. */
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

_Static_assert(sizeof(nf_ring_hello) == 16, "the same in all formats");

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22 /* Linux 5.14 */
#endif

static const uint64_t kMaxBytes = UINT64_C(1) << 40; /* largest ring; sums of sizes up to it cannot overflow */
typedef char Path[sizeof(((struct sockaddr_un*)NULL)->sun_path)];

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

/* ---- The server's user ---- */

/* True if every folder and link on the way to the absolute folder `path` belongs to root or to this process's user,
 * the last one possibly to the server, and nobody else can replace one. */
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

/* Absolute folder of a socket's path, with its links; NULL: no memory. */
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

/* True if the server runs as root, as this process's user, or as a user to whom one of these gave the socket's folder,
 * such as /run/nearfield, which systemd makes for a service's user. In /tmp any user can make a folder and serve a
 * ring. */
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

/* Receives the message that carries the ring's descriptor, which becomes *memory. */
static nf_ring_status receive_memory(int connection, nf_ring_hello* hello, int* memory) {
  memset(hello, 0, sizeof *hello);
  struct iovec text = {.iov_base = hello, .iov_len = sizeof *hello};
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
  if (count != (ssize_t)sizeof *hello || hello->magic != NF_RING_MAGIC || hello->version != NF_RING_VERSION ||
      hello->status < NF_RING_OK || hello->status > NF_RING_SYSTEM) {
    return NF_RING_BAD;
  }
  return hello->status == NF_RING_OK && *memory < 0 ? NF_RING_BAD : (nf_ring_status)hello->status;
}

/* ---- Mapping ---- */

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
  const nf_ring_status described = nf_description_read(&ring->description, ring->map, ring->map_bytes);
  if (described != NF_RING_OK) {
    return described;
  }
  /* Pages are mapped now and not at the first reads, but only if all exist: the kernel would allocate memory for those
   * that were never written. Before Linux 5.14 they are mapped when they are read. */
  if ((uint64_t)status.st_blocks * 512 >= ring->map_bytes) {
    madvise(map, ring->map_bytes, MADV_POPULATE_READ);
  }
  return NF_RING_OK;
}

/* Allocates the buffers for reading, which itself allocates nothing. */
static nf_ring_status make_room(nf_ring* ring) {
  const size_t products = ring->description.header.products;
  ring->copy = malloc(ring->description.used_bytes);
  ring->frame_products = calloc(products, sizeof *ring->frame_products);
  ring->is_selected = calloc(products, sizeof *ring->is_selected);
  return ring->copy != NULL && ring->frame_products != NULL && ring->is_selected != NULL ? NF_RING_OK : NF_RING_SYSTEM;
}

/* ---- Selection of products ---- */

/* Marks the products of `ring` that its selection names. */
static void apply_selection(nf_ring* ring) {
  for (size_t i = 0; i < ring->description.header.products; ++i) {
    ring->is_selected[i] = ring->selection == NULL;
    for (size_t k = 0; k < ring->selection_count && !ring->is_selected[i]; ++k) {
      ring->is_selected[i] = strcmp(ring->selection[k], ring->description.products[i].name) == 0;
    }
  }
}

static void set_selection(nf_ring* ring, const char* const* names, size_t count, void* own) {
  free(ring->own_selection);
  ring->own_selection = own;
  ring->selection = names;
  ring->selection_count = names != NULL ? count : 0;
  apply_selection(ring);
}

/* A copy of the names in one piece of memory, pointers first; NULL: no memory. */
static char** copy_names(const char* const* names, size_t count) {
  size_t bytes = (count + 1) * sizeof(char*);
  for (size_t i = 0; i < count; ++i) {
    bytes += strlen(names[i]) + 1;
  }
  char** copy = malloc(bytes);
  if (copy != NULL) {
    char* text = (char*)(copy + count + 1);
    for (size_t i = 0; i < count; ++i) {
      copy[i] = text;
      text = stpcpy(text, names[i]) + 1;
    }
  }
  return copy;
}

nf_ring_status nf_ring_select(nf_ring* ring, const char* const* names, size_t count) {
  if (names == NULL) {
    set_selection(ring, NULL, 0, NULL);
    return NF_RING_OK;
  }
  if (count > ring->description.header.products) { /* a negative or wrapped number: names are not read */
    return NF_RING_NO_PRODUCT;
  }
  for (size_t i = 0; i < count; ++i) {
    if (names[i] == NULL || nf_ring_find_product(ring, names[i]) < 0) {
      return NF_RING_NO_PRODUCT;
    }
  }
  char** copy = copy_names(names, count);
  if (copy == NULL) {
    return NF_RING_SYSTEM;
  }
  set_selection(ring, (const char* const*)copy, count, copy);
  return NF_RING_OK;
}

void nf_ring_points_only(nf_ring* ring, int on) {
  static const char* const names[] = {"cutoff_rad_per_m", "slope", "noise_pa", "error_estimate",
                                      "radiated_power_w", "points"};
  set_selection(ring, on ? names : NULL, sizeof names / sizeof *names, NULL);
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
  nf_description_free(&ring->description);
  free(ring->copy);
  free((void*)ring->frame_products);
  free(ring->is_selected);
  free(ring->own_selection);
  free(ring->processor);
  free(ring->path);
  errno = error;
}

/* Connects to the server at `path` and receives its message; *memory becomes the ring's descriptor. */
static nf_ring_status call(const char* path, int* connection, nf_ring_hello* hello, int* memory) {
  const nf_ring_status status = connect_to(path, connection);
  if (status != NF_RING_OK) {
    return status;
  }
  return is_trusted(*connection, path) ? receive_memory(*connection, hello, memory) : NF_RING_UNTRUSTED;
}

static nf_ring_status establish_at(nf_ring* ring, const char* path) {
  nf_ring_hello hello;
  int memory = -1;
  nf_ring_status status = call(path, &ring->connection, &hello, &memory);
  if (status == NF_RING_OK) {
    status = map_memory(ring, memory);
  }
  if (memory >= 0) {
    close(memory);
  }
  if (status == NF_RING_OK) {
    status = make_room(ring);
  }
  if (status == NF_RING_OK) {
    apply_selection(ring);
    ring->last = nf_ring_published(ring);
  }
  return status;
}

/* Connects to the processor's own socket, or to the first processor's if it has this name. */
static nf_ring_status establish(nf_ring* ring) {
  Path path;
  if (ring->processor == NULL) {
    return establish_at(ring, ring->path);
  }
  if (!nf_socket_of_processor(ring->path, ring->processor, path, sizeof path)) {
    errno = ENAMETOOLONG;
    return NF_RING_SYSTEM;
  }
  nf_ring_status status = establish_at(ring, path);
  if (status == NF_RING_NO_SOCKET) {
    close(ring->connection);
    ring->connection = -1;
    status = establish_at(ring, ring->path);
    const int is_another = status == NF_RING_OK && strcmp(ring->description.layout.processor, ring->processor) != 0;
    return is_another ? NF_RING_NO_SOCKET : status;
  }
  return status;
}

/* A copy of the path, or the default if it is NULL or empty. Chosen once: a handle that is reopened keeps its daemon's
 * path. */
static char* path_to_ask(const char* socket_path) {
  Path path;
  if (socket_path != NULL && socket_path[0] != '\0') {
    return strdup(socket_path);
  }
  return strdup(nf_socket_to_connect(NF_FRAMES_SOCKET, path, sizeof path) ? path : NF_RING_DEFAULT_SOCKET);
}

nf_ring_status nf_ring_open(const char* socket_path, nf_ring** ring) {
  return nf_ring_open_processor(socket_path, NULL, ring);
}

nf_ring_status nf_ring_open_processor(const char* socket_path, const char* processor, nf_ring** ring) {
  *ring = NULL;
  nf_ring* fresh = calloc(1, sizeof *fresh);
  if (fresh == NULL) {
    return NF_RING_SYSTEM;
  }
  fresh->connection = -1;
  fresh->path = path_to_ask(socket_path);
  fresh->processor = processor != NULL ? strdup(processor) : NULL;
  fill_crc_table(fresh->crc_table);
  const int has_names = fresh->path != NULL && (processor == NULL || fresh->processor != NULL);
  const nf_ring_status status = has_names ? establish(fresh) : NF_RING_SYSTEM;
  if (status != NF_RING_OK) {
    nf_ring_close(fresh);
    return status;
  }
  *ring = fresh;
  return NF_RING_OK;
}

uint32_t nf_ring_format_at(const char* socket_path) {
  nf_ring_hello hello = {.magic = 0};
  int connection = -1;
  int memory = -1;
  char* path = path_to_ask(socket_path);
  if (path != NULL) {
    call(path, &connection, &hello, &memory);
  }
  free(path);
  if (memory >= 0) {
    close(memory);
  }
  if (connection >= 0) {
    close(connection);
  }
  return hello.magic == NF_RING_MAGIC ? hello.version : 0;
}

/* Number of the newest frame of `fresh` that counts as read by a reader of `ring`. Frames of another ring are new to
 * it: all if none has been overwritten, else the newest half, as for a slow reader of any ring. */
static uint64_t last_before(const nf_ring* ring, const nf_ring* fresh) {
  const uint64_t slots = fresh->description.header.slot_count;
  if (fresh->description.header.ring_id == ring->description.header.ring_id) {
    return ring->last;
  }
  return fresh->last < slots ? 0 : fresh->last - slots / 2;
}

nf_ring_status nf_ring_reopen(nf_ring* ring) {
  nf_ring* fresh;
  const nf_ring_status status = nf_ring_open_processor(ring->path, ring->processor, &fresh);
  if (status == NF_RING_OK) {
    fresh->check_crc = ring->check_crc;
    set_selection(fresh, ring->selection, ring->selection_count, ring->own_selection);
    ring->own_selection = NULL;
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

/* ---- The ring's description ---- */

const nf_ring_layout* nf_ring_get_layout(const nf_ring* ring) { return &ring->description.layout; }

const nf_product* nf_ring_product_at(const nf_ring* ring, size_t index) {
  return index < ring->description.header.products ? &ring->description.products[index] : NULL;
}

ptrdiff_t nf_ring_find_product(const nf_ring* ring, const char* name) {
  for (size_t i = 0; i < ring->description.header.products; ++i) {
    if (strcmp(ring->description.products[i].name, name) == 0) {
      return (ptrdiff_t)i;
    }
  }
  return -1;
}

void nf_ring_check_crc(nf_ring* ring, int on) { ring->check_crc = on; }
