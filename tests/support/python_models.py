"""Python models written to disk for the tests."""

import contextlib
import os
import pathlib
import sys
import textwrap

from support import models

# The interpreter of the tests has what models need; the one of the PATH may not. ATOLL_TEST_PYTHON: another one.
INTERPRETER = f'plugin.python.interpreter="{os.environ.get("ATOLL_TEST_PYTHON", sys.executable)}"'

HEAD = """\
import asyncio, json, os, signal, sys, threading, time
import numpy as np
import triton_python_backend_utils as pb_utils

def value(request, name="INPUT0"):
    return pb_utils.get_input_tensor_by_name(request, name).as_numpy()

def answer(array, name="OUTPUT0", **more):
    return pb_utils.InferenceResponse([pb_utils.Tensor(name, array)], **more)

"""


def write(repository, name, body, config_type="TYPE_FP32", dims=(-1,), max_batch_size=0, extra="", config=None):
    """A model with INPUT0 and OUTPUT0. body: of the class, without its first line"""
    if config is None:
        config = (f'name: "{name}" backend: "python" max_batch_size: {max_batch_size}\n' +
                  models.tensor_config("input", "INPUT0", config_type, dims) +
                  models.tensor_config("output", "OUTPUT0", config_type, dims) + extra)
    text = HEAD + "class TritonPythonModel:\n" + textwrap.indent(textwrap.dedent(body), "    ")
    return models.write_model(repository, name, config, files={"model.py": text.encode()})


IDENTITY = """\
def execute(self, requests):
    return [answer(value(request)) for request in requests]
"""


def children(pid):
    """Processes that a process has started: of a server its workers."""
    found = []
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # a thread that ends meanwhile
            found += [int(child) for child in (task / "children").read_text().split()]
    return found
