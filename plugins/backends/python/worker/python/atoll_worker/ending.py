"""The end of a worker that cannot go on. It is at once, whatever threads the model has: an exception that only ends one thread would
leave everybody waiting who waits for it."""

import os

from .errors import traceback_text

_STDERR = 2  # not sys.stderr, which the model may have closed or replaced


def end_worker(what, error):
    """The server logs what is said here, answers all that is open, and starts another worker."""
    try:
        words = f"the worker ends because {what}:\n{traceback_text(error)}".encode("utf-8", "replace")
        while words:
            words = words[os.write(_STDERR, words):]
    finally:
        os._exit(1)
