# Read by cpack: what depends on the version, which packaging/package.py gives as NEARFIELD_DEBIAN_VERSION.
set(CPACK_PACKAGE_VERSION ${NEARFIELD_DEBIAN_VERSION})
set(CPACK_DEBIAN_PACKAGE_VERSION ${NEARFIELD_DEBIAN_VERSION})
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "") # of the project; each package has its own
set(libraries "libnearfield0 (= ${NEARFIELD_DEBIAN_VERSION}), libnearfield-ring3 (= ${NEARFIELD_DEBIAN_VERSION})")
set(CPACK_DEBIAN_LIBNEARFIELD-DEV_PACKAGE_DEPENDS "${libraries}")
set(CPACK_DEBIAN_PYTHON3-NEARFIELD_PACKAGE_DEPENDS
    "${libraries}, python3 (>= 3.11~), python3-numpy (>= 1:1.24), python3-xarray, python3-h5netcdf, python3-h5py, python3-cffi")
