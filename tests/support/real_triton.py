"""The real Triton, which bench/serve/peers/install brings, as benchmarks have it beside this tree's server."""

import contextlib
import http.client
import os
import subprocess
import sys

from support.server import BUILD, ROOT
from support.triton_program import free_port
from support.waiting import eventually


@contextlib.contextmanager
def real_triton(repository):
    """The ports of one that serves the repository, by the names http, grpc and metrics."""
    programs = list((ROOT / "build/peers/triton").glob("lib/python3*/site-packages/pytriton/tritonserver/bin/tritonserver"))
    if len(programs) != 1:
        sys.exit("error: the real Triton is not installed; run bench/serve/peers/install triton")
    ports = {name: free_port() for name in ("http", "grpc", "metrics")}
    command = [programs[0], f"--model-repository={repository}", f"--backend-directory={BUILD / 'bench' / 'backends'}"]
    for name, port in ports.items():
        command += [f"--{name}-address=127.0.0.1", f"--{name}-port={port}"]
    with open(os.devnull, "w") as nowhere:
        process = subprocess.Popen(command, stdout=nowhere, stderr=nowhere)
    try:
        def is_ready():
            assert process.poll() is None, "Triton has ended"
            try:
                connection = http.client.HTTPConnection("127.0.0.1", ports["http"], timeout=10)
                connection.request("GET", "/v2/health/ready")
                return connection.getresponse().status == 200
            except OSError:
                return False
        eventually(is_ready, timeout_s=600)
        yield ports
    finally:
        process.kill()
        process.wait()
