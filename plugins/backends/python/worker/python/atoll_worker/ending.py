"""The end of a worker that can not go on. It is at once, whatever threads the model has: an exception that only ends one thread would
leave everybody waiting who waits for it."""

import os
import sys

from .errors import traceback_text


def end_worker(what, error):
    """The server logs what is said here, answers all that is open, and starts another worker."""
    try:
        sys.stdout.flush()
        sys.stderr.write(f"the worker ends because {what}:\n{traceback_text(error)}")
        sys.stderr.flush()
    except Exception:
        pass  # closed or replaced by the model
    finally:
        os._exit(1)
