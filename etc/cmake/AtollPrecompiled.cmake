# Precompiled headers, for presets that compile everything once (ATOLL_PRECOMPILED). `dev` goes without: there each source has
# to include what it uses, and a change of a header rebuilds only who includes it.
#
# One precompiled header serves all targets of a kind, because making one takes as long as compiling a unit:
#   atoll_precompiled_plugin        parts of plugins: the standard library and the SDK
#   atoll_precompiled_plugin_proto  the same with the generated messages, for parts that link them
#   atoll_precompiled_test[_proto]  for unit tests: GoogleTest and the fakes besides
# GCC takes a precompiled header only where the flags are those that it was made with, so each is compiled as its users are. A
# target that needs other flags has the property ATOLL_WITHOUT_PRECOMPILED.
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
  set_target_properties(${name} PROPERTIES UNITY_BUILD OFF
    CXX_COMPILER_LAUNCHER "${PROJECT_SOURCE_DIR}/etc/cmake/new-precompiled-header;${CMAKE_CXX_COMPILER_LAUNCHER}")
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

# atoll_share_precompiled(NAME TARGET...): the targets use the precompiled header NAME, or NAME_proto where they link messages.
function(atoll_share_precompiled name)
  list(REMOVE_DUPLICATES ARGN)
  foreach(target ${ARGN})
    get_target_property(without ${target} ATOLL_WITHOUT_PRECOMPILED)
    if(without OR target MATCHES "^atoll_precompiled_")
      continue()
    endif()
    atoll_links_proto(${target} proto)
    if(proto)
      target_precompile_headers(${target} REUSE_FROM ${name}_proto)
    else()
      target_precompile_headers(${target} REUSE_FROM ${name})
    endif()
  endforeach()
endfunction()

# Called when all targets are known.
function(atoll_use_precompiled)
  if(NOT ATOLL_PRECOMPILED)
    return()
  endif()
  set(sdk_headers <atoll/core/plugin.h> <atoll/core/log.h> <atoll/models/model.h> <atoll/request/request.h> <atoll/core/text.h>)
  atoll_precompiled(atoll_precompiled_plugin HEADERS ${ATOLL_PRECOMPILED_STANDARD} ${sdk_headers} LIBRARIES atoll::sdk)
  atoll_precompiled(atoll_precompiled_plugin_proto HEADERS ${ATOLL_PRECOMPILED_STANDARD} ${sdk_headers} <model_config.pb.h>
                    LIBRARIES atoll::sdk atoll::proto)
  add_dependencies(atoll_precompiled_plugin_proto atoll_proto)
  foreach(name atoll_precompiled_plugin atoll_precompiled_plugin_proto)
    atoll_compile_as_plugin(${name})
  endforeach()
  get_property(targets GLOBAL PROPERTY ATOLL_COMPILED_AS_PLUGINS)
  atoll_share_precompiled(atoll_precompiled_plugin ${targets})

  if(NOT ATOLL_TESTS)
    return()
  endif()
  set(test_headers ${ATOLL_PRECOMPILED_STANDARD} ${sdk_headers} <gmock/gmock.h> <gtest/gtest.h> <atoll/testing/fake_clock.h>
      <atoll/testing/fake_host.h> <atoll/testing/fake_log.h> <atoll/testing/random.h> <atoll/testing/recording_sink.h>
      <atoll/testing/temporary_directory.h>)
  atoll_precompiled(atoll_precompiled_test HEADERS ${test_headers} LIBRARIES atoll::testing GTest::gmock)
  atoll_precompiled(atoll_precompiled_test_proto HEADERS ${test_headers} <model_config.pb.h>
                    LIBRARIES atoll::testing GTest::gmock atoll::proto)
  add_dependencies(atoll_precompiled_test_proto atoll_proto)
  foreach(name atoll_precompiled_test atoll_precompiled_test_proto)
    target_compile_options(${name} PRIVATE ${ATOLL_UNIT_TEST_OPTIONS} -fPIE)
    set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE OFF)  # -fPIE, as programs have it, and not -fPIC
  endforeach()
  get_property(targets GLOBAL PROPERTY ATOLL_UNIT_TESTS)
  atoll_share_precompiled(atoll_precompiled_test ${targets})
endfunction()
