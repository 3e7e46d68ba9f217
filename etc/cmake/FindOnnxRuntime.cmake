# Finds the ONNX Runtime that etc/dev/fetch-onnxruntime put into the build
# folder, and offers it as onnxruntime::onnxruntime.
#
# Sets OnnxRuntime_FOUND, OnnxRuntime_VERSION and OnnxRuntime_LIBRARY_DIR (for
# an rpath, or to install the library from).

get_filename_component(onnxruntime_root
  "${CMAKE_CURRENT_LIST_DIR}/../../build/deps/onnxruntime" ABSOLUTE)

# Nowhere but there: a copy of another version that happens to be on the machine
# would go with neither the headers nor the tests.
find_path(OnnxRuntime_INCLUDE_DIR onnxruntime_cxx_api.h
  PATHS ${onnxruntime_root}/include NO_DEFAULT_PATH)
find_library(OnnxRuntime_LIBRARY onnxruntime
  PATHS ${onnxruntime_root}/lib NO_DEFAULT_PATH)
mark_as_advanced(OnnxRuntime_INCLUDE_DIR OnnxRuntime_LIBRARY)

set(OnnxRuntime_VERSION)
if(OnnxRuntime_LIBRARY)
  get_filename_component(OnnxRuntime_LIBRARY_DIR "${OnnxRuntime_LIBRARY}" DIRECTORY)
  get_filename_component(onnxruntime_file "${OnnxRuntime_LIBRARY}" REALPATH)
  string(REGEX REPLACE ".*\\.so\\." "" OnnxRuntime_VERSION "${onnxruntime_file}")
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(OnnxRuntime
  REQUIRED_VARS OnnxRuntime_LIBRARY OnnxRuntime_INCLUDE_DIR
  VERSION_VAR OnnxRuntime_VERSION
  REASON_FAILURE_MESSAGE
    "run etc/dev/fetch-onnxruntime once to put it under build/deps, then configure again")

if(OnnxRuntime_FOUND AND NOT TARGET onnxruntime::onnxruntime)
  add_library(onnxruntime::onnxruntime SHARED IMPORTED)
  set_target_properties(onnxruntime::onnxruntime PROPERTIES
    IMPORTED_LOCATION "${OnnxRuntime_LIBRARY_DIR}/libonnxruntime.so.1"
    IMPORTED_SONAME libonnxruntime.so.1
    INTERFACE_INCLUDE_DIRECTORIES "${OnnxRuntime_INCLUDE_DIR}")
endif()
