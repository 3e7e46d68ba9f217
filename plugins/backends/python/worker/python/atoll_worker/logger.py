"""pb_utils.Logger, and where the records of Python's own logging go when the model has not set it up."""

import logging
import sys

from . import layout, session
from .errors import TritonModelException, traceback_text

INFO, WARNING, ERROR, VERBOSE = range(4)


def send(level, message, file, line):
    """To the server's log; to stderr where there is no server. file: empty where the message says the place itself, as a traceback does"""
    current = session.current
    if current is None:
        print(message, file=sys.stderr)
        return
    try:
        current.link.send_json(layout.LOG, {"level": level, "message": message, "file": file, "line": line})
    except TritonModelException:  # a destructor's, a forked process's, or there is no memory left
        print(message, file=sys.stderr)


def log_failure(what, error):
    """An exception that nobody else gets to see, with its traceback. Raises nothing."""
    text = f"{what}:\n{traceback_text(error)}"
    try:
        send(ERROR, text, "", 0)
    except Exception:
        print(text, file=sys.stderr)


def _send_from_caller(level, message):
    if message is None:
        raise TypeError("Logger expects its message as str, not NoneType")
    if isinstance(message, (bytes, bytearray)):
        message = str(message, "utf-8", "replace")
    frame = sys._getframe(2)
    send(level, str(message), frame.f_code.co_filename, frame.f_lineno)


class Logger:
    """Lines of the server's log, with file and line of the caller."""

    INFO, WARNING, ERROR, VERBOSE = INFO, WARNING, ERROR, VERBOSE

    @staticmethod
    def log(message, level=INFO):
        _send_from_caller(level if level in (INFO, WARNING, ERROR, VERBOSE) else INFO, message)

    @staticmethod
    def log_info(message):
        _send_from_caller(INFO, message)

    @staticmethod
    def log_warn(message):
        _send_from_caller(WARNING, message)

    @staticmethod
    def log_error(message):
        _send_from_caller(ERROR, message)

    @staticmethod
    def log_verbose(message):
        _send_from_caller(VERBOSE, message)


class _LastResort(logging.Handler):
    def emit(self, record):
        try:
            level = ERROR if record.levelno >= logging.ERROR else WARNING
            send(level, self.format(record), record.pathname, record.lineno)
        except Exception:
            self.handleError(record)


def take_over_logging():
    """Records that no handler takes go to the server's log; a model's own handlers and logging.basicConfig() work as ever."""
    logging.lastResort = _LastResort(logging.WARNING)
