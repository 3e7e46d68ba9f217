"""Tensors, requests and responses in shared memory: reading and writing of protocol.h's records."""

import struct

from . import layout
from .errors import TritonError
from .native import Block, parse_tensors
from .response import InferenceResponse
from .tensor import Tensor

_TENSOR = layout.TENSOR
_INLINE_LIMIT = 65536  # smaller data is copied even if the receiver could see it where it is

def read_text(block, offset, size):
    if not size:
        return ""
    return str(memoryview(block)[offset:offset + size], "utf-8", "replace")


def read_tensors(link, block, start, parsed):
    """Tensors of a message whose payload is `block`, at `start` in its slab, as parse_tensors() gives them."""
    tensors = []
    for name, datatype, shape, slab, flags, at, size in parsed:
        if flags & layout.OWN_BLOCK:
            tensors.append(Tensor._of_memory(name, datatype, shape, Block(link.region(slab), at, size), 0, size))
        else:  # an empty one is nowhere: see DataRef
            tensors.append(Tensor._of_memory(name, datatype, shape, block, at - start if size else 0, size))
    return tensors


def read_response(link, block, start):
    """The one response of kInferResponse: (InferenceResponse)."""
    _, offset = layout.RESPONSES_HEAD.unpack_from(block, 0)
    (_, flags, code, error, error_size, parameters, parameters_size, count, tensors,
     _reserved) = layout.RESPONSE.unpack_from(block, offset)
    failure = None
    if flags & layout.HAS_ERROR:
        failure = TritonError(read_text(block, error, error_size), code)
        count = 0
    return InferenceResponse._of(read_tensors(link, block, start, parse_tensors(block, tensors, count)), failure,
                                 read_text(block, parameters, parameters_size))


class Writer:
    """One payload: records of fixed size first, then shapes, texts, and the tensors' bytes, each aligned to 64."""

    def __init__(self, records_size):
        self._records_size = records_size
        self._tensor_count = 0
        self._shapes = []
        self._shapes_size = 0
        self._texts = []
        self._texts_size = 0
        self._tensors = []  # (tensor, offset of its shape among the shapes, its text, bytes on the wire, place elsewhere)
        self._data_size = 0
        self._keep = None

    def add_text(self, text):
        """Number of a text; see text()."""
        raw = text if isinstance(text, bytes) else text.encode("utf-8", "replace")
        at = self._texts_size
        self._texts.append(raw)
        self._texts_size += len(raw)
        return at, len(raw)

    def add_tensor(self, tensor, link=None):
        """`link`: data that lies in shared memory may stay where it is."""
        size = tensor._measure()
        place = None
        if size >= _INLINE_LIMIT and link is not None:
            address = tensor._address()
            if address is not None:
                place = link.find(address, size)
        if place is None:
            self._data_size = (self._data_size + 63) & ~63
            at = self._data_size
            self._data_size += size
        else:
            at = 0
            if self._keep is None:
                self._keep = []
            self._keep.append(tensor._array if tensor._array is not None else tensor._memory)
        shape = tensor._shape
        self._tensors.append((tensor, self._shapes_size, len(shape), self.add_text(tensor._name), size, place, at))
        self._shapes.extend(shape)
        self._shapes_size += 8 * len(shape)

    def layout(self):
        """Fixes all offsets."""
        self._tensors_at = self._records_size
        self._shapes_at = self._tensors_at + 56 * len(self._tensors)
        self._texts_at = self._shapes_at + self._shapes_size
        self._data_at = (self._texts_at + self._texts_size + 63) & ~63
        self.size = self._data_at + self._data_size if self._data_size else self._texts_at + self._texts_size

    def text(self, number):
        """(offset, size) of a text in the payload."""
        at, size = number
        return (self._texts_at + at if size else 0), size

    def tensor_records_at(self, index):
        return self._tensors_at + 56 * index

    def send(self, link, kind, flags, number, records, value=0):
        """Writes the payload into a block of the worker and sends it. \\returns the block's place."""
        size = self.size
        place = link.arena.allocate(size)
        slab, start = place
        try:
            parts = list(records)
            for tensor, shape, rank, name, length, elsewhere, at in self._tensors:
                index, offset = elsewhere if elsewhere is not None else (slab.index, start + self._data_at + at)
                parts.append(_TENSOR.pack(self._texts_at + name[0], name[1], tensor._datatype, rank, self._shapes_at + shape, 0,
                                          0, 0, index, 0, offset, length))
            if self._shapes:
                parts.append(_shape_struct(len(self._shapes)).pack(*self._shapes))
            parts += self._texts
            region = slab.region
            region.write(start, b"".join(parts))
            for tensor, _, _, _, _, elsewhere, at in self._tensors:
                if elsewhere is None:
                    tensor._write(region, start + self._data_at + at)
                else:
                    tensor._elements = None
        except BaseException:
            link.arena.dropped(place, size)
            raise
        link.post(kind, flags, number, place, size, value, self._keep)
        return place

    def has_elsewhere(self):
        return self._keep is not None


_shape_structs = {}


def _shape_struct(count):
    form = _shape_structs.get(count)
    if form is None:
        form = struct.Struct(f"<{count}q")
        if len(_shape_structs) < 256:
            _shape_structs[count] = form
    return form
