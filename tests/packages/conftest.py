import sys

import pytest
from support.server import ROOT, SANITIZED

sys.path.insert(0, str(ROOT / "tests" / "sdk"))

from packed import make_packages  # noqa: E402

# What is packed is the release: a build with sanitizers needs their libraries, which no package has.
collect_ignore_glob = ["test_*wheel*.py", "test_deb.py"] if SANITIZED else []


@pytest.fixture(scope="session")
def packed(tmp_path_factory):
    """A folder with both wheels."""
    return make_packages("wheel", tmp_path_factory.mktemp("packages"))


@pytest.fixture(scope="session")
def wheel(packed):
    return next(packed.glob("atoll_server-*.whl"))


@pytest.fixture(scope="session")
def sdk_wheel(packed):
    return next(packed.glob("atoll_server_sdk-*.whl"))
