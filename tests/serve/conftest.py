import pytest
from support import models


@pytest.fixture
def folder(tmp_path):
    """A repository with one model, and a loose one beside it."""
    path = tmp_path / "models"
    models.write_model(path, "echo", models.identity_config("echo"))
    (path / "plus two.onnx").write_bytes(models.onnx_add(2))
    return path


@pytest.fixture
def temporary(tmp_path):
    path = tmp_path / "temporary"
    path.mkdir()
    return path
