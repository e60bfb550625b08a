# Headers that most files include, compiled once: a small file spends nearly all of its compile time on them otherwise.
# Four sets, of which a target takes one: with or without OpenCL's header, with or without GoogleTest's. Files still
# include what they use; the preset `clang`, which clang-tidy reads, is built without precompiled headers and thus finds
# includes that a file lacks. NEARFIELD_PRECOMPILED_HEADERS turns them off.

set(standard_headers <algorithm> <array> <atomic> <bit> <chrono> <cmath> <complex> <cstdint> <cstring> <deque> <filesystem>
    <fstream> <functional> <limits> <map> <memory> <mutex> <numbers> <numeric> <optional> <random> <set> <span> <sstream>
    <string> <string_view> <thread> <utility> <variant> <vector>)

# nearfield_precompiled_set(NAME LINKED HEADERS...): the set NAME, compiled as a user of the library LINKED would.
function(nearfield_precompiled_set name linked)
  set(empty ${CMAKE_BINARY_DIR}/precompiled/${name}.cpp)
  if(NOT EXISTS ${empty})
    file(WRITE ${empty} "// Made for its precompiled headers alone.\n")
  endif()
  add_library(${name} OBJECT ${empty})
  target_link_libraries(${name} PRIVATE nearfield_options ${linked})
  target_precompile_headers(${name} PRIVATE ${standard_headers} ${ARGN})
endfunction()

# nearfield_precompiled(TARGET): the set that fits what TARGET links.
function(nearfield_precompiled target)
  if(NOT NEARFIELD_PRECOMPILED_HEADERS)
    return()
  endif()
  cmake_parse_arguments(of "TESTS;OPENCL" "" "" ${ARGN})
  set(name nearfield_precompiled)
  if(of_TESTS)
    string(APPEND name _tests)
  endif()
  if(of_OPENCL)
    string(APPEND name _opencl)
  endif()
  target_compile_options(${target} PRIVATE -fPIC) # programs would say -fPIE, which the sets are not compiled with
  target_precompile_headers(${target} REUSE_FROM ${name})
endfunction()

if(NEARFIELD_PRECOMPILED_HEADERS)
  set(CL_DEFINITIONS CL_TARGET_OPENCL_VERSION=120 CL_HPP_TARGET_OPENCL_VERSION=120
      CL_HPP_MINIMUM_OPENCL_VERSION=120)
  # Reading a set costs each file time too, so that headers of a few files (JSON, YAML, Eigen, spdlog) are in none.
  set(text_headers <fmt/format.h>)
  set(opencl_headers <CL/opencl.hpp>)
  set(test_headers <gtest/gtest.h> <gmock/gmock.h>)
  nearfield_precompiled_set(nearfield_precompiled fmt::fmt ${text_headers})
  nearfield_precompiled_set(nearfield_precompiled_opencl "fmt::fmt;OpenCL::OpenCL" ${text_headers} ${opencl_headers})
  target_compile_definitions(nearfield_precompiled_opencl PRIVATE ${CL_DEFINITIONS})
  if(NEARFIELD_TESTS)
    nearfield_precompiled_set(nearfield_precompiled_tests "fmt::fmt;GTest::gtest;GTest::gmock" ${text_headers}
                              ${test_headers})
    nearfield_precompiled_set(nearfield_precompiled_tests_opencl "fmt::fmt;OpenCL::OpenCL;GTest::gtest;GTest::gmock"
                              ${text_headers} ${opencl_headers} ${test_headers})
    target_compile_definitions(nearfield_precompiled_tests_opencl PRIVATE ${CL_DEFINITIONS})
  endif()
endif()
