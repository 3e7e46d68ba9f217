"""Calls that another plugin brings to the gRPC frontend, with the real executable."""

import concurrent.futures
import contextlib
import signal
import threading

import grpc
import pytest
from support.contributor import Contributor
from support.waiting import eventually

LIMIT = 4 << 20
RELOADS = 5
WAIT_S = 60
CALLS = Contributor("tests/grpc_calls", "grpc", f"max_message_bytes = {LIMIT}\n")
OPTIONS = [("grpc.use_local_subchannel_pool", 1), ("grpc.max_receive_message_length", -1)]


@pytest.fixture(scope="module")
def server(tmp_path_factory, grpc_frontend):
    with CALLS.running(tmp_path_factory.mktemp("server"), {"calls": "first"}, grpc_frontend=grpc_frontend) as server:
        yield server


@contextlib.contextmanager
def connected(server, **options):
    with grpc.insecure_channel(server.address, options=OPTIONS, **options) as channel:
        yield channel


def unary(channel, method):
    return channel.unary_unary(f"/fixture.Calls/{method}")


def ask(server, method, message=b"", metadata=()):
    """The answer, or the failure's code and text."""
    with connected(server) as channel:
        try:
            return unary(channel, method)(message, timeout=WAIT_S, metadata=metadata)
        except grpc.RpcError as error:
            return error.code().name, error.details()


def says(server, name):
    """Whether an instance of this name answers. The frontend hears of a change a moment after the reload is logged."""
    return ask(server, "Hello") == name.encode()


def test_an_answer_at_once_and_one_that_comes_later(server):
    assert ask(server, "Hello") == b"first"
    for _ in range(20):
        assert ask(server, "Later") == b"first later"


def test_messages_up_to_the_limit_also_compressed(server):
    for compression in (grpc.Compression.NoCompression, grpc.Compression.Gzip):
        with connected(server, compression=compression) as channel:
            for size in (0, 1, 100_000, LIMIT - 1, LIMIT):
                message = b"abcd" * (size // 4) + b"e" * (size % 4)
                sent = unary(channel, "Echo")(message, timeout=WAIT_S, metadata=(("prefix", "p"),))
                assert sent == b"p" + message
            with pytest.raises(grpc.RpcError) as refused:
                unary(channel, "Echo")(b"x" * (LIMIT + 1), timeout=WAIT_S)
            assert refused.value.code().name == "RESOURCE_EXHAUSTED"
    assert ask(server, "Hello") == b"first"


def test_a_stream(server):
    with connected(server) as channel:
        stream = channel.unary_stream("/fixture.Calls/Stream")
        assert list(stream(b"1000", timeout=WAIT_S)) == [b"piece %d" % i for i in range(1000)]
        assert list(stream(b"0", timeout=WAIT_S)) == []
        failing = stream(b"-2", timeout=WAIT_S)
        assert [next(failing), next(failing)] == [b"piece 0", b"piece 1"]
        with pytest.raises(grpc.RpcError):
            next(failing)
        assert (failing.code().name, failing.details()) == ("ABORTED", "as asked")


def test_what_is_no_method_is_as_ever(server):
    assert ask(server, "None") == ("UNIMPLEMENTED", "")
    with connected(server) as channel, pytest.raises(grpc.RpcError) as refused:
        channel.unary_unary("/no.such.Service/Method")(b"", timeout=WAIT_S)
    assert (refused.value.code().name, refused.value.details()) == ("UNIMPLEMENTED", "")


def test_a_restricted_category(server):
    text = "This protocol is restricted, expecting header 'triton-grpc-protocol-x-key'"
    assert ask(server, "Closed") == ("UNAVAILABLE", text)
    assert ask(server, "Closed", metadata=(("triton-grpc-protocol-x-key", "wrong"),)) == ("UNAVAILABLE", text)
    assert ask(server, "Closed", metadata=(("triton-grpc-protocol-x-key", "secret"),)) == b"first"


def test_a_client_that_does_not_read_its_stream(server):
    with connected(server) as channel:
        stream = channel.unary_stream("/fixture.Calls/Flood")(b"", timeout=WAIT_S)
        server.wait_for_line("the flood ended: the client takes its stream too slowly")
        with pytest.raises(grpc.RpcError):
            for _ in stream:
                pass


def test_a_client_that_goes(server):
    with connected(server) as channel:
        call = unary(channel, "Held").future(b"", timeout=WAIT_S)
        server.wait_for_line("a call is held")
        call.cancel()
        server.wait_for_line("the client of a held call has gone")
    with connected(server) as channel:
        call = unary(channel, "Held").future(b"", timeout=WAIT_S)
        server.wait_for_line("a call is held")
    assert call.code().name == "CANCELLED"
    server.wait_for_line("the client of a held call has gone")


def test_reloads_while_in_use(tmp_path, grpc_frontend):
    with CALLS.running(tmp_path, {"calls": "n1"}, grpc_frontend=grpc_frontend) as server:
        ended, failures, seen = threading.Event(), [], set()

        def keep_asking(method):
            with connected(server) as channel:
                while not ended.is_set():
                    try:
                        seen.add(unary(channel, method)(b"", timeout=WAIT_S).split()[0])
                    except grpc.RpcError as error:
                        failures.append((method, error))

        clients = [threading.Thread(target=keep_asking, args=[method]) for method in ("Hello", "Later")]
        for client in clients:
            client.start()
        try:
            for generation in range(2, 2 + RELOADS):
                with connected(server) as channel:
                    waiting = unary(channel, "Held").future(b"", timeout=WAIT_S)
                    server.wait_for_line("a call is held")
                    CALLS.reload(server, {"calls": f"n{generation}"}, generation)
                    assert waiting.result() == b"n%d drained" % (generation - 1), "the old one ended what it had"
                eventually(lambda: says(server, f"n{generation}"))  # noqa: B023
        finally:
            ended.set()
            for client in clients:
                client.join()
        assert failures == []
        assert len(seen) >= RELOADS


def test_it_comes_and_goes_and_two_have_the_same(tmp_path, grpc_frontend):
    with CALLS.running(tmp_path, {}, grpc_frontend=grpc_frontend) as server:
        assert ask(server, "Hello") == ("UNIMPLEMENTED", "")
        CALLS.reload(server, {"a": "of-a"}, 2)
        eventually(lambda: says(server, "of-a"))
        CALLS.reload(server, {"a": "of-a", "b": "of-b"}, 3)
        server.newest_line(r"the method '/fixture.Calls/Hello' of 'b' is not served: 'a' has it already")
        assert says(server, "of-a")
        CALLS.reload(server, {"b": "of-b"}, 4)
        eventually(lambda: says(server, "of-b"))
        CALLS.reload(server, {}, 5)
        eventually(lambda: ask(server, "Hello") == ("UNIMPLEMENTED", ""))


def test_the_servers_end_waits_for_them(tmp_path, grpc_frontend):
    with CALLS.running(tmp_path, {"calls": "first"}, grpc_frontend=grpc_frontend) as server, connected(server) as channel, \
            concurrent.futures.ThreadPoolExecutor() as pool:
        slow = pool.submit(unary(channel, "Slow"), b"", timeout=WAIT_S)
        server.wait_for_line("a slow call has begun")
        server.process.send_signal(signal.SIGTERM)
        server.wait_for_line("draining for at most")
        answer = b"first"
        while answer == b"first":  # the frontend has not heard of it yet
            answer = ask(server, "Hello")
        assert answer == ("UNAVAILABLE", "GRPC server is shutting down and has stopped accepting new requests.")
        assert slow.result() == b"first slow"
        assert server.process.wait(WAIT_S) == 0
