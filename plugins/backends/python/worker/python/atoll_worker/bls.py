"""Requests to other models: exec() and async_exec()."""

import asyncio
import contextvars

from . import layout
from .errors import TritonModelException
from .wire import Writer

_TOO_EARLY = "BLS is only supported during the 'execute' function."

#: Number of the batch that is executed, in the thread and the coroutines of its execute(); 0: none. Calls are cancelled with it.
current_batch = contextvars.ContextVar("atoll_batch", default=0)


def infer(session, request, decoupled):
    """The response, or an iterator over the responses."""
    call = _start(session, request, decoupled, None, session.link)
    if decoupled:
        return ResponseIterator(session, call)
    try:
        session.calls.wait(call, 0)
    except BaseException:  # of a handler of signals: nobody waits any more
        _cancel(session, call)
        raise
    return call.items[0]


def infer_later(session, request, decoupled):
    """The same as a future of the running loop."""
    loop = asyncio.get_running_loop()
    future = loop.create_future()

    def settle(call):
        if not future.done():
            future.set_result(ResponseIterator(session, call) if decoupled else call.items[0])

    def on_item(call):
        if len(call.items) == 1:
            try:
                loop.call_soon_threadsafe(settle, call)
            except RuntimeError:
                pass  # the loop was closed meanwhile

    session.calls.start_reader()
    call = _start(session, request, decoupled, on_item, None)
    if not decoupled:
        future.add_done_callback(lambda done: _cancel(session, call) if done.cancelled() else None)
    return future


def _start(session, request, decoupled, listener, shared):
    if not session.can_infer:
        raise TritonModelException(_TOO_EARLY)
    call = session.calls.open(listener)
    try:
        _send(session.link, request, decoupled, call.number, shared)
    except BaseException:
        session.calls.forget(call)
        raise
    return call


def _send(link, request, decoupled, number, shared):
    writer = Writer(layout.INFER_HEAD.size + layout.REQUEST.size + 8 * len(request._output_names))
    for tensor in request._inputs:
        writer.add_tensor(tensor, shared)
    correlation = request._correlation_id
    is_text = isinstance(correlation, str)
    trace, parent = (request._trace.get_context(), request._trace._handle) if request._trace is not None else (None, 0)
    model, text, name, parameters, trace = (writer.add_text(part) for part in (
        request._model_name, correlation if is_text else "", request._id, request._parameters, trace or ""))
    outputs = [writer.add_text(output) for output in request._output_names]
    writer.layout()
    flags = layout.DECOUPLED if decoupled else 0
    memory_kind = device = 0
    if request._preferred_memory is not None:
        flags |= layout.PREFER_MEMORY
        memory_kind = int(request._preferred_memory.preferred_memory_type())
        device = request._preferred_memory.preferred_device_id()
    outputs_at = layout.INFER_HEAD.size + layout.REQUEST.size
    records = [
        layout.INFER_HEAD.pack(*writer.text(model), request._model_version, flags, memory_kind, device),
        layout.REQUEST.pack(parent, 0 if is_text else correlation, request._timeout, *writer.text(text), *writer.text(name),
                            *writer.text(parameters), *writer.text(trace), request._flags, 0, len(request._inputs),
                            writer.tensor_records_at(0), len(outputs), outputs_at),
        *(layout.TEXT.pack(*writer.text(output)) for output in outputs)]
    writer.send(link, layout.INFER, 0, number, records, current_batch.get())


def _cancel(session, call):
    if not call.is_done and not session.link.is_forked:
        session.link.out.send(layout.CANCEL_INFER, 0, call.number, 0, 0, 0, 0, 1)


class ResponseIterator:
    """Responses of one call. Each iteration starts with the first; what has not come yet is waited for."""

    def __init__(self, session, call):
        self._session = session
        self._call = call
        self._next = 0

    def __iter__(self):
        if self._next and self._call.is_done and self._next >= len(self._call.items):
            self._next = 0
        return self

    def __next__(self):
        self._session.calls.wait(self._call, self._next)
        if self._next >= len(self._call.items):
            raise StopIteration
        self._next += 1
        return self._call.items[self._next - 1]

    def __aiter__(self):
        return self

    async def __anext__(self):
        if self._next >= len(self._call.items) and not self._call.is_done:
            self._session.calls.start_reader()
            loop = asyncio.get_running_loop()
            await loop.run_in_executor(None, self._session.calls.wait, self._call, self._next)
        if self._next >= len(self._call.items):
            raise StopAsyncIteration
        self._next += 1
        return self._call.items[self._next - 1]

    def cancel(self):
        _cancel(self._session, self._call)

    def __del__(self):
        try:
            _cancel(self._session, self._call)
        except Exception:
            pass  # the interpreter ends
