/// Elements of BYTES tensors: on the wire a uint32 with the length, then the bytes; in Python a list of bytes objects.
#pragma once

#include "backends/python/worker/native/python_api.h"

namespace atl::python {

/// split_elements(buffer, count): the elements as a list. ValueError: there are not exactly that many.
PyObject* split_elements(PyObject* module, PyObject* const* arguments, Py_ssize_t count) noexcept;

/// measure_elements(list): bytes that the elements take on the wire. Those that are not bytes are replaced in the list: text by
/// its UTF-8, anything else by that of its str().
PyObject* measure_elements(PyObject* module, PyObject* list) noexcept;

/// write_elements(list, region, offset): writes what was measured.
PyObject* write_elements(PyObject* module, PyObject* const* arguments, Py_ssize_t count) noexcept;

}  // namespace atl::python
