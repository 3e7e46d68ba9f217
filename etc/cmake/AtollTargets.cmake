# What can be built by name, when all plugins are known:
#   ROLE-NAME         one plugin with what belongs to it; `etc/dev/build PRESET ROLE/NAME` asks for it
#   atoll_quickstart  what serves the default manifest: the kernel, its plugins, tritonserver, atoll-config and atoll-serve
#   sdk               what the installation's component of that name has of programs and libraries
#   atoll_server      what an installation has: every plugin but those that are left out of it, every program, the SDK's tools
atoll_server_plugins(atoll_plugins)
atoll_installed_plugins(installed_plugins)
set(extras)
foreach(plugin ${atoll_plugins})
  string(REGEX REPLACE "^atoll_plugin_([a-z0-9]+)_(.+)$" "\\1;\\2" words ${plugin})
  list(GET words 0 role)
  list(GET words 1 name)
  get_property(extra GLOBAL PROPERTY ATOLL_EXTRAS_${role}_${name})
  add_custom_target(${role}-${name} DEPENDS ${plugin} ${extra})
  if(plugin IN_LIST installed_plugins)
    list(APPEND extras ${extra})
  endif()
endforeach()

# atoll_manifest_plugins(FILE VARIABLE): targets of the plugins that the manifest uses (its lines `use = "ROLE/NAME"`).
function(atoll_manifest_plugins file variable)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
  file(STRINGS ${file} lines REGEX "^use *= *\"")
  list(TRANSFORM lines REPLACE "^use *= *\"([^/]+)/([^\"]+)\".*" "atoll_plugin_\\1_\\2")
  list(REMOVE_DUPLICATES lines)
  set(${variable} ${lines} PARENT_SCOPE)
endfunction()
atoll_manifest_plugins(${PROJECT_SOURCE_DIR}/etc/atoll.toml default_plugins)
add_custom_target(atoll_quickstart DEPENDS atoll tritonserver atoll-config atoll-serve ${default_plugins})

add_custom_target(atoll_server DEPENDS atoll atoll_embedded atoll_triton tritonserver atoll-config atoll-serve atollctl
                                       ${installed_plugins} ${extras})
add_custom_target(sdk DEPENDS atoll-lint atoll_cuda_double atoll_nvml_double)
add_dependencies(atoll_server sdk)

# Beside where a plugin's file would be, NAME.missing has the line that the kernel adds when a manifest names a plugin that is
# not built. An installation does not have these files.
file(GLOB plugin_lists RELATIVE ${PROJECT_SOURCE_DIR}/plugins ${PROJECT_SOURCE_DIR}/plugins/*/*/CMakeLists.txt)
cmake_path(GET CMAKE_BINARY_DIR FILENAME preset)
foreach(list_file ${plugin_lists})
  cmake_path(GET list_file PARENT_PATH plugin)
  cmake_path(GET plugin FILENAME name)
  if(NOT name STREQUAL "common")
    file(WRITE ${CMAKE_BINARY_DIR}/lib/atoll/plugins/${plugin}.missing "to get it: etc/dev/build ${preset} ${plugin}\n")
  endif()
endforeach()
