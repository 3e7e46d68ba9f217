#!/usr/bin/env python3
"""CPU of the whole server for each token of streamed chats, with a model whose tokens cost nothing.

    etc/dev/build release && build/venv/bin/python bench/tokens/measure.py [--streams 32]
    build/venv/bin/python bench/tokens/measure.py --quick        # does everything work; no figures to quote

The model (tests/extensions/canned) answers as an engine with continuous batching does: one token of every running
request in each step. Each stream is a connection of its own, as clients have them. The server runs on one CPU and this
client on another, if there are two. Prints every run, the median with the spread, and the budget; exits with 1 if the
median misses it.
"""

import argparse
import json
import os
import pathlib
import selectors
import socket
import statistics
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
from support import models  # noqa: E402
from support.contributor import PLUGINS  # noqa: E402
from support.server import DEFAULT_MANIFEST, Server  # noqa: E402

BUDGET_US = 15
CONFIG = """
backend: "canned"
model_transaction_policy {{ decoupled: true }}
input [ {{ name: "text_input" data_type: TYPE_STRING dims: [ 1 ] }} ]
output [ {{ name: "text_output" data_type: TYPE_STRING dims: [ 1 ] }},
         {{ name: "finish_reason" data_type: TYPE_STRING dims: [ 1 ] }},
         {{ name: "num_input_tokens" data_type: TYPE_UINT32 dims: [ 1 ] }},
         {{ name: "num_output_tokens" data_type: TYPE_UINT32 dims: [ 1 ] }} ]
parameters {{ key: "tokens" value {{ string_value: "{tokens}" }} }}
parameters {{ key: "step_microseconds" value {{ string_value: "{step}" }} }}
"""
TICKS = os.sysconf("SC_CLK_TCK")


def cpu_seconds(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def stream(address, count, path, body):
    """Reads so many streams at a time to their ends. Returns how many events of text each had"""
    host, port = address.rsplit(":", 1)
    request = f"POST {path} HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body
    waiting = selectors.DefaultSelector()
    events = {}
    for _ in range(count):
        connection = socket.create_connection((host, int(port)))
        connection.sendall(request)
        waiting.register(connection, selectors.EVENT_READ, [b"", 0])
    while waiting.get_map():
        # Without sleeping: waking a client on the same machine would be charged to the server.
        for key, _ in waiting.select(0):
            piece = key.fileobj.recv(1 << 16)
            state = key.data
            text = state[0] + piece
            state[1] += text.count(b'"content":" token"')
            state[0] = text[-64:] if b'"content":" token"' not in text[-64:] else text[text.rfind(b'token"') + 6:]
            if not piece or b"data: [DONE]" in text:
                events[key.fileobj] = state[1]
                waiting.unregister(key.fileobj)
                key.fileobj.close()
    return list(events.values())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--streams", type=int, default=32)
    parser.add_argument("--tokens", type=int, default=2000, help="of each stream")
    parser.add_argument("--step-microseconds", type=int, default=5000, help="from token to token of a stream")
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    if options.quick:
        options.tokens, options.repetitions = 100, 1
    cpus = sorted(os.sched_getaffinity(0))
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        models.write_model(folder / "models", "canned", CONFIG.format(tokens=options.tokens, step=options.step_microseconds))
        manifest = folder / "atoll.toml"
        manifest.write_text(DEFAULT_MANIFEST.read_text().replace("[atoll]\n", f'[atoll]\nplugin_path = ["{PLUGINS}"]\n') +
                            '\n[plugin.canned]\nuse = "tests/canned"\n\n[plugin.openai]\nuse = "frontends/openai"\n')
        os.sched_setaffinity(0, cpus[:1])  # the server inherits it
        with Server(folder / "models", "plugin.onnxruntime.enabled=false", manifest=manifest) as server:
            server.wait_ready().wait_active()
            os.sched_setaffinity(0, cpus[-1:])
            body = json.dumps({"model": "canned", "messages": [{"role": "user", "content": "hi"}], "stream": True}).encode()
            figures = []
            for _ in range(options.repetitions):
                cpu, begin = cpu_seconds(server.pid), time.monotonic()
                events = stream(server.http_address, options.streams, "/v1/chat/completions", body)
                cpu, seconds = cpu_seconds(server.pid) - cpu, time.monotonic() - begin
                assert events == [options.tokens] * options.streams, events
                tokens = options.streams * options.tokens
                figures.append(cpu / tokens * 1e6)
                print(f"{tokens} tokens of {options.streams} streams in {seconds:.2f} s, {tokens / seconds:.0f}/s: "
                      f"{figures[-1]:.1f} us of CPU a token", flush=True)
    median = statistics.median(figures)
    print(f"median {median:.1f} us ({min(figures):.1f} to {max(figures):.1f}), budget {BUDGET_US} us")
    sys.exit(0 if median <= BUDGET_US or options.quick else 1)


if __name__ == "__main__":
    main()
