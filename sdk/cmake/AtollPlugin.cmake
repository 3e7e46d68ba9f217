# atoll_add_plugin(ROLE NAME SOURCES file... [LIBRARIES target...])
#
# Builds the plugin ROLE/NAME as NAME.so under ${ATOLL_PLUGIN_OUTPUT_DIRECTORY}/ROLE (default
# ${CMAKE_BINARY_DIR}/lib/atoll/plugins/ROLE) with the flags that unloading safely demands:
#   -z defs, -z now      an undefined symbol fails the link, not the first call (libltdl binds lazily)
#   version script       one exported symbol, the descriptor
#   DT_RPATH, if any     DT_RUNPATH would keep the linker from looking where the server has its libraries
#   -fno-gnu-unique      template and inline statics do not pin the library in memory after dlclose
#   hidden visibility    calls inside the plugin stay inside the plugin
# A build without CMAKE_BUILD_TYPE would be without optimisation; plugins are then built with -O2.
# Target name: atoll_plugin_ROLE_NAME. LIBRARIES are linked PRIVATE.
#
# atoll_add_parts(TARGET SOURCES file... [LIBRARIES target...] [PRIVATE_LIBRARIES target...])
#
# A plugin's parts as a static library, for the plugin and its unit tests to link. Whoever links it finds the headers of the
# calling folder. LIBRARIES are linked PUBLIC.
#
# atoll_compile_as_plugin(TARGET): the compiler's flags of the above, for any other library that becomes part of a plugin.
# Only GCC makes unique symbols, and only GCC knows the option against them.
set(ATOLL_NO_GNU_UNIQUE $<$<CXX_COMPILER_ID:GNU>:-fno-gnu-unique>)
set(ATOLL_PLUGIN_MAP ${CMAKE_CURRENT_LIST_DIR}/atoll_plugin.map)

function(atoll_compile_as_plugin target)
  target_compile_options(${target} PRIVATE ${ATOLL_NO_GNU_UNIQUE} -fvisibility=hidden -fvisibility-inlines-hidden)
  set_property(GLOBAL APPEND PROPERTY ATOLL_COMPILED_AS_PLUGINS ${target})
endfunction()

function(atoll_add_parts target)
  cmake_parse_arguments(arg "" "" "SOURCES;LIBRARIES;PRIVATE_LIBRARIES" ${ARGN})
  add_library(${target} STATIC ${arg_SOURCES})
  atoll_compile_as_plugin(${target})
  target_include_directories(${target} INTERFACE ${CMAKE_CURRENT_SOURCE_DIR})
  target_link_libraries(${target} PUBLIC atoll::sdk ${arg_LIBRARIES} PRIVATE ${arg_PRIVATE_LIBRARIES})
  if(TARGET atoll_warnings)
    target_link_libraries(${target} PRIVATE atoll_warnings)
  endif()
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON)
endfunction()

function(atoll_add_plugin role name)
  cmake_parse_arguments(arg "" "" "SOURCES;LIBRARIES" ${ARGN})
  if(NOT arg_SOURCES)
    message(FATAL_ERROR "atoll_add_plugin(${role} ${name}): SOURCES is empty")
  endif()
  set(target atoll_plugin_${role}_${name})
  if(NOT ATOLL_PLUGIN_OUTPUT_DIRECTORY)
    set(ATOLL_PLUGIN_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib/atoll/plugins)
  endif()
  add_library(${target} MODULE ${arg_SOURCES})
  target_compile_features(${target} PRIVATE cxx_std_20)
  atoll_compile_as_plugin(${target})
  if(NOT CMAKE_CXX_FLAGS MATCHES "-O")
    target_compile_options(${target} PRIVATE $<$<CONFIG:>:-O2>)
  endif()
  target_link_options(${target} PRIVATE -Wl,-z,defs -Wl,-z,now -Wl,--disable-new-dtags
                      -Wl,--version-script=${ATOLL_PLUGIN_MAP})
  target_link_libraries(${target} PRIVATE atoll::sdk ${arg_LIBRARIES})
  if(TARGET atoll_warnings)
    target_link_libraries(${target} PRIVATE atoll_warnings)
  endif()
  set_target_properties(${target} PROPERTIES PREFIX "" OUTPUT_NAME ${name} POSITION_INDEPENDENT_CODE ON
                        LINK_DEPENDS ${ATOLL_PLUGIN_MAP}
                        LIBRARY_OUTPUT_DIRECTORY ${ATOLL_PLUGIN_OUTPUT_DIRECTORY}/${role})
  set_property(GLOBAL APPEND PROPERTY ATOLL_PLUGINS ${target})
endfunction()
