# Debian packages by CPack: `./dev package` builds what they hold and calls cpack. packaging/finish.py adds to each package
# what Debian wants of one (changelog, copyright, compressed pages) and the SPDX document, and puts the configuration into /etc; version and time are those of
# the commit (nearfield_commit), given to cpack by packaging/package.py.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME nearfield)
set(CPACK_PACKAGE_VENDOR "Nearfield developers")
set(CPACK_PACKAGE_CONTACT "Nearfield developers <maintainers@nearfield.invalid>")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES OFF) # packaging/finish.py does, as nearfieldd keeps the names of its functions
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ
    WORLD_EXECUTE)
set(CPACK_PRE_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/packaging/finish.cmake)
set(CPACK_COMPONENTS_ALL nearfield libnearfield0 libnearfield-ring3 libnearfield-dev python3-nearfield)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_NEARFIELD_FOLDER ${PROJECT_SOURCE_DIR}/packaging)
set(debian ${PROJECT_SOURCE_DIR}/packaging/debian)
# Control files bear the name of their kind alone.
foreach(script nearfield.postinst nearfield.prerm nearfield.postrm nearfield.conffiles python3-nearfield.postinst
        python3-nearfield.prerm)
  string(REGEX MATCH "^(.*)\\.([a-z]+)$" matched ${script})
  configure_file(${debian}/${script} ${CMAKE_BINARY_DIR}/packages/control/${CMAKE_MATCH_1}/${CMAKE_MATCH_2} COPYONLY)
endforeach()
set(control ${CMAKE_BINARY_DIR}/packages/control)

# nearfield_package(COMPONENT SECTION SUMMARY DESCRIPTION): CPACK_COMPONENT_... and CPACK_DEBIAN_... of one package.
macro(nearfield_package component section summary description)
  string(TOUPPER ${component} upper)
  set(CPACK_COMPONENT_${upper}_DESCRIPTION "${summary}\n${description}")
  set(CPACK_DEBIAN_${upper}_PACKAGE_NAME ${component})
  set(CPACK_DEBIAN_${upper}_PACKAGE_SECTION ${section})
endmacro()

nearfield_package(nearfield science "live near-field acoustic holography"
  "Nearfield turns the signals of a microphone array close to a vibrating
surface into complex images of sound pressure, normal velocity and intensity
on that surface, from recordings and live, on any OpenCL device or on the
processor.
.
This package has the programs nearfield, nearfieldd (the daemon, with its
units for systemd) and nearfield-bench.")
set(CPACK_DEBIAN_NEARFIELD_PACKAGE_DEPENDS "pocl-opencl-icd | opencl-icd, python3:any, libjs-sphinxdoc, node-normalize.css")
set(CPACK_DEBIAN_NEARFIELD_PACKAGE_RECOMMENDS "libasound2 | libasound2t64, python3-matplotlib, python3-nearfield")
set(CPACK_DEBIAN_NEARFIELD_PACKAGE_CONTROL_EXTRA ${control}/nearfield/postinst ${control}/nearfield/prerm
    ${control}/nearfield/postrm ${control}/nearfield/conffiles)

nearfield_package(libnearfield0 libs "acoustic holography on OpenCL, the library"
  "libnearfield makes images of a sound field near its source, in a program of
one's own: bits, samples or spectra of a microphone array to complex images,
on any OpenCL device.")
set(CPACK_DEBIAN_LIBNEARFIELD0_PACKAGE_DEPENDS "pocl-opencl-icd | opencl-icd")
nearfield_package(libnearfield-ring3 libs "reads the results of a running nearfieldd, the library"
  "libnearfield_ring reads the images that the daemon nearfieldd publishes in
shared memory, without waiting and without a copy.")
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS_POLICY ">=")
foreach(library LIBNEARFIELD0 LIBNEARFIELD-RING3)
  set(CPACK_DEBIAN_${library}_PACKAGE_CONTROL_EXTRA ${debian}/triggers)
endforeach()

nearfield_package(libnearfield-dev libdevel "acoustic holography on OpenCL, headers"
  "Headers, links, pkg-config files and CMake packages for programs that use
libnearfield, the holography itself, or libnearfield_ring, which reads the
results of a running nearfieldd.")
set(CPACK_DEBIAN_LIBNEARFIELD-DEV_PACKAGE_SHLIBDEPS OFF)

nearfield_package(python3-nearfield python "acoustic holography for Python"
  "The Python package nearfield opens captures, images and recordings with
xarray, replays recordings, reads live images and computes images of NumPy
arrays.")
set(CPACK_DEBIAN_PYTHON3-NEARFIELD_PACKAGE_ARCHITECTURE all)
set(CPACK_DEBIAN_PYTHON3-NEARFIELD_PACKAGE_SHLIBDEPS OFF)
set(CPACK_DEBIAN_PYTHON3-NEARFIELD_PACKAGE_CONTROL_EXTRA ${control}/python3-nearfield/postinst ${control}/python3-nearfield/prerm)
set(CPACK_DEBIAN_PYTHON3-NEARFIELD_PACKAGE_RECOMMENDS "python3-matplotlib, python3-pil, python3-zmq, python3-redis, python3-yaml, python3-paho-mqtt")
set(CPACK_DEBIAN_PYTHON3-NEARFIELD_PACKAGE_SUGGESTS "nearfield, python3-distributed, python3-scipy, python3-zarr")

set(CPACK_PROJECT_CONFIG_FILE ${PROJECT_SOURCE_DIR}/packaging/version.cmake)
set(CPACK_VERBATIM_VARIABLES ON)
include(CPack)
