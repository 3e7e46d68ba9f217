"""What a Python worker runs, where users may enter who may not enter the tree: it may lie in a home that is closed to them."""

import contextlib
import json
import os
import pathlib
import shutil
import subprocess
import tempfile

from .python_models import INTERPRETER
from .server import BUILD

PLUGIN = "plugins/backends/python.so"
# Of the interpreter: where its own files are, and numpy's.
ABOUT = ("import json, numpy, sys; print(json.dumps([sys._base_executable, sys.base_prefix, "
         "f'python{sys.version_info.major}.{sys.version_info.minor}', numpy.__path__[0]]))")


@contextlib.contextmanager
def folder_for_all():
    """A folder that everybody may enter; what is made in it may be for fewer."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="atoll-open-", dir="/tmp"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


def copy(source, to, leave_out=()):
    """Links become what they lead to, and all of it may be read by everybody."""
    if source.is_dir():
        shutil.copytree(source, to, ignore=shutil.ignore_patterns("__pycache__", *leave_out))
    else:
        shutil.copy(source, to)
    for entry in (to, *to.rglob("*")):
        entry.chmod(entry.stat().st_mode | (0o555 if entry.is_dir() else 0o444))


def runs_for_nobody(program):
    """By a shell: setpriv itself begins with root's capabilities a program that the user could not begin."""
    return subprocess.run(["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", "sh", "-c", '"$0" -c "import json"', program],
                          stderr=subprocess.DEVNULL).returncode == 0


def before(first, variable):
    return os.pathsep.join(filter(None, [str(first), os.environ.get(variable)]))


class OpenPlace:
    """Files of a folder that is open to all, and the server's settings and variables with which its workers run them."""

    def __init__(self, folder):
        interpreter = json.loads("[" + INTERPRETER.partition("=")[2] + "]")[0]
        program, prefix, version, numpy = json.loads(subprocess.check_output([interpreter, "-c", ABOUT]))
        for name in ("packages", "bin", "lib", "atoll/plugins/backends"):
            (folder / name).mkdir(parents=True)
        for made in folder.rglob("*"):
            made.chmod(0o755)
        for package in (pathlib.Path(numpy), pathlib.Path(f"{numpy}.libs")):
            if package.exists():
                copy(package, folder / "packages" / package.name, leave_out=["tests"])
        self.environment = {"PYTHONPATH": before(folder / "packages", "PYTHONPATH")}
        if not runs_for_nobody(program):
            self._copy_interpreter(pathlib.Path(program), pathlib.Path(prefix) / "lib", version, folder)
            program = folder / "bin" / version
        # The plugin finds what its workers run beside itself.
        copy(BUILD / "lib" / "atoll" / PLUGIN, folder / "atoll" / PLUGIN)
        self.worker = folder / "atoll" / "python"
        copy(BUILD / "lib" / "atoll" / "python", self.worker)
        self.settings = (f'plugin.python.file="{folder}/atoll/{PLUGIN}"', f'plugin.python.interpreter="{program}"')

    def _copy_interpreter(self, program, libraries, version, folder):
        copy(program, folder / "bin" / version)
        copy(libraries / version, folder / "lib" / version, leave_out=["test", "site-packages", "config-*"])
        for library in libraries.glob("libpython*.so*"):
            copy(library, folder / "lib" / library.name)
        self.environment["LD_LIBRARY_PATH"] = before(folder / "lib", "LD_LIBRARY_PATH")
