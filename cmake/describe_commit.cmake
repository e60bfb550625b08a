# Writes OUTPUT, a header with the version and the commit of the tree at ROOT ("unknown" outside git).
execute_process(COMMAND git -C ${ROOT} describe --always --dirty --abbrev=12 OUTPUT_VARIABLE commit
                OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
if(failed)
  set(commit unknown)
endif()
set(text "#pragma once\n\nnamespace nearfield::bench {\ninline constexpr char kCommit[] = \"${commit}\";\ninline constexpr char kVersion[] = \"${VERSION}\";\n}  // namespace nearfield::bench\n")
set(present "")
if(EXISTS ${OUTPUT})
  file(READ ${OUTPUT} present)
endif()
if(NOT present STREQUAL text)
  file(WRITE ${OUTPUT} "${text}")
endif()
