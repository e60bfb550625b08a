# Man pages, completions and docs/reference/cli.md, from what the programs say of their own command lines.
# nearfield_manual: share/man/man1/*.1, share/man/man5/*.5 and share/bash-completion/completions/* and
# share/zsh/vendor-completions/_* in the build folder, from where cmake/install.cmake takes them.
# nearfield_cli_page: docs/reference/cli.md in the source tree.
find_package(Python3 3.9 REQUIRED COMPONENTS Interpreter)
set(make_manual Python3::Interpreter -B ${PROJECT_SOURCE_DIR}/cmake/make_manual.py ${CMAKE_RUNTIME_OUTPUT_DIRECTORY})
add_custom_target(nearfield_manual COMMAND ${make_manual} --share ${CMAKE_BINARY_DIR}/share
                  COMMENT "Writing man pages and completions" VERBATIM)
add_custom_target(nearfield_cli_page COMMAND ${make_manual} --page ${PROJECT_SOURCE_DIR}/docs/reference/cli.md
                  COMMENT "Writing docs/reference/cli.md" VERBATIM)
foreach(target nearfield_manual nearfield_cli_page)
  add_dependencies(${target} nearfield nearfieldd nearfield-bench)
endforeach()
