/* Holograms of a running nearfieldd for a controller on the same host: the reader's C API and the binary layout.
 *
 * C11, no dependencies: this header and src/ring/nearfield_ring.c are all that a program needs; libnearfield_ring.so
 * holds the same. docs/controller.md is the guide. Linux on little-endian 64-bit machines.
 *
 * Units are SI; times are nanoseconds; "mono" is CLOCK_MONOTONIC, "tai" CLOCK_TAI; a bit-time is 1 / bit_rate_hz. */
#ifndef NEARFIELD_RING_H
#define NEARFIELD_RING_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Binary layout, version 2 ----
 * Little-endian; every offset is a multiple of its field's size. A ring is a sealed memfd: nf_ring_header, its tables,
 * then slot_count slots of slot_bytes each from header_bytes on. Frame number k (1, 2, ...: frames published in this
 * ring) lies in slot (k - 1) % slot_count. A ZeroMQ message is the same with slot_count 1: header, tables, one slot. */

#define NF_RING_MAGIC UINT64_C(0x31474E495246464E) /* the bytes "NFFRING1" */
#define NF_RING_VERSION 2U                         /* grows with each change; a reader takes its own version alone */
/* Where the service listens. nf_ring_open(NULL) asks there too, but first where a daemon of the same user listens. */
#define NF_RING_DEFAULT_SOCKET "/run/nearfield/frames.sock"

enum { NF_RING_LIVE = 0, NF_RING_ENDED = 1 };            /* nf_ring_header.state */
enum { NF_PHASE_OF_WINDOW = 0, NF_PHASE_OF_STREAM = 1 }; /* nf_ring_header.phase_reference */

/* Bits of nf_ring_slot.flags and nf_frame.flags. */
enum {
  NF_FLAG_EXTRAPOLATION_FELL_BACK = 1,  /* silence or a runaway predictor: zero padding was used */
  NF_FLAG_MASKED_MICROPHONES = 2,       /* dead or masked microphones were interpolated */
  NF_FLAG_MISSING_BITS = 4,             /* bits of the window never came and are silence: missing_bit_times */
  NF_FLAG_OVERLOAD = 8,                 /* hops before this frame have none: shed_hops */
  NF_FLAG_NON_FINITE_INPUT = 16,        /* microphones with NaN or infinity were interpolated */
  NF_FLAG_CLIPPED = 32,                 /* a microphone was at or near its full scale */
  NF_FLAG_WAVENUMBER_ABOVE_NYQUIST = 64 /* the microphones are too far apart for a frequency */
};

typedef struct nf_complex {
  float re, im;
} nf_complex;

typedef struct nf_ring_header {
  uint64_t magic;
  uint32_t version;
  uint32_t header_bytes; /* header and tables: the first slot's offset, a multiple of 64 */
  uint64_t slot_bytes;   /* from one slot to the next, a multiple of 64 */
  uint32_t slot_count;
  uint32_t bit_rate_hz;
  uint8_t boot_id[16]; /* /proc/sys/kernel/random/boot_id; zero when unknown. mono times hold within one boot */
  uint64_t ring_id;    /* random: another one is another ring */
  uint64_t epoch;      /* of the configuration that made the ring; later ones may use it too */
  uint32_t planes, frequencies, rows, columns;
  uint32_t phase_reference;    /* NF_PHASE_OF_WINDOW: phases refer to first_bit_time; _OF_STREAM: to bit-time 0 */
  uint32_t frequencies_offset; /* of double[frequencies], Hz */
  uint32_t planes_offset;      /* of double[planes], m */
  uint32_t x_offset;           /* of double[columns], m */
  uint32_t y_offset;           /* of double[rows], m */
  uint32_t images_offset;      /* in a slot, behind all else */
  char quantity[24];         /* "pressure", "normal_velocity", "displacement" or "active_intensity", zero-terminated */
  char unit[16];             /* "Pa", "m/s", "m" or "W/m^2" */
  uint32_t points;           /* chosen ones, holography.points; may be 0 */
  uint32_t points_xy_offset; /* of double[points][2], x and y, m */
  uint32_t points_offset; /* in a slot; before it float[frequencies] each: cut-offs, slopes, noise, error estimates */
  uint8_t reserved[36];
  uint64_t published; /* atomic: number of the newest frame; 0: none yet */
  uint32_t wake;      /* atomic, futex: changes with each frame and when the ring ends */
  uint32_t state;     /* atomic: NF_RING_LIVE or NF_RING_ENDED, after which no frame comes */
  uint8_t spare[48];
} nf_ring_header;

typedef struct nf_ring_slot {
  uint64_t lock;          /* atomic: 2k - 1 while frame number k is written, 2k when it stands, 0 before the first */
  uint32_t crc32c;        /* of the payload (from offset 128 to the images' end), then bytes 16 to 127 */
  uint32_t points_crc32c; /* the same without the images */
  uint64_t sequence;      /* the hop's number, dropped ones counted; goes on across restarts of the source */
  uint64_t first_bit_time;
  uint64_t window_centre_bit_time;
  uint32_t window_bit_times;
  uint32_t stream_id;      /* another one is a restart of the source */
  uint64_t group_delay_ns; /* from the window's centre to its end */
  int64_t capture_mono_ns; /* when the window's last bit was in this host's memory */
  int64_t capture_tai_ns;
  int64_t publish_mono_ns; /* when the frame was about to stand */
  int64_t publish_tai_ns;
  uint32_t flags; /* NF_FLAG_ */
  uint32_t valid_microphones;
  uint64_t missing_bit_times;
  uint64_t shed_hops; /* between the frame before and this one: overload dropped them, or nothing came of them */
  uint64_t epoch;     /* of the configuration */
  uint64_t spare;
  /* payload: float cutoff_rad_per_m[frequencies], slope[frequencies], noise_pa[frequencies],
   * error_estimate[frequencies], nf_complex points[planes][frequencies][points],
   * images[planes][frequencies][rows][columns] */
} nf_ring_slot;

/* ---- Hand-over ----
 * Connect to the UNIX socket (SOCK_SEQPACKET) and receive one message, with the ring's file descriptor (read-only) when
 * status is NF_RING_OK. The connection's end is the writer's end. */
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
  NF_RING_BUSY = 10,      /* the server has as many readers as it takes */
  NF_RING_NOT_READY = 11, /* the daemon runs, but has no ring yet */
  NF_RING_BAD = 12,       /* what was handed over is no ring of this version, or not sealed */
  NF_RING_SYSTEM = 13,    /* a system call failed: errno */
  NF_RING_UNTRUSTED = 14  /* the server's user is neither root nor this one, nor was it given the socket's folder */
} nf_ring_status;

typedef struct nf_ring nf_ring;

/* Sizes and axes, valid until nf_ring_reopen or nf_ring_close. */
typedef struct nf_ring_layout {
  uint32_t planes, frequencies, rows, columns;
  const double* frequencies_hz;
  const double* planes_m;
  const double* x_m; /* [columns] */
  const double* y_m; /* [rows] */
  uint32_t points;
  const double* points_xy_m; /* [points][2] */
  const char* quantity;
  const char* unit;
  uint32_t phase_reference; /* NF_PHASE_OF_WINDOW, NF_PHASE_OF_STREAM */
  uint32_t bit_rate_hz;
  uint32_t slot_count;
  uint64_t ring_id;
} nf_ring_layout;

/* A frame, copied; its pointers lead into the handle and hold until the next read, reopen or close. */
typedef struct nf_frame {
  uint64_t number;   /* in this ring, from 1 */
  uint64_t sequence; /* this and what follows: see nf_ring_slot */
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
  int64_t read_mono_ns;          /* clock after the copy */
  int64_t age_ns;                /* read_mono_ns - capture_mono_ns */
  const float* cutoff_rad_per_m; /* [frequencies]; NaN where the filter has none */
  const float* slope;            /* [frequencies]; NaN where the filter has none */
  const float* noise_pa;         /* [frequencies]; rms of a microphone's complex noise; NaN where it was not measured */
  /* [frequencies]; relative L2 error of the image, in its own quantity; NaN where it is not known (docs/controller.md).
   * Comparisons with NaN are false: ask for error <= limit, not against error > limit. */
  const float* error_estimate;
  const nf_complex* points;      /* [planes][frequencies][points]: as images, at the chosen points */
  const nf_complex* images;      /* [planes][frequencies][rows][columns], peak amplitudes of e^{+jwt} phasors; active
                                  * intensities are real: im is 0, and they have no phase to refer to anything. NULL
                                  * with nf_ring_points_only */
} nf_frame;

/* Connects, receives and checks the ring; waits at most a second for a server that hangs. *ring is NULL unless the
 * result is NF_RING_OK. `socket_path` NULL: the default, in $NEARFIELD_RUNTIME_DIR where that is set, else in
 * $XDG_RUNTIME_DIR/nearfield where a daemon of the same user, not root, listens, else NF_RING_DEFAULT_SOCKET. Trusted is
 * a server of root, of this process's user, or of the user to whom the socket's folder belongs, if root or this
 * process's user own all folders above it and nobody else may write them: /run/nearfield of a service. */
nf_ring_status nf_ring_open(const char* socket_path, nf_ring** ring);

/* Connects again with the same path. After success layout and sizes may differ and the frames' numbers begin again at 1.
 * nf_ring_read_next then gives the new ring's first frame, or, where frames have been written over already, the newest
 * half of the ring: a reader that reopens in time misses no frame across a new configuration. After a failure the handle
 * stays as it was, and may be reopened later. */
nf_ring_status nf_ring_reopen(nf_ring* ring);

void nf_ring_close(nf_ring* ring);

const nf_ring_layout* nf_ring_get_layout(const nf_ring* ring);

/* Also compares each frame's CRC32C (off at first): what the sequence lock accepts is whole; the CRC finds faulty
 * memory. */
void nf_ring_check_crc(nf_ring* ring, int on);

/* From the next read on frames are handed out without their images, which are not copied (off at first): for who works
 * on the points alone. nf_ring_reopen keeps it. */
void nf_ring_points_only(nf_ring* ring, int on);

/* The newest frame, if its last bit came at most max_age_ns ago (by CLOCK_MONOTONIC, looked at after the copy). May be
 * the frame read before: compare `number`. Never waits, and calls the kernel only to find out why there is no frame.
 * OK, NONE, TOO_OLD, TORN, CORRUPT, RETIRED, GONE. */
nf_ring_status nf_ring_read_latest(nf_ring* ring, int64_t max_age_ns, nf_frame* frame);

/* The next frame after the one read last (after the newest one at opening), waiting for it up to timeout_ns; negative:
 * for ever. *skipped (may be NULL): frames published between the two and not handed out. A reader that fell behind by
 * the whole ring goes on in the ring's middle. Frames that stand in an ended ring are handed out first.
 * OK, TIMEOUT, TORN, CORRUPT, RETIRED, GONE. */
nf_ring_status nf_ring_read_next(nf_ring* ring, int64_t timeout_ns, nf_frame* frame, uint64_t* skipped);

/* The values at the chosen points of a plane and frequency, [points]. */
const nf_complex* nf_ring_points(const nf_ring_layout* layout, const nf_frame* frame, uint32_t plane,
                                 uint32_t frequency);

/* The image of a plane and frequency, [rows][columns]; NULL with nf_ring_points_only. */
const nf_complex* nf_ring_image(const nf_ring_layout* layout, const nf_frame* frame, uint32_t plane,
                                uint32_t frequency);

/* Index in an image, row * columns + column, of the pixel nearest to (x, y). It is searched for: once a layout is
 * enough. Positions between pixels: holography.upsample. */
size_t nf_ring_pixel_at(const nf_ring_layout* layout, double x_m, double y_m);

/* Power through the aperture towards the microphones, W: the sum of an active intensity's pixels times a pixel's area.
 * NaN for other quantities, for images one pixel wide or high, and with
 * nf_ring_points_only. */
double nf_ring_radiated_power_w(const nf_ring_layout* layout, const nf_frame* frame, uint32_t plane,
                                uint32_t frequency);

/* CLOCK_MONOTONIC, ns: what ages are measured with. */
int64_t nf_ring_now_ns(void);

/* The status in words. */
const char* nf_ring_status_text(nf_ring_status status);

#ifdef __cplusplus
}
#endif
#endif
