import pytest
from installed import run
from support.server import BUILD


@pytest.fixture(scope="session")
def prefix(tmp_path_factory):
    """The installed SDK."""
    prefix = tmp_path_factory.mktemp("installed")
    run("cmake", "--install", BUILD, "--component", "sdk", "--prefix", prefix)
    return prefix
