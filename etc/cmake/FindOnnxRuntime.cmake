# Finds the ONNX Runtime that etc/dev/fetch-onnxruntime put into the build
# folder: its headers, as onnxruntime::headers, and the library, which the server
# opens when it runs. onnxruntime::onnxruntime, for whoever is linked with it, is
# there only if the library is.
#
# Sets OnnxRuntime_FOUND (the headers are there), OnnxRuntime_LIBRARY (its file;
# empty: there is none) and OnnxRuntime_VERSION, which is the library's.

get_filename_component(onnxruntime_root
  "${CMAKE_CURRENT_LIST_DIR}/../../build/deps/onnxruntime" ABSOLUTE)

# Nowhere but there: headers of another version that happen to be on the machine
# would not go with the tests.
find_path(OnnxRuntime_INCLUDE_DIR onnxruntime_c_api.h
  PATHS ${onnxruntime_root}/include NO_DEFAULT_PATH)
mark_as_advanced(OnnxRuntime_INCLUDE_DIR)

# Not remembered: it may come, go and change between two runs.
set(OnnxRuntime_LIBRARY "")
set(OnnxRuntime_VERSION "")
if(EXISTS ${onnxruntime_root}/lib/libonnxruntime.so.1)
  set(OnnxRuntime_LIBRARY ${onnxruntime_root}/lib/libonnxruntime.so.1)
  get_filename_component(onnxruntime_file ${OnnxRuntime_LIBRARY} REALPATH)
  string(REGEX REPLACE ".*\\.so\\." "" OnnxRuntime_VERSION "${onnxruntime_file}")
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(OnnxRuntime
  REQUIRED_VARS OnnxRuntime_INCLUDE_DIR
  VERSION_VAR OnnxRuntime_VERSION
  REASON_FAILURE_MESSAGE
    "run etc/dev/fetch-onnxruntime once to put it under build/deps, then configure again")

if(OnnxRuntime_FOUND AND NOT TARGET onnxruntime::headers)
  add_library(onnxruntime::headers INTERFACE IMPORTED)
  set_target_properties(onnxruntime::headers PROPERTIES
    INTERFACE_INCLUDE_DIRECTORIES "${OnnxRuntime_INCLUDE_DIR}")
endif()
if(OnnxRuntime_FOUND AND OnnxRuntime_LIBRARY AND NOT TARGET onnxruntime::onnxruntime)
  add_library(onnxruntime::onnxruntime SHARED IMPORTED)
  set_target_properties(onnxruntime::onnxruntime PROPERTIES
    IMPORTED_LOCATION "${OnnxRuntime_LIBRARY}"
    IMPORTED_SONAME libonnxruntime.so.1
    INTERFACE_INCLUDE_DIRECTORIES "${OnnxRuntime_INCLUDE_DIR}")
endif()
