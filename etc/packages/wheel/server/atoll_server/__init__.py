"""Atoll, an inference server. This package holds its programs, plugins and libraries, as they are installed elsewhere below
/usr; FOLDER is where. Each command of the package becomes the program of its name: nothing of Python stays in its process."""

import os
import shutil
import signal
import sys

FOLDER = os.path.dirname(os.path.abspath(__file__))


def _environment():
    """Python models run with the interpreter that this package is installed for, as their packages are there: the default
    `python3` has to lead to it, also where its virtual environment is not activated."""
    environment = dict(os.environ)
    folder = os.path.dirname(os.path.abspath(sys.executable)) if sys.executable else ""
    python = os.path.join(folder, "python3")
    found = shutil.which("python3")
    if folder and os.access(python, os.X_OK) and (found is None or os.path.abspath(found) != python):
        environment["PATH"] = os.pathsep.join([folder, environment.get("PATH") or os.defpath])
    return environment


def _become(program):
    path = os.path.join(FOLDER, "bin", program)
    # Python ignores these signals, and what is ignored stays so in another program.
    for name in ("SIGPIPE", "SIGXFSZ"):
        signal.signal(getattr(signal, name), signal.SIG_DFL)
    try:
        os.execve(path, [path, *sys.argv[1:]], _environment())
    except OSError as error:
        sys.exit(f"{program}: {path} cannot be started: {error.strerror}; this package is for Linux on x86-64 with glibc 2.36 or later")


def atoll():
    _become("atoll")


def atoll_config():
    _become("atoll-config")


def atollctl():
    _become("atollctl")


def tritonserver():
    _become("tritonserver")
