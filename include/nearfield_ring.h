/* Results of a running nearfieldd for a controller on the same host: the reader's C API and the binary layout.
 *
 * C11, no dependencies: this header and src/ring/reader/nearfield_ring*.c are all that a program needs;
 * libnearfield_ring.so holds the same. docs/use/controller.md is the guide. Linux on little-endian 64-bit machines.
 *
 * Units are SI; times are nanoseconds; "mono" is CLOCK_MONOTONIC, "tai" CLOCK_TAI; a bit-time is 1 / bit_rate_hz. */
#ifndef NEARFIELD_RING_H
#define NEARFIELD_RING_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Binary layout, format 3 ----
 * Each processor of a run, "surface" say, has a ring of its own. A ring is a sealed memfd: nf_ring_header, tables that
 * describe axes and products, then slot_count slots of slot_bytes each from header_bytes on. Frame number k (1, 2, ...:
 * frames published in this ring) lies in slot (k - 1) % slot_count. A ZeroMQ message is the same with slot_count 1:
 * header, tables, one slot. Little-endian; every offset is a multiple of its field's size.
 *
 * A program reads fields at the offsets of these structures, and finds everything else by the offsets and sizes in the
 * header: a structure in a table begins axis_bytes, product_bytes or column_bytes after the previous one, the
 * products' CRCs slot_head_bytes after the start of a slot. Within a format number later versions only append fields to
 * these structures, whose sizes in the header then grow, and give reserved fields, 0 so far, a meaning in which 0 means
 * as before: a program for an earlier version continues to work. Any other change gets another format number. */

#define NF_RING_MAGIC UINT64_C(0x31474E495246464E) /* the bytes "NFFRING1" */
#define NF_RING_VERSION 3U                         /* the format's number; a reader accepts no other */
/* Socket at which the service hands over the ring of its first processor; that of a processor "far" is beside it,
 * at frames.far.sock. nf_ring_open(NULL) connects there too, but first to a daemon of the same user. */
#define NF_RING_DEFAULT_SOCKET "/run/nearfield/frames.sock"

enum { NF_RING_LIVE = 0, NF_RING_ENDED = 1 };            /* nf_ring_header.state */
enum { NF_PHASE_OF_WINDOW = 0, NF_PHASE_OF_STREAM = 1 }; /* nf_ring_header.phase_reference */

/* nf_ring_product.form. A figure is an array that describes the others, such as a cut-off. */
enum { NF_FORM_ARRAY = 0, NF_FORM_FIGURE = 1, NF_FORM_TABLE = 2 };
/* Type of an array's or column's values. A complex64 is an nf_complex. */
enum { NF_TYPE_COMPLEX64 = 0, NF_TYPE_FLOAT32 = 1, NF_TYPE_FLOAT64 = 2, NF_TYPE_UINT32 = 3, NF_TYPE_UINT64 = 4 };

/* nf_ring_layout.memory_hops. */
enum { NF_MEMORY_UNBOUNDED = -1, NF_MEMORY_UNKNOWN = -2 };

/* Bits of nf_ring_slot.flags and nf_frame.flags. */
enum {
  NF_FLAG_EXTRAPOLATION_FELL_BACK = 1,   /* silence or a runaway predictor: zero padding was used */
  NF_FLAG_MASKED_MICROPHONES = 2,        /* dead or masked microphones were interpolated */
  NF_FLAG_MISSING_BITS = 4,              /* bits of a window never arrived and are silence: missing_bit_times */
  NF_FLAG_OVERLOAD = 8,                  /* hops before this frame were dropped: shed_hops */
  NF_FLAG_NON_FINITE_INPUT = 16,         /* microphones with NaN or infinity were interpolated */
  NF_FLAG_CLIPPED = 32,                  /* a microphone was at or near its full scale */
  NF_FLAG_WAVENUMBER_ABOVE_NYQUIST = 64, /* the microphones are too far apart for a frequency */
  NF_FLAG_COMMON_TO_ALL = 128,           /* a source straight ahead may be what all channels share */
  NF_FLAG_LIMIT = 256,                   /* a limit of daemon.limits on these products is exceeded */
  NF_FLAG_MEMORY_NOT_FULL = 512,         /* some of the preceding memory_hops were not computed */
  NF_FLAG_INFORMATION_MISSING = 1024,    /* unused microphones cost more than a tenth of an image's information */
  NF_FLAG_DOUBTFUL_INPUT = 2048,         /* rate, unit or kind of the input contradicts the settings */
  NF_FLAG_SEARCH_PENDING = 4096,         /* the imager's first search has not ended: its findings are not used yet */
  NF_FLAG_EITHER_SIDE = 8192             /* a found wave of the image may come from behind the array just as well */
};

typedef struct nf_complex {
  float re, im;
} nf_complex;

typedef struct nf_ring_header {
  uint64_t magic;
  uint32_t version;      /* NF_RING_VERSION */
  uint32_t header_bytes; /* header and tables, at most 64 MiB: the first slot's offset, a multiple of 64 */
  uint64_t slot_bytes;   /* distance between slots, a multiple of 64 */
  uint32_t slot_count;
  uint32_t bit_rate_hz;
  uint8_t boot_id[16];      /* /proc/sys/kernel/random/boot_id; zero when unknown. mono times hold within one boot */
  uint64_t ring_id;         /* random; differs for every ring */
  uint64_t epoch;           /* number of the configuration that made the ring; later ones may use it too */
  uint32_t phase_reference; /* NF_PHASE_OF_WINDOW: phases refer to first_bit_time; _OF_STREAM: to bit-time 0 */
  uint32_t fields_bytes;    /* size of nf_ring_header, a multiple of 8 as are the next four sizes */
  uint32_t slot_head_bytes; /* size of nf_ring_slot */
  uint32_t axis_bytes;      /* size of nf_ring_axis */
  uint32_t product_bytes;   /* size of nf_ring_product */
  uint32_t column_bytes;    /* size of nf_ring_column */
  uint32_t processor;       /* offset of its name */
  uint32_t axes;            /* at most 1024 */
  uint32_t axes_offset;     /* offset of nf_ring_axis[axes] */
  uint32_t products;        /* at most 1024 */
  uint32_t products_offset; /* offset of nf_ring_product[products] */
  uint32_t memory_hops;     /* preceding hops that a frame may depend on, plus 1; 0: not stated; UINT32_MAX: all */
  uint8_t reserved[80];
  uint64_t published; /* atomic: number of the newest frame; 0: none yet */
  uint32_t wake;      /* atomic, futex: changes with each frame and when the ring ends */
  uint32_t state;     /* atomic: NF_RING_LIVE or NF_RING_ENDED, after which no frame comes */
  uint8_t spare[48];
} nf_ring_header;

/* In the next three structures every name, quantity and unit is an offset into the header, of a text of at most 255
 * bytes and its terminating zero. */

typedef struct nf_ring_axis {
  uint32_t name;          /* "frequency", "z", "y", "x", "point", "band", ... */
  uint32_t unit;          /* unit of the values; "1" for plain numbers */
  uint32_t size;          /* entries */
  uint32_t components;    /* numbers per entry: 2 for a point's x and y, and for a band's lower and upper limit */
  uint32_t values_offset; /* offset into the header, of double[size][components] */
  uint32_t reserved;
} nf_ring_axis;

typedef struct nf_ring_product {
  uint32_t name; /* "images", "cutoff_rad_per_m", ... */
  uint32_t quantity;
  uint32_t unit;
  uint32_t form;           /* NF_FORM_ */
  uint32_t type;           /* array or figure: NF_TYPE_ */
  uint32_t axes;           /* array or figure: number of axes, at most 16; 0: it is one number */
  uint32_t axes_offset;    /* offset into the header, of uint32_t[axes]: indices of axes, slowest first */
  uint32_t columns;        /* table: number of columns; all tables of a ring have at most 4096 */
  uint32_t columns_offset; /* offset into the header, of nf_ring_column[columns] */
  uint32_t reserved;
  uint64_t most_rows; /* table only */
  uint64_t offset;    /* offset in a slot, a multiple of 8; products follow each other in their order */
  uint64_t bytes;     /* size in a slot, without padding to a multiple of 8 */
} nf_ring_product;

typedef struct nf_ring_column {
  uint32_t name;
  uint32_t unit;
  uint32_t type; /* NF_TYPE_, never complex64 */
  uint32_t reserved;
  uint64_t offset; /* offset in the product, a multiple of 8; columns follow each other in their order */
} nf_ring_column;

typedef struct nf_ring_slot {
  uint64_t lock;     /* atomic: 2k - 1 while frame number k is written, 2k when it is complete, 0 before the first */
  uint32_t crc32c;   /* over the slot's bytes from 16 to the end of the products' CRCs, including their padding */
  uint32_t reserved; /* not in the CRC */
  uint64_t sequence; /* the hop's number, including dropped ones; continues across restarts of the source */
  uint64_t first_bit_time;
  uint64_t window_centre_bit_time;
  uint32_t window_bit_times;
  uint32_t stream_id;      /* changes when the source restarts */
  uint64_t group_delay_ns; /* time from the window's centre to its end */
  int64_t capture_mono_ns; /* when the window's last bit was in this host's memory */
  int64_t capture_tai_ns;
  int64_t publish_mono_ns; /* just before the frame became visible to readers */
  int64_t publish_tai_ns;
  uint32_t flags; /* NF_FLAG_ */
  uint32_t valid_microphones;
  uint64_t missing_bit_times;
  uint64_t shed_hops;        /* between the previous frame and this one: dropped by overload, or without a result */
  uint64_t epoch;            /* number of the configuration */
  uint32_t microphones;      /* usable by the processor if all were valid; 0: an older writer does not state it */
  float missing_information; /* see nf_ring_microphones */
  /* At slot_head_bytes: uint32_t crc32c[products], of each product's bytes, and zeros up to a multiple of 8. Then the
   * products, each at nf_ring_product.offset: an array's values, fastest axis last; a table's number of rows as a
   * uint64_t, then its columns, each with space for most_rows values. */
} nf_ring_slot;

/* ---- Hand-over ----
 * Connect to the UNIX socket (SOCK_SEQPACKET) and receive one message, with the ring's file descriptor (read-only) when
 * status is NF_RING_OK. The connection closes when the writer ends. */
typedef struct nf_ring_hello {
  uint64_t magic;
  uint32_t version;
  int32_t status; /* nf_ring_status */
} nf_ring_hello;

/* ---- API. A ring handle belongs to one thread at a time. ---- */

typedef enum nf_ring_status {
  NF_RING_OK = 0,
  NF_RING_NONE = 1,       /* no frame has been published yet */
  NF_RING_TOO_OLD = 2,    /* the newest frame is older than max_age_ns */
  NF_RING_TIMEOUT = 3,    /* no next frame within timeout_ns */
  NF_RING_TORN = 4,       /* the writer overtook each of 16 attempts: this reader is far too slow for the ring */
  NF_RING_CORRUPT = 5,    /* the CRC is wrong: faulty memory or a faulty writer; the frame is not handed out */
  NF_RING_RETIRED = 6,    /* the ring ended (sizes changed, or the daemon stopped): nf_ring_reopen */
  NF_RING_GONE = 7,       /* the writer closed the connection or died: nf_ring_reopen until it works */
  NF_RING_NO_SOCKET = 8,  /* nothing listens at the socket */
  NF_RING_REFUSED = 9,    /* this user or group is not permitted */
  NF_RING_BUSY = 10,      /* the server has its maximum number of readers */
  NF_RING_NOT_READY = 11, /* the daemon runs, but has no ring yet */
  NF_RING_BAD = 12,       /* the received object is not a ring of format NF_RING_VERSION, or not sealed */
  NF_RING_SYSTEM = 13,    /* a system call failed: errno */
  NF_RING_UNTRUSTED = 14, /* the server's user is neither root nor this one, nor was it given the socket's folder */
  NF_RING_NO_PRODUCT = 15 /* the ring has no product of this name */
} nf_ring_status;

typedef struct nf_ring nf_ring;

/* One dimension of an array: its name and the coordinates of its entries. */
typedef struct nf_axis {
  const char* name;
  const char* unit;
  uint32_t size;
  uint32_t components;
  const double* values; /* [size][components] */
} nf_axis;

/* A column of a table. */
typedef struct nf_column {
  const char* name;
  const char* unit;
  uint32_t type;   /* NF_TYPE_ */
  uint64_t offset; /* offset in the table's values of a frame */
} nf_column;

/* An array over axes, or a table of typed columns. */
typedef struct nf_product {
  const char* name;
  const char* quantity;
  const char* unit;
  uint32_t form;              /* NF_FORM_ */
  uint32_t type;              /* array only: NF_TYPE_ */
  uint32_t axis_count;        /* array only */
  const nf_axis* const* axes; /* [axis_count], slowest first; its shape is their sizes */
  uint64_t values;            /* array only: the product of its axes' sizes */
  uint32_t column_count;      /* table only */
  const nf_column* columns;   /* [column_count] */
  uint64_t most_rows;         /* table only */
} nf_product;

/* Common description of all frames of a ring, valid until nf_ring_reopen or nf_ring_close. */
typedef struct nf_ring_layout {
  /* Sizes and values of the axes z, frequency, y and x; 0 and NULL where the ring has no such axis. */
  uint32_t planes, frequencies, rows, columns;
  const double* frequencies_hz;
  const double* planes_m;
  const double* x_m; /* [columns] */
  const double* y_m; /* [rows] */
  uint32_t points;
  const double* points_xy_m; /* [points][2] */
  const char* quantity;      /* quantity of the images or points; "" if there are none */
  const char* unit;          /* unit of the images or points */
  uint32_t phase_reference;  /* NF_PHASE_OF_WINDOW, NF_PHASE_OF_STREAM */
  uint32_t bit_rate_hz;
  uint32_t slot_count;
  uint64_t ring_id;
  const char* processor; /* its name */
  uint32_t axis_count;
  uint32_t product_count;
  const nf_axis* axes;        /* [axis_count] */
  const nf_product* products; /* [product_count] */
  /* Preceding hops that a frame may depend on; NF_MEMORY_UNBOUNDED: all; NF_MEMORY_UNKNOWN: not stated. */
  int64_t memory_hops;
} nf_ring_layout;

/* A copied frame; its pointers refer to the handle and are valid until the next read, reopen or close. */
typedef struct nf_frame {
  uint64_t number;   /* in this ring, from 1 */
  uint64_t sequence; /* this field and the next ones: see nf_ring_slot */
  uint64_t first_bit_time;
  uint64_t window_centre_bit_time;
  uint32_t window_bit_times;
  uint32_t stream_id;
  uint64_t group_delay_ns;
  int64_t capture_mono_ns;
  int64_t capture_tai_ns;
  int64_t publish_mono_ns;
  int64_t publish_tai_ns;
  uint32_t flags;
  uint32_t valid_microphones;
  uint64_t missing_bit_times;
  uint64_t shed_hops;
  uint64_t epoch;
  int64_t read_mono_ns;        /* clock after the copy */
  int64_t age_ns;              /* read_mono_ns - capture_mono_ns */
  const void* const* products; /* [product_count]; NULL for products deselected by nf_ring_select */
  /* Shortcuts to the products of a processor of images, by name: NULL if it has no such product of this type and over
   * these axes, or if nf_ring_select left it out. */
  const float* cutoff_rad_per_m; /* [frequencies]; NaN where the filter has none */
  const float* slope;            /* [frequencies]; NaN where the filter has none */
  const float* noise_pa;         /* [frequencies]; rms of a microphone's complex noise; NaN where it was not measured */
  /* [frequencies]; relative L2 error of the image, in its own quantity; NaN where it is not known
   * (docs/use/controller.md). Comparisons with NaN are false: test error <= limit, not error > limit. */
  const float* error_estimate;
  const float* radiated_power_w; /* [planes][frequencies], for active intensities */
  const nf_complex* points;      /* [planes][frequencies][points]: as images, at the chosen points */
  const nf_complex* images;      /* [planes][frequencies][rows][columns], peak amplitudes of e^{+jwt} phasors; active
                                  * intensities are real: im is 0, and they have no phase to refer to anything */
} nf_frame;

/* Connects, receives and checks the ring; waits at most a second for a server that hangs. *ring is NULL unless the
 * result is NF_RING_OK. `socket_path` NULL or "": the default, in $NEARFIELD_RUNTIME_DIR where that is set, else in
 * $XDG_RUNTIME_DIR/nearfield where a daemon of the same user, not root, listens, else NF_RING_DEFAULT_SOCKET. A server
 * is trusted if its user is root, this process's user, or, if root or this process's user own all folders above the
 * socket's folder and no other user may write them, that folder's owner: /run/nearfield of a service. */
nf_ring_status nf_ring_open(const char* socket_path, nf_ring** ring);

/* Like nf_ring_open, for the processor of this name: at the path with ".NAME" before its ".sock", or, if nothing
 * listens there, at the path itself if the first processor has this name, else NF_RING_NO_SOCKET. NULL: the first
 * processor, whatever its name. */
nf_ring_status nf_ring_open_processor(const char* socket_path, const char* processor, nf_ring** ring);

/* The format of the rings that are handed over at this path, found as by nf_ring_open: for a message after NF_RING_BAD.
 * 0 if it cannot be determined. */
uint32_t nf_ring_format_at(const char* socket_path);

/* Connects again with the same path and processor. After success layout and sizes may differ and frame numbers restart
 * at 1. nf_ring_read_next then gives the new ring's first frame, or, if frames have been overwritten already, the
 * newest half of the ring: a reader that reopens in time misses no frame across a new configuration. After a failure
 * the handle stays as it was, and may be reopened later. */
nf_ring_status nf_ring_reopen(nf_ring* ring);

void nf_ring_close(nf_ring* ring);

const nf_ring_layout* nf_ring_get_layout(const nf_ring* ring);

/* One of the layout's products; NULL if the index is out of range. */
const nf_product* nf_ring_product_at(const nf_ring* ring, size_t index);

/* The index of the product of this name; -1 if there is none. Valid for one layout. */
ptrdiff_t nf_ring_find_product(const nf_ring* ring, const char* name);

/* Also compares the CRC32C of each frame's head and of the products that are read (off by default): the sequence lock
 * guarantees a consistent frame; the CRC detects faulty memory. */
void nf_ring_check_crc(nf_ring* ring, int on);

/* Restricts later reads to the products of these names, which alone are copied and checked; names NULL: all, the
 * default. NF_RING_OK, NF_RING_SYSTEM, or NF_RING_NO_PRODUCT, after which nothing has changed. nf_ring_reopen keeps the
 * names and ignores those that the new ring has no product of. */
nf_ring_status nf_ring_select(nf_ring* ring, const char* const* names, size_t count);

/* For programs that need the points alone: selects them and the figures of nf_frame, or everything again. */
void nf_ring_points_only(nf_ring* ring, int on);

/* The newest frame, if its last bit came at most max_age_ns ago (by CLOCK_MONOTONIC, read after the copy). May be the
 * frame read before: compare `number`. Never waits, and calls the kernel only to find out why there is no frame. OK,
 * NONE, TOO_OLD, TORN, CORRUPT, RETIRED, GONE. */
nf_ring_status nf_ring_read_latest(nf_ring* ring, int64_t max_age_ns, nf_frame* frame);

/* The next frame after the one read last (after the newest one at opening), waiting for it up to timeout_ns; negative:
 * for ever. *skipped (may be NULL): frames published between the two and not handed out. A reader that fell behind by
 * the whole ring continues in the ring's middle. Frames left in an ended ring are handed out first. OK, TIMEOUT, TORN,
 * CORRUPT, RETIRED, GONE. */
nf_ring_status nf_ring_read_next(nf_ring* ring, int64_t timeout_ns, nf_frame* frame, uint64_t* skipped);

/* A frame's values of a product: an array's, fastest axis last; a table's as for nf_frame_rows and nf_frame_column.
 * NULL if there is no such product or it was not selected when the frame was read. */
const void* nf_frame_product(const nf_ring* ring, const nf_frame* frame, size_t index);

/* The number of rows of a table in a frame; 0 for other products and for tables that were not selected. */
uint64_t nf_frame_rows(const nf_ring* ring, const nf_frame* frame, size_t index);

/* The values of a table's column, [nf_frame_rows()]; NULL if there is no such column or the table was not selected. */
const void* nf_frame_column(const nf_ring* ring, const nf_frame* frame, size_t index, size_t column);

/* The values at the chosen points of a plane and frequency, [points]; NULL if the frame has none. */
const nf_complex* nf_ring_points(const nf_ring_layout* layout, const nf_frame* frame, uint32_t plane,
                                 uint32_t frequency);

/* The image of a plane and frequency, [rows][columns]; NULL if the frame has none. */
const nf_complex* nf_ring_image(const nf_ring_layout* layout, const nf_frame* frame, uint32_t plane,
                                uint32_t frequency);

/* Index in an image, row * columns + column, of the pixel nearest to (x, y). It searches: call it once per layout.
 * Positions between pixels: holography.upsample. */
size_t nf_ring_pixel_at(const nf_ring_layout* layout, double x_m, double y_m);

/* Power through the aperture towards the microphones, W: the sum of an active intensity's pixels times a pixel's area;
 * if the images were not read, the product radiated_power_w, which is the same rounded to a float. NaN for other
 * quantities, for images one pixel wide or high, and where neither was read. */
double nf_ring_radiated_power_w(const nf_ring_layout* layout, const nf_frame* frame, uint32_t plane,
                                uint32_t frequency);

/* Figures of the frame read last. *microphones: how many the processor could use if all were valid, 0 if the daemon is
 * older and does not state it, or no frame was read. *missing_information: the share of an image's information, 0 to 1,
 * that is lost with invalid ones (docs/how/sonah.md), 0 for products that are not images. */
void nf_ring_microphones(const nf_ring* ring, uint32_t* microphones, float* missing_information);

/* NF_RING_VERSION that the library was built with: for programs that load it at run time. */
uint32_t nf_ring_version(void);

/* CLOCK_MONOTONIC, ns: the clock of ages. */
int64_t nf_ring_now_ns(void);

/* The status in words. */
const char* nf_ring_status_text(nf_ring_status status);

#ifdef __cplusplus
}
#endif
#endif
