#!/usr/bin/env python3
"""Asks the search questions, and shows the answers and how long each step of it took."""

import argparse
import sys
import time

import numpy as np
import tritonclient.grpc as grpc_client
from tritonclient.utils import InferenceServerException

QUESTIONS = ("Why did the corals turn white?", "Where does the sand on the beach come from?",
             "How did people find their way across the ocean?", "Is there water to drink on these islands?")
STEPS = ("tokenizer", "encoder", "pooling", "nearest")
MODEL = "search"
REQUEST_TIMEOUT_S = 60


def connect(url, wait_s):
    client = grpc_client.InferenceServerClient(url)
    give_up = time.monotonic() + wait_s
    while True:
        try:
            if client.is_model_ready(MODEL):
                return client
            problem = f"model {MODEL} at {url} is not ready"
        except InferenceServerException as error:
            problem = f"{url} cannot be asked: {error.message()}"
        if time.monotonic() > give_up:
            sys.exit(f"error: {problem}")
        time.sleep(0.1)


def ask(client, questions):
    """Sentences and scores for each question, which go as one batch, and the milliseconds that took."""
    text = grpc_client.InferInput("TEXT", [len(questions), 1], "BYTES")
    text.set_data_from_numpy(np.array([[question.encode()] for question in questions], object))
    begin = time.perf_counter()
    answer = client.infer(MODEL, [text], client_timeout=REQUEST_TIMEOUT_S)
    return answer.as_numpy("SENTENCE"), answer.as_numpy("SCORE"), 1000 * (time.perf_counter() - begin)


def totals(client):
    """Of each step: executions, and nanoseconds that they and the waiting for them took."""
    statistics = {one.name: one for one in client.get_inference_statistics().model_stats}
    return {step: (statistics[step].execution_count, statistics[step].inference_stats.success.ns) for step in STEPS}


def show_steps(before, after):
    print("step        executions   ms an execution")
    for step in STEPS:
        count, took = (new - old for new, old in zip(after[step], before[step]))
        print(f"{step:<12}{count:>10}{took / count / 1e6 if count else 0:>18.2f}")


def main():
    parser = argparse.ArgumentParser(description="Ask the search example questions.")
    parser.add_argument("questions", metavar="QUESTION", nargs="*", help="default: some about atolls")
    parser.add_argument("--url", default="127.0.0.1:8001", help="gRPC address (default: %(default)s)")
    parser.add_argument("--wait", metavar="SECONDS", type=float, default=0, help="for a server that is just starting")
    arguments = parser.parse_args()
    client = connect(arguments.url, arguments.wait)
    before = totals(client)
    for question in arguments.questions or QUESTIONS:
        sentences, scores, took_ms = ask(client, [question])
        print(f"\n{question}   ({took_ms:.1f} ms)")
        for sentence, score in zip(sentences[0], scores[0]):
            print(f"  {score:.2f}  {sentence.decode()}")
    print()
    show_steps(before, totals(client))


if __name__ == "__main__":
    main()
