# Helpers of this tree's own build: strict warnings and unit tests beside the sources.

# -Wmaybe-uninitialized and -Wrestrict are off because GCC 12 raises them wrongly at -O2, for moved std::variant members
# and for std::string operator+; the sanitizer presets find the true cases.
add_library(atoll_warnings INTERFACE)
target_compile_options(atoll_warnings INTERFACE -Wall -Wextra -Wpedantic -Werror -Wshadow -Wnon-virtual-dtor
                                                -Woverloaded-virtual -Wimplicit-fallthrough
                                                $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized -Wno-restrict>
                                                # GCC decides what is an error; clang only builds the fuzz targets.
                                                $<$<CXX_COMPILER_ID:Clang>:-Wno-error>)
if(CMAKE_UNITY_BUILD)
  # A class that is defined in a source file may have members of types of that file; seen from a unity file it is a header's.
  target_compile_options(atoll_warnings INTERFACE -Wno-subobject-linkage)
endif()

# What is tested is optimised; the tests' own code is compiled two to four times faster without.
# Nor does a test that fails need the lines of its own code from a debugger: GoogleTest prints them.
set(ATOLL_UNIT_TEST_OPTIONS -O0)
if(NOT CMAKE_BUILD_TYPE STREQUAL Debug)
  list(APPEND ATOLL_UNIT_TEST_OPTIONS -g0)
endif()

# atoll_fuzz_target(NAME SOURCES file... LIBRARIES target... CORPUS folder)
# A libFuzzer target in the fuzz preset (etc/dev/fuzz runs it); elsewhere a test that replays the corpus.
function(atoll_fuzz_target name)
  cmake_parse_arguments(arg "" "CORPUS" "SOURCES;LIBRARIES" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE ${arg_LIBRARIES} atoll_warnings)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  if(NOT ATOLL_TESTS)
    set_target_properties(${name} PROPERTIES EXCLUDE_FROM_ALL ON)
    return()
  endif()
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/sdk/testing/fuzz)
  if(ATOLL_FUZZ)
    target_link_options(${name} PRIVATE -fsanitize=fuzzer)
    set_property(GLOBAL APPEND PROPERTY ATOLL_FUZZ_TARGETS ${name})
    set_property(GLOBAL APPEND_STRING PROPERTY ATOLL_FUZZ_LIST "${name} ${arg_CORPUS}\n")
  else()
    target_sources(${name} PRIVATE ${PROJECT_SOURCE_DIR}/sdk/testing/fuzz/driver_main.cc)
    target_compile_options(${name} PRIVATE ${ATOLL_UNIT_TEST_OPTIONS})
    # For the precompiled header of the unit tests.
    target_link_libraries(${name} PRIVATE GTest::gmock Threads::Threads)
    set_property(GLOBAL APPEND PROPERTY ATOLL_UNIT_TESTS ${name})
    add_test(NAME ${name} COMMAND ${name} ${arg_CORPUS})
    set_tests_properties(${name} PROPERTIES TIMEOUT 60 LABELS "unit;fuzz")
  endif()
endfunction()

# In the fuzz preset: target `fuzzers` builds them all, and fuzzers.txt lists name and corpus of each.
function(atoll_list_fuzzers)
  get_property(targets GLOBAL PROPERTY ATOLL_FUZZ_TARGETS)
  get_property(list GLOBAL PROPERTY ATOLL_FUZZ_LIST)
  add_custom_target(fuzzers DEPENDS ${targets})
  file(WRITE ${CMAKE_BINARY_DIR}/fuzzers.txt "${list}")
endfunction()

# atoll_unit_test(NAME SOURCES file... [LIBRARIES target...] [LABELS label...] [ENVIRONMENT var=value...])
# One GoogleTest executable, one ctest entry. Sanitizer options are those of etc/dev/test.
function(atoll_unit_test name)
  cmake_parse_arguments(arg "" "TIMEOUT" "SOURCES;LIBRARIES;LABELS;ENVIRONMENT" ${ARGN})
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 300)
  endif()
  if(ATOLL_SANITIZE)
    math(EXPR arg_TIMEOUT "5 * ${arg_TIMEOUT}")
  endif()
  if(NOT ATOLL_TESTS)
    # The target is there, so that a folder may set its properties without asking, and nobody builds it.
    add_executable(${name} EXCLUDE_FROM_ALL ${arg_SOURCES})
    return()
  endif()
  add_executable(${name} ${arg_SOURCES})
  set_property(GLOBAL APPEND PROPERTY ATOLL_UNIT_TESTS ${name})
  target_compile_options(${name} PRIVATE ${ATOLL_UNIT_TEST_OPTIONS})
  target_link_libraries(${name} PRIVATE ${arg_LIBRARIES} atoll_warnings GTest::gmock GTest::gtest_main Threads::Threads)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES TIMEOUT ${arg_TIMEOUT} LABELS "unit;${arg_LABELS}"
    # A test that asks for absurd sizes wants to see the failure, not the sanitizer's end of the process.
    ENVIRONMENT "${arg_ENVIRONMENT};ASAN_OPTIONS=allocator_may_return_null=1 intercept_tls_get_addr=0;TSAN_OPTIONS=suppressions=${PROJECT_SOURCE_DIR}/etc/dev/tsan.supp allocator_may_return_null=1 ignore_noninstrumented_modules=1 intercept_tls_get_addr=0;LSAN_OPTIONS=suppressions=${PROJECT_SOURCE_DIR}/etc/dev/lsan.supp")
endfunction()

# atoll_plugin_extra(ROLE NAME TARGET...): what belongs to a plugin of this tree without being needed by its own file, so that the
# target ROLE-NAME builds it and the target of the plugin's file does not.
function(atoll_plugin_extra role name)
  set_property(GLOBAL APPEND PROPERTY ATOLL_EXTRAS_${role}_${name} ${ARGN})
endfunction()

# atoll_plugin_not_installed(ROLE NAME): a plugin of this tree that is built with everything and by its name, but is no part of
# atoll_server and of the installation.
function(atoll_plugin_not_installed role name)
  set_property(GLOBAL APPEND PROPERTY ATOLL_NOT_INSTALLED atoll_plugin_${role}_${name})
endfunction()

# atoll_needs(ROLE/NAME PACKAGES CONDITION...): ends the calling list file if the condition does not hold: the plugin is left out of
# this configuration. PACKAGES are the Debian packages that it needs, in one text.
macro(atoll_needs plugin packages)
  if(NOT (${ARGN}))
    set_property(GLOBAL APPEND PROPERTY ATOLL_LEFT_OUT ${plugin})
    message(STATUS "${plugin} is left out: it needs ${packages}")
    return()
  endif()
endmacro()

# atoll_server_plugins(VARIABLE): the plugins that are part of the server, which are those that it finds without being told
# where; tests build theirs elsewhere.
function(atoll_server_plugins variable)
  get_property(plugins GLOBAL PROPERTY ATOLL_PLUGINS)
  set(found)
  foreach(plugin ${plugins})
    get_target_property(folder ${plugin} LIBRARY_OUTPUT_DIRECTORY)
    cmake_path(IS_PREFIX CMAKE_LIBRARY_OUTPUT_DIRECTORY ${folder} is_server)
    if(is_server)
      list(APPEND found ${plugin})
    endif()
  endforeach()
  set(${variable} ${found} PARENT_SCOPE)
endfunction()

# atoll_installed_plugins(VARIABLE): those of them that an installation has.
function(atoll_installed_plugins variable)
  atoll_server_plugins(plugins)
  get_property(left_out GLOBAL PROPERTY ATOLL_NOT_INSTALLED)
  list(REMOVE_ITEM plugins ${left_out})
  set(${variable} ${plugins} PARENT_SCOPE)
endfunction()

# atoll_loads_plugins(TARGET): a program whose plugins find the server's libraries, which lie in ../lib/atoll in the build
# tree as in an installation, whatever the order they are loaded in. The tag has to be DT_RPATH: DT_RUNPATH holds for what
# the program itself needs, not for what it loads.
function(atoll_loads_plugins target)
  target_link_options(${target} PRIVATE -Wl,--disable-new-dtags)
  set_target_properties(${target} PROPERTIES BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH "$ORIGIN/../lib/atoll")
endfunction()
