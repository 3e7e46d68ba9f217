/// The end of a batch in one call: what is most frequent, and small.
#pragma once

#include "backends/python/worker/native/python_api.h"

namespace atl::python {

/// send_answers(ring, blocks, guard, batch, states, responses): tells the server that execute() has returned, with what it has returned: a
/// response or None a request. False: nothing was done, because something is unusual (no list of responses, an error, parameters,
/// texts that have to be looked through, outputs that nobody wants), large and not in shared memory, or not at hand (a free block, room in
/// the ring, the guard).
PyObject* send_answers(PyObject* module, PyObject* const* arguments, Py_ssize_t count) noexcept;

/// Before the first call. False: an exception is set.
bool add_answer_names() noexcept;

}  // namespace atl::python
