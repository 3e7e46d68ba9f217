#!/usr/bin/env python3
"""Makes the model repository of the search: exports the encoder, and encodes the sentences that are searched."""

import argparse
import pathlib
import shutil
import sys

import numpy as np
import onnx
import onnxruntime
from encoder_files import fetch
from encoder_graph import encoder, pooling
from safetensors.numpy import load_file
from tokenizers import Tokenizer

HERE = pathlib.Path(__file__).resolve().parent
MAX_BATCH_SIZE = 32
ANSWERS = 3  # as models/nearest says

CONFIGS = {
    "encoder": f"""\
backend: "onnxruntime"
max_batch_size: {MAX_BATCH_SIZE}
input [ {{ name: "input_ids" data_type: TYPE_INT64 dims: [ -1 ] }}, {{ name: "attention_mask" data_type: TYPE_INT64 dims: [ -1 ] }} ]
output [ {{ name: "hidden" data_type: TYPE_FP32 dims: [ -1, 384 ] }} ]
dynamic_batching {{ max_queue_delay_microseconds: 500 }}
instance_group [ {{ kind: KIND_CPU count: 1 }} ]
""",
    "pooling": f"""\
backend: "onnxruntime"
max_batch_size: {MAX_BATCH_SIZE}
input [ {{ name: "hidden" data_type: TYPE_FP32 dims: [ -1, 384 ] }}, {{ name: "attention_mask" data_type: TYPE_INT64 dims: [ -1 ] }} ]
output [ {{ name: "embedding" data_type: TYPE_FP32 dims: [ 384 ] }} ]
instance_group [ {{ kind: KIND_CPU count: 1 }} ]
""",
}


def encode(sentences, tokenizer_file, encoder_file, pooling_file):
    """What the served models will make of each sentence."""
    tokenizer = Tokenizer.from_file(str(tokenizer_file))
    tokenizer.no_padding()
    first, second = (onnxruntime.InferenceSession(str(file), providers=["CPUExecutionProvider"])
                     for file in (encoder_file, pooling_file))
    rows = []
    for sentence in sentences:
        ids = np.array([tokenizer.encode(sentence).ids], np.int64)
        mask = np.ones_like(ids)
        hidden, = first.run(None, {"input_ids": ids, "attention_mask": mask})
        rows.append(second.run(None, {"hidden": hidden, "attention_mask": mask})[0][0])
    return np.array(rows)


def main():
    parser = argparse.ArgumentParser(description="Write the model repository of the search example.")
    parser.add_argument("--output", metavar="DIR", type=pathlib.Path, required=True, help="model repository to write")
    parser.add_argument("--text", metavar="FILE", type=pathlib.Path, default=HERE / "text.txt",
                        help="sentences to search, one a line (default: the one beside this script)")
    parser.add_argument("--encoder", metavar="DIR", type=pathlib.Path, default=pathlib.Path("build/minilm"),
                        help="where the encoder's files are, or are put (default: %(default)s)")
    arguments = parser.parse_args()
    sentences = [line.strip() for line in arguments.text.read_text().splitlines() if line.strip()]
    if len(sentences) < ANSWERS:
        sys.exit(f"error: {arguments.text} has {len(sentences)} sentences, expected {ANSWERS} at least: so many are answered")

    fetch(arguments.encoder)
    shutil.copytree(HERE / "models", arguments.output, dirs_exist_ok=True)
    weights = load_file(arguments.encoder / "model.safetensors")
    files = {}
    for name, model in (("encoder", encoder(weights)), ("pooling", pooling())):
        onnx.checker.check_model(model, full_check=True)
        folder = arguments.output / name
        (folder / "1").mkdir(parents=True, exist_ok=True)
        files[name] = folder / "1" / "model.onnx"
        onnx.save(model, files[name])
        (folder / "config.pbtxt").write_text(CONFIGS[name])
    shutil.copy(arguments.encoder / "tokenizer.json", arguments.output / "tokenizer" / "1")
    nearest = arguments.output / "nearest" / "1"
    np.save(nearest / "embeddings.npy", encode(sentences, arguments.encoder / "tokenizer.json", files["encoder"], files["pooling"]))
    (nearest / "sentences.txt").write_text("".join(f"{sentence}\n" for sentence in sentences))
    print(f"{len(sentences)} sentences of {arguments.text} can be searched in {arguments.output}")


if __name__ == "__main__":
    main()
