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


def left_behind(module_path, name):
    """What to do about a module that lies beside the file that the model's file is a link to; empty: there is none."""
    folder, own = (os.path.dirname(path(module_path)) for path in (os.path.realpath, os.path.abspath))
    top = (name or "").partition(".")[0]
    for beside in (f"{top}.py", top):
        if top and os.path.exists(os.path.join(folder, beside)) and not os.path.exists(os.path.join(own, beside)):
            return (f"; {beside} lies beside the file that {os.path.basename(module_path)} is a link to, and is not in the model's version "
                    f"folder: serve a repository whose folder MODEL/1 has both")
    return ""


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
