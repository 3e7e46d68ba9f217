"""Imports the model's file."""

import importlib.util
import os
import sys
import types


def import_contract():
    """Ours is what models import, whatever else of these names their folders or the interpreter's packages have."""
    folder = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    sys.path.insert(0, folder)
    try:
        import c_python_backend_utils  # noqa: F401
        import triton_python_backend_utils  # noqa: F401
    except ModuleNotFoundError as error:
        if error.name == "numpy":
            raise ModuleNotFoundError("Python models need NumPy") from None
        raise
    finally:
        sys.path.remove(folder)
    if folder not in sys.path:
        sys.path.append(folder)


def import_model(module_path, module_name, paths):
    """The module of the file, as `paths` (appended to sys.path) and the name's package let it import what lies beside it."""
    if not os.path.isfile(module_path):
        raise FileNotFoundError(f"Python model file not found in '{module_path}'")
    for path in paths:
        if path not in sys.path:
            sys.path.append(path)
    package = module_name.rpartition(".")[0]
    if package:
        # `from . import helper` works, whatever else of that name sys.path has.
        parent = types.ModuleType(package)
        parent.__path__ = [os.path.dirname(module_path)]
        sys.modules[package] = parent
    spec = importlib.util.spec_from_file_location(module_name, module_path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[module_name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        sys.modules.pop(module_name, None)
        raise
    return module
