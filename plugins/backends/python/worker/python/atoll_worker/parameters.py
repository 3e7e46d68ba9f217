"""Parameters of requests and responses: a dictionary becomes JSON."""

import json

from .errors import TritonModelException


def to_text(parameters):
    """"" for none. Only what every protocol can carry is taken."""
    if not parameters:
        if parameters is None or isinstance(parameters, dict):
            return ""
    if not isinstance(parameters, dict):
        raise TritonModelException(f"Expect parameters as dict, got {type(parameters)}")
    for key, value in parameters.items():
        if not isinstance(key, str):
            raise TritonModelException(f"Expect parameters keys to have type str, found type {type(key)}")
        if not isinstance(value, (bool, int, str)):
            raise TritonModelException(f"Expect parameters values to have type bool/int/str, found type {type(value)}")
    return json.dumps(parameters, ensure_ascii=False)
