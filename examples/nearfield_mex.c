/* Images of spectra in Octave or MATLAB, by libnearfield:
 *
 *   mkoctfile --mex nearfield_mex.c $(pkg-config --cflags --libs nearfield)
 *
 *   images = nearfield_mex(config, frequencies_hz, spectra)
 *
 * config is the text of a configuration (YAML) with rows, columns, pitches and standoff. spectra(row, column, frequency,
 * window) are complex, Pa peak of e^{+jwt} phasors; images(y, x, plane, frequency, window) are those of `holography`. */
#include <mex.h>
#include <nearfield/nearfield.h>

enum { IMAGE_AXES = 4 }; /* plane, frequency, row, column */

static nf_engine* engine; /* mexErrMsgIdAndTxt does not return: what it leaves open, the next call closes */

static void require(nf_status status) {
  if (status != NF_OK && status != NF_MORE) {
    mexErrMsgIdAndTxt("nearfield:failed", "nearfield (%d): %s", (int)status, engine ? nf_engine_error(engine) : "no memory");
  }
}

static void expect(int holds, const char* what) {
  if (!holds) {
    mexErrMsgIdAndTxt("nearfield:usage", "nearfield_mex(config, frequencies_hz, spectra): expected %s", what);
  }
}

/* The length of a dimension, 1 beyond the last one. */
static size_t length_of(const mxArray* array, size_t dimension) {
  return dimension < (size_t)mxGetNumberOfDimensions(array) ? (size_t)mxGetDimensions(array)[dimension] : 1;
}

/* Octave's first dimension is the fastest, Nearfield's last one: rows and columns change places. */
static size_t place_of(size_t image, size_t row, size_t column, size_t rows, size_t columns) {
  return (image * columns + column) * rows + row;
}

static nf_complex* spectra_of(const mxArray* array, size_t rows, size_t columns, size_t images) {
  nf_complex* spectra = mxMalloc((rows * columns * images + 1) * sizeof *spectra); /* freed by itself after an error */
  const double* re = mxGetPr(array);
  const double* im = mxGetPi(array);
  size_t to = 0;
  for (size_t image = 0; image < images; ++image) {
    for (size_t row = 0; row < rows; ++row) {
      for (size_t column = 0; column < columns; ++column, ++to) {
        const size_t from = place_of(image, row, column, rows, columns);
        spectra[to].re = (float)re[from];
        spectra[to].im = im ? (float)im[from] : 0.0F;
      }
    }
  }
  return spectra;
}

static void copy_images(const nf_complex* values, const uint32_t* sizes, double* re, double* im) {
  const size_t rows = sizes[2];
  const size_t columns = sizes[3];
  for (size_t frequency = 0; frequency < sizes[1]; ++frequency) {
    for (size_t plane = 0; plane < sizes[0]; ++plane) {
      const size_t from = (plane * sizes[1] + frequency) * rows * columns;
      const size_t to = frequency * sizes[0] + plane;
      for (size_t row = 0; row < rows; ++row) {
        for (size_t column = 0; column < columns; ++column) {
          const nf_complex value = values[from + row * columns + column];
          re[place_of(to, row, column, rows, columns)] = (double)value.re;
          im[place_of(to, row, column, rows, columns)] = (double)value.im;
        }
      }
    }
  }
}

void mexFunction(int result_count, mxArray** results, int count, const mxArray** arguments) {
  (void)result_count;
  nf_engine_close(engine);
  engine = NULL;
  expect(count == 3, "three arguments");
  expect(mxIsChar(arguments[0]), "a configuration's text");
  expect(mxIsDouble(arguments[1]) && mxIsDouble(arguments[2]), "frequencies and spectra of class double");
  const size_t rows = length_of(arguments[2], 0);
  const size_t columns = length_of(arguments[2], 1);
  const size_t frequencies = length_of(arguments[2], 2);
  const size_t windows = length_of(arguments[2], 3);
  expect(mxGetNumberOfElements(arguments[1]) == frequencies, "as many frequencies as spectra(:, :, i) are");
  expect(rows * columns <= UINT32_MAX && frequencies <= UINT32_MAX, "fewer values");

  const nf_input input = {.form = NF_INPUT_SPECTRA,
                          .channels = (uint32_t)(rows * columns),
                          .frequency_count = (uint32_t)frequencies,
                          .frequencies_hz = mxGetPr(arguments[1])};
  require(nf_engine_open(&engine));
  char* config = mxArrayToString(arguments[0]);
  require(nf_engine_start(engine, config, &input));
  mxFree(config);
  const ptrdiff_t images = nf_engine_find_product(engine, 0, "images");
  expect(images >= 0, "a configuration with images");
  const nf_product* product = &nf_engine_get_layout(engine, 0)->products[images];
  expect(product->axis_count == IMAGE_AXES && product->type == NF_TYPE_COMPLEX64, "images over plane, frequency, y and x");
  uint32_t sizes[IMAGE_AXES];
  for (int i = 0; i < IMAGE_AXES; ++i) sizes[i] = product->axes[i]->size;

  nf_complex* spectra = spectra_of(arguments[2], rows, columns, frequencies * windows);
  require(nf_engine_push_spectra(engine, spectra, rows * columns * frequencies * windows));
  mxFree(spectra);
  mwSize dimensions[] = {sizes[2], sizes[3], sizes[0], sizes[1], (mwSize)windows};
  results[0] = mxCreateNumericArray(IMAGE_AXES + 1, dimensions, mxDOUBLE_CLASS, mxCOMPLEX);
  double* re = mxGetPr(results[0]);
  double* im = mxGetPi(results[0]);
  size_t frames = 0;
  nf_engine_frame frame;
  nf_status status;
  while ((status = nf_engine_next(engine, &frame)) == NF_OK) {
    if (frame.processor == 0 && frames < windows) {
      copy_images(frame.products[images], sizes, re + frames * product->values, im + frames * product->values);
      ++frames;
    }
  }
  require(status);
  expect(frames == windows, "an image of each window");
  nf_engine_close(engine);
  engine = NULL;
}
