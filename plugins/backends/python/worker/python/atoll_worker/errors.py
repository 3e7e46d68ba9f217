"""Errors of the model's contract, and how an exception becomes text."""

import enum
import traceback

from .arguments import text

CLIENT_TEXT_LIMIT = 4096
FORKED = "A process that a model has forked cannot talk to the server."


class TritonModelException(Exception):
    """Something that the server, or this module on its behalf, refuses."""


class ErrorCode(enum.IntEnum):
    UNKNOWN, INTERNAL, NOT_FOUND, INVALID_ARG, UNAVAILABLE, UNSUPPORTED, ALREADY_EXISTS, CANCELLED = range(8)


_CODES = tuple(ErrorCode)


class TritonError:
    """What a response has instead of tensors."""

    UNKNOWN, INTERNAL, NOT_FOUND, INVALID_ARG, UNAVAILABLE, UNSUPPORTED, ALREADY_EXISTS, CANCELLED = _CODES
    __slots__ = ("_message", "_code")

    def __init__(self, message, code=INTERNAL):
        message = text(message, "TritonError() expects its message")
        if isinstance(code, bool) or not isinstance(code, int):
            raise TypeError(f"TritonError() expects its code as int, not {type(code).__name__}")
        self._message = message
        self._code = _CODES[code] if 0 <= code < len(_CODES) else ErrorCode.INTERNAL

    def message(self):
        return self._message

    def code(self):
        return self._code


def exception_text(error):
    """For the client: class and message, without the traceback, which may tell what it should not know."""
    try:
        words = str(error)
    except Exception:  # its __str__ is the model's code
        words = "<its text cannot be had>"
    if len(words) > CLIENT_TEXT_LIMIT:
        words = words[:CLIENT_TEXT_LIMIT] + " ..."
    return f"{type(error).__name__}: {words}" if words else type(error).__name__


def traceback_text(error):
    """For the log: all of it."""
    try:
        return "".join(traceback.format_exception(type(error), error, error.__traceback__))
    except Exception:
        return exception_text(error)
