#!/usr/bin/env python3
"""Tokens a second and waits of a generator with continuous batching, beside static batching on the same server.

    etc/dev/build release && build/venv/bin/python bench/generate/measure.py [--clients 1,8,32] [--repetitions 5]
    build/venv/bin/python bench/generate/measure.py --quick        # does everything work; no figures to quote

The network is that of etc/models/generator_graph.py with random weights, which cost what trained ones do, or the one that
etc/models/train_generator.py wrote (--model). Requests want between 4 and 256 tokens, their logarithms evenly distributed,
and come over gRPC streams, one a client; a run has --requests for each client, the same ones in the same order in each mode:

  continuous  the one-step graph with iterative sequences: who has ended leaves the batch, and the next one joins it. Each
              token is sent when it is made
  continuous at once
              the same, and a request is answered once, with all of its tokens
  static      the whole generation in one execution (generator_static_graph.py) through the dynamic batcher: every row of a
              batch is computed until the longest one has its tokens, and the first token comes with the last
  static without padding
              the one-step graph with clients that begin together, and again when the last one has ended: kinder to static
              batching than it is, as who has ended costs nothing, and its tokens come as they are made

Except with the last a client sends its next request as soon as it has its last answer. A static batch goes when all clients
are in it. Only tokens that a request wanted count, no padding. The modes take turns on one server, so what disturbs the
machine disturbs all. Waits count from the moment that the client wants a request. Prints every run and, for each size of the
hidden state, a table of medians with the smallest and largest, the ratios, and the budgets. The budget of the throughput is of
"continuous at once" through "static", which both send one answer to a request. Exits with 1 if a median misses its budget, but
not with --quick.
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
import time

import grpc
import numpy as np
import onnx
from tritonclient.grpc import service_pb2

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "bench" / "serve"), str(ROOT / "etc" / "models")]
import generate_load as load  # noqa: E402
import generator_graph  # noqa: E402
import generator_static_graph  # noqa: E402
from support.machine import cpu_model  # noqa: E402

STREAM_INFER = "/inference.GRPCInferenceService/ModelStreamInfer"
EMBEDDING_SIZE = 64
SEED = 7
LONGEST_PROMPT = 16  # a recurrent network reads a prompt a byte at a time, at the cost of as many small steps
TIMEOUT_S = 60  # for an answer
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


def message_of(request, model, output):
    """The bytes of the request; everything in it but the number of tokens follows from its own number."""
    random = np.random.default_rng((SEED, request.number))
    length = int(random.integers(1, LONGEST_PROMPT + 1))
    prompt = np.zeros(generator_graph.PROMPT_SIZE, np.int32)
    prompt[:length] = random.choice([ord(letter) for letter in string.ascii_lowercase], length)
    message = service_pb2.ModelInferRequest(model_name=model, id=str(request.number))
    for name, datatype, shape, content in (
            ("PROMPT", "INT32", len(prompt), prompt.astype("<i4").tobytes()),
            ("PROMPT_LENGTH", "INT32", 1, struct.pack("<i", length)),
            ("MAX_TOKENS", "INT32", 1, struct.pack("<i", request.tokens)),
            ("TEMPERATURE", "FP32", 1, struct.pack("<f", 0.7)), ("SEED", "INT64", 1, struct.pack("<q", request.number))):
        message.inputs.add(name=name, datatype=datatype, shape=[1, shape])
        message.raw_input_contents.append(content)
    message.outputs.add(name=output)
    return message.SerializeToString()


class Streams:
    """A stream for each client. Answers are not parsed: that would be most of what this process does."""

    def __init__(self, channel):
        self._open = channel.stream_stream(STREAM_INFER)
        self._streams = {}

    async def ask(self, client, request, message, answers, keep=None):
        """When each answer came. keep: a list for the answers' bytes"""
        if client not in self._streams:
            self._streams[client] = self._open()
        stream = self._streams[client]
        arrivals = []
        clock = asyncio.get_running_loop().time
        # Not wait_for(), which makes a task for each answer: with one token in each, the client would be what is measured.
        async with asyncio.timeout(TIMEOUT_S) as limit:
            await stream.write(message)
            for number in range(answers):
                answer = await stream.read()
                arrivals.append(load.time.perf_counter())
                if answer is grpc.aio.EOF:
                    raise Failure(f"request {request.number}: found the stream's end after {number} answers, "
                                  f"expected {answers}: {await stream.details()}")
                if answer[:1] == bytes([ERROR_TAG]):
                    error = service_pb2.ModelStreamInferResponse.FromString(answer).error_message
                    raise Failure(f"request {request.number} failed after {number} answers: {error}")
                if keep is not None:
                    keep.append(answer)
                limit.reschedule(clock() + TIMEOUT_S)
        return arrivals


class Generators:
    """How requests are generated in each mode, by so many clients."""

    def __init__(self, streams, clients, wanted):
        self._streams = streams
        whole = {load.AT_ONCE: generator_graph.AT_ONCE_MODEL, load.STATIC: static_name(clients)}
        self._steps = {request: message_of(request, generator_graph.MODEL, "TOKEN") for request in wanted}
        self._whole = {mode: {request: message_of(request, model, "TOKENS") for request in wanted}
                       for mode, model in whole.items()}

    def of(self, mode):
        async def by_steps(client, request, keep=None):
            return await self._streams.ask(client, request, self._steps[request], request.tokens, keep)

        async def whole(client, request, keep=None):
            return await self._streams.ask(client, request, self._whole[mode][request], 1, keep)

        return whole if mode in self._whole else by_steps


async def check(generators, clients, wanted):
    """A request gets the same tokens alone, in a batch of its like, and in one of others, by steps and as a whole."""
    def tokens(answers, request):
        parsed = map(service_pb2.ModelStreamInferResponse.FromString, answers)
        raw = b"".join(answer.infer_response.raw_output_contents[0] for answer in parsed)
        return np.frombuffer(raw, "<i4")[:request.tokens].tolist()

    async def generate(mode, client, request):
        kept = []
        await generators.of(mode)(client, request, kept)
        return tokens(kept, request)

    alone = [await generate(load.CONTINUOUS, 0, request) for request in wanted[:clients]]
    for mode in (load.CONTINUOUS, load.AT_ONCE, load.STATIC):
        for requests, expected in ((wanted[:1] * clients, alone[:1] * clients), (wanted[:clients], alone)):
            found = await asyncio.gather(*(generate(mode, client, request) for client, request in enumerate(requests)))
            for request, ours, theirs in zip(requests, found, expected):
                if ours != theirs:
                    raise Failure(f"request {request.number}: found tokens {ours} with {mode} batching, expected those that "
                                  f"it gets alone: {theirs}")


def cpu_seconds(server):
    """What gives the CPU seconds of the process with this id (or None) and of this one."""
    def of_server():
        # Behind the name, which may have spaces in it: fields from the third on.
        fields = pathlib.Path(f"/proc/{server}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    return lambda: (of_server() if server else None, time.process_time())


async def measure(options, address, server):
    """{(clients, mode): [Run, ...]}"""
    wanted = {clients: load.requests(options.requests * clients, *options.lengths, SEED) for clients in options.clients}
    runs = {(clients, mode): [] for clients in options.clients for mode in load.MODES}
    async with grpc.aio.insecure_channel(address) as channel:
        streams = Streams(channel)
        generators = {clients: Generators(streams, clients, wanted[clients]) for clients in options.clients}
        for clients in options.clients:
            await check(generators[clients], clients, wanted[clients])
        for repetition in range(options.repetitions):
            for clients in options.clients:
                # Whoever comes first has the colder caches.
                for mode in np.roll(load.MODES, -repetition).tolist():
                    run = await load.run(mode, clients, wanted[clients], generators[clients].of(mode), cpu_seconds(server))
                    runs[clients, mode].append(run)
                    print(f"{repetition + 1}: {clients} clients, {mode}: {run.tokens_per_second:.0f} tokens/s; first token "
                          f"p50 {load.text_of(run.first[0])} ms, last {load.text_of(run.last[0])} ms; CPU of the server "
                          f"{load.text_of(run.busy[0], 0)} %, of the client {load.text_of(run.busy[1], 0)} %", flush=True)
    return runs


def static_name(clients):
    return f"{generator_static_graph.MODEL}_{clients}"


def write_models(options, hidden, repository):
    """hidden: the size of the hidden state, if options name no model"""
    if options.model:
        steps = pathlib.Path(options.model).resolve()
        shutil.copytree(steps, repository / generator_graph.MODEL)
        shutil.copytree(steps.parent / generator_graph.AT_ONCE_MODEL, repository / generator_graph.AT_ONCE_MODEL)
        static = onnx.load(steps.parent / generator_static_graph.MODEL / "1" / "model.onnx")
    else:
        weights = random_weights(hidden)
        for name, at_once in ((generator_graph.MODEL, False), (generator_graph.AT_ONCE_MODEL, True)):
            generator_graph.write(generator_graph.build(weights, at_once), repository / name)
        static = generator_static_graph.build(weights)
    for clients in options.clients:
        # A batch goes when all clients are in it, not after waiting in vain for more of them.
        generator_static_graph.write(static, repository / static_name(clients), clients)


@contextlib.contextmanager
def served(options, hidden):
    """The address of a server with the models, and its process id if it is started here."""
    if options.address:
        yield options.address, None
        return
    from support.server import Server  # looks for a build, which a server that runs elsewhere does not need
    with tempfile.TemporaryDirectory() as repository:
        write_models(options, hidden, pathlib.Path(repository))
        os.sched_setaffinity(0, options.server_cores)
        try:
            server = Server(repository, *options.set)
        finally:
            os.sched_setaffinity(0, options.client_cores)
        with server:
            for name in (generator_graph.MODEL, generator_graph.AT_ONCE_MODEL, *map(static_name, options.clients)):
                server.wait_ready(name)
            yield server.address, server.process.pid


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
    if len(found) != 2 or not 1 <= found[0] <= found[1] <= generator_graph.AT_ONCE_TOKENS:
        raise argparse.ArgumentTypeError(f"found '{text}', expected two numbers from 1 to {generator_graph.AT_ONCE_TOKENS}, "
                                         "the smaller one first: 4,256")
    return found


def positive(text):
    if int(text) < 1:
        raise argparse.ArgumentTypeError(f"found '{text}', expected a number from 1 on")
    return int(text)


def sizes(text):
    return [positive(part) for part in text.split(",")]


def core_set(text):
    return set(numbers(text))


def model_folder(text):
    folder = pathlib.Path(text).resolve()
    beside = [folder.parent / name for name in (generator_graph.AT_ONCE_MODEL, generator_static_graph.MODEL)]
    if not all((each / "config.pbtxt").is_file() for each in (folder, *beside)):
        raise argparse.ArgumentTypeError(f"found no model in '{text}' or not both of {generator_graph.AT_ONCE_MODEL} and "
                                         f"{generator_static_graph.MODEL} beside it, expected the folders that "
                                         "train_generator.py wrote")
    return text


def parse_arguments():
    cores = sorted(os.sched_getaffinity(0))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clients", type=client_counts, default=[1, 8, 32], help="of a run: 1,8,32")
    parser.add_argument("--requests", type=positive, default=32, help="of each client in a run")
    parser.add_argument("--lengths", type=lengths, default=[4, 256], help="fewest and most tokens of a request: 4,256")
    parser.add_argument("--repetitions", type=positive, default=5)
    parser.add_argument("--hidden", type=sizes, default=[192, 1024],
                        help="sizes of the model's hidden state: 192 (that of the trained one), 1024")
    parser.add_argument("--model", type=model_folder, metavar="DIR", help="of a trained generator")
    parser.add_argument("--address", help="HOST:PORT of a server with the models of --write (default: one is started)")
    parser.add_argument("--write", type=pathlib.Path, metavar="DIR", help="write the models into this repository, and end")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="of the started server's manifest")
    parser.add_argument("--server-cores", type=core_set, default=set(cores[:-1] or cores),
                        help="the CPUs that the started server finds: 0,1 (default: all but the last)")
    parser.add_argument("--client-cores", type=core_set, default=set(cores[-1:]), help="(default: the last)")
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    if options.quick:
        options.requests, options.repetitions = 3, 2
    if options.write and not options.model and len(options.hidden) != 1:
        parser.error("--write: found several sizes in --hidden, expected one")
    return options


def measured(options, hidden):
    """The runs with a hidden state of this size."""
    try:
        with served(options, hidden) as (address, server):
            return asyncio.run(measure(options, address, server))
    except (Failure, TimeoutError, grpc.RpcError) as error:
        sys.exit(f"error: {error or f'no answer for {TIMEOUT_S} s'}")


def main():
    options = parse_arguments()
    if options.write:
        write_models(options, options.hidden[0], options.write)
        return 0
    cpu = cpu_model()
    where = options.address or f"on CPUs {sorted(options.server_cores)}"
    print(f"server {where}, client on {sorted(options.client_cores)} of {os.cpu_count()} x {cpu}; {options.requests} "
          f"requests a client of {options.lengths[0]} to {options.lengths[1]} tokens; "
          f"load average {os.getloadavg()[0]:.1f}", flush=True)
    report, all_met = [], True
    for hidden in [None] if options.model or options.address else options.hidden:
        title = f"hidden state of {hidden}, random weights" if hidden else f"models of {options.address or options.model}"
        print(f"{title}:", flush=True)
        runs = measured(options, hidden)
        lines, met = load.verdicts(runs)
        all_met &= met
        report += ["", f"{title}:", "", *load.table(runs), "", *lines]
    print(*report, "", f"load average {os.getloadavg()[0]:.1f}", sep="\n")
    return 0 if all_met or options.quick else 1


if __name__ == "__main__":
    sys.exit(main())
