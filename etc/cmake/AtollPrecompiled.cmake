# Precompiled headers, for presets that compile everything once (ATOLL_PRECOMPILED). `dev` goes without: there each source has
# to include what it uses, and a change of a header rebuilds only who includes it.
#
# One precompiled header serves all targets of a kind, because making one takes as long as compiling a unit:
#   atoll_precompiled_plugin        parts of plugins: the standard library and the SDK
#   atoll_precompiled_plugin_proto  the same with the generated messages, for parts that link them
# GCC takes a precompiled header only where the flags are those that it was made with, so the two are compiled as parts of
# plugins are.
option(ATOLL_PRECOMPILED "Use precompiled headers" OFF)

set(ATOLL_PRECOMPILED_STANDARD <algorithm> <array> <atomic> <chrono> <condition_variable> <cstdint> <cstring> <deque> <exception>
    <filesystem> <fstream> <functional> <limits> <list> <map> <memory> <mutex> <optional> <set> <span> <sstream> <string>
    <string_view> <thread> <tuple> <unordered_map> <utility> <variant> <vector>)

# atoll_precompiled(NAME HEADERS header... LIBRARIES target...): a target whose precompiled headers others use.
function(atoll_precompiled name)
  cmake_parse_arguments(arg "" "" "HEADERS;LIBRARIES" ${ARGN})
  set(source ${CMAKE_BINARY_DIR}/precompiled/${name}.cc)
  file(GENERATE OUTPUT ${source} CONTENT "")
  add_library(${name} OBJECT EXCLUDE_FROM_ALL ${source})
  target_link_libraries(${name} PRIVATE atoll_warnings ${arg_LIBRARIES})
  target_precompile_headers(${name} PRIVATE ${arg_HEADERS})
  set_target_properties(${name} PROPERTIES UNITY_BUILD OFF)
endfunction()

# atoll_links_proto(TARGET VARIABLE): whether the target links the generated messages, by itself or by what it links.
function(atoll_links_proto target variable)
  set(${variable} FALSE PARENT_SCOPE)
  set(open ${target})
  set(seen)
  while(open)
    list(POP_FRONT open next)
    if(next MATCHES "^(atoll::|atoll_)proto$")
      set(${variable} TRUE PARENT_SCOPE)
      return()
    endif()
    if(next IN_LIST seen OR NOT TARGET ${next})
      continue()
    endif()
    list(APPEND seen ${next})
    get_target_property(type ${next} TYPE)
    get_target_property(imported ${next} IMPORTED)
    if(imported)
      continue()
    endif()
    foreach(property LINK_LIBRARIES INTERFACE_LINK_LIBRARIES)
      # What a library links for itself alone is not seen by whoever links the library.
      if(property STREQUAL "LINK_LIBRARIES" AND NOT next STREQUAL target)
        continue()
      endif()
      get_target_property(libraries ${next} ${property})
      if(libraries)
        list(FILTER libraries EXCLUDE REGEX "^\\$<LINK_ONLY")
        list(APPEND open ${libraries})
      endif()
    endforeach()
  endwhile()
endfunction()

# Called when all targets are known.
function(atoll_use_precompiled)
  if(NOT ATOLL_PRECOMPILED)
    return()
  endif()
  set(sdk_headers <atoll/plugin.h> <atoll/log.h> <atoll/model.h> <atoll/request.h> <atoll/text.h>)
  atoll_precompiled(atoll_precompiled_plugin HEADERS ${ATOLL_PRECOMPILED_STANDARD} ${sdk_headers} LIBRARIES atoll::sdk)
  atoll_precompiled(atoll_precompiled_plugin_proto HEADERS ${ATOLL_PRECOMPILED_STANDARD} ${sdk_headers} <model_config.pb.h>
                    LIBRARIES atoll::sdk atoll::proto)
  add_dependencies(atoll_precompiled_plugin_proto atoll_proto)
  foreach(name atoll_precompiled_plugin atoll_precompiled_plugin_proto)
    atoll_compile_as_plugin(${name})
  endforeach()
  get_property(targets GLOBAL PROPERTY ATOLL_COMPILED_AS_PLUGINS)
  list(REMOVE_DUPLICATES targets)
  foreach(target ${targets})
    get_target_property(type ${target} TYPE)
    get_target_property(without ${target} ATOLL_WITHOUT_PRECOMPILED)
    if(without OR target MATCHES "^atoll_precompiled")
      continue()
    endif()
    atoll_links_proto(${target} proto)
    if(proto)
      target_precompile_headers(${target} REUSE_FROM atoll_precompiled_plugin_proto)
    else()
      target_precompile_headers(${target} REUSE_FROM atoll_precompiled_plugin)
    endif()
  endforeach()
endfunction()
