"""The connection to the server: control socket, rings and slabs."""

import errno
import json
import os
import select
import signal
import socket
import sys
import threading

from . import layout
from .arena import Arena
from .ending import end_worker
from .errors import FORKED, TritonModelException
from .native import Block, Region, Ring

_PACKET_SIZE = 256


class ProtocolError(Exception):
    """The server said something that this worker does not understand."""


class _OfParent:
    """Stands for what a forked process must not touch."""

    def __getattr__(self, name):
        raise TritonModelException(FORKED)


class Link:
    """What Python threads of the worker share. Sending needs no lock; each ring is read by one thread at a time."""

    def __init__(self, fd):
        self._socket = socket.socket(fileno=fd)
        self._socket.set_inheritable(False)
        self._slabs = {}
        self._slab_lock = threading.Lock()
        self._answers = []
        data, descriptors = self._receive()
        magic, version, size = _unpack(layout.HELLO, data, "Hello")
        if magic != layout.MAGIC or version != layout.VERSION:
            raise ProtocolError(f"the server speaks version {version} of the protocol, this worker {layout.VERSION}")
        if len(descriptors) != 1:
            raise ProtocolError(f"the server's first packet had {len(descriptors)} descriptors, not 1")
        control = Region(descriptors[0], size)
        os.close(descriptors[0])
        self.work = Ring(control, layout.WORK_RING, layout.WORK_ENTRIES)
        self.side = Ring(control, layout.SIDE_RING, layout.SIDE_ENTRIES)
        self.out = Ring(control, layout.OUT_RING, layout.OUT_ENTRIES)
        self.arena = Arena(self._ask_for_slab)
        self.is_forked = False
        os.register_at_fork(after_in_child=self._forked)
        self._socket.send(layout.HELLO_REPLY.pack(layout.MAGIC, layout.VERSION, os.getpid(), sys.hexversion))

    # A process that the model forked is none of the server's: what it does must not look like its parent's doing.
    def _forked(self):
        self.is_forked = True
        self.out = self.side = self.work = self.arena = _OfParent()
        self._socket.close()
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)

    # --- slabs ---

    def region(self, index):
        """The slab of this number, which the server has sent before it named it."""
        slab = self._slabs.get(index)
        if slab is None:
            with self._slab_lock:
                while index not in self._slabs:
                    self._receive_slab()
            slab = self._slabs[index]
        return slab[0]

    def block(self, message):
        """What a message carries, as a block that is released when nothing refers to it any more."""
        return Block(self.region(message[3]), message[4], message[5])

    def find(self, address, size):
        """(slab's index, offset) of memory that lies in any slab; or None."""
        for index, (_, start, length) in list(self._slabs.items()):
            offset = address - start
            if 0 <= offset and offset + size <= length:
                return index, offset
        return None

    def _ask_for_slab(self, size):
        with self._slab_lock:
            self.out.send(layout.SLAB_WANTED, 0, 0, 0, 0, 0, size, 1)
            while not self._answers:
                self._receive_slab()
            return self._answers.pop(0)

    # A packet that is lost cannot be had again, and whoever needs its slab would wait for ever.
    def _receive_slab(self):
        try:
            self._take_slab()
        except BaseException as error:
            end_worker("it cannot take the memory that the server shares with it", error)

    def _take_slab(self):
        data, descriptors = self._receive()
        magic, index, owner, _, size = _unpack(layout.SLAB, data, "SlabPacket")
        if magic != layout.MAGIC or len(descriptors) != (1 if size else 0):
            raise ProtocolError("the server sent a slab without magic or descriptor")
        if not size:
            self._answers.append(None)
            return
        region = Region(descriptors[0], size)
        os.close(descriptors[0])
        self._slabs[index] = (region, region.address(), size)
        self.arena.answers.add_slab(index, region)
        if owner == layout.OWNER_WORKER:
            self._answers.append((index, region, size))

    def _receive(self):
        data, ancillary, flags, _ = self._socket.recvmsg(_PACKET_SIZE, socket.CMSG_SPACE(4 * 4))
        if not data:
            os._exit(1)  # the server is gone
        descriptors = []
        for level, kind, content in ancillary:
            if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                descriptors += [int.from_bytes(content[i:i + 4], sys.byteorder) for i in range(0, len(content) - 3, 4)]
        if flags & socket.MSG_CTRUNC:
            raise OSError(errno.EMFILE, "the server's memory needs a file descriptor, and " + os.strerror(errno.EMFILE).lower())
        for descriptor in descriptors:
            os.set_inheritable(descriptor, False)
        return data, descriptors

    def watch(self):
        """Ends the process when the server is gone, whatever the model is doing."""
        def wait():
            try:
                poll = select.poll()
                poll.register(self._socket.fileno(), 0)
                poll.poll()
            finally:
                os._exit(1)
        threading.Thread(target=wait, name="atoll-watch", daemon=True).start()

    # --- messages ---

    def receive(self, ring, timeout_ms=-1):
        message = ring.receive(timeout_ms)
        if message is not None and message[7]:
            self.out.send(layout.NUDGE, 0, 0, 0, 0, 0, 0, 1)
        return message

    def send(self, kind, flags=0, number=0, payload=b"", value=0):
        """A message with a payload in one piece."""
        if not payload:
            self.out.send(kind, flags, number, 0, 0, 0, value, 1)
            return
        size = len(payload)
        place = self.arena.allocate(size)
        slab, offset = place
        slab.region.write(offset, payload)
        self.post(kind, flags, number, place, size, value)

    def post(self, kind, flags, number, place, size, value=0, keep=None):
        """A message whose payload is in its block already."""
        slab, offset = place
        slab.region.store(offset - layout.BLOCK_HEADER_SIZE, 1)
        self.arena.sent(place, size, keep)
        self.out.send(kind, flags, number, slab.index, offset, size, value, 1)

    def send_json(self, kind, content, number=0, value=0):
        self.send(kind, 0, number, to_json(content), value)


def to_json(content):
    return json.dumps(content, ensure_ascii=False).encode("utf-8", "replace")


def _unpack(form, data, name):
    if len(data) != form.size:
        raise ProtocolError(f"a packet of {len(data)} bytes is not {name}, which has {form.size}")
    return form.unpack(data)
