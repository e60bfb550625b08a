# `cmake --install build/release --prefix P [--component C]`. Components are Debian's packages (cmake/package.cmake):
# nearfield, the programs and what belongs to them; libnearfield0 and libnearfield-ring3, the libraries for other programs;
# libnearfield-dev, their headers and what finds them by pkg-config and by find_package; python3-nearfield, only by its name.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# --- libraries -------------------------------------------------------------------------------------------------------

# nearfield_install_library(NAME TARGET RUNTIME DESCRIPTION HEADERS...): libNAME.so of the component RUNTIME and what
# programs are compiled with; HEADERS are paths below include/.
function(nearfield_install_library name target runtime description)
  install(TARGETS ${target} EXPORT ${name} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT ${runtime}
          NAMELINK_COMPONENT libnearfield-dev INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
  foreach(header ${ARGN})
    get_filename_component(folder ${header} DIRECTORY)
    install(FILES ${PROJECT_SOURCE_DIR}/include/${header} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/${folder}
            COMPONENT libnearfield-dev)
  endforeach()
  set(NAME ${name})
  set(DESCRIPTION ${description})
  if(IS_ABSOLUTE ${CMAKE_INSTALL_LIBDIR})
    set(PREFIX_OF_PC ${CMAKE_INSTALL_PREFIX})
  else()  # from the file's own folder, so that an installed prefix can be moved
    file(RELATIVE_PATH PREFIX_OF_PC /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
    set(PREFIX_OF_PC "\${pcfiledir}/${PREFIX_OF_PC}")
  endif()
  set(LIBDIR_OF_PC "\${prefix}")
  cmake_path(APPEND LIBDIR_OF_PC ${CMAKE_INSTALL_LIBDIR})  # an absolute folder replaces the prefix
  set(INCLUDEDIR_OF_PC "\${prefix}")
  cmake_path(APPEND INCLUDEDIR_OF_PC ${CMAKE_INSTALL_INCLUDEDIR})
  configure_file(${PROJECT_SOURCE_DIR}/cmake/library.pc.in ${CMAKE_BINARY_DIR}/install/${name}.pc @ONLY)
  install(FILES ${CMAKE_BINARY_DIR}/install/${name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig
          COMPONENT libnearfield-dev)
  set(folder ${CMAKE_INSTALL_LIBDIR}/cmake/${name})
  install(EXPORT ${name} NAMESPACE nearfield:: FILE ${name}Config.cmake DESTINATION ${folder} COMPONENT libnearfield-dev)
  set(compatibility SameMinorVersion)
  if(PROJECT_VERSION_MAJOR) # from 1.0 on: docs/reference/stability.md
    set(compatibility SameMajorVersion)
  endif()
  write_basic_package_version_file(${CMAKE_BINARY_DIR}/install/${name}ConfigVersion.cmake COMPATIBILITY ${compatibility})
  install(FILES ${CMAKE_BINARY_DIR}/install/${name}ConfigVersion.cmake DESTINATION ${folder} COMPONENT libnearfield-dev)
endfunction()

set_target_properties(nearfield_ring_shared PROPERTIES EXPORT_NAME ring)
set_target_properties(nearfield_shared PROPERTIES EXPORT_NAME nearfield)
nearfield_install_library(nearfield_ring nearfield_ring_shared libnearfield-ring3
                          "Reads the results of a running nearfieldd" nearfield_ring.h)
nearfield_install_library(nearfield nearfield_shared libnearfield0
                          "Acoustic holography on OpenCL: bits, samples or spectra to images" nearfield/nearfield.h)
install(FILES ${PROJECT_SOURCE_DIR}/examples/controller.c ${PROJECT_SOURCE_DIR}/examples/engine.c
              ${PROJECT_SOURCE_DIR}/examples/nearfield_mex.c
        DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/libnearfield-dev/examples COMPONENT libnearfield-dev)

# --- programs --------------------------------------------------------------------------------------------------------

# The kernels and the page are a part of the programs.
install(TARGETS nearfield nearfieldd nearfield-bench DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT nearfield)
install(PROGRAMS ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/nearfield-bench-report DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT nearfield)
install(FILES ${PROJECT_SOURCE_DIR}/packaging/nearfield-bench-report.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT nearfield)
install(FILES ${PROJECT_SOURCE_DIR}/config/systemd/nearfieldd.service ${PROJECT_SOURCE_DIR}/config/systemd/nearfieldd@.service
        ${PROJECT_SOURCE_DIR}/config/systemd/nearfield-bridge@.service
        DESTINATION lib/systemd/system COMPONENT nearfield)
foreach(unit nearfieldd nearfieldd@) # the processor is a device of every machine; for GPUs a user decides
  install(FILES ${PROJECT_SOURCE_DIR}/config/systemd/devices/pocl.conf
          DESTINATION lib/systemd/system/${unit}.service.d COMPONENT nearfield)
endforeach()
install(DIRECTORY ${PROJECT_SOURCE_DIR}/config/systemd/devices/ DESTINATION ${CMAKE_INSTALL_DATADIR}/nearfield/systemd
        COMPONENT nearfield)
set(examples ${CMAKE_INSTALL_DATADIR}/doc/nearfield/examples)
install(FILES ${PROJECT_SOURCE_DIR}/config/nearfield.yaml ${PROJECT_SOURCE_DIR}/config/nearfieldd.yaml
        ${PROJECT_SOURCE_DIR}/packaging/second_array.yaml DESTINATION ${examples} COMPONENT nearfield)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/config/scenes DESTINATION ${examples} COMPONENT nearfield)
# What other targets and `./dev docs` make is installed where it has been made.
install(DIRECTORY ${PROJECT_SOURCE_DIR}/share/ DESTINATION ${CMAKE_INSTALL_DATADIR}/nearfield COMPONENT nearfield OPTIONAL)
install(DIRECTORY ${CMAKE_BINARY_DIR}/share/ DESTINATION ${CMAKE_INSTALL_DATADIR} COMPONENT nearfield OPTIONAL)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/build/docs/html DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/nearfield COMPONENT nearfield
        OPTIONAL PATTERN .buildinfo EXCLUDE PATTERN .doctrees EXCLUDE)

# --- Python ----------------------------------------------------------------------------------------------------------

# For Debian's Python, with the system's libraries; elsewhere `pip install ./python` installs the wheel, which holds its own.
set(package lib/python3/dist-packages/nearfield)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/python/src/nearfield/ DESTINATION ${package} COMPONENT python3-nearfield
        EXCLUDE_FROM_ALL PATTERN __pycache__ EXCLUDE)
install(FILES ${PROJECT_SOURCE_DIR}/include/nearfield_ring.h DESTINATION ${package}/include COMPONENT python3-nearfield
        EXCLUDE_FROM_ALL)
install(FILES ${PROJECT_SOURCE_DIR}/include/nearfield/nearfield.h DESTINATION ${package}/include/nearfield
        COMPONENT python3-nearfield EXCLUDE_FROM_ALL)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/python/examples DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/python3-nearfield
        COMPONENT python3-nearfield EXCLUDE_FROM_ALL)
