#!/usr/bin/env python3
"""Trains a small classifier of handwritten digits and exports it for serving.

The data is the set of 1797 images of 8 x 8 pixels that comes with scikit-learn,
so nothing is downloaded. A fifth of it is held out, and written to a file of its
own for classify_digits.py to try against a running server.

On one machine, one seed gives the same bytes at every run.
"""

import argparse
import pathlib
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier
from threadpoolctl import threadpool_limits

MODEL = "digits"
MAX_BATCH_SIZE = 64
WORST_ACCURACY = 0.95
LABELS = ("zero", "one", "two", "three", "four",
          "five", "six", "seven", "eight", "nine")
PIXEL_MAX = 16.0

# Old enough for any runtime of recent years; nothing newer is needed.
OPSET = 17
IR_VERSION = 8

CONFIG = f"""\
name: "{MODEL}"
backend: "onnxruntime"
max_batch_size: {MAX_BATCH_SIZE}
input [
  {{ name: "image" data_type: TYPE_FP32 dims: [ 64 ] }}
]
output [
  {{
    name: "probabilities" data_type: TYPE_FP32 dims: [ 10 ]
    label_filename: "labels.txt"
  }},
  {{ name: "label" data_type: TYPE_INT64 dims: [ 1 ] }}
]
instance_group [ {{ kind: KIND_CPU count: 1 }} ]
"""


def train(images, labels, seed):
    network = MLPClassifier(hidden_layer_sizes=(64,), alpha=1e-3, max_iter=1000,
                            early_stopping=False, tol=1e-4, random_state=seed)
    # More threads would add up floating-point numbers in a varying order.
    with threadpool_limits(limits=1):
        return network.fit(images / PIXEL_MAX, labels)


def export(network):
    """Builds the graph: pixels from 0 to 16 in, probabilities and digit out."""
    first, second = (w.astype(np.float32) for w in network.coefs_)
    # The network was trained on pixels from 0 to 1.
    first /= np.float32(PIXEL_MAX)
    weights = {
        "hidden_weights": first,
        "hidden_bias": network.intercepts_[0].astype(np.float32),
        "output_weights": second,
        "output_bias": network.intercepts_[1].astype(np.float32),
    }
    graph = helper.make_graph(
        [
            helper.make_node("Gemm", ["image", "hidden_weights", "hidden_bias"],
                             ["hidden_sum"], name="hidden_layer"),
            helper.make_node("Relu", ["hidden_sum"], ["hidden"], name="activation"),
            helper.make_node("Gemm", ["hidden", "output_weights", "output_bias"],
                             ["scores"], name="output_layer"),
            helper.make_node("Softmax", ["scores"], ["probabilities"],
                             name="normalize", axis=1),
            helper.make_node("ArgMax", ["probabilities"], ["label"],
                             name="decide", axis=1, keepdims=1),
        ],
        MODEL,
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, ["batch", 64])],
        [
            helper.make_tensor_value_info(
                "probabilities", TensorProto.FLOAT, ["batch", 10]),
            helper.make_tensor_value_info("label", TensorProto.INT64, ["batch", 1]),
        ],
        [numpy_helper.from_array(array, name) for name, array in weights.items()])
    model = helper.make_model(
        graph, producer_name="train_digits", ir_version=IR_VERSION,
        opset_imports=[helper.make_opsetid("", OPSET)])
    onnx.checker.check_model(model, full_check=True)
    return model


def accuracy_of(model, images, labels):
    """Evaluates the graph itself, node by node in numpy."""
    _, answers = ReferenceEvaluator(model).run(None, {"image": images})
    return float(np.mean(answers[:, 0] == labels))


def main():
    parser = argparse.ArgumentParser(
        description="Train a digit classifier and write it into a model repository.")
    parser.add_argument("--output", metavar="DIR", type=pathlib.Path, required=True,
                        help="model repository to write the model into")
    parser.add_argument("--heldout", metavar="FILE", type=pathlib.Path,
                        help="where the held-out images go "
                             "(default: digits-heldout.npz beside DIR)")
    parser.add_argument("--seed", metavar="N", type=int, default=7)
    arguments = parser.parse_args()
    # Of the absolute path, because that of "." has no name and no parent.
    output = arguments.output.resolve()
    heldout = arguments.heldout or output.parent / "digits-heldout.npz"

    digits = load_digits()
    train_images, test_images, train_labels, test_labels = train_test_split(
        digits.data.astype(np.float32), digits.target.astype(np.int64),
        test_size=0.2, stratify=digits.target, random_state=arguments.seed)
    model = export(train(train_images, train_labels, arguments.seed))
    accuracy = accuracy_of(model, test_images, test_labels)
    print(f"held-out accuracy: {accuracy:.4f} on {len(test_labels)} images")
    if accuracy < WORST_ACCURACY:
        sys.exit(f"error: accuracy below {WORST_ACCURACY}, nothing written")

    folder = output / MODEL
    (folder / "1").mkdir(parents=True, exist_ok=True)
    (folder / "1" / "model.onnx").write_bytes(
        model.SerializeToString(deterministic=True))
    (folder / "labels.txt").write_text("".join(f"{label}\n" for label in LABELS))
    (folder / "config.pbtxt").write_text(CONFIG)
    heldout.parent.mkdir(parents=True, exist_ok=True)
    # Through a file object, for given a name savez may append to it.
    with open(heldout, "wb") as file:
        np.savez(file, images=test_images, labels=test_labels)
    print(f"model: {folder}")
    print(f"held-out images: {heldout}")


if __name__ == "__main__":
    main()
