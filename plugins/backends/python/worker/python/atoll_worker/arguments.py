"""Arguments of the contract's classes: texts and numbers as Triton's module takes them."""

import operator


def text(value, what):
    """A str, or bytes in UTF-8."""
    if isinstance(value, str):
        return value
    if isinstance(value, (bytes, bytearray)):
        try:
            return str(value, "utf-8")
        except UnicodeDecodeError:
            raise TypeError(f"{what} as str, or as bytes in UTF-8, and these bytes are not") from None
    raise TypeError(f"{what} as str, not {type(value).__name__}")


def integer(value, what):
    """An int, NumPy's too."""
    try:
        return operator.index(value)
    except TypeError:
        raise TypeError(f"{what} as int, not {type(value).__name__}") from None
