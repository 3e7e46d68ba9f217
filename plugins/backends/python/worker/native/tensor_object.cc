#include <utility>

#include "backends/python/worker/native/objects.h"

namespace atl::python {
namespace {

constexpr uint32_t kTypes = 16;  // more than there are datatypes

PyTypeObject* tensor_type = nullptr;
// Of configure_tensors().
PyTypeObject* tensor_class = nullptr;
PyTypeObject* array_type = nullptr;
PyObject* numbers_by_dtype = nullptr;
PyObject* dtypes[kTypes] = {};
// Names of attributes.
PyObject* dtype_name = nullptr;
PyObject* flags_name = nullptr;
PyObject* packed_name = nullptr;
PyObject* shape_name = nullptr;

void set(PyObject*& place, PyObject* value) noexcept {
  PyObject* before = place;
  place = value;
  Py_XDECREF(before);
}

// Whether the type is one that has a number. Neither is an error.
bool read_datatype(PyObject* array, uint32_t& datatype) noexcept {
  PyObject* dtype = PyObject_GetAttr(array, dtype_name);
  if (dtype == nullptr) return false;
  PyObject* number = PyDict_GetItemWithError(numbers_by_dtype, dtype);
  Py_DECREF(dtype);
  return number != nullptr && to_u32(number, datatype);
}

bool is_packed(PyObject* array) noexcept {
  PyObject* flags = PyObject_GetAttr(array, flags_name);
  if (flags == nullptr) return false;
  PyObject* packed = PyObject_GetAttr(flags, packed_name);
  Py_DECREF(flags);
  Py_XDECREF(packed);
  return packed == Py_True;
}

// False: it is none of the frequent cases, or an exception is set.
bool take_array(Tensor& self, PyObject* name, PyObject* array) noexcept {
  if (array_type == nullptr || Py_TYPE(array) != array_type || !PyUnicode_Check(name) ||
      PyUnicode_GetLength(name) == 0)
    return false;
  uint32_t datatype = 0;
  if (!read_datatype(array, datatype) || !is_packed(array)) return false;
  PyObject* shape = PyObject_GetAttr(array, shape_name);
  if (shape == nullptr) return false;
  if (PyTuple_Size(shape) > kMaxRank) {
    Py_DECREF(shape);
    return false;
  }
  Py_INCREF(name);
  Py_INCREF(array);
  set(self.name, name);
  set(self.array, array);
  set(self.shape, shape);
  set(self.memory, nullptr);
  set(self.elements, nullptr);
  self.datatype = datatype;
  return true;
}

int tensor_init(PyObject* self, PyObject* arguments, PyObject* keywords) {
  PyObject* name = nullptr;
  PyObject* array = nullptr;
  if (keywords == nullptr && PyTuple_Size(arguments) == 2) {
    name = PyTuple_GetItem(arguments, 0);
    array = PyTuple_GetItem(arguments, 1);
  } else {
    static const char* const names[] = {"name", "numpy_array", nullptr};
    if (PyArg_ParseTupleAndKeywords(arguments, keywords, "OO:Tensor", const_cast<char**>(names), &name,
                                    &array) == 0)
      return -1;
  }
  if (take_array(*reinterpret_cast<Tensor*>(self), name, array)) return 0;
  if (PyErr_Occurred() != nullptr) return -1;
  PyObject* done = PyObject_CallMethod(self, "_init_rarely", "OO", name, array);
  Py_XDECREF(done);
  return done == nullptr ? -1 : 0;
}

void tensor_dealloc(PyObject* object) {
  auto* self = reinterpret_cast<Tensor*>(object);
  if (self->weak_references != nullptr) PyObject_ClearWeakRefs(object);
  for (PyObject* part : {self->name, self->shape, self->array, self->memory, self->elements})
    Py_XDECREF(part);
  free_object(object);
}

PyObject* tensor_name(PyObject* self, PyObject* /*unused*/) {
  PyObject* name = reinterpret_cast<Tensor*>(self)->name;
  if (name == nullptr) Py_RETURN_NONE;
  Py_INCREF(name);
  return name;
}

PyObject* make_view(PyObject* object) noexcept {
  auto* self = reinterpret_cast<Tensor*>(object);
  PyObject* dtype = self->datatype < kTypes ? dtypes[self->datatype] : nullptr;
  if (dtype == nullptr || self->size_bytes == 0 || !is_there(self->memory) || self->shape == nullptr)
    return PyObject_CallMethod(object, "_view", nullptr);
  PyObject* offset = PyLong_FromUnsignedLongLong(self->offset);
  if (offset == nullptr) return nullptr;
  PyObject* view = PyObject_CallFunctionObjArgs(reinterpret_cast<PyObject*>(array_type), self->shape, dtype,
                                                self->memory, offset, nullptr);
  Py_DECREF(offset);
  return view;
}

PyObject* tensor_as_numpy(PyObject* object, PyObject* /*unused*/) {
  auto* self = reinterpret_cast<Tensor*>(object);
  if (!is_there(self->array)) {
    PyObject* view = make_view(object);
    if (view == nullptr) return nullptr;
    set(self->array, view);
  }
  Py_INCREF(self->array);
  return self->array;
}

PyMemberDef tensor_members[] = {
    {"_name", T_OBJECT, offsetof(Tensor, name), 0, nullptr},
    {"_shape", T_OBJECT, offsetof(Tensor, shape), 0, nullptr},
    {"_array", T_OBJECT, offsetof(Tensor, array), 0, nullptr},
    {"_memory", T_OBJECT, offsetof(Tensor, memory), 0, nullptr},
    {"_offset", T_ULONGLONG, offsetof(Tensor, offset), 0, nullptr},
    {"_size", T_ULONGLONG, offsetof(Tensor, size_bytes), 0, nullptr},
    {"_elements", T_OBJECT, offsetof(Tensor, elements), 0, nullptr},
    {"_datatype", T_UINT, offsetof(Tensor, datatype), 0, nullptr},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(Tensor, weak_references), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr}};
PyMethodDef tensor_methods[] = {{"name", tensor_name, METH_NOARGS, "The tensor's name"},
                                {"as_numpy", tensor_as_numpy, METH_NOARGS, "The same array each time"},
                                {nullptr, nullptr, 0, nullptr}};
PyType_Slot tensor_slots[] = {{Py_tp_init, reinterpret_cast<void*>(tensor_init)},
                              {Py_tp_new, reinterpret_cast<void*>(PyType_GenericNew)},
                              {Py_tp_dealloc, reinterpret_cast<void*>(tensor_dealloc)},
                              {Py_tp_members, tensor_members},
                              {Py_tp_methods, tensor_methods},
                              {0, nullptr}};
PyType_Spec tensor_spec = {"_atoll_python.TensorBase", sizeof(Tensor), 0,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, tensor_slots};

}  // namespace

Tensor* as_tensor(PyObject* object) noexcept {
  return PyObject_TypeCheck(object, tensor_type) != 0 ? reinterpret_cast<Tensor*>(object) : nullptr;
}

Tensor* new_tensor() noexcept { return allocate_object<Tensor>(tensor_class); }

PyObject* configure_tensors(PyObject* /*module*/, PyObject* const* arguments, Py_ssize_t count) noexcept {
  if (!expect_arguments("configure_tensors", count, 4)) return nullptr;
  if (PyType_Check(arguments[0]) == 0 || PyDict_Check(arguments[1]) == 0 || PyDict_Check(arguments[2]) == 0 ||
      PyType_Check(arguments[3]) == 0 ||
      PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(arguments[3]), tensor_type) == 0) {
    PyErr_SetString(PyExc_TypeError,
                    "configure_tensors() expects a type, two dictionaries, and a subclass of TensorBase");
    return nullptr;
  }
  for (Py_ssize_t i : {0, 1, 3}) Py_INCREF(arguments[i]);  // for good
  array_type = reinterpret_cast<PyTypeObject*>(arguments[0]);
  numbers_by_dtype = arguments[1];
  tensor_class = reinterpret_cast<PyTypeObject*>(arguments[3]);
  PyObject* number = nullptr;
  PyObject* dtype = nullptr;
  Py_ssize_t at = 0;
  while (PyDict_Next(arguments[2], &at, &number, &dtype) != 0) {
    uint32_t index = 0;
    if (!to_u32(number, index)) return nullptr;
    if (index >= kTypes) continue;
    Py_INCREF(dtype);
    set(dtypes[index], dtype);
  }
  Py_RETURN_NONE;
}

bool add_tensor_type(PyObject* module) noexcept {
  for (auto [place, text] : {std::pair{&dtype_name, "dtype"}, std::pair{&flags_name, "flags"},
                             std::pair{&packed_name, "c_contiguous"}, std::pair{&shape_name, "shape"}}) {
    if (*place == nullptr) *place = PyUnicode_InternFromString(text);
    if (*place == nullptr) return false;
  }
  PyObject* type = PyType_FromSpec(&tensor_spec);
  if (type == nullptr) return false;
  tensor_type = reinterpret_cast<PyTypeObject*>(type);
  Py_INCREF(type);  // for tensor_type
  return PyModule_AddObject(module, "TensorBase", type) == 0;
}

}  // namespace atl::python
