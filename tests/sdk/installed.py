"""What is built out of tree, as an author would do it, against an SDK that is installed."""

import os
import re
import subprocess

from support.server import BUILD


def run(*command, code=0, **options):
    environment = dict(os.environ)
    for name in ("DESTDIR", "CXXFLAGS", "CMAKE_PREFIX_PATH"):
        environment.pop(name, None)
    done = subprocess.run([str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors="replace", env=environment, timeout=600, **options)
    assert done.returncode == code, f"{command} ended with {done.returncode}\n{done.stdout}"
    return done.stdout


def cache_value(name):
    found = re.search(rf"^{name}(?::\w+)?=(.*)$", (BUILD / "CMakeCache.txt").read_text(), re.MULTILINE)
    return found.group(1) if found else ""


def install(prefix, *components):
    for component in components:
        run("cmake", "--install", BUILD, "--component", component, "--prefix", prefix)
    return prefix


def configure(prefix, folder, *arguments, code=0):
    """Configures the project of a folder as the guide says. Sanitizers have to be those of the server that shall load what
    is built; nothing that is only tested has to be fast."""
    sanitize = cache_value("ATOLL_SANITIZE")
    flags = "-O0 -Wall -Wextra -Wpedantic -Werror" + (f" -fsanitize={sanitize}" if sanitize else "")
    return run("cmake", "-S", folder, "-B", folder / "build", "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={prefix}",
               f"-DCMAKE_CXX_COMPILER={cache_value('CMAKE_CXX_COMPILER') or 'c++'}", f"-DCMAKE_CXX_FLAGS={flags}",
               f"-DCMAKE_CXX_COMPILER_LAUNCHER={cache_value('ATOLL_CCACHE').replace('ATOLL_CCACHE-NOTFOUND', '')}",
               *arguments, code=code)


def build_copy(prefix, source, folder):
    """Copies a folder of the installed SDK and builds it."""
    run("cp", "-r", prefix / source, folder)
    configure(prefix, folder)
    run("cmake", "--build", folder / "build")
    return folder


def symbols(file, which):
    """Names in the dynamic symbol table: `which` is "--defined-only" or "--undefined-only"."""
    return {line.split()[0] for line in run("nm", "-D", which, "--format=posix", file).splitlines()}
