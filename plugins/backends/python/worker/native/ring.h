/// Ring(region, offset, entries): one of the control region's rings.
#pragma once

#include "backends/python/worker/native/python_api.h"

namespace atl::python {

/// Adds the type to the module. False: an exception is set.
bool add_ring_type(PyObject* module) noexcept;

}  // namespace atl::python
