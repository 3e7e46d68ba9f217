/// DLPack: tensors of other libraries and for them, without a copy.
#pragma once

#include "backends/python/worker/native/python_api.h"

namespace atl::python {

/// dlpack_capsule(owner, address, shape, code, bits, lanes): a capsule "dltensor" of packed CPU memory, which keeps `owner` alive.
PyObject* dlpack_capsule(PyObject* module, PyObject* const* arguments, Py_ssize_t count) noexcept;

/// Adds the type DlpackTensor(capsule): takes the tensor over and exports its bytes as a buffer if they are packed and CPU memory.
/// describe() tells what it is. False: an exception is set.
bool add_dlpack_type(PyObject* module) noexcept;

}  // namespace atl::python
