#pragma once
#include <hdf5.h>

#include <complex>
#include <stdexcept>
#include <string>
#include <vector>

/// Reads what Nearfield's own readers do not: the truth in files made for tests.
namespace nearfield::test {

template <class T>
hid_t memory_type() {
  if constexpr (std::is_same_v<T, double>) {
    return H5Tcopy(H5T_NATIVE_DOUBLE);
  } else if constexpr (std::is_same_v<T, unsigned char>) {
    return H5Tcopy(H5T_NATIVE_UCHAR);
  } else {
    const hid_t type = H5Tcreate(H5T_COMPOUND, sizeof(T));
    H5Tinsert(type, "r", 0, H5T_NATIVE_FLOAT);
    H5Tinsert(type, "i", sizeof(float), H5T_NATIVE_FLOAT);
    return type;
  }
}

/// The whole dataset, in the file's order. Throws when it is not there.
template <class T>
std::vector<T> read_values(const std::string& path, const std::string& dataset) {
  const hid_t file = H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
  const hid_t set = H5Dopen2(file, dataset.c_str(), H5P_DEFAULT);
  if (file < 0 || set < 0) {
    throw std::runtime_error(path + ": no dataset " + dataset);
  }
  const hid_t space = H5Dget_space(set);
  std::vector<T> values(static_cast<std::size_t>(H5Sget_simple_extent_npoints(space)));
  const hid_t type = memory_type<T>();
  const herr_t status = H5Dread(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data());
  H5Tclose(type);
  H5Sclose(space);
  H5Dclose(set);
  H5Fclose(file);
  if (status < 0) {
    throw std::runtime_error(path + ": can't read " + dataset);
  }
  return values;
}

}  // namespace nearfield::test
