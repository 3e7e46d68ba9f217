/// Tensors, requests and responses as Python sees them: what is done with each of them is here, the rest in the classes of
/// tensor.py, request.py and response.py, which are made of these types.
#pragma once

#include "backends/python/memory/protocol.h"
#include "backends/python/worker/native/python_api.h"
#include "backends/python/worker/native/region.h"

namespace atl::python {

constexpr Py_ssize_t kMaxRank = 32;  ///< dimensions that a tensor may have

/// TensorBase. Its bytes are an array's, or memory that somebody else owns. What Python may set is null or None if it is not there.
struct Tensor {
  PyObject_HEAD PyObject* name;
  PyObject* shape;   ///< tuple
  PyObject* array;   ///< numpy.ndarray
  PyObject* memory;  ///< exports a buffer
  uint64_t offset;   ///< in memory
  uint64_t size_bytes;
  PyObject* elements;
  PyObject* weak_references;
  uint32_t datatype;  ///< atl::DataType
};

/// RequestBase.
struct WorkerRequest {
  PyObject_HEAD PyObject* inputs;  ///< list
  PyObject* state;                 ///< RequestState of one that execute() was given
  PyObject* id;
  PyObject* correlation_id;
  PyObject* output_names;
  PyObject* model_name;
  PyObject* model_version;
  PyObject* flags;
  PyObject* timeout;
  PyObject* preferred_memory;
  PyObject* trace;
  PyObject* parameters;
  PyObject* weak_references;
};

/// RequestState: shared by a request and its senders. When nothing of the model refers to it and no last response was sent, nobody
/// ever will.
struct RequestState {
  PyObject_HEAD PyObject* outbox;
  RegionBlock* block;  ///< the batch's
  uint64_t record_offset;
  RequestRecord record;
  uint32_t sent;     ///< responses
  uint32_t release;  ///< 1 all, 2 reschedule
  char is_closed;
  char is_running;  ///< execute() has not returned
};

/// ResponseBase.
struct WorkerResponse {
  PyObject_HEAD PyObject* tensors;  ///< list
  PyObject* error;
  PyObject* parameters;  ///< text
  PyObject* weak_references;
};

inline constexpr uint32_t kReleaseAll = 1;
inline constexpr uint32_t kReleaseReschedule = 2;
inline constexpr uint32_t kBytesType = 13;

inline bool is_there(PyObject* object) noexcept { return object != nullptr && object != Py_None; }

/// Null if it is none.
Tensor* as_tensor(PyObject* object) noexcept;
WorkerResponse* as_response(PyObject* object) noexcept;
RequestState* as_request_state(PyObject* object) noexcept;
/// An object of the class in Python, with nothing in it; null with an exception.
Tensor* new_tensor() noexcept;

/// configure(ndarray, numbers, dtypes, Tensor): numbers of NumPy's dtypes, and dtypes of numbers that a view can be made of.
PyObject* configure_tensors(PyObject* module, PyObject* const* arguments, Py_ssize_t count) noexcept;
/// set_request_class(ReceivedRequest)
PyObject* set_request_class(PyObject* module, PyObject* type) noexcept;
/// read_requests(link, outbox, block): (requests, their states) of a batch. The link finds slabs of tensors that have a block of their own.
PyObject* read_requests(PyObject* module, PyObject* const* arguments, Py_ssize_t count) noexcept;
/// How long ago that was called last, ns, at least 1.
uint64_t batch_time_ns() noexcept;
/// batch_time(): the same for Python.
PyObject* batch_time(PyObject* module, PyObject* unused) noexcept;
/// get_input_tensor_by_name(inference_request, name): null if there is none.
PyObject* get_input_tensor_by_name(PyObject* module, PyObject* arguments, PyObject* keywords) noexcept;

/// Add the types to the module. False: an exception is set.
bool add_tensor_type(PyObject* module) noexcept;
bool add_request_types(PyObject* module) noexcept;
bool add_response_type(PyObject* module) noexcept;

}  // namespace atl::python
