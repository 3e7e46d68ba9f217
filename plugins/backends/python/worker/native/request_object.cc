#include "backends/python/worker/native/futex.h"
#include "backends/python/worker/native/objects.h"
#include "backends/python/worker/native/records.h"

namespace atl::python {
namespace {

PyTypeObject* request_type = nullptr;
PyTypeObject* request_state_type = nullptr;
PyTypeObject* received_class = nullptr;  // of set_request_class()
int64_t batch_begin_ns = 0;

// --- RequestBase ---

void request_dealloc(PyObject* object) {
  auto* self = reinterpret_cast<WorkerRequest*>(object);
  if (self->weak_references != nullptr) PyObject_ClearWeakRefs(object);
  for (PyObject* part : {self->inputs, self->state, self->id, self->correlation_id, self->output_names,
                         self->model_name, self->model_version, self->flags, self->timeout,
                         self->preferred_memory, self->trace, self->parameters}) {
    Py_XDECREF(part);
  }
  free_object(object);
}

PyObject* request_inputs(PyObject* self, PyObject* /*unused*/) {
  PyObject* inputs = reinterpret_cast<WorkerRequest*>(self)->inputs;
  if (inputs == nullptr) Py_RETURN_NONE;
  Py_INCREF(inputs);
  return inputs;
}

PyMemberDef request_members[] = {
    {"_inputs", T_OBJECT, offsetof(WorkerRequest, inputs), 0, nullptr},
    {"_state", T_OBJECT, offsetof(WorkerRequest, state), 0, nullptr},
    {"_id", T_OBJECT, offsetof(WorkerRequest, id), 0, nullptr},
    {"_correlation_id", T_OBJECT, offsetof(WorkerRequest, correlation_id), 0, nullptr},
    {"_output_names", T_OBJECT, offsetof(WorkerRequest, output_names), 0, nullptr},
    {"_model_name", T_OBJECT, offsetof(WorkerRequest, model_name), 0, nullptr},
    {"_model_version", T_OBJECT, offsetof(WorkerRequest, model_version), 0, nullptr},
    {"_flags", T_OBJECT, offsetof(WorkerRequest, flags), 0, nullptr},
    {"_timeout", T_OBJECT, offsetof(WorkerRequest, timeout), 0, nullptr},
    {"_preferred_memory", T_OBJECT, offsetof(WorkerRequest, preferred_memory), 0, nullptr},
    {"_trace", T_OBJECT, offsetof(WorkerRequest, trace), 0, nullptr},
    {"_parameters", T_OBJECT, offsetof(WorkerRequest, parameters), 0, nullptr},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(WorkerRequest, weak_references), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr}};
PyMethodDef request_methods[] = {{"inputs", request_inputs, METH_NOARGS, "The list of input tensors"},
                                 {nullptr, nullptr, 0, nullptr}};
PyType_Slot request_slots[] = {{Py_tp_new, reinterpret_cast<void*>(PyType_GenericNew)},
                               {Py_tp_dealloc, reinterpret_cast<void*>(request_dealloc)},
                               {Py_tp_members, request_members},
                               {Py_tp_methods, request_methods},
                               {0, nullptr}};
PyType_Spec request_spec = {"_atoll_python.RequestBase", sizeof(WorkerRequest), 0,
                            Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, request_slots};

// --- RequestState ---

Payload payload_of(const RequestState& state) noexcept {
  return {state.block->region->data + state.block->offset, state.block->size_bytes};
}

// Whoever drops the last reference may be in the middle of an exception.
void report_abandoned(const RequestState& state) noexcept {
  PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
  PyErr_Fetch(&type, &value, &traceback);
  PyObject* told =
      PyObject_CallMethod(state.outbox, "abandon", "K", static_cast<unsigned long long>(state.record.handle));
  if (told == nullptr) PyErr_WriteUnraisable(state.outbox);
  Py_XDECREF(told);
  PyErr_Restore(type, value, traceback);
}

void request_state_dealloc(PyObject* object) {
  auto* self = reinterpret_cast<RequestState*>(object);
  if (self->is_closed == 0 && self->is_running == 0 && self->outbox != nullptr) report_abandoned(*self);
  Py_XDECREF(self->outbox);
  Py_XDECREF(reinterpret_cast<PyObject*>(self->block));
  free_object(object);
}

PyObject* request_state_is_cancelled(PyObject* object, PyObject* /*unused*/) {
  auto* self = reinterpret_cast<RequestState*>(object);
  char* record = self->block->region->data + self->block->offset + self->record_offset;
  return PyBool_FromLong(
      load_acquire(*reinterpret_cast<uint32_t*>(record + offsetof(RequestRecord, cancelled))) != 0 ? 1 : 0);
}

template <TextRef RequestRecord::*Text>
PyObject* request_state_text(PyObject* object, PyObject* /*unused*/) {
  auto* self = reinterpret_cast<RequestState*>(object);
  return to_text(payload_of(*self), self->record.*Text);
}

PyObject* request_state_correlation_id(PyObject* object, PyObject* unused) {
  auto* self = reinterpret_cast<RequestState*>(object);
  if (self->record.correlation_text.size_bytes != 0)
    return request_state_text<&RequestRecord::correlation_text>(object, unused);
  return PyLong_FromUnsignedLongLong(self->record.correlation_id);
}

PyObject* request_state_wanted_outputs(PyObject* object, PyObject* /*unused*/) {
  auto* self = reinterpret_cast<RequestState*>(object);
  const Payload payload = payload_of(*self);
  PyObject* names = PySet_New(nullptr);
  for (uint32_t i = 0; names != nullptr && i < self->record.output_count; ++i) {
    TextRef text;
    PyObject* name = read_record(payload, self->record.outputs + uint64_t{i} * sizeof text, text)
                         ? to_text(payload, text)
                         : nullptr;
    if (name == nullptr || PySet_Add(names, name) != 0) Py_CLEAR(names);
    Py_XDECREF(name);
  }
  return names;
}

PyMemberDef request_state_members[] = {
    {"outbox", T_OBJECT, offsetof(RequestState, outbox), READONLY, nullptr},
    {"handle", T_ULONGLONG, offsetof(RequestState, record) + offsetof(RequestRecord, handle), READONLY,
     nullptr},
    {"timeout", T_ULONGLONG, offsetof(RequestState, record) + offsetof(RequestRecord, timeout_us), READONLY,
     nullptr},
    {"flags", T_UINT, offsetof(RequestState, record) + offsetof(RequestRecord, sequence_flags), READONLY,
     nullptr},
    {"output_count", T_UINT, offsetof(RequestState, record) + offsetof(RequestRecord, output_count), READONLY,
     nullptr},
    {"sent", T_UINT, offsetof(RequestState, sent), 0, nullptr},
    {"release", T_UINT, offsetof(RequestState, release), 0, nullptr},
    {"is_closed", T_BOOL, offsetof(RequestState, is_closed), 0, nullptr},
    {"is_running", T_BOOL, offsetof(RequestState, is_running), 0, nullptr},
    {nullptr, 0, 0, 0, nullptr}};
PyMethodDef request_state_methods[] = {
    {"is_cancelled", request_state_is_cancelled, METH_NOARGS, "As the server says at this moment"},
    {"id", request_state_text<&RequestRecord::id>, METH_NOARGS, "The request's id"},
    {"parameters", request_state_text<&RequestRecord::parameters>, METH_NOARGS, "JSON, or nothing"},
    {"trace", request_state_text<&RequestRecord::trace>, METH_NOARGS, "JSON, or nothing"},
    {"correlation_id", request_state_correlation_id, METH_NOARGS, "A number or a text"},
    {"wanted_outputs", request_state_wanted_outputs, METH_NOARGS, "A set of names"},
    {nullptr, nullptr, 0, nullptr}};
PyType_Slot request_state_slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(request_state_dealloc)},
                                     {Py_tp_members, request_state_members},
                                     {Py_tp_methods, request_state_methods},
                                     {0, nullptr}};
PyType_Spec request_state_spec = {"_atoll_python.RequestState", sizeof(RequestState), 0, Py_TPFLAGS_DEFAULT,
                                  request_state_slots};

// --- reading ---

/// Where the requests of a message are, and what they are made of.
struct Source {
  PyObject* link;
  PyObject* outbox;
  RegionBlock* block;
  Payload payload;
};

Tensor* read_input(const Source& source, uint64_t at) noexcept {
  TensorRecord record;
  if (!read_record(source.payload, at, record)) return nullptr;
  Tensor* tensor = new_tensor();
  if (tensor == nullptr) return nullptr;
  auto* object = reinterpret_cast<PyObject*>(tensor);
  tensor->datatype = record.datatype;
  tensor->size_bytes = record.data.size_bytes;
  tensor->name = to_text(source.payload, record.name);
  tensor->shape = tensor->name == nullptr ? nullptr : to_shape(source.payload, record);
  if (tensor->shape != nullptr) {
    if ((record.data.flags & DataRef::kOwnBlock) != 0) {
      PyObject* region = PyObject_CallMethod(source.link, "region", "I", record.data.slab);
      if (region != nullptr) tensor->memory = new_block(region, record.data.offset, record.data.size_bytes);
      Py_XDECREF(region);
      if (tensor->memory != nullptr) return tensor;
    } else if (tensor->offset = record.data.size_bytes == 0 ? 0 : record.data.offset - source.block->offset;
               fits(source.payload, tensor->offset, tensor->size_bytes)) {
      tensor->memory = reinterpret_cast<PyObject*>(source.block);
      Py_INCREF(tensor->memory);
      return tensor;
    }
  }
  Py_DECREF(object);
  return nullptr;
}

PyObject* read_inputs(const Source& source, const RequestRecord& record) noexcept {
  if (record.input_count > source.payload.size / sizeof(TensorRecord)) {
    PyErr_SetString(PyExc_ValueError, "the payload cannot hold so many records");
    return nullptr;
  }
  PyObject* inputs = PyList_New(record.input_count);
  for (uint32_t i = 0; inputs != nullptr && i < record.input_count; ++i) {
    Tensor* tensor = read_input(source, record.inputs + uint64_t{i} * sizeof(TensorRecord));
    if (tensor == nullptr || PyList_SetItem(inputs, i, reinterpret_cast<PyObject*>(tensor)) != 0)
      Py_CLEAR(inputs);
  }
  return inputs;
}

RequestState* read_state(const Source& source, uint64_t at) noexcept {
  RequestRecord record;
  if (!read_record(source.payload, at, record)) return nullptr;
  auto* state = allocate_object<RequestState>(request_state_type);
  if (state == nullptr) return nullptr;
  state->record = record;
  state->record_offset = at;
  state->is_running = 1;
  state->release = kReleaseAll;
  Py_INCREF(source.outbox);
  state->outbox = source.outbox;
  Py_INCREF(reinterpret_cast<PyObject*>(source.block));
  state->block = source.block;
  return state;
}

bool read_request(const Source& source, uint64_t at, Py_ssize_t i, PyObject* requests,
                  PyObject* states) noexcept {
  RequestState* state = read_state(source, at);
  if (state == nullptr) return false;
  auto* state_object = reinterpret_cast<PyObject*>(state);
  if (PyList_SetItem(states, i, state_object) != 0) return false;  // which has taken it in any case
  auto* request = allocate_object<WorkerRequest>(received_class);
  if (request == nullptr) return false;
  Py_INCREF(state_object);
  request->state = state_object;
  request->inputs = read_inputs(source, state->record);
  const bool is_read = request->inputs != nullptr;
  if (PyList_SetItem(requests, i, reinterpret_cast<PyObject*>(request)) != 0) return false;
  return is_read;
}

PyObject* find_by_name(PyObject* tensors, PyObject* name) noexcept {
  const Py_ssize_t count = PyList_Check(tensors) ? PyList_Size(tensors) : -1;
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject* tensor = PyList_GetItem(tensors, i);
    Tensor* known = as_tensor(tensor);
    if (known == nullptr || known->name == nullptr) continue;
    const int is_it = PyObject_RichCompareBool(known->name, name, Py_EQ);
    if (is_it < 0) return nullptr;
    if (is_it == 0) continue;
    Py_INCREF(tensor);
    return tensor;
  }
  Py_RETURN_NONE;
}

}  // namespace

RequestState* as_request_state(PyObject* object) noexcept {
  return Py_TYPE(object) == request_state_type ? reinterpret_cast<RequestState*>(object) : nullptr;
}

PyObject* read_requests(PyObject* /*module*/, PyObject* const* arguments, Py_ssize_t count) noexcept {
  if (!expect_arguments("read_requests", count, 3)) return nullptr;
  RegionBlock* block = to_block(arguments[2]);
  if (block == nullptr || received_class == nullptr) return nullptr;
  batch_begin_ns = now_ns();
  const Source source{
      arguments[0], arguments[1], block, {block->region->data + block->offset, block->size_bytes}};
  BatchHeader header;
  if (!read_record(source.payload, 0, header)) return nullptr;
  if (header.request_count > source.payload.size / sizeof(RequestRecord)) {
    PyErr_SetString(PyExc_ValueError, "the payload cannot hold so many records");
    return nullptr;
  }
  PyObject* requests = PyList_New(header.request_count);
  PyObject* states = PyList_New(header.request_count);
  bool is_read = requests != nullptr && states != nullptr;
  for (uint32_t i = 0; is_read && i < header.request_count; ++i) {
    is_read =
        read_request(source, header.requests + uint64_t{i} * sizeof(RequestRecord), i, requests, states);
  }
  PyObject* both = is_read ? PyTuple_Pack(2, requests, states) : nullptr;
  Py_XDECREF(requests);
  Py_XDECREF(states);
  return both;
}

uint64_t batch_time_ns() noexcept {
  const int64_t time_ns = now_ns() - batch_begin_ns;
  return time_ns > 0 ? static_cast<uint64_t>(time_ns) : 1;
}

PyObject* batch_time(PyObject* /*module*/, PyObject* /*unused*/) noexcept {
  return PyLong_FromUnsignedLongLong(batch_time_ns());
}

PyObject* set_request_class(PyObject* /*module*/, PyObject* type) noexcept {
  if (PyType_Check(type) == 0 || PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(type), request_type) == 0) {
    PyErr_SetString(PyExc_TypeError, "a subclass of RequestBase is expected");
    return nullptr;
  }
  Py_INCREF(type);  // for good
  received_class = reinterpret_cast<PyTypeObject*>(type);
  Py_RETURN_NONE;
}

PyObject* get_input_tensor_by_name(PyObject* /*module*/, PyObject* arguments, PyObject* keywords) noexcept {
  PyObject* request = nullptr;
  PyObject* name = nullptr;
  if (keywords == nullptr && PyTuple_Size(arguments) == 2) {
    request = PyTuple_GetItem(arguments, 0);
    name = PyTuple_GetItem(arguments, 1);
  } else {
    static const char* const names[] = {"inference_request", "name", nullptr};
    if (PyArg_ParseTupleAndKeywords(arguments, keywords, "OO:get_input_tensor_by_name",
                                    const_cast<char**>(names), &request, &name) == 0) {
      return nullptr;
    }
  }
  if (Py_TYPE(request) == received_class && reinterpret_cast<WorkerRequest*>(request)->inputs != nullptr)
    return find_by_name(reinterpret_cast<WorkerRequest*>(request)->inputs, name);
  PyObject* inputs = PyObject_CallMethod(request, "inputs", nullptr);
  if (inputs == nullptr) return nullptr;
  PyObject* found = find_by_name(inputs, name);
  Py_DECREF(inputs);
  return found;
}

bool add_request_types(PyObject* module) noexcept {
  PyObject* request = PyType_FromSpec(&request_spec);
  PyObject* state = PyType_FromSpec(&request_state_spec);
  if (request == nullptr || state == nullptr) return false;
  request_type = reinterpret_cast<PyTypeObject*>(request);
  request_state_type = reinterpret_cast<PyTypeObject*>(state);
  Py_INCREF(request);  // for request_type
  Py_INCREF(state);
  return PyModule_AddObject(module, "RequestBase", request) == 0 &&
         PyModule_AddObject(module, "RequestState", state) == 0;
}

}  // namespace atl::python
