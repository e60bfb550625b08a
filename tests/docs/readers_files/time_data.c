/* Time data as Acoular writes them, a tone at 48 kHz in pascal: ./time_data FILE CHANNELS HERTZ [CHANNEL...]. All channels alike
 * for 0.1 s; or 0.15 s for each CHANNEL named, in which the others have a hundredth of its level. */
#include <hdf5.h>
#include <math.h>
#include <stdlib.h>

int main(int argc, char** argv) {
  if (argc < 4) {
    return 64;
  }
  const double rate_hz = 48000.0;
  const hsize_t stay = argc > 4 ? 7200 : 4800;
  const hsize_t shape[2] = {stay * (hsize_t)(argc > 4 ? argc - 4 : 1), strtoul(argv[2], NULL, 10)};
  float* values = malloc((size_t)(shape[0] * shape[1]) * sizeof *values);
  for (hsize_t i = 0; i < shape[0] * shape[1]; ++i) {
    const hsize_t sample = i / shape[1];
    const int is_loud = argc == 4 || strtoul(argv[4 + sample / stay], NULL, 10) == i % shape[1];
    values[i] = (float)((is_loud ? 1.4 : 0.014) * sin(6.283185307179586 * strtod(argv[3], NULL) * (double)sample / rate_hz));
  }
  const hid_t file = H5Fcreate(argv[1], H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  const hid_t space = H5Screate_simple(2, shape, NULL);
  const hid_t data = H5Dcreate2(file, "time_data", H5T_IEEE_F32LE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  const hid_t scalar = H5Screate(H5S_SCALAR);
  const hid_t rate = H5Acreate2(data, "sample_freq", H5T_IEEE_F64LE, scalar, H5P_DEFAULT, H5P_DEFAULT);
  const int failed = H5Dwrite(data, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) < 0 ||
                     H5Awrite(rate, H5T_NATIVE_DOUBLE, &rate_hz) < 0 || H5Fflush(file, H5F_SCOPE_GLOBAL) < 0;
  free(values);
  return failed ? 74 : 0;
}
