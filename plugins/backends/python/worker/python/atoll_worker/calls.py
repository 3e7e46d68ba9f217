"""Calls of the worker that the server answers on the side ring. Whoever waits reads the ring, for all that wait."""

import itertools
import json
import threading

from . import layout
from .ending import end_worker
from .errors import FORKED, TritonError, TritonModelException, exception_text
from .logger import log_failure
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
    """Open calls by number, and who reads the ring at the moment.

    A thread that stops reading, by an exception as well, hands the ring to another one that waits; a message that cannot be read fails
    its call: nobody waits for what is lost.
    """

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
        if self._link.is_forked:  # where the lock may be held by a thread that was not forked with it
            raise TritonModelException(FORKED)
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
            wakeup, claims = None, False
            try:
                with self._mutex:
                    if call.is_done or len(call.items) > index:
                        return
                    this = threading.get_ident()
                    is_nested = self._reader == this  # a destructor, run by the reader: nobody else would read for it
                    if self._reader is None:
                        self._reader = this
                        claims = True
                    elif not is_nested:
                        wakeup = threading.Lock()
                        wakeup.acquire()
                        self._waiting.append((call, wakeup))
                if wakeup is None:
                    self._read(call, index, is_nested)
                    return
                wakeup.acquire()
            except BaseException:  # of a handler of signals: this thread takes no part any more
                self._leave(wakeup, claims)
                raise

    def _leave(self, wakeup, claims):
        with self._mutex:
            if claims and self._reader == threading.get_ident():
                self._reader = None
            waiting = [entry for entry in self._waiting if entry[1] is not wakeup]
            was_woken = wakeup is not None and len(waiting) == len(self._waiting)
            self._waiting = waiting
            if self._reader is None and (claims or was_woken):
                self._wake_another()  # in its place

    def _read(self, call, index, is_nested):
        try:
            while not call.is_done and len(call.items) <= index:
                self._take(self._link.receive(self._link.side))
        finally:
            if not is_nested:
                with self._mutex:
                    self._reader = None
                    self._wake_another()

    def _wake_another(self):
        if self._waiting:
            self._waiting.pop()[1].release()

    def start_reader(self):
        """For those who do not wait: a thread that always reads."""
        with self._mutex:
            if self._thread is not None or self._link.is_forked:
                return
            thread = threading.Thread(target=self._read_always, name="atoll-calls", daemon=True)
            thread.start()
            self._thread = thread

    def _read_always(self):
        try:
            self.wait(Call(0), 0)  # which is never done
        except BaseException as error:
            end_worker("it cannot read what the server says", error)

    def _take(self, message):
        kind, number = message[0], message[2]
        if kind == layout.PROBE:
            if self.on_probe is not None:
                self.on_probe(number)
            return
        try:
            item, is_done = self._item_of(message)
        except Exception as error:
            item, is_done = self._failed(kind, error), True
            if not message[1] & layout.FINAL and kind == layout.INFER_RESPONSE:
                self._link.out.send(layout.CANCEL_INFER, 0, number, 0, 0, 0, 0, 1)  # nobody takes the rest
        except BaseException as error:
            self._add(number, self._failed(kind, error), True)
            raise
        self._add(number, item, is_done)

    def _item_of(self, message):
        """(what the call gets, whether it is the last); (None, False) of what is no answer."""
        kind, flags = message[0], message[1]
        item, is_done = None, False
        if kind == layout.INFER_RESPONSE:
            if message[5]:
                item = read_response(self._link, self._link.block(message), message[4])
            elif flags & layout.FINAL:
                item = InferenceResponse._of([], None, "")
            is_done = bool(flags & layout.FINAL)
        elif kind == layout.REPLY:
            item = (message[6], self._error_of(message) if message[5] else None)
            is_done = True
        return item, is_done

    def _failed(self, kind, error):
        """What a call gets in the place of an answer that cannot be read."""
        log_failure("the server's answer to a call cannot be read", error)
        text = f"The answer cannot be read: {exception_text(error)}"
        return InferenceResponse._of([], TritonError(text), "") if kind == layout.INFER_RESPONSE else (0, text)

    def _add(self, number, item, is_done):
        with self._mutex:
            call = self._open.pop(number, None) if is_done else self._open.get(number)
            if call is None or (item is None and not is_done):
                return
            call.items.append(item)
            call.is_done = is_done
            listener = call.listener
            for waiting in [entry for entry in self._waiting if entry[0] is call]:
                self._waiting.remove(waiting)
                waiting[1].release()
        if listener is None:
            return
        try:
            listener(call)
        except Exception as error:  # of one call; the others go on
            log_failure("whoever waits for an answer cannot be told that it is there", error)

    def _error_of(self, message):
        block = self._link.block(message)
        try:
            return str(json.loads(read_text(block, 0, message[5]))["error"])
        except (ValueError, KeyError, TypeError):
            return "the server's error could not be read"
