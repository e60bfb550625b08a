/* What a vibration controller starts from: reads every hologram of a running nearfieldd, judges it, and projects the
 * normal velocity on a mode shape. The modal velocity is what a control law works on.
 *
 *   cc -O2 -Iinclude examples/controller.c src/ring/reader/nearfield_ring*.c -lm -o controller
 *   ./controller [SOCKET [FRAMES]]                      SOCKET: "" or none: where nearfieldd has it by default;
 *                                                       FRAMES: end after so many; 0 or none: run on
 *
 * It ends with 78 where the ring's images are no normal velocity: a controller acts on nothing else. */
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <nearfield_ring.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const int64_t kMostAge_ns = 5000000;   /* older than this is no ground for a control action */
static const int64_t kTimeout_ns = 100000000; /* no frame for so long: the fallback */
static const uint32_t kBadFlags = NF_FLAG_MISSING_BITS | NF_FLAG_CLIPPED | NF_FLAG_NON_FINITE_INPUT;
/* Of the image, expected relative error. NaN: it is not known. Comparisons with NaN are false, so test whether
 * the error is small, never whether it is large. Images of velocity have an estimate with
 * holography.filter.cutoff_rad_per_m: search and with imager sonah; where a measurement has shown by other means that
 * images are good enough, take this check out. */
static const float kMostError = 0.3f;
enum { kWrongUse = 64, kWrongRing = 78 }; /* exit codes, as sysexits.h has them */
static const double kPi = 3.14159265358979323846;

typedef struct Mode {
  size_t pixels;
  double* shape; /* [row][column], norm 1 */
} Mode;

/* The (1,1) mode of a simply supported plate as large as the image; put a measured or computed shape here. */
static int make_mode(const nf_ring_layout* layout, Mode* mode) {
  free(mode->shape);
  mode->pixels = (size_t)layout->rows * layout->columns;
  mode->shape = malloc(mode->pixels * sizeof *mode->shape);
  if (mode->shape == NULL) {
    return 0;
  }
  double sum = 0.0;
  for (uint32_t row = 0; row < layout->rows; ++row) {
    for (uint32_t column = 0; column < layout->columns; ++column) {
      const double value = sin(kPi * (row + 0.5) / layout->rows) * sin(kPi * (column + 0.5) / layout->columns);
      mode->shape[(size_t)row * layout->columns + column] = value;
      sum += value * value;
    }
  }
  for (size_t i = 0; i < mode->pixels; ++i) {
    mode->shape[i] /= sqrt(sum);
  }
  return 1;
}

/* Least squares: the shape has norm 1. */
static void project(const Mode* mode, const nf_complex* image, double* re, double* im) {
  *re = *im = 0.0;
  for (size_t i = 0; i < mode->pixels; ++i) {
    *re += mode->shape[i] * (double)image[i].re;
    *im += mode->shape[i] * (double)image[i].im;
  }
}

/* The control law's place. The first plane's image of the first frequency; phasors are peak amplitudes of e^{+jwt}. */
static void act(const nf_ring_layout* layout, const Mode* mode, const nf_frame* frame) {
  double re, im;
  project(mode, frame->images, &re, &im);
  printf("frame %llu, age %.3f ms: mode at %.1f Hz %.4g %s, %.1f degrees\n", (unsigned long long)frame->sequence,
         1e-6 * (double)frame->age_ns, layout->frequencies_hz[0], hypot(re, im), layout->unit,
         180.0 / kPi * atan2(im, re));
}

static void fall_back(const char* reason) { printf("no action: %s\n", reason); }

/* Until the daemon is there again: it restarts within seconds. */
static void reconnect(nf_ring* ring) {
  const struct timespec pause = {.tv_nsec = 20000000};
  nf_ring_status status;
  while ((status = nf_ring_reopen(ring)) != NF_RING_OK) {
    fall_back(nf_ring_status_text(status));
    nanosleep(&pause, NULL);
  }
}

static void use(nf_ring* ring, const Mode* mode, const nf_frame* frame, uint64_t skipped) {
  if (frame->age_ns > kMostAge_ns) {
    fall_back("the frame is too old");
  } else if ((frame->flags & kBadFlags) != 0) {
    fall_back("the frame is flagged");
  } else if (!(frame->error_estimate[0] <= kMostError)) { /* of the first frequency, the one that act() uses */
    fall_back(isnan(frame->error_estimate[0]) ? "the image's error is not known" : "the image's error is too large");
  } else {
    act(nf_ring_get_layout(ring), mode, frame);
  }
  if (skipped > 0) {
    fprintf(stderr, "controller: %llu frames skipped\n", (unsigned long long)skipped);
  }
}

/* 0, or the exit code of a ring that this controller cannot use, also one that a new configuration has brought. */
static int check(nf_ring* ring, Mode* mode) {
  const char* const quantity = nf_ring_get_layout(ring)->quantity;
  if (nf_ring_find_product(ring, "images") < 0) {
    fprintf(stderr, "controller: expected a ring with images\n");
    return kWrongRing;
  }
  if (strcmp(quantity, "normal_velocity") != 0) {
    fprintf(stderr, "controller: expected holography.quantity: normal_velocity, found %s\n", quantity);
    return kWrongRing;
  }
  return make_mode(nf_ring_get_layout(ring), mode) ? 0 : 1; /* sizes may be others than before */
}

static int run(nf_ring* ring, Mode* mode, unsigned long frames) {
  unsigned long used = 0;
  int code = check(ring, mode);
  if (code != 0) {
    return code;
  }
  while (frames == 0 || used < frames) {
    nf_frame frame;
    uint64_t skipped;
    const nf_ring_status status = nf_ring_read_next(ring, kTimeout_ns, &frame, &skipped);
    if (status == NF_RING_OK) {
      use(ring, mode, &frame, skipped);
      ++used;
    } else if (status == NF_RING_RETIRED || status == NF_RING_GONE) {
      reconnect(ring);
      if ((code = check(ring, mode)) != 0) {
        fall_back("the ring is another one");
        return code;
      }
    } else {
      fall_back(nf_ring_status_text(status));
    }
  }
  return 0;
}

/* 0 where the arguments are right; else the exit code, after saying how to call it. */
static int check_arguments(int argc, char** argv, unsigned long* frames) {
  char* end = NULL;
  *frames = argc > 2 ? strtoul(argv[2], &end, 10) : 0;
  const int asks = argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0);
  if (asks || argc > 3 || (argc > 1 && argv[1][0] == '-') || (argc > 2 && (*end != '\0' || argv[2][0] == '\0'))) {
    fprintf(asks ? stdout : stderr, "usage: controller [SOCKET [FRAMES]]\n");
    return asks ? -1 : kWrongUse;
  }
  return 0;
}

int main(int argc, char** argv) {
  setvbuf(stdout, NULL, _IOLBF, 0); /* into a pipe line by line too */
  unsigned long frames = 0;
  int code = check_arguments(argc, argv, &frames);
  if (code != 0) {
    return code < 0 ? 0 : code;
  }
  nf_ring* ring;
  const nf_ring_status status = nf_ring_open(argc > 1 ? argv[1] : NULL, &ring);
  if (status != NF_RING_OK) {
    fprintf(stderr, "controller: %s\n", nf_ring_status_text(status));
    return 1;
  }
  Mode mode = {0, NULL};
  code = run(ring, &mode, frames);
  free(mode.shape);
  nf_ring_close(ring);
  return code;
}
