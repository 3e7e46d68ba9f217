# atoll_embed_files(VARIABLE NAMESPACE FILES NAME=PATH ...): files that become part of a plugin, for the console
# (atoll/frontend/console_page.h). VARIABLE is set to a source file that defines, in the namespace,
#
#     std::span<const atl::ConsoleFile> embedded_files() noexcept;
#
# PATH is relative to the calling list file; NAME is what the file is asked for by.
find_program(GZIP_PROGRAM gzip REQUIRED)
function(atoll_embed_files variable namespace)
  cmake_parse_arguments(given "" "" "FILES" ${ARGN})
  list(TRANSFORM given_FILES REPLACE "=" "=${CMAKE_CURRENT_SOURCE_DIR}/")
  list(TRANSFORM given_FILES REPLACE "^[^=]+=" "" OUTPUT_VARIABLE paths)
  list(JOIN given_FILES "|" list)
  set(output ${CMAKE_CURRENT_BINARY_DIR}/embedded_files.cc)
  set(script ${PROJECT_SOURCE_DIR}/etc/cmake/embed_files.cmake)
  add_custom_command(OUTPUT ${output}
                     COMMAND ${CMAKE_COMMAND} -DOUTPUT=${output} -DGZIP=${GZIP_PROGRAM} -DNAMESPACE=${namespace} "-DFILES=${list}" -P
                             ${script}
                     DEPENDS ${paths} ${script} VERBATIM)
  set(${variable} ${output} PARENT_SCOPE)
endfunction()
