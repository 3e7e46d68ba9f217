#!/usr/bin/env python3
"""Trains the classifier of `atoll demo` and writes its numbers, and digits to ask it about, as C++.

    build/venv/bin/python etc/models/make_demo_digits.py

rewrites etc/programs/atoll-serve/demo_digits.inc. The data is the set of 1797 images of 8 x 8 pixels that comes with
scikit-learn. Weights are rounded to whole numbers from -127 to 127 and a scale for each layer, so that the text is small;
what is measured is the model with these. The digits are held out, one of each, and the model is right about them.

On one machine, one seed gives the same text at every run.
"""

import argparse
import pathlib
import sys

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier
from threadpoolctl import threadpool_limits

TARGET = pathlib.Path(__file__).resolve().parents[1] / "programs" / "atoll-serve" / "demo_digits.inc"
HIDDEN = 32
PIXEL_MAX = 16.0
WORST_ACCURACY = 0.95
SURE = 0.99
NUMBERS_A_LINE = 24


def train(images, labels, seed):
    network = MLPClassifier(hidden_layer_sizes=(HIDDEN,), alpha=1e-2, max_iter=1000, tol=1e-4, random_state=seed)
    # More threads would add up floating-point numbers in a varying order.
    with threadpool_limits(limits=1):
        return network.fit(images / PIXEL_MAX, labels)


def rounded(weights):
    """Whole numbers, and what to multiply them by."""
    scale = np.float32(np.abs(weights).max() / 127)
    return np.rint(weights / scale).astype(np.int64), scale


def probabilities_of(layers, images):
    """What the rounded model says."""
    (first, first_scale), (first_bias, first_bias_scale), (second, second_scale), (second_bias, second_bias_scale) = layers
    hidden = np.maximum(images @ (first * first_scale) + first_bias * first_bias_scale, 0)
    scores = hidden @ (second * second_scale) + second_bias * second_bias_scale
    exponents = np.exp(scores - scores.max(axis=1, keepdims=True))
    return exponents / exponents.sum(axis=1, keepdims=True)


def numbers_text(values):
    texts = [str(int(value)) for value in np.ravel(values)]
    lines = [", ".join(texts[at:at + NUMBERS_A_LINE]) for at in range(0, len(texts), NUMBERS_A_LINE)]
    return ",\n    ".join(lines)


def text_of(layers, digits, accuracy):
    lines = ["// Made by etc/models/make_demo_digits.py, which says how; not to be edited.",
             f"// The accuracy of the model on held-out digits is {accuracy:.4f}."]
    for name, (values, scale) in zip(("Hidden", "HiddenBias", "Output", "OutputBias"), layers):
        weights = name if name.endswith("Bias") else name + "Weights"
        lines += [f"constexpr float k{name}Scale = {float(scale):.9g}F;",
                  f"constexpr int8_t k{weights}[] = {{\n    {numbers_text(values)}}};"]
    lines.append("constexpr DemoDigit kDigits[] = {")
    lines += [f"    {{{label}, {{{', '.join(str(int(pixel)) for pixel in image)}}}}}," for label, image in digits]
    return "\n".join(lines) + "\n};\n"


def main():
    parser = argparse.ArgumentParser(description="Write the numbers of the model of `atoll demo`.")
    parser.add_argument("--output", metavar="FILE", type=pathlib.Path, default=TARGET, help="default: %(default)s")
    parser.add_argument("--seed", metavar="N", type=int, default=7)
    arguments = parser.parse_args()
    data = load_digits()
    train_images, test_images, train_labels, test_labels = train_test_split(
        data.data, data.target, test_size=0.2, stratify=data.target, random_state=arguments.seed)
    network = train(train_images, train_labels, arguments.seed)
    layers = [rounded(network.coefs_[0] / PIXEL_MAX), rounded(network.intercepts_[0]),
              rounded(network.coefs_[1]), rounded(network.intercepts_[1])]
    probabilities = probabilities_of(layers, test_images)
    answers = probabilities.argmax(axis=1)
    accuracy = float(np.mean(answers == test_labels))
    print(f"held-out accuracy: {accuracy:.4f} on {len(test_labels)} images")
    if accuracy < WORST_ACCURACY:
        sys.exit(f"error: accuracy below {WORST_ACCURACY}, nothing written")
    sure = [at for at in range(len(answers)) if answers[at] == test_labels[at] and probabilities[at].max() >= SURE]
    digits = [(label, test_images[next(at for at in sure if test_labels[at] == label)]) for label in range(10)]
    arguments.output.write_text(text_of(layers, digits, accuracy))
    print(f"numbers: {arguments.output}")


if __name__ == "__main__":
    main()
