import os
import pathlib
import sys
import threading

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from support.control import PROTOCOLS, Control  # noqa: E402
from support.grpc_frontends import GRPC_FRONTENDS  # noqa: E402


def pytest_configure(config):
    config.addinivalue_line("markers", "as_root: its server runs models as other users; etc/dev/test takes sudo for it")


def pytest_sessionfinish(session, exitstatus):
    session.config.exit_code = int(exitstatus)


def pytest_unconfigure(config):
    """A test that failed may have left threads behind, which the interpreter would wait for, for ever."""
    left = [thread.name for thread in threading.enumerate() if thread is not threading.main_thread() and not thread.daemon]
    if left:
        print(f"tests have left threads behind: {', '.join(left)}", file=sys.stderr, flush=True)
        sys.stdout.flush()
        os._exit(getattr(config, "exit_code", 1) or 1)


def pytest_runtest_setup(item):
    if item.get_closest_marker("as_root"):
        assert os.geteuid() == 0, "the server of this test has to be root's: etc/dev/test runs it with sudo"


@pytest.fixture(params=PROTOCOLS)
def control(request, server):
    """A client of either protocol of a module's own server, which has nothing loaded."""
    with Control(server, request.param) as control:
        for model in control.index():
            control.unload(model)
        yield control


@pytest.fixture(scope="module", params=GRPC_FRONTENDS)
def grpc_frontend(request):
    """The plugin that serves gRPC, for tests that hold for each of them."""
    return request.param
