#!/usr/bin/env python3
"""Tokens a second and waits of a generator with continuous batching, beside static batching on the same server.

    etc/dev/build release && build/venv/bin/python bench/generate/measure.py [--clients 1,8,32] [--repetitions 5]
    build/venv/bin/python bench/generate/measure.py --quick        # does everything work; no figures to quote

The model is the one-step graph of etc/models/generator_graph.py with random weights, which cost what trained ones do, or
the folder that etc/models/train_generator.py wrote (--model). Requests want between 4 and 256 tokens, their logarithms
evenly distributed, and come over gRPC streams, one a client; a run has --requests for each client, the same ones in the
same order for both kinds of batching:

  continuous  a client begins its next request when its own one has ended; the server batches whoever is there
  static      all clients begin together, and again when the last one has ended: the best that static batching can do

They take turns on one server, so what disturbs the machine disturbs both. Of the time to the first token, waiting for the
others of a static batch is a part. Prints every run, a table of medians with the smallest and largest, and the ratios.
"""

import argparse
import asyncio
import contextlib
import os
import pathlib
import shutil
import string
import struct
import sys
import tempfile

import grpc
import numpy as np
from tritonclient.grpc import service_pb2

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "bench" / "serve"), str(ROOT / "etc" / "models")]
import generate_load as load  # noqa: E402
import generator_graph  # noqa: E402

STREAM_INFER = "/inference.GRPCInferenceService/ModelStreamInfer"
EMBEDDING_SIZE = 64
SEED = 7
LONGEST_PROMPT = 16  # a recurrent network reads a prompt a byte at a time, at the cost of as many small steps
TIMEOUT_S = 60  # for a token
ERROR_TAG = 1 << 3 | 2  # the first byte of a ModelStreamInferResponse whose first field is error_message


class Failure(Exception):
    """Something the user should read as one line."""


def random_weights(hidden_size):
    random = np.random.default_rng(SEED)
    symbols = len(generator_graph.SYMBOLS)
    sizes = {"embedding": (symbols, EMBEDDING_SIZE), "input": (3 * hidden_size, EMBEDDING_SIZE),
             "recurrent": (3 * hidden_size, hidden_size), "biases": (6 * hidden_size,),
             "output": (hidden_size, symbols), "output_bias": (symbols,)}
    return {name: (random.normal(size=size) / np.sqrt(size[-1])).astype(np.float32) for name, size in sizes.items()}


def message_of(request):
    """The bytes of the request; everything in it but the number of tokens follows from its own number."""
    random = np.random.default_rng((SEED, request.number))
    length = int(random.integers(1, LONGEST_PROMPT + 1))
    prompt = np.zeros(generator_graph.PROMPT_SIZE, np.int32)
    prompt[:length] = random.choice([ord(letter) for letter in string.ascii_lowercase], length)
    message = service_pb2.ModelInferRequest(model_name=generator_graph.MODEL, id=str(request.number))
    for name, datatype, shape, content in (
            ("PROMPT", "INT32", len(prompt), prompt.astype("<i4").tobytes()),
            ("PROMPT_LENGTH", "INT32", 1, struct.pack("<i", length)),
            ("MAX_TOKENS", "INT32", 1, struct.pack("<i", request.tokens)),
            ("TEMPERATURE", "FP32", 1, struct.pack("<f", 0.7)), ("SEED", "INT64", 1, struct.pack("<q", request.number))):
        message.inputs.add(name=name, datatype=datatype, shape=[1, shape])
        message.raw_input_contents.append(content)
    message.outputs.add(name="TOKEN")
    return message.SerializeToString()


class Streams:
    """A stream for each client. Answers are not parsed: that would be most of what this process does."""

    def __init__(self, channel, messages):
        self._open = channel.stream_stream(STREAM_INFER)
        self._streams = {}
        self._messages = messages

    async def __call__(self, client, request, keep=None):
        """keep: a list for the answers' bytes"""
        if client not in self._streams:
            self._streams[client] = self._open()
        stream = self._streams[client]
        await stream.write(self._messages[request])
        arrivals = []
        for number in range(request.tokens):
            answer = await asyncio.wait_for(stream.read(), TIMEOUT_S)
            arrivals.append(load.time.perf_counter())
            if answer is grpc.aio.EOF:
                raise Failure(f"request {request.number}: found the stream's end after {number} tokens, "
                              f"expected {request.tokens}: {await stream.details()}")
            if answer[:1] == bytes([ERROR_TAG]):
                error = service_pb2.ModelStreamInferResponse.FromString(answer).error_message
                raise Failure(f"request {request.number} failed after {number} tokens: {error}")
            if keep is not None:
                keep.append(answer)
        return arrivals


async def check(streams, clients, request):
    """A request gets the tokens that it gets alone from a batch of so many, too."""
    kept = [[] for _ in range(clients + 1)]
    await streams(0, request, kept[0])
    await asyncio.gather(*(streams(client, request, kept[client + 1]) for client in range(clients)))

    def tokens(answers):
        parsed = map(service_pb2.ModelStreamInferResponse.FromString, answers)
        return [struct.unpack("<i", answer.infer_response.raw_output_contents[0])[0] for answer in parsed]

    alone = tokens(kept[0])
    for found in map(tokens, kept[1:]):
        if found != alone:
            raise Failure(f"request {request.number}: found tokens {found} in a batch, expected those that it gets alone: {alone}")


async def measure(options, address):
    """{(clients, mode): [Run, ...]}"""
    wanted = {clients: load.requests(options.requests * clients, *options.lengths, SEED) for clients in options.clients}
    messages = {request: message_of(request) for requests in wanted.values() for request in requests}
    runs = {(clients, mode): [] for clients in options.clients for mode in load.MODES}
    async with grpc.aio.insecure_channel(address) as channel:
        streams = Streams(channel, messages)
        await check(streams, max(options.clients), wanted[max(options.clients)][0])
        for repetition in range(options.repetitions):
            for clients in options.clients:
                # Whoever comes first has the colder caches.
                for mode in load.MODES if repetition % 2 == 0 else reversed(load.MODES):
                    run = await load.run(mode, clients, wanted[clients], streams)
                    runs[clients, mode].append(run)
                    print(f"{repetition + 1}: {clients} clients, {mode}: {run.tokens_per_second:.0f} tokens/s; to the first "
                          f"token p50 {load.text_of(run.first[0])} ms, p99 {load.text_of(run.first[1])} ms; between tokens "
                          f"p50 {load.text_of(run.between[0])} ms, p99 {load.text_of(run.between[1])} ms", flush=True)
    return runs


@contextlib.contextmanager
def served(options):
    """The address of a server with the model."""
    if options.address:
        yield options.address
        return
    from support.server import Server  # looks for a build, which a server that runs elsewhere does not need
    with tempfile.TemporaryDirectory() as repository:
        folder = pathlib.Path(repository) / generator_graph.MODEL
        if options.model:
            shutil.copytree(options.model, folder)
        else:
            generator_graph.write(generator_graph.build(random_weights(options.hidden)), folder)
        os.sched_setaffinity(0, options.server_cores)
        try:
            server = Server(repository, *options.set)
        finally:
            os.sched_setaffinity(0, options.client_cores)
        with server:
            yield server.wait_ready(generator_graph.MODEL).address


def numbers(text):
    return [int(number) for number in text.split(",")]


def client_counts(text):
    counts = numbers(text)
    # With more than a batch takes, static batches of the server would be smaller than those of the clients.
    if not all(1 <= count <= generator_graph.MAX_BATCH_SIZE for count in counts):
        raise argparse.ArgumentTypeError(f"found '{text}', expected numbers from 1 to {generator_graph.MAX_BATCH_SIZE}")
    return counts


def lengths(text):
    found = numbers(text)
    if len(found) != 2 or not 1 <= found[0] <= found[1] <= generator_graph.MOST_TOKENS:
        raise argparse.ArgumentTypeError(f"found '{text}', expected two numbers from 1 to {generator_graph.MOST_TOKENS}, "
                                         "the smaller one first: 4,256")
    return found


def positive(text):
    if int(text) < 1:
        raise argparse.ArgumentTypeError(f"found '{text}', expected a number from 1 on")
    return int(text)


def core_set(text):
    return set(numbers(text))


def model_folder(text):
    if not (pathlib.Path(text) / "config.pbtxt").is_file():
        raise argparse.ArgumentTypeError(f"found no model in '{text}', expected the folder that train_generator.py wrote")
    return text


def parse_arguments():
    cores = sorted(os.sched_getaffinity(0))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clients", type=client_counts, default=[1, 8, 32], help="of a run: 1,8,32")
    parser.add_argument("--requests", type=positive, default=16, help="of each client in a run")
    parser.add_argument("--lengths", type=lengths, default=[4, 256], help="fewest and most tokens of a request: 4,256")
    parser.add_argument("--repetitions", type=positive, default=5)
    parser.add_argument("--hidden", type=positive, default=512, help="size of the model's hidden state")
    parser.add_argument("--model", type=model_folder, metavar="DIR", help="of a trained generator")
    parser.add_argument("--address", help="HOST:PORT of a server that runs with the model (default: one is started)")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="of the started server's manifest")
    parser.add_argument("--server-cores", type=core_set, default=set(cores[:-1] or cores),
                        help="the CPUs that the started server finds: 0,1 (default: all but the last)")
    parser.add_argument("--client-cores", type=core_set, default=set(cores[-1:]), help="(default: the last)")
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    if options.quick:
        options.requests, options.repetitions = 3, 2
    return options


def main():
    options = parse_arguments()
    cpu = next((line.split(":", 1)[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), "?")
    where = options.address or f"on CPUs {sorted(options.server_cores)}"
    model = options.model or f"hidden state of {options.hidden}, random weights"
    print(f"server {where}, client on {sorted(options.client_cores)} of {os.cpu_count()} x {cpu}; {model}; "
          f"{options.requests} requests a client of {options.lengths[0]} to {options.lengths[1]} tokens", flush=True)
    try:
        with served(options) as address:
            runs = asyncio.run(measure(options, address))
    except (Failure, TimeoutError, grpc.RpcError) as error:
        sys.exit(f"error: {error or f'no token for {TIMEOUT_S} s'}")
    print("", *load.table(runs), sep="\n")


if __name__ == "__main__":
    main()
