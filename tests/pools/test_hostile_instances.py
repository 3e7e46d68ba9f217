"""Instances that answer anything: clients of the front door get an error, and the server that keeps the pools goes on as before."""

import http.client
import json
import pathlib
import sys
import textwrap

import grpc
import pytest
from support.pools import WAIT_S, Pools, Refused
from support.waiting import eventually
from tritonclient.grpc import service_pb2, service_pb2_grpc

IDENTITY = """
backend: "identity"
max_batch_size: 8
input [ { name: "INPUT0" data_type: TYPE_FP32 dims: [ 2 ] } ]
output [ { name: "OUTPUT0" data_type: TYPE_FP32 dims: [ 2 ] } ]
"""
BODY = {"inputs": [{"name": "INPUT0", "shape": [1, 2], "datatype": "FP32", "data": [1, 2]}]}

# Behaves until a file says otherwise: its first word is what is attacked, the rest how.
SERVER = textwrap.dedent('''
    import json, pathlib, socket, socketserver, sys, threading, time
    mode_file = pathlib.Path(sys.argv[3])

    def mode():
        words = mode_file.read_text().split()
        return words if words else ["", ""]

    def answer(body, status="200 OK", head=""):
        body = body.encode()
        return f"HTTP/1.1 {status}\\r\\nContent-Length: {len(body)}\\r\\n{head}\\r\\n".encode() + body

    def good(path):
        if path.endswith("/index"):
            return answer(json.dumps([{"name": "a", "version": "1", "state": "READY", "reason": ""}]))
        if path.endswith("/config"):
            return answer('{"name": "a", "backend": "identity"}')
        return answer('{"model_stats": []}' if path.endswith("/stats") else "{}")

    def forever(connection, piece):
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            connection.sendall(piece)

    def attack(connection, how):
        head = b"HTTP/1.1 200 OK\\r\\n"
        if how == "garbage": connection.sendall(bytes(range(256)) * 64)
        elif how == "http09": connection.sendall(b"hello\\n")
        elif how == "close": pass
        elif how == "cut_head": connection.sendall(head + b"Content-Le")
        elif how == "cut_body": connection.sendall(head + b"Content-Length: 1000\\r\\n\\r\\nabc")
        elif how == "endless_head": forever(connection, b"X-A: " + b"b" * 1000 + b"\\r\\n")
        elif how == "endless_line": forever(connection, b"a" * 65536)
        elif how == "endless_100": forever(connection, b"HTTP/1.1 100 Continue\\r\\n\\r\\n" * 1000)
        elif how == "endless_chunk_size": connection.sendall(head + b"Transfer-Encoding: chunked\\r\\n\\r\\n"); forever(connection, b"0" * 65536)
        elif how == "wrong_chunk": connection.sendall(head + b"Transfer-Encoding: chunked\\r\\n\\r\\nzz\\r\\nabc")
        elif how == "huge_length": connection.sendall(head + b"Content-Length: 99999999999999999999\\r\\n\\r\\nabc")
        elif how == "negative_length": connection.sendall(head + b"Content-Length: -1\\r\\n\\r\\nabc")
        elif how == "two_lengths": connection.sendall(head + b"Content-Length: 1\\r\\nContent-Length: 2\\r\\n\\r\\nab")
        elif how == "status_0": connection.sendall(b"HTTP/1.1 000 X\\r\\nContent-Length: 0\\r\\n\\r\\n")
        elif how == "status_999": connection.sendall(b"HTTP/1.1 999 X\\r\\nContent-Length: 0\\r\\n\\r\\n")
        elif how == "status_101": connection.sendall(b"HTTP/1.1 101 Switching\\r\\nUpgrade: x\\r\\n\\r\\nabc")
        elif how == "nul_in_head": connection.sendall(head + b"X\\0: a\\0b\\r\\nContent-Length: 0\\r\\n\\r\\n")
        elif how == "deep_json": connection.sendall(answer("[" * 200000))
        elif how == "huge_json": connection.sendall(answer("[" + "1," * 4000000 + "1]"))
        elif how == "index_of_junk": connection.sendall(answer('[{"name": "a"}, 1, null, {"state": "READY"}]'))
        elif how == "bare_lines": connection.sendall(b"\\r\\n" * 5 + head + b"Content-Length: 0\\r\\n\\r\\n")

    class Handler(socketserver.StreamRequestHandler):
        def handle(self):
            while True:
                line = self.rfile.readline(65536).decode()
                if not line: return
                length = 0
                while (field := self.rfile.readline(65536)) not in (b"\\r\\n", b""):
                    if field.lower().startswith(b"content-length:"): length = int(field.split(b":")[1])
                self.rfile.read(length)
                path = line.split()[1].split("?")[0]
                what, how = mode()
                if what and what in path:
                    try: attack(self.connection, how)
                    except OSError: pass
                    return
                self.wfile.write(good(path))

    def garbage_grpc(port):
        """Greets and then floods with frames of every kind."""
        listener = socket.create_server(("127.0.0.1", port))
        def serve(connection):
            try:
                connection.recv(65536)
                how = mode()[1]
                if how == "garbage": connection.sendall(bytes(range(256)) * 64)
                elif how == "settings":
                    forever(connection, b"\\0\\0\\0\\4\\0\\0\\0\\0\\0" * 1000)
                elif how == "pings": connection.sendall(b"\\0\\0\\0\\4\\0\\0\\0\\0\\0"); forever(connection, (b"\\0\\0\\10\\6\\0\\0\\0\\0\\0" + b"x" * 8) * 1000)
                elif how == "data": connection.sendall(b"\\0\\0\\0\\4\\0\\0\\0\\0\\0"); forever(connection, (b"\\0\\100\\0\\0\\0\\0\\0\\0\\1" + b"x" * 16384))
                elif how == "large_frame": connection.sendall(b"\\0\\0\\0\\4\\0\\0\\0\\0\\0" + b"\\377\\377\\377\\0\\0\\0\\0\\0\\1" + b"x" * 100000)
                elif how == "go_away": connection.sendall(b"\\0\\0\\0\\4\\0\\0\\0\\0\\0" + b"\\0\\0\\10\\7\\0\\0\\0\\0\\0" + b"\\0" * 8); time.sleep(1)
                elif how == "reset": connection.sendall(b"\\0\\0\\0\\4\\0\\0\\0\\0\\0" + b"\\0\\0\\4\\3\\0\\0\\0\\0\\1" + b"\\0\\0\\0\\2"); time.sleep(1)
            except OSError:
                pass
            finally:
                connection.close()
        while True:
            threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()

    threading.Thread(target=garbage_grpc, args=(int(sys.argv[2]),), daemon=True).start()
    socketserver.ThreadingTCPServer.daemon_threads = True
    socketserver.ThreadingTCPServer.allow_reuse_address = True
    socketserver.ThreadingTCPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
''')
ATTACKS = ["garbage", "http09", "close", "cut_head", "cut_body", "endless_head", "endless_line", "endless_100", "endless_chunk_size",
           "wrong_chunk", "huge_length", "negative_length", "two_lengths", "status_0", "status_101", "nul_in_head"]
KEEPER_ATTACKS = [*ATTACKS, "status_999", "deep_json", "huge_json", "index_of_junk"]
GRPC_ATTACKS = ["garbage", "close", "settings", "pings", "data", "large_frame", "go_away", "reset"]
KEPT_MIB = 96


@pytest.fixture
def pools(tmp_path):
    (tmp_path / "models/a/1").mkdir(parents=True)
    (tmp_path / "models/a/config.pbtxt").write_text(IDENTITY)
    (tmp_path / "server.py").write_text(SERVER)
    (tmp_path / "mode").touch()
    runtime = f"{sys.executable} {tmp_path}/server.py {{http_port}} {{grpc_port}} {tmp_path}/mode"
    pools = Pools(tmp_path, tmp_path / "models", f"plugin.launcher.runtimes={{hostile = '{runtime}'}}",
                  'plugin.pools.call_timeout="1s"', 'plugin.pools.health_interval="100ms"', 'plugin.pools.use_interval="100ms"',
                  'plugin.pools.start_timeout="30s"').start()
    yield pools
    pools.close()


def resident_mib(pools):
    for line in pathlib.Path(f"/proc/{pools.server.process.pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024


def behave(pools, mode=""):
    (pools.folder / "new").write_text(mode)
    (pools.folder / "new").rename(pools.folder / "mode")


def ask(pools, timeout=8):
    connection = http.client.HTTPConnection(pools.server.http_address, timeout=timeout)
    try:
        connection.request("POST", "/v2/models/a/infer", json.dumps(BODY))
        response = connection.getresponse()
        response.read(1 << 20)
        return response.status
    except (OSError, http.client.HTTPException) as error:
        return type(error).__name__  # an answer that had begun is cut off
    finally:
        connection.close()


def is_well(pools):
    return pools.raw("GET", "/v2/health/ready")[0] == 200 and pools.call("GET", "/v2/pools")["pools"] != []


def test_answers_to_requests_that_are_passed_on(pools):
    pools.create(instance={"runtime": "hostile"})
    behave(pools)
    assert pools.acquire("a")["state"] == "ACTIVE"
    assert ask(pools) == 200
    before = resident_mib(pools)
    for how in ATTACKS:
        behave(pools, f"/infer {how}")
        assert ask(pools) != 200, how
        assert is_well(pools), how
        behave(pools)
        assert ask(pools) == 200, how
    assert resident_mib(pools) < before + KEPT_MIB


GRPC_FAILURES = (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.INTERNAL, grpc.StatusCode.CANCELLED,
                 grpc.StatusCode.DEADLINE_EXCEEDED, grpc.StatusCode.UNKNOWN)


def refused_call(stub, message):
    with pytest.raises(grpc.RpcError) as error:
        stub.ModelInfer(message, timeout=5)
    assert error.value.code() in GRPC_FAILURES


def refused_stream(stub, message):
    """A stream tells of a request's failure in an answer, or ends with it."""
    try:
        answers = list(stub.ModelStreamInfer(iter([message]), timeout=5))
    except grpc.RpcError as error:
        assert error.code() in GRPC_FAILURES
    else:
        assert answers and all(answer.error_message for answer in answers), answers


@pytest.mark.parametrize("refused", [refused_call, refused_stream])
def test_answers_over_grpc_that_are_passed_on(pools, refused):
    pools.create(instance={"runtime": "hostile"})
    behave(pools)
    assert pools.acquire("a")["state"] == "ACTIVE"
    message = service_pb2.ModelInferRequest(model_name="a", inputs=[{"name": "INPUT0", "datatype": "FP32", "shape": [1, 2]}],
                                            raw_input_contents=[bytes(8)])
    before = resident_mib(pools)
    with grpc.insecure_channel(pools.server.address) as channel:
        stub = service_pb2_grpc.GRPCInferenceServiceStub(channel)
        for how in GRPC_ATTACKS:
            behave(pools, f"/nothing {how}")
            refused(stub, message)
            assert stub.ServerLive(service_pb2.ServerLiveRequest(), timeout=WAIT_S).live, how
    assert is_well(pools)
    assert resident_mib(pools) < before + KEPT_MIB


def test_answers_to_the_keeper(pools):
    pools.create(max_instances=1, instance={"runtime": "hostile"})
    behave(pools)
    assert pools.acquire("a")["state"] == "ACTIVE"
    before = resident_mib(pools)
    for what in ("/stats", "/index"):
        for how in KEEPER_ATTACKS:
            behave(pools, f"{what} {how}")
            eventually(lambda: is_well(pools), WAIT_S)
    # An instance that does not say what it has is replaced, and its lease goes where one behaves.
    behave(pools, "/index garbage")
    eventually(lambda: "did not answer 3 times" in pools.server.log, WAIT_S)
    for lease in pools.call("GET", "/v2/leases")["leases"]:
        if lease["state"] not in ("FAILED", "EXPIRED", "RELEASED"):
            behave(pools)
            pools.release(lease)
    for how in ("garbage", "close", "cut_body", "huge_json"):
        behave(pools, f"/load {how}")
        with pytest.raises(Refused) as refused:
            pools.acquire("a")
        assert refused.value.status in (422, 429, 503), refused.value
        assert is_well(pools), how
    behave(pools)
    assert is_well(pools)
    assert resident_mib(pools) < before + KEPT_MIB
