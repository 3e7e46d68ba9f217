"""A lock for what destructors may come to as well."""

import threading

from .errors import TritonModelException


class Guard:
    """Mutual exclusion of threads. A destructor runs anywhere, also in the thread that is inside: it gets an exception then, where
    with a common lock it would wait for itself."""

    __slots__ = ("mutex", "_is_inside")

    def __init__(self):
        self.mutex = threading.RLock()
        self._is_inside = False

    def __enter__(self):
        if not self._enter(True):
            raise TritonModelException("A destructor cannot talk to the server while its thread does.")

    def __exit__(self, *_):
        self._is_inside = False
        self.mutex.release()

    def try_enter(self):
        """Whether it is this thread's now; then leave() it."""
        return self._enter(False)

    def leave(self):
        self.__exit__()

    def _enter(self, waits):
        if not self.mutex.acquire(waits):
            return False
        if self._is_inside:
            self.mutex.release()
            return False
        self._is_inside = True
        return True
