#!/usr/bin/env python3
"""Makes a model for embeddings: the sentence encoder all-MiniLM-L6-v2 (Apache-2.0) as a GGUF file of 45 MB.

    etc/models/write_minilm.py --output FILE.gguf [--encoder build/minilm]

The weights are those of etc/examples/search, which come out of a Python package. Needs NumPy. Does nothing if the file is there.
"""

import argparse
import json
import os
import pathlib
import struct
import sys

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "examples" / "search")]
from bert_gguf import write_bert  # noqa: E402
from encoder_files import fetch  # noqa: E402

HEADS = 12


def read_safetensors(path):
    """The tensors of F32 of a file of safetensors: the size of a head, the head in JSON, and the bytes."""
    data = path.read_bytes()
    size, = struct.unpack_from("<Q", data)
    entries = json.loads(data[8:8 + size])
    return {name: np.frombuffer(data, np.float32, offset=8 + size + entry["data_offsets"][0],
                                count=int(np.prod(entry["shape"]))).reshape(entry["shape"])
            for name, entry in entries.items() if name != "__metadata__" and entry["dtype"] == "F32"}


def write_minilm(output, encoder):
    fetch(encoder)
    vocabulary = json.loads((encoder / "tokenizer.json").read_text())["model"]["vocab"]
    tokens = sorted(vocabulary, key=vocabulary.__getitem__)
    part = output.with_suffix(".part")
    write_bert(part, read_safetensors(encoder / "model.safetensors"), tokens, HEADS, "mean", "all-MiniLM-L6-v2", np.float16)
    os.replace(part, output)


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--output", type=pathlib.Path, required=True)
    arguments.add_argument("--encoder", metavar="DIR", type=pathlib.Path, default=pathlib.Path("build/minilm"),
                           help="where the encoder's files are, or are put (default: %(default)s)")
    given = arguments.parse_args()
    if not given.output.exists():
        given.output.parent.mkdir(parents=True, exist_ok=True)
        write_minilm(given.output, given.encoder)
    print(given.output)


if __name__ == "__main__":
    main()
