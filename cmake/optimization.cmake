# Code that runs once at a start, waits for files and users, or tests other code, is compiled with -O1: two thirds of the
# processor time that -O3 takes (26 of 42 s for eight files of cli), and no user sees a difference. What has a share in each window or
# frame of a live stream, and nearfield-bench, whose copies of inline functions come first in its link, keep CMake's -O3. The
# results are the same with both: GCC neither contracts nor reorders floating-point operations in ISO C++.

# nearfield_cold(TARGET): -O1 in place of -O3.
function(nearfield_cold target)
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
endfunction()
