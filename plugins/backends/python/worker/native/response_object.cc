#include "backends/python/worker/native/objects.h"

namespace atl::python {
namespace {

PyTypeObject* response_type = nullptr;
PyObject* no_text = nullptr;

// A list of the tensors; null without an exception: some are none.
PyObject* to_tensors(PyObject* given) noexcept {
  if (given == nullptr) return PyList_New(0);
  if (!PyList_Check(given) && !PyTuple_Check(given)) return nullptr;
  PyObject* list = PySequence_List(given);
  if (list == nullptr) return nullptr;
  for (Py_ssize_t i = 0, count = PyList_Size(list); i < count; ++i) {
    if (as_tensor(PyList_GetItem(list, i)) != nullptr) continue;
    Py_DECREF(list);
    return nullptr;
  }
  return list;
}

int response_init(PyObject* object, PyObject* arguments, PyObject* keywords) {
  static const char* const names[] = {"output_tensors", "error", "parameters", nullptr};
  PyObject* given = nullptr;
  PyObject* error = Py_None;
  PyObject* parameters = Py_None;
  if (PyArg_ParseTupleAndKeywords(arguments, keywords, "|OOO:InferenceResponse", const_cast<char**>(names),
                                  &given, &error, &parameters) == 0) {
    return -1;
  }
  auto* self = reinterpret_cast<WorkerResponse*>(object);
  PyObject* tensors = error == Py_None && parameters == Py_None ? to_tensors(given) : nullptr;
  if (tensors != nullptr) {
    PyObject* before[] = {self->tensors, self->error, self->parameters};
    self->tensors = tensors;
    self->error = nullptr;
    Py_INCREF(no_text);
    self->parameters = no_text;
    for (PyObject* part : before) Py_XDECREF(part);
    return 0;
  }
  if (PyErr_Occurred() != nullptr) return -1;
  PyObject* tuple = given == nullptr ? PyTuple_New(0) : nullptr;
  if (given == nullptr && tuple == nullptr) return -1;
  PyObject* done =
      PyObject_CallMethod(object, "_init_rarely", "OOO", given == nullptr ? tuple : given, error, parameters);
  Py_XDECREF(tuple);
  Py_XDECREF(done);
  return done == nullptr ? -1 : 0;
}

void response_dealloc(PyObject* object) {
  auto* self = reinterpret_cast<WorkerResponse*>(object);
  if (self->weak_references != nullptr) PyObject_ClearWeakRefs(object);
  for (PyObject* part : {self->tensors, self->error, self->parameters}) Py_XDECREF(part);
  free_object(object);
}

PyObject* response_output_tensors(PyObject* object, PyObject* /*unused*/) {
  PyObject* tensors = reinterpret_cast<WorkerResponse*>(object)->tensors;
  if (tensors == nullptr) Py_RETURN_NONE;
  Py_INCREF(tensors);
  return tensors;
}

PyMemberDef response_members[] = {
    {"_tensors", T_OBJECT, offsetof(WorkerResponse, tensors), 0, nullptr},
    {"_error", T_OBJECT, offsetof(WorkerResponse, error), 0, nullptr},
    {"_parameters", T_OBJECT, offsetof(WorkerResponse, parameters), 0, nullptr},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(WorkerResponse, weak_references), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr}};
PyMethodDef response_methods[] = {
    {"output_tensors", response_output_tensors, METH_NOARGS, "The list of tensors"},
    {nullptr, nullptr, 0, nullptr}};
PyType_Slot response_slots[] = {{Py_tp_init, reinterpret_cast<void*>(response_init)},
                                {Py_tp_new, reinterpret_cast<void*>(PyType_GenericNew)},
                                {Py_tp_dealloc, reinterpret_cast<void*>(response_dealloc)},
                                {Py_tp_members, response_members},
                                {Py_tp_methods, response_methods},
                                {0, nullptr}};
PyType_Spec response_spec = {"_atoll_python.ResponseBase", sizeof(WorkerResponse), 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, response_slots};

}  // namespace

WorkerResponse* as_response(PyObject* object) noexcept {
  return PyObject_TypeCheck(object, response_type) != 0 ? reinterpret_cast<WorkerResponse*>(object) : nullptr;
}

bool add_response_type(PyObject* module) noexcept {
  if (no_text == nullptr) no_text = PyUnicode_InternFromString("");
  PyObject* type = no_text == nullptr ? nullptr : PyType_FromSpec(&response_spec);
  if (type == nullptr) return false;
  response_type = reinterpret_cast<PyTypeObject*>(type);
  Py_INCREF(type);  // for response_type
  return PyModule_AddObject(module, "ResponseBase", type) == 0;
}

}  // namespace atl::python
