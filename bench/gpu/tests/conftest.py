import pathlib
import sys

import pytest

FOLDER = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(FOLDER), str(FOLDER / "tests")]


@pytest.fixture(scope="package", autouse=True)
def programs():
    from gpu_programs import build
    build()
