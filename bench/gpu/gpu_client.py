"""Inference over HTTP with nothing but Python's own library and numpy: GPU machines may have no more."""

import base64
import json
import multiprocessing
import socket
import time
from dataclasses import dataclass, field

import numpy as np

TIMEOUT_S = 60


class Connection:
    """One connection that is kept. Raises where the server does not answer."""

    def __init__(self, address):
        host, _, port = address.rpartition(":")
        self._socket = socket.create_connection((host.strip("[]"), int(port)), timeout=TIMEOUT_S)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._rest = b""

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self._socket.close()

    def send(self, message):
        """(status, headers, body) of the answer to a whole request."""
        self._socket.sendall(message)
        received = bytearray(self._rest)
        while (end := received.find(b"\r\n\r\n")) < 0:
            received += self._receive(1 << 16)
        status, _, lines = received[:end].decode("latin-1").partition("\r\n")
        headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines.split("\r\n"))}
        length = int(headers.get("content-length", 0))
        body = received[end + 4:]
        while len(body) < length:
            body += self._receive(length - len(body))
        self._rest = bytes(body[length:])
        return int(status.split()[1]), headers, bytes(body[:length])

    def _receive(self, most):
        received = self._socket.recv(max(most, 1 << 16))
        if not received:
            raise ConnectionError("the server has closed the connection")
        return received


def message(path, body=b"", method="POST", **headers):
    lines = [f"{method} {path} HTTP/1.1", "Host: atoll", f"Content-Length: {len(body)}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return ("\r\n".join(lines) + "\r\n\r\n").encode() + body


def call(address, path, document=None, method="POST"):
    """The answer's body; raises with the server's words where it refuses."""
    body = b"" if document is None else json.dumps(document).encode()
    with Connection(address) as connection:
        status, _, answer = connection.send(message(path, body, method))
    if status != 200:
        raise RuntimeError(f"{path}: {status}: {answer.decode(errors='replace')}")
    return answer


@dataclass
class Region:
    """Part of a registered region, in which a tensor lies."""
    name: str
    byte_size: int
    offset: int = 0

    def parameters(self):
        return {"shared_memory_region": self.name, "shared_memory_byte_size": self.byte_size,
                "shared_memory_offset": self.offset}


def infer_message(model, inputs, outputs):
    """inputs: {name: array, or (shape, Region)}; outputs: {name: None, or Region}. All tensors are FP32."""
    listed, raw = [], []
    for name, value in inputs.items():
        if isinstance(value, tuple):
            listed.append({"name": name, "datatype": "FP32", "shape": list(value[0]), "parameters": value[1].parameters()})
        else:
            listed.append({"name": name, "datatype": "FP32", "shape": list(value.shape),
                           "parameters": {"binary_data_size": value.nbytes}})
            raw.append(value.tobytes())
    wanted = [{"name": name, "parameters": {"binary_data": True} if region is None else region.parameters()}
              for name, region in outputs.items()]
    head = json.dumps({"inputs": listed, "outputs": wanted}).encode()
    return message(f"/v2/models/{model}/infer", head + b"".join(raw), Inference_Header_Content_Length=str(len(head)))


def arrays_of(headers, body):
    """{name: array} of an answer's tensors that are not in regions."""
    length = int(headers.get("inference-header-content-length", len(body)))
    found, at = {}, length
    for output in json.loads(body[:length])["outputs"]:
        size = output.get("parameters", {}).get("binary_data_size")
        if size is None:
            continue
        found[output["name"]] = np.frombuffer(body[at:at + size], np.float32).reshape(output["shape"])
        at += size
    return found


def infer(address, model, inputs, outputs):
    with Connection(address) as connection:
        status, headers, body = connection.send(infer_message(model, inputs, outputs))
    if status != 200:
        raise RuntimeError(f"{model}: {status}: {body.decode(errors='replace')}")
    return arrays_of(headers, body)


def register_cuda(address, name, raw_handle, byte_size, device=0):
    call(address, f"/v2/cudasharedmemory/region/{name}/register",
         {"raw_handle": {"b64": base64.b64encode(raw_handle).decode()}, "device_id": device, "byte_size": byte_size})


def unregister_cuda(address, name):
    call(address, f"/v2/cudasharedmemory/region/{name}/unregister")


@dataclass
class Load:
    """What one run found."""
    latencies_us: list = field(default_factory=list)
    failures: list = field(default_factory=list)
    seconds: float = 0

    @property
    def rate(self):
        return len(self.latencies_us) / self.seconds

    def percentile(self, which):
        return float(np.percentile(self.latencies_us, which))


def _work(address, request, seconds, ready, results):
    load = Load()
    try:
        with Connection(address) as connection:
            for _ in range(3):
                connection.send(request)
            ready.wait(TIMEOUT_S)
            end = time.perf_counter() + seconds
            while (begin := time.perf_counter()) < end:
                status, _, body = connection.send(request)
                load.latencies_us.append((time.perf_counter() - begin) * 1e6)
                if status != 200:
                    load.failures.append(body.decode(errors="replace"))
                    break
    except Exception as error:  # whatever it is, the parent has to know of it
        load.failures.append(f"{type(error).__name__}: {error}")
        ready.abort()
    results.put(load)


def run(address, request, seconds, in_flight=1):
    """Sends the request again and again on as many connections, each in a process of its own."""
    context = multiprocessing.get_context("spawn")  # a fork of a process that uses the driver has no driver
    ready, results = context.Barrier(in_flight), context.Queue()
    workers = [context.Process(target=_work, args=(address, request, seconds, ready, results)) for _ in range(in_flight)]
    for worker in workers:
        worker.start()
    loads = [results.get(timeout=seconds + 2 * TIMEOUT_S) for _ in workers]
    for worker in workers:
        worker.join()
    failures = [failure for load in loads for failure in load.failures]
    if failures:
        raise RuntimeError(failures[0])
    return Load([latency for load in loads for latency in load.latencies_us], [], seconds)
