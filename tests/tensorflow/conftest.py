"""Leaves the tests out, and says so, where TensorFlow is not."""

from support import tensorflow_models

if not tensorflow_models.LIBRARY.exists():
    collect_ignore = ["test_tensorflow.py"]

    def pytest_terminal_summary(terminalreporter):
        terminalreporter.write_line(f"tests/tensorflow is left out: there is no {tensorflow_models.LIBRARY}; "
                                    "etc/dev/test-tensorflow brings it and runs them")
