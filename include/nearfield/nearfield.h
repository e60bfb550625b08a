/* Nearfield's engine for programs in C and other languages: bits, time data or spectra in, images and other products
 * out, on OpenCL. libnearfield.so holds it; it reads no HDF5 files. docs/reference/c_api.md is the guide.
 *
 * Units are SI. A handle belongs to one thread at a time; two handles may be used by two threads. Every call that can
 * fail returns an nf_status, and nf_engine_error() says in words what was wrong. */
#ifndef NEARFIELD_NEARFIELD_H
#define NEARFIELD_NEARFIELD_H

#include <nearfield_ring.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The values above 1 are the exit codes of the program `nearfield`, after sysexits.h. */
typedef enum nf_status {
  NF_OK = 0,
  NF_MORE = 1,        /* no frame yet: more input is needed */
  NF_USAGE = 64,      /* an invalid call: a null pointer, another form of input, a wrong number of values */
  NF_DATA = 65,       /* wrong data: more than a tenth of the microphones are not finite, a wrong file of positions */
  NF_NO_INPUT = 66,   /* the configuration names a file or array that is not there */
  NF_NO_DEVICE = 69,  /* no OpenCL device, or it failed */
  NF_INTERNAL = 70,   /* a defect in Nearfield itself, or out of memory */
  NF_IO = 74,         /* reading or writing failed */
  NF_BAD_CONFIG = 78, /* a wrong setting */
} nf_status;

enum { NF_INPUT_BITS = 0, NF_INPUT_SAMPLES = 1, NF_INPUT_SPECTRA = 2 }; /* nf_input.form */
enum { NF_ENGINE_OPENCL = 0, NF_ENGINE_REFERENCE = 1 };                 /* nf_input.engine */

typedef struct nf_engine nf_engine;

/* Input of an engine. Set it to zero first: fields that are not used are 0. */
typedef struct nf_input {
  uint32_t form;                /* NF_INPUT_ */
  uint32_t engine;              /* NF_ENGINE_; the reference computes in double precision, slowly, without OpenCL */
  uint32_t channels;            /* samples and spectra; for bits array.layout gives them */
  uint32_t frequency_count;     /* spectra only */
  double sample_rate_hz;        /* samples; for bits it is array.clock_hz; spectra: that of the windows they are of,
                                   front_end.window_samples long and hop_samples apart, or 0: not known */
  const double* frequencies_hz; /* spectra only: [frequency_count], ascending; copied */
} nf_input;

/* Common description of all frames of a processor, valid until nf_engine_start or nf_engine_close. */
typedef struct nf_engine_layout {
  const char* processor; /* its name: "surface", or the key of its section */
  const char* kind;      /* "pnah", "sonah", "beamform", ... */
  const char* device;
  const char* front_end;
  const char* config; /* the configuration as run, YAML */
  uint32_t every_hops;
  uint32_t axis_count;
  uint32_t product_count;
  uint32_t reserved;
  const nf_axis* axes;        /* [axis_count] */
  const nf_product* products; /* [product_count] */
} nf_engine_layout;

/* Output of a processor for one window; its pointers are valid until the next call with this engine. */
typedef struct nf_engine_frame {
  uint32_t processor;    /* its index */
  uint32_t flags;        /* NF_FLAG_ */
  uint64_t sequence;     /* the window's number, from 0 */
  uint64_t first_sample; /* start of the processor's window: bit-time, sample, or window of spectra */
  uint32_t valid_microphones;
  float missing_information; /* share of an image's information that is lost with invalid microphones, 0 to 1 */
  /* [product_count] of its layout: an array's values, fastest axis last; a table's number of rows as a uint64_t, then
   * its columns at nf_column.offset. */
  const void* const* products;
} nf_engine_frame;

/* The library's version, such as "1.2.0". */
const char* nf_version(void);

/* Makes a handle without an engine. NF_OK, NF_USAGE, NF_INTERNAL. */
nf_status nf_engine_open(nf_engine** engine);

/* Destroys the handle and its engine; NULL is allowed. */
void nf_engine_close(nf_engine* engine);

/* Message of the last call that failed, one problem a line; "" before. Valid until the next call. */
const char* nf_engine_error(const nf_engine* engine);

/* Arrays in place of files. Call these before nf_engine_start; the values are copied. `name` stands in the
 * configuration in place of a path, not empty; an array replaces an earlier one of the same name, and takes precedence
 * over a file of this name. All numbers must be finite, except gains, which may be NaN. NF_OK, NF_USAGE, NF_INTERNAL.
 */

/* Microphone positions, [count][x, y, z] in m, in the order of the input's channels, like a file of array.positions: x
 * to the right and y down, seen from the back of the array, z away from the surface. count 0: none. */
nf_status nf_engine_give_positions(nf_engine* engine, const double* positions_m, uint32_t count);

/* For array.calibration: gains [frequency][row][column] that spectra are multiplied by, for the configuration's array.
 * Rows and columns are those of the grid, even if positions give the input's channels another order; for an irregular
 * array it is [frequency][channel]. A gain of NaN masks its microphone. Frequencies ascend. */
nf_status nf_engine_give_calibration(nf_engine* engine, const char* name, const double* frequencies_hz,
                                     uint32_t frequency_count, const nf_complex* gains, uint32_t channels);

/* For steering.file of processors: templates [frequency][template][channel], channels as for gains, 1 at the array's
 * centre, of sources at positions_m [template][x, y, z] on the axes of images, and their coherence
 * [frequency][template], or NULL for 1. */
nf_status nf_engine_give_templates(nf_engine* engine, const char* name, const double* frequencies_hz,
                                   uint32_t frequency_count, const double* positions_m, uint32_t count,
                                   const nf_complex* templates, const float* coherence, uint32_t channels);

/* For grid.points of processors: [count][x, y, z] in m on the axes of images. */
nf_status nf_engine_give_points(nf_engine* engine, const char* name, const double* points_m, uint32_t count);

/* Makes the engine from a configuration, the text of a YAML file; "" has all defaults. Compiles kernels: seconds, or
 * less if they are cached. For samples and spectra, rows, columns, pitches and standoff must be given, as no other
 * source gives the microphone positions. A previous engine of the handle is destroyed. NF_OK, NF_USAGE, NF_DATA,
 * NF_NO_INPUT, NF_NO_DEVICE, NF_INTERNAL, NF_IO, NF_BAD_CONFIG. */
nf_status nf_engine_start(nf_engine* engine, const char* config_yaml, const nf_input* input);

/* Warnings, then notes, about the validity of the images; one sentence a line. */
const char* nf_engine_remarks(const nf_engine* engine);

/* The number of processors; 0 before nf_engine_start. The first makes the images of `holography`. */
uint32_t nf_engine_processors(const nf_engine* engine);

/* NULL if there is no such processor. */
const nf_engine_layout* nf_engine_get_layout(const nf_engine* engine, uint32_t processor);

/* The index of a processor, and of its product, of this name; -1 if there is none. */
ptrdiff_t nf_engine_find_processor(const nf_engine* engine, const char* name);
ptrdiff_t nf_engine_find_product(const nf_engine* engine, uint32_t processor, const char* name);

/* Input that continues what was pushed before; it is copied. It is kept until nf_engine_next has taken all frames that
 * need it. NF_OK, NF_USAGE, NF_INTERNAL. */

/* [bit-time][word] in the order of array.layout, whole bit-times. */
nf_status nf_engine_push_bits(nf_engine* engine, const uint32_t* words, uint64_t count);
/* [sample][channel], Pa, whole samples. */
nf_status nf_engine_push_samples(nf_engine* engine, const float* samples, uint64_t count);
/* [window][frequency][row][column], Pa peak of e^{+jwt} phasors, whole windows. nf_engine_start refuses positions of a
 * grid in another order, and a front_end.frequencies_hz other than the input's. */
nf_status nf_engine_push_spectra(nf_engine* engine, const nf_complex* spectra, uint64_t count);

/* Computes the next frame: for each window, one per processor that is due, in their order. The frames equal those that
 * `nearfield replay` writes for the same input with device.batch 1. After NF_DATA the next call continues with the next
 * window; after NF_NO_DEVICE or NF_INTERNAL the stream has ended, and calls are NF_USAGE until nf_engine_restart.
 * NF_OK, NF_MORE, NF_USAGE, NF_DATA, NF_NO_DEVICE, NF_INTERNAL. */
nf_status nf_engine_next(nf_engine* engine, nf_engine_frame* frame);

/* Starts a new stream: discards pushed input and averages, and uses microphones again that were found bad. Cut-offs
 * continue from their last values. NF_OK, NF_USAGE, NF_NO_DEVICE, NF_INTERNAL. */
nf_status nf_engine_restart(nf_engine* engine);

#ifdef __cplusplus
}
#endif
#endif
