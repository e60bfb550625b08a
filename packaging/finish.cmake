# Run by cpack once what the packages hold lies in folders of its own, one a package.
execute_process(COMMAND /usr/bin/python3 -B ${CPACK_NEARFIELD_FOLDER}/finish.py ${CPACK_TEMPORARY_INSTALL_DIRECTORY}
                        ${NEARFIELD_DEBIAN_VERSION} RESULT_VARIABLE failed)
if(failed)
  message(FATAL_ERROR "packaging/finish.py: exit code ${failed}")
endif()
