/// Records of protocol.h in a block's payload, as Python objects.
#pragma once

#include "backends/python/worker/native/python_api.h"

namespace atl::python {

/// parse_tensors(block, offset, count): a list of (name, datatype, shape, slab, flags, offset, size).
PyObject* parse_tensors(PyObject* module, PyObject* const* arguments, Py_ssize_t count) noexcept;

/// parse_requests(block): a list with the members of each RequestRecord as a tuple, parts of a TextRef one after the other, and
/// parse_tensors() instead of the inputs' offset.
PyObject* parse_requests(PyObject* module, PyObject* block) noexcept;

}  // namespace atl::python
