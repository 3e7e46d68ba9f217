/// Ring(region, offset, entries): one of the control region's rings.
#pragma once

#include "backends/python/memory/protocol.h"
#include "backends/python/worker/native/python_api.h"

namespace atl::python {

/// As Ring.send() with a wake-up, where there is room. False: there is none, or it is no ring and TypeError is set.
bool put_at_once(PyObject* ring, const RingMessage& message) noexcept;

/// Adds the type to the module. False: an exception is set.
bool add_ring_type(PyObject* module) noexcept;

}  // namespace atl::python
