/// The end of a batch in one call: what is most frequent, and small.
#pragma once

#include "backends/python/worker/native/python_api.h"

namespace atl::python {

/// send_answers(ring, blocks, guard, batch, states, responses): tells the server that execute() has returned, with what it has returned: a
/// response or None a request. False: nothing was done, because something is unusual (no list of responses, an error, parameters,
/// texts that have to be looked through, outputs that nobody wants), large, or not at hand (a free block, room in the ring, the guard).
PyObject* send_answers(PyObject* module, PyObject* const* arguments, Py_ssize_t count) noexcept;

/// Adds the type AnswerBlocks: a few blocks of the worker that answers use in turn. add(region, slab, offset, size), forget(),
/// is_held(), len(). False: an exception is set.
bool add_answers_type(PyObject* module) noexcept;

}  // namespace atl::python
