"""Puts the shared libraries that programs and plugins are linked with beside them, so that any system with a recent glibc runs
them. What is opened at run time by a name of its own (CUDA, ONNX Runtime, libtorch) stays the user's."""

import os
import pathlib
import re
import shutil
import subprocess

# What manylinux_2_36 lets a wheel expect: the C and C++ runtimes.
PLATFORM = {"ld-linux-x86-64.so.2", "libc.so.6", "libdl.so.2", "libgcc_s.so.1", "libm.so.6", "libnsl.so.1", "libpthread.so.0",
            "libresolv.so.2", "librt.so.1", "libstdc++.so.6", "libutil.so.1"}
FOLDER = "lib/private"


def run(*command):
    return subprocess.run([str(word) for word in command], check=True, text=True, stdout=subprocess.PIPE).stdout


def is_elf(path):
    with path.open("rb") as file:
        return file.read(4) == b"\x7fELF"


def binaries(prefix):
    return sorted(path for path in prefix.rglob("*") if path.is_file() and not path.is_symlink() and is_elf(path))


def needed(path):
    return re.findall(r"\(NEEDED\).*\[(.*)\]", run("readelf", "-dW", path))


def search_path(path):
    return [part for found in re.findall(r"\((?:RPATH|RUNPATH)\).*\[(.*)\]", run("readelf", "-dW", path)) for part in found.split(":")]


def system_libraries():
    """{SONAME: file} of this machine's libraries of x86-64."""
    listed = re.findall(r"^\s*(\S+) \(libc6,x86-64[^)]*\) => (\S+)$", run("/sbin/ldconfig", "-p"), re.MULTILINE)
    libraries = {}
    for name, file in listed:
        libraries.setdefault(name, pathlib.Path(file))
    return libraries


def bundle(prefix):
    """Copies the libraries and sets where all look for them. Returns {SONAME: the system's file that was copied}."""
    own = binaries(prefix)
    there, system = {path.name for path in own}, system_libraries()
    bundled, todo = {}, list(own)
    while todo:
        path = todo.pop()
        for name in needed(path):
            if name in PLATFORM or name in there or name in bundled:
                continue
            if name not in system:
                raise FileNotFoundError(f"{path} needs {name}, which this machine does not have")
            bundled[name] = system[name].resolve()
            todo.append(bundled[name])
    private = prefix / FOLDER
    if bundled:
        private.mkdir(parents=True)
    for name, file in bundled.items():
        shutil.copyfile(file, private / name)
    for path in own + sorted(private.glob("*")):
        if any(name in bundled for name in needed(path)):
            # What it looks through already comes first. RPATH and not RUNPATH: it holds for what the library opens, too.
            parts = search_path(path)
            parts.append(os.path.join("$ORIGIN", os.path.relpath(private, path.parent)) if path.parent != private else "$ORIGIN")
            run("patchelf", "--force-rpath", "--set-rpath", ":".join(parts), path)
    return bundled
