#!/usr/bin/env python3
"""Sends held-out digits to a running server and reports how well it does.

First one request for each image, then the same images in batches. Exits with 1
if a request fails, if an answer contradicts itself or if too many are wrong.
"""

import argparse
import sys
import time

import grpc
import numpy as np
import tritonclient.grpc as client_lib
from tritonclient.utils import InferenceServerException

WORST_ACCURACY = 0.95
CONNECT_TIMEOUT_S = 10
REQUEST_TIMEOUT_S = 60


class Failure(Exception):
    """Something the user should read as one line."""


def positive(text):
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return value


def load(path):
    try:
        with np.load(path) as data:
            images, labels = data["images"], data["labels"]
    except (OSError, KeyError, ValueError) as error:
        raise Failure(f"cannot read {path}: {error}") from error
    if len(images) == 0 or len(images) != len(labels):
        raise Failure(f"{path} holds {len(images)} images and {len(labels)} labels")
    return images.astype(np.float32), labels


def connect(url, model, wait_s):
    """A client once the model is ready; a server that just starts gets wait_s seconds to come up."""
    client = client_lib.InferenceServerClient(url)
    give_up = time.monotonic() + wait_s
    while True:
        try:
            if client.is_model_ready(model, client_timeout=CONNECT_TIMEOUT_S):
                return client
            problem = f"model {model} at {url} is not ready"
        except (InferenceServerException, grpc.RpcError) as error:
            text = error.message() if isinstance(error, InferenceServerException) else error
            problem = f"cannot reach model {model} at {url}: {text}"
        if time.monotonic() > give_up:
            raise Failure(problem)
        time.sleep(0.1)


def classify(client, model, images):
    """Returns the digits of some images and the seconds that this took."""
    tensor = client_lib.InferInput("image", list(images.shape), "FP32")
    tensor.set_data_from_numpy(images)
    outputs = [client_lib.InferRequestedOutput(name)
               for name in ("probabilities", "label")]
    begin = time.perf_counter()
    result = client.infer(model, [tensor], outputs=outputs,
                          client_timeout=REQUEST_TIMEOUT_S)
    seconds = time.perf_counter() - begin

    probabilities = result.as_numpy("probabilities")
    answers = result.as_numpy("label")
    for name, array, shape in (("probabilities", probabilities, (len(images), 10)),
                               ("label", answers, (len(images), 1))):
        if array is None or array.shape != shape:
            got = "nothing" if array is None else f"shape {array.shape}"
            raise Failure(f"output {name}: expected shape {shape}, got {got}")
    if not np.allclose(probabilities.sum(axis=1), 1.0, atol=1e-4):
        raise Failure("the probabilities of an image do not add up to 1")
    if not np.array_equal(probabilities.argmax(axis=1), answers[:, 0]):
        raise Failure("a label is not the one with the highest probability")
    return answers[:, 0], seconds


def run_pass(client, model, images, batch):
    """Sends all images, batch at a time, and prints how long it took."""
    answers, latencies = [], []
    begin = time.perf_counter()
    for start in range(0, len(images), batch):
        digits, seconds = classify(client, model, images[start:start + batch])
        answers.append(digits)
        latencies.append(seconds)
    total = time.perf_counter() - begin
    p50, p90, p99 = np.percentile(np.array(latencies) * 1e3, [50, 90, 99])
    print(f"  requests: {len(latencies)} of up to {batch} image(s)")
    print(f"  latency: p50 {p50:.3f} ms, p90 {p90:.3f} ms, p99 {p99:.3f} ms")
    print(f"  throughput: {len(images) / total:.1f} images/s")
    return np.concatenate(answers)


def check_accuracy(answers, labels):
    right = int(np.sum(answers == labels))
    accuracy = right / len(labels)
    print(f"  accuracy: {accuracy:.4f} ({right} of {len(labels)})")
    if accuracy < WORST_ACCURACY:
        raise Failure(f"accuracy {accuracy:.4f} is below {WORST_ACCURACY}")


def main():
    parser = argparse.ArgumentParser(
        description="Classify held-out digits with a running server.")
    parser.add_argument("--url", metavar="HOST:PORT", default="localhost:8001",
                        help="gRPC address of the server (default: %(default)s)")
    parser.add_argument("--heldout", metavar="FILE", required=True,
                        help="what train_digits.py wrote")
    parser.add_argument("--model", default="digits", help="default: %(default)s")
    parser.add_argument("--batch", metavar="N", type=positive, default=32,
                        help="images in a request of the second pass "
                             "(default: %(default)s)")
    parser.add_argument("--requests", metavar="N", type=positive,
                        help="requests of the first pass, which starts over when "
                             "it has sent every image (default: each image once)")
    parser.add_argument("--wait", metavar="SECONDS", type=float, default=0,
                        help="time a starting server gets to have the model ready "
                             "(default: %(default)s)")
    arguments = parser.parse_args()

    try:
        images, labels = load(arguments.heldout)
        model = arguments.model
        client = connect(arguments.url, model, arguments.wait)
        # The first request pays for setting things up on both sides.
        classify(client, model, images[:1])

        count = arguments.requests or len(images)
        order = np.arange(count) % len(images)
        print("one image a request:")
        single = run_pass(client, model, images[order], 1)
        check_accuracy(single, labels[order])
        print("batched:")
        batched = run_pass(client, model, images, arguments.batch)
        check_accuracy(batched, labels)
        shared = min(count, len(images))
        if not np.array_equal(single[:shared], batched[:shared]):
            raise Failure("the two passes gave different answers to the same images")
    except Failure as failure:
        sys.exit(f"error: {failure}")
    except InferenceServerException as error:
        sys.exit(f"error: request failed: {error}")


if __name__ == "__main__":
    main()
