import os
import sys
import textwrap

import pytest

from fake_python_server import HEAD, FakeServer


@pytest.fixture
def serve(tmp_path):
    """serve(source, ...) starts a worker with this model and initialises it. ATOLL_TEST_PYTHON: another interpreter."""
    servers = []

    def start(source, *, initialize=True, interpreter=None, **settings):
        folder = tmp_path / f"m{len(servers)}"
        folder.mkdir()
        interpreter = interpreter or os.environ.get("ATOLL_TEST_PYTHON", sys.executable)
        server = FakeServer(interpreter, folder, HEAD + textwrap.dedent(source), **settings)
        servers.append(server)
        return server.started() if initialize else server

    yield start
    for server in servers:
        server.__exit__()
