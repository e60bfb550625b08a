# Files of a folder are compiled several at a time, as one translation unit: headers are read and templates instantiated
# once for all of them. A file whose neighbour has changed is compiled again with it; for longer work on one folder
# it can be turned off (cmake --preset release -DNEARFIELD_UNITY=OFF).
#
# What a .cpp file keeps to itself (anonymous namespaces, using-declarations, macros) is seen by the files behind it, so
# that such names are unique within a target. The preset `clang`, which clang-tidy reads, compiles each file alone and
# thus finds includes that a file lacks. Tests and benchmarks are compiled alone, too: their files share many names.

# nearfield_unity(TARGET): NEARFIELD_UNITY_FILES at a time.
function(nearfield_unity target)
  if(NOT NEARFIELD_UNITY)
    return()
  endif()
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # GCC takes the files for headers: it warns of a class whose member has a type that only its file can name.
    target_compile_options(${target} PRIVATE -Wno-subobject-linkage)
    # GCC looks for garbage once its heap has 128 MiB, which the precompiled headers alone nearly fill. From 256 MiB on it takes 5 to 10 % less
    # processor time (config/unity_1 19.5 of 20.5 s, imaging/unity_5 42.7 of 46 s) and 0.1 GB more memory.
    target_compile_options(${target} PRIVATE --param=ggc-min-heapsize=262144)
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${NEARFIELD_UNITY_FILES})
endfunction()
