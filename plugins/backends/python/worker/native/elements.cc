#include "backends/python/worker/native/elements.h"

#include <cstring>

#include "backends/python/worker/native/region.h"

namespace atl::python {
namespace {

constexpr uint64_t kLengthSize = sizeof(uint32_t);

PyObject* split(const char* data, uint64_t size, uint64_t count) noexcept {
  if (count > size / kLengthSize) {
    return PyErr_Format(PyExc_ValueError, "%llu elements of BYTES cannot be in %llu bytes",
                        static_cast<unsigned long long>(count), static_cast<unsigned long long>(size));
  }
  PyObject* list = PyList_New(static_cast<Py_ssize_t>(count));
  if (list == nullptr) return nullptr;
  uint64_t at = 0;
  for (uint64_t i = 0; i < count; ++i) {
    uint32_t length = 0;
    bool fits = size - at >= kLengthSize;
    if (fits) std::memcpy(&length, data + at, kLengthSize);
    if (!fits || length > size - at - kLengthSize) {
      Py_DECREF(list);
      return PyErr_Format(PyExc_ValueError, "element %llu of BYTES ends behind the tensor's %llu bytes",
                          static_cast<unsigned long long>(i), static_cast<unsigned long long>(size));
    }
    PyObject* element = PyBytes_FromStringAndSize(data + at + kLengthSize, length);
    if (element == nullptr || PyList_SetItem(list, static_cast<Py_ssize_t>(i), element) != 0) {
      Py_DECREF(list);
      return nullptr;
    }
    at += kLengthSize + length;
  }
  if (at == size) return list;
  Py_DECREF(list);
  return PyErr_Format(PyExc_ValueError, "%llu elements of BYTES take %llu bytes, the tensor has %llu",
                      static_cast<unsigned long long>(count), static_cast<unsigned long long>(at),
                      static_cast<unsigned long long>(size));
}

PyObject* to_bytes(PyObject* element) noexcept {
  if (PyUnicode_Check(element)) return PyUnicode_AsUTF8String(element);
  PyObject* text = PyObject_Str(element);
  if (text == nullptr) return nullptr;
  PyObject* bytes = PyUnicode_AsUTF8String(text);
  Py_DECREF(text);
  return bytes;
}

}  // namespace

PyObject* split_elements(PyObject* /*module*/, PyObject* const* arguments, Py_ssize_t count) noexcept {
  uint64_t elements = 0;
  if (!expect_arguments("split_elements", count, 2) || !to_u64(arguments[1], elements)) return nullptr;
  Py_buffer source{};
  if (PyObject_GetBuffer(arguments[0], &source, kBufferSimple) != 0) return nullptr;
  PyObject* list = split(static_cast<const char*>(source.buf), static_cast<uint64_t>(source.len), elements);
  PyBuffer_Release(&source);
  return list;
}

PyObject* measure_elements(PyObject* /*module*/, PyObject* list) noexcept {
  if (!PyList_Check(list)) {
    PyErr_SetString(PyExc_TypeError, "measure_elements() expects a list");
    return nullptr;
  }
  uint64_t total = 0;
  for (Py_ssize_t i = 0; i < PyList_Size(list); ++i) {
    PyObject* element = PyList_GetItem(list, i);
    if (!PyBytes_Check(element)) {
      element = to_bytes(element);
      if (element == nullptr || PyList_SetItem(list, i, element) != 0) return nullptr;
    }
    auto length = static_cast<uint64_t>(PyBytes_Size(element));
    if (length > UINT32_MAX) {
      PyErr_SetString(PyExc_ValueError, "an element of BYTES must be smaller than 4 GiB");
      return nullptr;
    }
    total += kLengthSize + length;
  }
  return PyLong_FromUnsignedLongLong(total);
}

PyObject* write_elements(PyObject* /*module*/, PyObject* const* arguments, Py_ssize_t count) noexcept {
  uint64_t at = 0;
  if (!expect_arguments("write_elements", count, 3) || !to_u64(arguments[2], at)) return nullptr;
  MappedRegion* region = to_region(arguments[1]);
  if (region == nullptr || !PyList_Check(arguments[0])) return nullptr;
  for (Py_ssize_t i = 0; i < PyList_Size(arguments[0]); ++i) {
    PyObject* element = PyList_GetItem(arguments[0], i);
    char* data = nullptr;
    Py_ssize_t size = 0;
    if (PyBytes_AsStringAndSize(element, &data, &size) != 0) return nullptr;
    auto length = static_cast<uint32_t>(size);
    if (!is_inside(*region, at, kLengthSize + length)) return nullptr;
    std::memcpy(region->data + at, &length, kLengthSize);
    std::memcpy(region->data + at + kLengthSize, data, length);
    at += kLengthSize + length;
  }
  Py_RETURN_NONE;
}

}  // namespace atl::python
