# Builds from nothing compile the files of a folder several at a time, as one translation unit: half the processor time, since headers
# are read and templates instantiated once for all of them (`CCACHE_DISABLE=1 ninja nearfield_config`, its headers and core built: 92 of
# 177 s), and twice the memory of a compiler (954 of 484 MB). Who works on a folder compiles its files alone
# (cmake --preset release -DNEARFIELD_UNITY=OFF), as the preset `clang` does, which finds includes that a file lacks. Files of tests share
# names, so that join_tests.py joins them, each in a namespace of its own (six of tests/daemon: 29 of 68 s).

# nearfield_unity(TARGET): NEARFIELD_UNITY_FILES at a time.
function(nearfield_unity target)
  if(NOT NEARFIELD_UNITY)
    return()
  endif()
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # GCC takes the files for headers: it warns of a class whose member has a type that only its file can name.
    target_compile_options(${target} PRIVATE -Wno-subobject-linkage)
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${NEARFIELD_UNITY_FILES})
endfunction()

# nearfield_joined_tests(VARIABLE FOLDER SOURCES...): into VARIABLE go what SOURCES of the tests' FOLDER are compiled as.
function(nearfield_joined_tests variable folder)
  if(NOT NEARFIELD_UNITY)
    set(${variable} ${ARGN} PARENT_SCOPE)
    return()
  endif()
  set(rest ${ARGN})
  set(all "")
  while(rest)
    list(LENGTH all number)
    list(SUBLIST rest 0 ${NEARFIELD_UNITY_FILES} files)
    list(REMOVE_ITEM rest ${files})
    set(file ${CMAKE_CURRENT_BINARY_DIR}/joined/${folder}_${number}.cpp)
    add_custom_command(OUTPUT ${file} COMMAND Python3::Interpreter -B ${PROJECT_SOURCE_DIR}/cmake/join_tests.py ${file} ${files}
                       DEPENDS ${files} ${PROJECT_SOURCE_DIR}/cmake/join_tests.py COMMENT "Joining tests" VERBATIM)
    list(APPEND all ${file})
  endwhile()
  set(${variable} ${all} PARENT_SCOPE)
endfunction()
