import pytest
from installed import install


@pytest.fixture(scope="session")
def prefix(tmp_path_factory):
    """The installed SDK."""
    return install(tmp_path_factory.mktemp("sdk"), "sdk")


@pytest.fixture(scope="session")
def whole_prefix(tmp_path_factory):
    """The installed SDK with the generated protocol code."""
    return install(tmp_path_factory.mktemp("whole_sdk"), "sdk", "proto")


@pytest.fixture(scope="session")
def server_prefix(tmp_path_factory):
    """The installed server, with ONNX Runtime."""
    return install(tmp_path_factory.mktemp("server"), "server", "onnxruntime")
