"""The module's types of tensors, requests and responses, for interpreters that it does not load into: see native/objects.h."""

import struct
import time

from . import layout
from .pure import Block, parse_tensors


class TensorBase:
    __slots__ = ("_name", "_datatype", "_shape", "_array", "_memory", "_offset", "_size", "_elements", "__weakref__")

    def __init__(self, name, numpy_array):
        self._init_rarely(name, numpy_array)

    def name(self):
        return self._name

    def as_numpy(self):
        array = self._array
        if array is None:
            dtype = _classes.dtypes.get(self._datatype)
            if dtype is None or not self._size:
                array = self._view()
            else:
                array = _classes.array(self._shape, dtype, self._memory, self._offset)
            self._array = array
        return array


class ResponseBase:
    __slots__ = ("_tensors", "_error", "_parameters", "__weakref__")

    def __init__(self, output_tensors=(), error=None, parameters=None):
        self._init_rarely(output_tensors, error, parameters)

    def output_tensors(self):
        return self._tensors


class RequestBase:
    __slots__ = ("_inputs", "_state", "_id", "_correlation_id", "_output_names", "_model_name", "_model_version", "_flags", "_timeout",
                 "_preferred_memory", "_trace", "_parameters", "__weakref__")

    def inputs(self):
        return self._inputs


class _Classes:
    """What the classes of the contract are, once they are there."""
    array = dtypes = tensor = request = None


_classes = _Classes()


def configure_tensors(array, numbers, dtypes, tensor):
    _classes.array, _classes.dtypes, _classes.tensor = array, dtypes, tensor


def set_request_class(request):
    _classes.request = request


def get_input_tensor_by_name(inference_request, name):
    for tensor in inference_request.inputs():
        if tensor._name == name:
            return tensor
    return None


class RequestState:
    """Shared by the request and its senders. When nothing of the model refers to it and no last response was sent, nobody ever will."""

    __slots__ = ("outbox", "handle", "flags", "timeout", "output_count", "sent", "release", "is_closed", "is_running", "_block",
                 "_record", "_cancelled_at")

    def __init__(self, outbox, block, record, at):
        self.outbox = outbox
        self.handle = record[0]
        self.timeout = record[2]
        self.flags = record[11]
        self.output_count = record[15]
        self.sent = 0
        self.release = 1
        self.is_closed = False
        self.is_running = True  # execute() has not returned
        self._block = block
        self._record = record
        self._cancelled_at = at + layout.REQUEST_CANCELLED

    def is_cancelled(self):
        return _WORD.unpack_from(self._block, self._cancelled_at)[0] != 0

    def id(self):
        return self._text(self._record[5], self._record[6])

    def parameters(self):
        return self._text(self._record[7], self._record[8])

    def trace(self):
        return self._text(self._record[9], self._record[10])

    def correlation_id(self):
        record = self._record
        return self._text(record[3], record[4]) if record[4] else record[1]

    def wanted_outputs(self):
        at = self._record[16]
        return {self._text(*layout.TEXT.unpack_from(self._block, at + 8 * i)) for i in range(self.output_count)}

    def _text(self, offset, size):
        return str(memoryview(self._block)[offset:offset + size], "utf-8", "replace") if size else ""

    def __del__(self):
        if not self.is_closed and not self.is_running:
            self.outbox.abandon(self.handle)


_WORD = struct.Struct("<I")


_begin = [0]


def batch_time():
    return max(time.monotonic_ns() - _begin[0], 1)


def read_requests(link, outbox, block):
    _begin[0] = time.monotonic_ns()
    start = block._held + layout.BLOCK_HEADER_SIZE
    count, offset = layout.BATCH.unpack_from(block, 0)
    requests = []
    states = []
    for _ in range(count):
        record = layout.REQUEST.unpack_from(block, offset)
        state = RequestState(outbox, block, record, offset)
        offset += layout.REQUEST.size
        request = _classes.request.__new__(_classes.request)
        request._state = state
        request._id = request._flags = None
        request._inputs = [_read_tensor(link, block, start, tensor) for tensor in parse_tensors(block, record[14], record[13])]
        requests.append(request)
        states.append(state)
    return requests, states


def _read_tensor(link, block, start, parsed):
    name, datatype, shape, slab, flags, at, size = parsed
    if flags & layout.OWN_BLOCK:
        return _classes.tensor._of_memory(name, datatype, shape, Block(link.region(slab), at, size), 0, size)
    # An empty one is nowhere: see DataRef.
    return _classes.tensor._of_memory(name, datatype, shape, block, at - start if size else 0, size)


class AnswerBlocks:
    """A few blocks of the worker that answers use in turn."""

    def __init__(self):
        self._places = []

    def add(self, region, slab, offset, size):
        self._places.append((region, slab, offset, size))

    def add_slab(self, index, region):
        """Large data goes the long way here."""

    def drop_kept(self):
        """Nothing is kept."""

    def forget(self):
        self._places.clear()

    def is_held(self):
        return any(region.load(offset - layout.BLOCK_HEADER_SIZE) for region, _, offset, _ in self._places)

    def __len__(self):
        return len(self._places)

    def take(self, size):
        """(region, slab, offset) of a free one that is so large, which is held from now on; or None."""
        for region, slab, offset, most in self._places:
            if size <= most and not region.load(offset - layout.BLOCK_HEADER_SIZE):
                region.store(offset - layout.BLOCK_HEADER_SIZE, 1)
                return region, slab, offset
        return None


# Head, the response's record, the tensor's record, its shape: by rank.
_SMALL = tuple(struct.Struct(f"<II QIIIIIIIIQ IIIIIIiIIIQQ {rank}q") for rank in range(33))
_SMALL_SHAPE = 8 + 48 + 56
_MOST = 16384


def send_answers(ring, blocks, guard, batch, states, responses):
    """One request that is answered with one small tensor."""
    if len(states) != 1 or len(responses) != 1 or not isinstance(responses[0], ResponseBase) or not guard.try_enter():
        return False
    try:
        return _send_answer(ring, blocks, batch, states[0], responses[0])
    finally:
        guard.leave()


def _send_answer(ring, blocks, batch, state, response):
    if state.is_closed or state.release != 1 or response._error is not None or response._parameters or len(response._tensors) != 1:
        return False
    tensor = response._tensors[0]
    size = tensor._measure()
    rank = len(tensor._shape)
    name = tensor._name.encode("utf-8", "replace")
    name_at = _SMALL_SHAPE + 8 * rank
    data_at = (name_at + len(name) + 63) & ~63
    place = blocks.take(data_at + size) if size < _MOST else None
    if place is None:
        return False
    region, slab, start = place
    try:
        region.write(start, _SMALL[rank].pack(1, 8, state.handle, layout.LAST | layout.HAS_RESPONSE, 0, 0, 0, 0, 0, 1, 56, 0, name_at,
                                              len(name), tensor._datatype, rank, _SMALL_SHAPE, 0, 0, 0, slab, 0, start + data_at, size,
                                              *tensor._shape) + name)
        tensor._write(region, start + data_at)
    except BaseException:
        region.store(start - layout.BLOCK_HEADER_SIZE, 0)
        raise
    ring.send(layout.RESPONSES, layout.EXECUTE_RETURNED, batch, slab, start, data_at + size, batch_time(), 1)
    state.is_closed = True
    state.is_running = False
    return True
