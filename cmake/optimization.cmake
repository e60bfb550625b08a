# Code that runs once at a start, waits for files and users, or tests other code, is compiled with -O1: two thirds of the
# processor time that -O3 takes (26 of 42 s for eight files of cli), and no user sees a difference. What has a share in each window or
# frame of a live stream, and nearfield-bench, whose copies of inline functions come first in its link, keep CMake's -O3. The
# results are the same with both: GCC neither contracts nor reorders floating-point operations in ISO C++.

# nearfield_cold(TARGET): -O1 in place of -O3.
function(nearfield_cold target)
  target_compile_options(${target} PRIVATE "$<$<CONFIG:Release>:-O1;${same_headers}>")
endfunction()

# The precompiled headers are compiled with -O3, which sets two options for x86 in GCC 14 that its -O1 does not; headers are read only
# where both are set.
set(same_headers "")
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 13)
  include(CheckCXXCompilerFlag)
  check_cxx_compiler_flag("-munroll-only-small-loops -mvzeroupper" has_options_of_headers)
  if(has_options_of_headers)
    set(same_headers -munroll-only-small-loops -mvzeroupper)
  endif()
endif()
