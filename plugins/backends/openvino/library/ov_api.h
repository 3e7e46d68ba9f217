/// The calls of OpenVINO's C API that this backend makes, found by name in a library that is opened with the first model. They are
/// declared here, so that nothing of OpenVINO is needed to compile the plugin; that they are right is tested against the library.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "atoll/core/status.h"

namespace atl::openvino {

/// The version whose C API this is. Numbers of element types have changed between releases.
inline constexpr char kOpenVinoVersion[] = "2026.4.";

// Objects of the library, known by their address only.
struct OvCore;
struct OvModel;
struct OvCompiledModel;
struct OvInferRequest;
struct OvTensor;
struct OvPort;

/// 0: it has worked.
using OvStatus = int;
/// The number of an element type, as ov_element_type_e.
using OvElementType = int;

struct OvVersion {
  const char* build_number;
  const char* description;
};

struct OvShape {
  int64_t rank;
  int64_t* dims;
};

/// An interval; without a bound above, `max` is -1. A fixed dimension has equal ends.
struct OvDimension {
  int64_t min;
  int64_t max;
};

struct OvPartialShape {
  OvDimension rank;
  OvDimension* dims;
};

struct OvProperty {
  const char* key;
  const void* value;  ///< a text
};

// clang-format off
#define ATOLL_OV_FUNCTIONS(f)                                                                                \
  f(ov_get_openvino_version, OvStatus(OvVersion*))                                                           \
  f(ov_version_free, void(OvVersion*))                                                                       \
  f(ov_free, void(const char*))                                                                              \
  f(ov_get_last_err_msg, const char*())                                                                      \
  f(ov_core_create, OvStatus(OvCore**))                                                                      \
  f(ov_core_free, void(OvCore*))                                                                             \
  f(ov_core_set_properties, OvStatus(const OvCore*, const char*, size_t, const OvProperty*))                 \
  f(ov_core_read_model, OvStatus(const OvCore*, const char*, const char*, OvModel**))                        \
  f(ov_core_add_extension, OvStatus(const OvCore*, const char*))                                             \
  f(ov_core_compile_model_props,                                                                             \
    OvStatus(const OvCore*, const OvModel*, const char*, size_t, const OvProperty*, OvCompiledModel**))      \
  f(ov_model_free, void(OvModel*))                                                                           \
  f(ov_model_inputs_size, OvStatus(const OvModel*, size_t*))                                                 \
  f(ov_model_outputs_size, OvStatus(const OvModel*, size_t*))                                                \
  f(ov_model_const_input_by_index, OvStatus(const OvModel*, size_t, OvPort**))                               \
  f(ov_model_const_output_by_index, OvStatus(const OvModel*, size_t, OvPort**))                              \
  f(ov_model_const_input_by_name, OvStatus(const OvModel*, const char*, OvPort**))                           \
  f(ov_model_const_output_by_name, OvStatus(const OvModel*, const char*, OvPort**))                          \
  f(ov_model_reshape, OvStatus(const OvModel*, const char**, const OvPartialShape*, size_t))                 \
  f(ov_port_get_any_name, OvStatus(const OvPort*, char**))                                                   \
  f(ov_port_get_partial_shape, OvStatus(const OvPort*, OvPartialShape*))                                     \
  f(ov_port_get_element_type, OvStatus(const OvPort*, OvElementType*))                                       \
  f(ov_output_const_port_free, void(OvPort*))                                                                \
  f(ov_partial_shape_free, void(OvPartialShape*))                                                            \
  f(ov_shape_free, OvStatus(OvShape*))                                                                       \
  f(ov_compiled_model_free, void(OvCompiledModel*))                                                          \
  f(ov_compiled_model_input_by_name, OvStatus(const OvCompiledModel*, const char*, OvPort**))                \
  f(ov_compiled_model_output_by_name, OvStatus(const OvCompiledModel*, const char*, OvPort**))               \
  f(ov_compiled_model_get_property, OvStatus(const OvCompiledModel*, const char*, char**))                   \
  f(ov_compiled_model_create_infer_request, OvStatus(const OvCompiledModel*, OvInferRequest**))              \
  f(ov_infer_request_free, void(OvInferRequest*))                                                            \
  f(ov_infer_request_get_tensor_by_const_port, OvStatus(const OvInferRequest*, const OvPort*, OvTensor**))   \
  f(ov_infer_request_set_tensor_by_const_port,                                                               \
    OvStatus(OvInferRequest*, const OvPort*, const OvTensor*))                                               \
  f(ov_infer_request_infer, OvStatus(OvInferRequest*))                                                       \
  f(ov_infer_request_start_async, OvStatus(OvInferRequest*))                                                 \
  f(ov_infer_request_wait, OvStatus(OvInferRequest*))                                                        \
  f(ov_tensor_create_from_host_ptr, OvStatus(OvElementType, OvShape, void*, OvTensor**))                     \
  f(ov_tensor_set_shape, OvStatus(OvTensor*, OvShape))                                                       \
  f(ov_tensor_get_shape, OvStatus(const OvTensor*, OvShape*))                                                \
  f(ov_tensor_get_byte_size, OvStatus(const OvTensor*, size_t*))                                             \
  f(ov_tensor_data, OvStatus(const OvTensor*, void**))                                                       \
  f(ov_tensor_free, void(OvTensor*))
// clang-format on

/// All of them, once the library is open.
struct OvApi {
#define ATOLL_OV_MEMBER(name, ...) std::add_pointer_t<__VA_ARGS__> name = nullptr;
  ATOLL_OV_FUNCTIONS(ATOLL_OV_MEMBER)
#undef ATOLL_OV_MEMBER
};

/// Those of the library that is open. Not before open_openvino() has succeeded. [any]
const OvApi& api() noexcept;

struct OvFree {
  void operator()(OvCore* core) const noexcept { api().ov_core_free(core); }
  void operator()(OvModel* model) const noexcept { api().ov_model_free(model); }
  void operator()(OvCompiledModel* model) const noexcept { api().ov_compiled_model_free(model); }
  void operator()(OvInferRequest* request) const noexcept { api().ov_infer_request_free(request); }
  void operator()(OvTensor* tensor) const noexcept { api().ov_tensor_free(tensor); }
  void operator()(OvPort* port) const noexcept { api().ov_output_const_port_free(port); }
};

/// Owns an object of the library.
template <class T>
using Handle = std::unique_ptr<T, OvFree>;

/// OK, or INTERNAL with the library's text in one line, without the places in its sources. The library keeps one text for the
/// process: where several threads fail at once, it may be another's.
Status check(OvStatus status) noexcept;

/// Calls a function whose last parameter is where it puts what it makes.
template <class T, class Function, class... Arguments>
Status make(Handle<T>& made, Function function, Arguments... arguments) noexcept {
  T* raw = nullptr;
  Status status = check(function(arguments..., &raw));
  made.reset(raw);
  return status;
}

/// The library's text of an error, in one line: lines that only say where in its sources it was thrown are left out.
std::string plain_reason(std::string_view text);

}  // namespace atl::openvino
