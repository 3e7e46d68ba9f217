#!/usr/bin/env python3
"""Trains a small convolutional network on handwritten digits and saves it by TorchScript for serving.

Needs torch and numpy alone (Debian: python3-torch, run by /usr/bin/python3). The images are those that come with
scikit-learn, in its package's file datasets/data/digits.csv.gz. A fifth of them is held out, and written to a file
for classify_digits.py to try against a running server. One seed gives the same weights at every run on one machine.
"""

import argparse
import pathlib
import sys

import numpy as np
import torch

MODEL = "digits_torch"
WORST_ACCURACY = 0.95
PIXEL_MAX = 16.0
EPOCHS = 25
BATCH_SIZE = 64

CONFIG = f"""\
name: "{MODEL}"
platform: "pytorch_libtorch"
max_batch_size: 64
input [
  {{ name: "image" data_type: TYPE_FP32 dims: [ 64 ] }}
]
output [
  {{ name: "probabilities" data_type: TYPE_FP32 dims: [ 10 ] }},
  {{ name: "label" data_type: TYPE_INT64 dims: [ 1 ] }}
]
dynamic_batching {{ }}
instance_group [ {{ kind: KIND_CPU count: 1 }} ]
parameters {{ key: "INTRA_OP_THREAD_COUNT" value {{ string_value: "1" }} }}
"""


class Digits(torch.nn.Module):
    """Pixels from 0 to 16 in, probabilities and digit out; the input of the configuration is named as the argument."""

    def __init__(self):
        super().__init__()
        self.features = torch.nn.Sequential(
            torch.nn.Conv2d(1, 16, 3, padding=1), torch.nn.ReLU(),
            torch.nn.Conv2d(16, 32, 3, padding=1), torch.nn.ReLU(), torch.nn.MaxPool2d(2), torch.nn.Flatten())
        self.classes = torch.nn.Linear(32 * 4 * 4, 10)

    def scores(self, image):
        return self.classes(self.features(image.reshape(-1, 1, 8, 8) / 16.0))

    def forward(self, image):
        probabilities = torch.softmax(self.scores(image), 1)
        return probabilities, torch.argmax(probabilities, 1, keepdim=True)


def train(network, images, labels):
    optimizer = torch.optim.Adam(network.parameters(), lr=2e-3)
    for _ in range(EPOCHS):
        order = torch.randperm(len(images))
        for begin in range(0, len(images), BATCH_SIZE):
            rows = order[begin:begin + BATCH_SIZE]
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(network.scores(images[rows]), labels[rows]).backward()
            optimizer.step()
    return network.eval()


def main():
    parser = argparse.ArgumentParser(description="Train a digit classifier with PyTorch and write it into a model repository.")
    parser.add_argument("--digits", metavar="FILE", type=pathlib.Path, required=True, help="scikit-learn's digits.csv.gz")
    parser.add_argument("--output", metavar="DIR", type=pathlib.Path, required=True, help="model repository to write the model into")
    parser.add_argument("--heldout", metavar="FILE", type=pathlib.Path, help="where the held-out images go")
    parser.add_argument("--seed", metavar="N", type=int, default=7)
    arguments = parser.parse_args()
    torch.manual_seed(arguments.seed)
    torch.set_num_threads(1)

    table = np.loadtxt(arguments.digits, delimiter=",", dtype=np.float32)
    table = table[np.random.default_rng(arguments.seed).permutation(len(table))]
    images, labels = table[:, :-1], table[:, -1].astype(np.int64)
    held_out = len(table) // 5
    network = train(Digits(), torch.tensor(images[held_out:]), torch.tensor(labels[held_out:]))
    script = torch.jit.script(network)
    with torch.no_grad():
        answers = script(torch.tensor(images[:held_out]))[1][:, 0]
    accuracy = float((answers == torch.tensor(labels[:held_out])).float().mean())
    print(f"held-out accuracy: {accuracy:.4f} on {held_out} images")
    if accuracy < WORST_ACCURACY:
        sys.exit(f"error: accuracy below {WORST_ACCURACY}, nothing written")

    folder = arguments.output / MODEL
    (folder / "1").mkdir(parents=True, exist_ok=True)
    script.save(str(folder / "1" / "model.pt"))
    (folder / "config.pbtxt").write_text(CONFIG)
    if arguments.heldout is not None:
        with open(arguments.heldout, "wb") as file:
            np.savez(file, images=images[:held_out], labels=labels[:held_out])
    print(f"model: {folder}")


if __name__ == "__main__":
    main()
