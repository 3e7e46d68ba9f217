"""Errors of the model's contract, and how an exception becomes text."""

import enum
import traceback

CLIENT_TEXT_LIMIT = 4096
FORKED = "A process that a model has forked can not talk to the server."


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
        if not isinstance(message, str):
            raise TypeError(f"TritonError() expects its message as str, not {type(message).__name__}")
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
        text = str(error)
    except Exception:  # its __str__ is the model's code
        text = "<its text cannot be had>"
    if len(text) > CLIENT_TEXT_LIMIT:
        text = text[:CLIENT_TEXT_LIMIT] + " ..."
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def traceback_text(error):
    """For the log: all of it."""
    try:
        return "".join(traceback.format_exception(type(error), error, error.__traceback__))
    except Exception:
        return exception_text(error)
