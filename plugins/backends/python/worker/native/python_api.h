/// The Python C API that the module uses: the limited API of 3.9, so that one file loads into every CPython from 3.9 on, and what 3.9
/// has as well but the limited API only since 3.10 (fast calls, a text's UTF-8) and 3.11 (buffers). Their layout has not changed in between.
#pragma once

#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x03090000
#include <Python.h>
#include <structmember.h>

#include <cstddef>
#include <cstdint>
#include <initializer_list>

static_assert(Py_LIMITED_API < 0x030a0000, "what is declared here would be declared twice");

extern "C" {
struct Py_buffer {  // NOLINT(readability-identifier-naming)
  void* buf;
  PyObject* obj;
  Py_ssize_t len;
  Py_ssize_t itemsize;
  int readonly;
  int ndim;
  char* format;
  Py_ssize_t* shape;
  Py_ssize_t* strides;
  Py_ssize_t* suboffsets;
  void* internal;
};
int PyObject_GetBuffer(PyObject* exporter, Py_buffer* view, int flags);
void PyBuffer_Release(Py_buffer* view);
const char* PyUnicode_AsUTF8AndSize(PyObject* text, Py_ssize_t* size);
int PyBuffer_FillInfo(Py_buffer* view, PyObject* exporter, void* buf, Py_ssize_t len, int readonly,
                      int flags);
}

namespace atl::python {

inline constexpr int kSlotGetBuffer = 1;  // Py_bf_getbuffer
inline constexpr int kBufferSimple = 0;   // PyBUF_SIMPLE: packed, in C order
inline constexpr int kFastCall = 0x0080;  // METH_FASTCALL

using FastCall = PyObject* (*)(PyObject* self, PyObject* const* arguments, Py_ssize_t count);

/// An entry of a method table.
inline PyMethodDef method(const char* name, FastCall function, const char* doc) noexcept {
  return {name, reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function)), kFastCall, doc};
}

/// Sets TypeError and returns false if a function does not get what it expects.
inline bool expect_arguments(const char* name, Py_ssize_t found, Py_ssize_t expected) noexcept {
  if (found == expected) return true;
  PyErr_Format(PyExc_TypeError, "%s() takes %zd arguments, not %zd", name, expected, found);
  return false;
}

/// An integer argument. Sets an exception and returns false if it is none, or negative, or too large.
inline bool to_u64(PyObject* object, uint64_t& value) noexcept {
  value = PyLong_AsUnsignedLongLong(object);
  return value != static_cast<uint64_t>(-1) || PyErr_Occurred() == nullptr;
}
inline bool to_u32(PyObject* object, uint32_t& value) noexcept {
  uint64_t wide = 0;
  if (!to_u64(object, wide)) return false;
  if (wide > UINT32_MAX) {
    PyErr_SetString(PyExc_OverflowError, "the number does not fit into 32 bits");
    return false;
  }
  value = static_cast<uint32_t>(wide);
  return true;
}

/// Memory of an object of a type that PyType_FromSpec made.
template <class Object>
inline Object* allocate_object(PyTypeObject* type) noexcept {
  auto allocate = reinterpret_cast<allocfunc>(PyType_GetSlot(type, Py_tp_alloc));
  return reinterpret_cast<Object*>(allocate(type, 0));
}
inline void free_object(PyObject* self) noexcept {
  PyTypeObject* type = Py_TYPE(self);
  reinterpret_cast<freefunc>(PyType_GetSlot(type, Py_tp_free))(self);
  Py_DECREF(reinterpret_cast<PyObject*>(type));
}

}  // namespace atl::python
