"""Calls of the worker that the server answers on the side ring. Whoever waits reads the ring, for all that wait."""

import itertools
import json
import threading

from . import layout
from .errors import TritonModelException
from .wire import read_response, read_text
from .response import InferenceResponse


class Call:
    """One that is open. `items` grows; nothing is taken from it but by its owner."""

    __slots__ = ("number", "items", "is_done", "listener")

    def __init__(self, number, listener=None):
        self.number = number
        self.items = []
        self.is_done = False
        self.listener = listener  # called in the reader's thread for each item


class Calls:
    """Open calls by number, and who reads the ring at the moment."""

    def __init__(self, link):
        self._link = link
        self._numbers = itertools.count(1)
        self._open = {}
        self._mutex = threading.RLock()  # a destructor may run inside, and open a call
        self._reader = None  # number of the thread that reads the ring
        self._waiting = []  # (call, lock that its thread sleeps on)
        self._thread = None
        self.on_probe = None

    def open(self, listener=None):
        call = Call(next(self._numbers), listener)
        with self._mutex:
            self._open[call.number] = call
        return call

    def forget(self, call):
        """A call that was not sent after all."""
        with self._mutex:
            self._open.pop(call.number, None)

    def ask(self, kind, content):
        """A call that kReply answers: its value. Raises what the server says, as text."""
        call = self.open()
        try:
            self._link.send_json(kind, content, call.number)
        except BaseException:
            self.forget(call)
            raise
        return self._answer(call)

    def ask_about(self, kind, number):
        """The same without JSON."""
        call = self.open()
        self._link.out.send(kind, 0, call.number, number, 0, 0, 0, 1)
        return self._answer(call)

    def ask_with(self, kind, payload, value):
        call = self.open()
        try:
            self._link.send(kind, 0, call.number, payload, value)
        except BaseException:
            self.forget(call)
            raise
        return self._answer(call)

    def _answer(self, call):
        self.wait(call, 0)
        value, error = call.items[0]
        if error is not None:
            raise TritonModelException(error)
        return value

    def wait(self, call, index):
        """Until the call has an item of this index or is done."""
        while True:
            with self._mutex:
                if call.is_done or len(call.items) > index:
                    return
                this = threading.get_ident()
                is_nested = self._reader == this  # a destructor, run by the reader: nobody else would read for it
                wakeup = None
                if self._reader is None:
                    self._reader = this
                elif not is_nested:
                    wakeup = threading.Lock()
                    wakeup.acquire()
                    self._waiting.append((call, wakeup))
            if wakeup is None:
                self._read(call, index, is_nested)
                return
            wakeup.acquire()

    def _read(self, call, index, is_nested):
        try:
            while not call.is_done and len(call.items) <= index:
                self._take(self._link.receive(self._link.side))
        finally:
            if not is_nested:
                with self._mutex:
                    self._reader = None
                    if self._waiting:
                        self._waiting.pop()[1].release()

    def start_reader(self):
        """For those who do not wait: a thread that always reads."""
        with self._mutex:
            if self._thread is not None:
                return
            self._thread = threading.Thread(target=self.wait, args=(Call(0), 0), name="atoll-calls", daemon=True)
        self._thread.start()

    def _take(self, message):
        kind, flags, number = message[0], message[1], message[2]
        if kind == layout.PROBE:
            if self.on_probe is not None:
                self.on_probe(number)
            return
        item = done = None
        if kind == layout.INFER_RESPONSE:
            if message[5]:
                item = read_response(self._link, self._link.block(message), message[4])
            elif flags & layout.FINAL:
                item = InferenceResponse._of([], None, "")
            done = bool(flags & layout.FINAL)
        elif kind == layout.REPLY:
            item = (message[6], self._error_of(message) if message[5] else None)
            done = True
        else:
            return
        with self._mutex:
            call = self._open.pop(number, None) if done else self._open.get(number)
            if call is None:
                return
            call.items.append(item)
            call.is_done = done
            listener = call.listener
            for waiting in [entry for entry in self._waiting if entry[0] is call]:
                self._waiting.remove(waiting)
                waiting[1].release()
        if listener is not None:
            listener(call)

    def _error_of(self, message):
        block = self._link.block(message)
        try:
            return str(json.loads(read_text(block, 0, message[5]))["error"])
        except (ValueError, KeyError, TypeError):
            return "the server's error could not be read"
