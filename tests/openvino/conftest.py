"""Tests of backends/openvino need OpenVINO, and some its own Python, which etc/dev/test-openvino fetches. Where they are not there the
tests are left out, and the last lines of the run say so."""

import os

from support.openvino_models import ENGINE

LEFT_OUT = {}
if not list(ENGINE.glob("libopenvino_c.so*")):
    LEFT_OUT["test_*.py"] = f"there is no OpenVINO in {ENGINE}"
elif "ATOLL_OPENVINO_PYTHON" not in os.environ:
    LEFT_OUT["test_openvino_answers.py"] = "ATOLL_OPENVINO_PYTHON names no Python with OpenVINO"
collect_ignore_glob = list(LEFT_OUT)


def pytest_terminal_summary(terminalreporter):
    for files, reason in LEFT_OUT.items():
        terminalreporter.write_line(f"LEFT OUT: tests/openvino/{files}: {reason}; etc/dev/test-openvino runs them")
