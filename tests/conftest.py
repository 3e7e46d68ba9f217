import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from support.control import PROTOCOLS, Control  # noqa: E402
from support.grpc_frontends import GRPC_FRONTENDS  # noqa: E402


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
