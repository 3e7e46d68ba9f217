"""What authors of plugins for the Atoll inference server need: headers, the CMake package, templates and atoll-lint. FOLDER is
laid out as an installation below /usr is."""

import os

FOLDER = os.path.dirname(os.path.abspath(__file__))
CMAKE_DIR = os.path.join(FOLDER, "lib", "cmake", "Atoll")
TEMPLATE_DIR = os.path.join(FOLDER, "share", "atoll", "template")


def atoll_lint():
    import signal
    import sys

    path = os.path.join(FOLDER, "bin", "atoll-lint")
    for name in ("SIGPIPE", "SIGXFSZ"):  # Python ignores them, and the program would, too
        signal.signal(getattr(signal, name), signal.SIG_DFL)
    try:
        os.execv(path, [path, *sys.argv[1:]])
    except OSError as error:
        sys.exit(f"atoll-lint: {path} cannot be started: {error.strerror}; this package is for Linux on x86-64 with glibc 2.36 or later")
