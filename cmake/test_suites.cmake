# Test programs for ctest, a test suite a process: a process for each of 2,535 tests opened its device, and loaded PoCL's compiler, anew.
if(NOT CMAKE_SCRIPT_MODE_FILE)
  # nearfield_test_suites(TARGET PREFIX LABEL): after each build of TARGET its suites are listed, as tests PREFIX<suite>.
  function(nearfield_test_suites target prefix label)
    set(list ${CMAKE_CURRENT_BINARY_DIR}/${target}_suites.cmake)
    set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS ${CMAKE_CURRENT_FUNCTION_LIST_FILE})
    add_custom_command(TARGET ${target} POST_BUILD BYPRODUCTS ${list}
                       COMMAND ${CMAKE_COMMAND} -D PROGRAM=$<TARGET_FILE:${target}> -D PREFIX=${prefix} -D LABEL=${label} -D LIST=${list}
                               -D LEAKS=${CMAKE_CURRENT_SOURCE_DIR}/leaks_of_others.supp -P ${CMAKE_CURRENT_FUNCTION_LIST_FILE}
                       VERBATIM)
    set(included ${CMAKE_CURRENT_BINARY_DIR}/${target}_include.cmake)
    file(WRITE ${included} "if(EXISTS \"${list}\")\n  include(\"${list}\")\nelse()\n  add_test(${target}_NOT_BUILT ${target}_NOT_BUILT)\nendif()\n")
    set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${included})
  endfunction()
  return()
endif()

execute_process(COMMAND ${PROGRAM} --gtest_list_tests OUTPUT_VARIABLE listed TIMEOUT 60 COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "(^|\n)[^ \n][^ \n]*\\.[ #\n]" suites "${listed}")
set(text "")
foreach(suite ${suites})
  string(REGEX REPLACE "^\n|\\.[ #\n]$" "" suite "${suite}")
  # LeakSanitizer crashes while it reads the thread-local storage of PoCL's threads: use_tls=0.
  string(APPEND text "add_test([=[${PREFIX}${suite}]=] [=[${PROGRAM}]=] [=[--gtest_filter=${suite}.*]=])\n"
                     "set_tests_properties([=[${PREFIX}${suite}]=] PROPERTIES TIMEOUT 1200 LABELS ${LABEL}"
                     " ENVIRONMENT [=[LSAN_OPTIONS=suppressions=${LEAKS}:use_tls=0]=])\n")
endforeach()
file(WRITE ${LIST} "${text}")
