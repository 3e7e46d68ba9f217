"""What _atoll_python does, for interpreters that it does not load into. Slower, and DLPack only knows NumPy's types.

Words are read and written by single instructions; a lock taken and given back is the fence between two of them.
"""

import ctypes
import errno
import mmap
import os
import platform
import struct
import threading

import numpy as np

from . import layout

_libc = ctypes.CDLL(None, use_errno=True)
_SYS_FUTEX = 98 if platform.machine() in ("aarch64", "riscv64") else 202
_WAIT, _WAKE = 0, 1
_PR_SET_PDEATHSIG, _SIGKILL = 1, 9
_MESSAGE = struct.Struct("<IIQIIQQQ")
_DOUBLE = struct.Struct("<d")
_MASK = 0xffffffff
_barrier = threading.Lock()
_forked = []
os.register_at_fork(after_in_child=lambda: _forked.append(True))


def _fence():
    with _barrier:
        pass


class _Timespec(ctypes.Structure):
    _fields_ = [("seconds", ctypes.c_long), ("nanoseconds", ctypes.c_long)]


def _futex(address, operation, value, timeout_ms=-1):
    limit = None
    if timeout_ms >= 0:
        limit = ctypes.byref(_Timespec(timeout_ms // 1000, timeout_ms % 1000 * 1000000))
    if _libc.syscall(_SYS_FUTEX, ctypes.c_void_p(address), operation, ctypes.c_uint32(value), limit, None, 0) >= 0:
        return 0
    return ctypes.get_errno()


def die_with_parent():
    if _libc.prctl(_PR_SET_PDEATHSIG, _SIGKILL, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


class Region(np.ndarray):
    """Bytes of a mapped file."""

    def __new__(cls, fd, size):
        found = os.fstat(fd).st_size
        if size == 0 or size > found:
            raise ValueError(f"a region of {size} bytes was announced, its file has {found}")
        mapping = mmap.mmap(fd, size)
        self = super().__new__(cls, (size,), np.uint8, mapping)
        self._mapping = mapping
        self._view = memoryview(mapping)
        self._words = self._view[:size // 4 * 4].cast("I")
        self._start = self.__array_interface__["data"][0]
        return self

    def load(self, offset):
        if offset % 4:
            raise ValueError("a word's offset must be a multiple of 4")
        return self._words[offset // 4]

    def store(self, offset, value):
        if offset % 4:
            raise ValueError("a word's offset must be a multiple of 4")
        self._words[offset // 4] = value

    def write(self, offset, content):
        source = memoryview(content)
        if source.nbytes:
            self._inside(offset, source.nbytes)
            self._view[offset:offset + source.nbytes] = source.cast("B")

    def address(self):
        return self._start

    def wait_released(self, payload):
        held = payload - layout.BLOCK_HEADER_SIZE
        self.store(held + 4, 1)
        _fence()
        while self.load(held):
            _futex(self._start + held, _WAIT, 1)
        self.store(held + 4, 0)

    def trim(self, offset, size):
        self._inside(offset, size)
        if size:
            self._mapping.madvise(mmap.MADV_REMOVE, offset, size)

    def _inside(self, offset, size):
        if offset < 0 or offset + size > len(self._view):
            raise ValueError(f"{size} bytes at {offset} are not inside a region of {len(self._view)} bytes")


class Block(np.ndarray):
    """A block's payload, released when the last view of it is gone."""

    def __new__(cls, region, offset, size):
        region._inside(offset, size)
        if offset < layout.BLOCK_HEADER_SIZE or offset % layout.BLOCK_ALIGNMENT:
            raise ValueError("a block's payload must be aligned to 64 bytes, with a header before it")
        self = super().__new__(cls, (size,), np.uint8, region, offset)
        self._held = offset - layout.BLOCK_HEADER_SIZE
        self._region = region
        return self

    def __del__(self):
        region = getattr(self, "_region", None)
        if region is None or _forked:
            return  # a view of this type, or a copy in a process that the model forked
        region.store(self._held, 0)
        _fence()
        if region.load(self._held + 4):
            _futex(region._start + self._held, _WAKE, 0x7fffffff)


class Ring:
    """One of the control region's rings."""

    _TAIL, _PRODUCER_WAITING, _HEAD, _CONSUMER_WAITING, _ENTRIES = 0, 4, 64, 68, 128

    def __init__(self, region, offset, entries):
        if entries <= 0 or entries & (entries - 1) or offset % 64:
            raise ValueError("a ring is aligned to 64 bytes, and has a power of two entries")
        region._inside(offset, self._ENTRIES + 64 * entries)
        self._region = region
        self._offset = offset
        self._count = entries
        self._lock = threading.Lock()

    def _load(self, field):
        return self._region.load(self._offset + field)

    def _store(self, field, value):
        self._region.store(self._offset + field, value)

    def _used(self):
        return (self._load(self._TAIL) - self._load(self._HEAD)) & _MASK

    def _address(self, field):
        return self._region._start + self._offset + field

    def send(self, kind, flags, number, slab, offset, size, value, wakes):
        if isinstance(value, float):
            value = int.from_bytes(_DOUBLE.pack(value), "little")
        entry = _MESSAGE.pack(kind, flags, number, slab, 0, offset, size, value)
        while True:
            with self._lock:
                if self._used() < self._count:
                    tail = self._load(self._TAIL)
                    self._region.write(self._offset + self._ENTRIES + 64 * (tail & (self._count - 1)), entry)
                    self._store(self._TAIL, (tail + 1) & _MASK)
                    break
                head = self._load(self._HEAD)
                self._store(self._PRODUCER_WAITING, 1)
                _fence()
            if self._used() >= self._count:
                _futex(self._address(self._HEAD), _WAIT, head, 1000)
        if wakes or self._used() >= self._count // 4 * 3:
            _futex(self._address(self._TAIL), _WAKE, 0x7fffffff)

    def receive(self, timeout_ms):
        head = self._load(self._HEAD)
        while self._load(self._TAIL) == head:
            if timeout_ms == 0:
                return None
            self._store(self._CONSUMER_WAITING, 1)
            _fence()
            result = _futex(self._address(self._TAIL), _WAIT, head, timeout_ms)
            self._store(self._CONSUMER_WAITING, 0)
            if result == errno.ETIMEDOUT and self._load(self._TAIL) == head:
                return None
        at = self._offset + self._ENTRIES + 64 * (head & (self._count - 1))
        kind, flags, number, slab, _, offset, size, value = _MESSAGE.unpack_from(self._region, at)
        self._store(self._HEAD, (head + 1) & _MASK)
        _fence()
        nudge = self._load(self._PRODUCER_WAITING)
        if nudge:
            self._store(self._PRODUCER_WAITING, 0)
        return kind, flags, number, slab, offset, size, value, nudge


# --- records ---

def parse_tensors(block, offset, count):
    view = memoryview(block)
    tensors = []
    for _ in range(count):
        (name, name_size, datatype, rank, shape, _kind, _device, _reserved, slab, flags, at,
         size) = layout.TENSOR.unpack_from(view, offset)
        offset += layout.TENSOR.size
        tensors.append((str(view[name:name + name_size], "utf-8", "replace"), datatype,
                        tuple(view[shape:shape + 8 * rank].cast("q")) if rank else (), slab, flags, at, size))
    return tensors


# --- elements of BYTES ---

def split_elements(content, count):
    view = memoryview(content)
    size = len(view)
    if count > size // 4:
        raise ValueError(f"{count} elements of BYTES cannot be in {size} bytes")
    elements = []
    at = 0
    for i in range(count):
        length = int.from_bytes(view[at:at + 4], "little")
        if size - at < 4 or length > size - at - 4:
            raise ValueError(f"element {i} of BYTES ends behind the tensor's {size} bytes")
        elements.append(bytes(view[at + 4:at + 4 + length]))
        at += 4 + length
    if at != size:
        raise ValueError(f"{count} elements of BYTES take {at} bytes, the tensor has {size}")
    return elements


def measure_elements(elements):
    for i, element in enumerate(elements):
        if not isinstance(element, bytes):
            elements[i] = str(element).encode("utf-8")
        if len(elements[i]) > _MASK:
            raise ValueError("an element of BYTES must be smaller than 4 GiB")
    return sum(map(len, elements)) + 4 * len(elements)


def write_elements(elements, region, offset):
    region.write(offset, b"".join(part for element in elements for part in (struct.pack("<I", len(element)), element)))


# --- DLPack ---

_CODES = {"i": 0, "u": 1, "f": 2, "b": 6}


class _Lent:
    def __init__(self, owner, address, shape, dtype):
        self.owner = owner
        self.__array_interface__ = {"data": (address, False), "shape": shape, "typestr": dtype.str, "version": 3}


class _Holder:
    def __init__(self, capsule):
        self._capsule = capsule

    def __dlpack__(self, **_):
        return self._capsule

    def __dlpack_device__(self):
        return (1, 0)


def dlpack_capsule(owner, address, shape, code, bits, lanes):
    kind = next((kind for kind, number in _CODES.items() if number == code), None)
    if kind is None or lanes != 1:
        raise TypeError("this interpreter has no DLPack for the tensor's type: Atoll's module does not load into it")
    return np.asarray(_Lent(owner, address, shape, np.dtype(f"{kind}{bits // 8}"))).__dlpack__()


class DlpackTensor(np.ndarray):
    """The bytes of a tensor that was taken over."""

    def __new__(cls, capsule):
        taken = np.from_dlpack(_Holder(capsule))
        self = taken.reshape(-1).view(np.uint8).view(cls) if taken.flags.c_contiguous else np.empty(0, np.uint8).view(cls)
        self._about = (taken.shape, taken.flags.c_contiguous, _CODES[taken.dtype.kind], taken.dtype.itemsize * 8, 1, 1, 0)
        return self

    def describe(self):
        return self._about
