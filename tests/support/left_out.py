"""Which files of tests are left out because an engine that is fetched by name only is not there, and why. The last lines of a run say so."""

import os
import pathlib

from support.openai_node import PROGRAM as NODE
from support.openvino_models import ENGINE
from support.prometheus import PROGRAM
from support.tensorflow_models import LIBRARY

TESTS = pathlib.Path(__file__).resolve().parent.parent


def of_openvino():
    """Patterns of files of tests/openvino, and the reason."""
    if not list(ENGINE.glob("libopenvino_c.so*")):
        return {"test_*.py": f"there is no OpenVINO in {ENGINE}"}
    if "ATOLL_OPENVINO_PYTHON" not in os.environ:
        return {"test_openvino_answers.py": "ATOLL_OPENVINO_PYTHON names no Python with OpenVINO"}
    return {}


def of_tensorflow():
    return {} if LIBRARY.exists() else {"test_tensorflow.py": f"there is no {LIBRARY}"}


def of_prometheus():
    return {} if PROGRAM.exists() else {"test_*.py": f"there is no {PROGRAM}"}


def of_openai_node():
    """Patterns of files of tests/openai."""
    return {} if NODE.exists() else {"test_node_client.py": f"there is no {NODE}"}


def lines(asked):
    """What the last lines of a run say, whose command line names the files and folders `asked`."""
    asked = [pathlib.Path(path.split("::")[0]).resolve() for path in asked]
    for name, files, cure in (("openvino", of_openvino(), "etc/dev/test-openvino brings it and runs them"),
                              ("tensorflow", of_tensorflow(), "etc/dev/test-tensorflow brings it and runs them"),
                              ("openai", of_openai_node(), "etc/dev/fetch-openai-node brings what it needs"),
                              ("prometheus", of_prometheus(), "etc/dev/fetch-prometheus brings it")):
        folder = TESTS / name
        if any(folder == path or folder.is_relative_to(path) or path.is_relative_to(folder) for path in asked):
            for pattern, reason in files.items():
                yield f"LEFT OUT: tests/{name}/{pattern}: {reason}; {cure}"
