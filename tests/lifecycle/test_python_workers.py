"""Workers of Python models that die, hang, misbehave or end: what clients get, and that nothing is left of them."""

import concurrent.futures
import os
import pathlib
import signal
import sys
import tarfile

import numpy as np
import pytest
import tritonclient.grpc as grpcclient
from support import python_models
from support.python_models import children
from support.server import Server
from support.waiting import eventually
from tritonclient.utils import InferenceServerException

EXPLICIT = 'plugin.control.use="control/explicit"'


def is_alive(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def ask(client, model, array=np.array([1, 2], dtype=np.float32), **options):
    tensor = grpcclient.InferInput("INPUT0", list(array.shape), "FP32")
    tensor.set_data_from_numpy(array)
    return client.infer(model, [tensor], **options).as_numpy("OUTPUT0")


def error_of(call):
    with pytest.raises(InferenceServerException) as raised:
        call()
    return raised.value


@pytest.fixture
def repository(tmp_path):
    python_models.write(tmp_path, "good", python_models.IDENTITY)
    return tmp_path


def start(repository, *settings, load=("*",)):
    listed = ", ".join(f'"{model}"' for model in load)
    return Server(repository, python_models.INTERPRETER, EXPLICIT, f"plugin.control.load_model=[{listed}]", *settings)


def answers_again(client, model):
    def call():
        try:
            return (ask(client, model) == [1, 2]).all()
        except InferenceServerException:
            return False
    eventually(call, timeout_s=40)


def test_a_killed_worker_is_started_anew(repository):
    with start(repository) as server, server.client() as client:
        server.wait_ready("good")
        assert (ask(client, "good") == [1, 2]).all()
        for _ in range(3):
            [worker] = children(server.pid)
            os.kill(worker, signal.SIGKILL)
            answers_again(client, "good")
            assert children(server.pid) != [worker]
        server.wait_logged("was killed by signal 9 (Killed)")


DEATHS = {"segv": "os.kill(os.getpid(), signal.SIGSEGV)", "exit": "os._exit(3)", "kill": "os.kill(os.getpid(), signal.SIGKILL)"}


@pytest.mark.parametrize("death, text", [("segv", "was killed by signal 11"), ("exit", "exited with status 3"),
                                         ("kill", "was killed by signal 9 (Killed)")])
def test_a_death_in_execute_fails_its_requests_alone(repository, death, text):
    python_models.write(repository, "dies", f"""\
        def execute(self, requests):
            if value(requests[0])[0][0] < 0:
                {DEATHS[death]}
            return [answer(value(request)) for request in requests]
        """, max_batch_size=4, dims=(2,), extra="dynamic_batching { preferred_batch_size: [ 4 ] max_queue_delay_microseconds: 5000000 }")
    with start(repository) as server, server.client() as client:
        server.wait_ready()
        with concurrent.futures.ThreadPoolExecutor() as threads:
            batch = [threads.submit(ask, client, "dies", np.array([[-1, i]], dtype=np.float32)) for i in range(4)]
            for one in batch:
                failure = error_of(one.result)
                assert "UNAVAILABLE" in failure.status()
                assert text in failure.message() and failure.message().startswith("worker 'dies_0' (process ")
            assert (ask(client, "good") == [1, 2]).all()
            batch = [threads.submit(ask, client, "dies", np.array([[1, i]], dtype=np.float32)) for i in range(4)]
            for i, one in enumerate(batch):
                assert (one.result() == [[1, i]]).all()


def test_a_death_in_initialize_fails_the_load(repository):
    python_models.write(repository, "dies", """\
        def initialize(self, args):
            os._exit(7)
        def execute(self, requests):
            return []
        """)
    with start(repository, load=("good",)) as server, server.client() as client:
        server.wait_ready("good")
        assert "exited with status 7" in error_of(lambda: client.load_model("dies")).message()
        assert len(children(server.pid)) == 1


def test_an_exception_in_initialize_is_the_loads(repository):
    python_models.write(repository, "fails", """\
        def initialize(self, args):
            raise RuntimeError("no weights")
        def execute(self, requests):
            return []
        """)
    with start(repository, load=("good",)) as server, server.client() as client:
        server.wait_ready("good")
        assert "RuntimeError: no weights" in error_of(lambda: client.load_model("fails")).message()
        assert len(children(server.pid)) == 1


def test_a_hanging_execute_is_ended(repository):
    python_models.write(repository, "hangs", """\
        def execute(self, requests):
            if value(requests[0])[0] < 0:
                time.sleep(10000)
            return [answer(value(request)) for request in requests]
        """, extra='parameters { key: "execute_timeout" value { string_value: "300ms" } }')
    with start(repository) as server, server.client() as client:
        server.wait_ready()
        failure = error_of(lambda: ask(client, "hangs", np.array([-1], dtype=np.float32)))
        assert failure.message().endswith("is killed because execute() has not returned within 300 ms")
        answers_again(client, "hangs")


def test_a_model_without_a_worker_refuses_and_is_not_ready(repository):
    python_models.write(repository, "once", """\
        def initialize(self, args):
            if os.path.exists(os.path.join(args["model_repository"], "broken")):
                raise RuntimeError("now it is broken")
        def execute(self, requests):
            return [answer(value(request)) for request in requests]
        """)
    with start(repository) as server, server.client() as client:
        server.wait_ready()
        assert (ask(client, "once") == [1, 2]).all()
        (repository / "once" / "broken").touch()
        for worker in children(server.pid):
            os.kill(worker, signal.SIGKILL)
        eventually(lambda: not client.is_model_ready("once"), timeout_s=20)
        eventually(lambda: "now it is broken" in refusal(client), timeout_s=20)
        (repository / "once" / "broken").unlink()
        answers_again(client, "once")
        assert client.is_model_ready("once")


def test_a_model_may_say_that_it_is_not_ready(repository):
    python_models.write(repository, "moody", """\
        def execute(self, requests):
            self.is_well = bool(value(requests[0])[0])
            return [answer(value(request)) for request in requests]
        def is_ready(self):
            return getattr(self, "is_well", True)
        """)
    with start(repository) as server, server.client() as client:
        server.wait_ready()
        ask(client, "moody", np.array([0], dtype=np.float32))
        eventually(lambda: not client.is_model_ready("moody"), timeout_s=10)
        ask(client, "moody", np.array([1], dtype=np.float32))
        eventually(lambda: client.is_model_ready("moody"), timeout_s=10)
        assert client.is_model_ready("good")


def refusal(client):
    try:
        ask(client, "once")
        return ""
    except InferenceServerException as error:
        return error.message()


def test_nothing_is_left_of_unloaded_models(repository):
    python_models.write(repository, "tells", """\
        def execute(self, requests):
            return [answer(value(request)) for request in requests]
        def finalize(self):
            print("the end of tells")
        """, extra="instance_group [ { count: 3 kind: KIND_CPU } ]")
    with start(repository, load=("good",)) as server, server.client() as client:
        server.wait_ready("good")

        def cycle():
            client.load_model("tells")
            assert (ask(client, "tells") == [1, 2]).all()
            assert len(children(server.pid)) == 4
            client.unload_model("tells")
            eventually(lambda: len(children(server.pid)) == 1, timeout_s=30)

        def descriptors():
            return len(os.listdir(f"/proc/{server.pid}/fd"))

        cycle()
        before, left = descriptors(), None
        shared = set(os.listdir("/dev/shm"))
        for _ in range(5):
            cycle()
        eventually(lambda: descriptors() <= before, timeout_s=10)

        def is_nothing_left():
            """Other tests have shared memory at the same time, which goes with them; what is left here would stay."""
            nonlocal left
            there = {name for name in os.listdir("/dev/shm") if name not in shared}
            left = there if left is None else left & there
            return not left
        eventually(is_nothing_left, say=lambda: str(left))
        assert server.log.count("the end of tells") == 18


def test_workers_end_with_a_killed_server(repository):
    python_models.write(repository, "busy", """\
        def execute(self, requests):
            while True:
                pass
        """)
    server = start(repository)
    try:
        server.wait_ready()
        with server.client() as client:
            tensor = grpcclient.InferInput("INPUT0", [1], "FP32")
            tensor.set_data_from_numpy(np.array([1], dtype=np.float32))
            client.async_infer("busy", [tensor], lambda result, error: None)
            workers = children(server.pid)
            assert len(workers) == 2
            server.process.kill()
            server.process.wait()
            eventually(lambda: not any(is_alive(worker) for worker in workers), timeout_s=10)
    finally:
        server.process.kill()
        server.process.wait()


def test_a_finalize_that_hangs_is_ended(repository):
    python_models.write(repository, "stays", """\
        def execute(self, requests):
            return [answer(value(request)) for request in requests]
        def finalize(self):
            time.sleep(10000)
        """, extra='parameters { key: "stop_timeout" value { string_value: "200ms" } }')
    with start(repository) as server, server.client() as client:
        server.wait_ready()
        client.unload_model("stays")
        eventually(lambda: len(children(server.pid)) == 1, timeout_s=30)
        server.wait_for_line("worker 'stays_0' is killed because it has not finalised within 200 ms")


def test_what_workers_print_is_in_the_log(repository):
    python_models.write(repository, "prints", r"""
        def execute(self, requests):
            print("to stdout")
            print("to stderr", file=sys.stderr)
            sys.stdout.buffer.write(b"\x00\xff\n")
            sys.stdout.flush()
            pb_utils.Logger.log_warn("by the logger")
            print("x" * 20000)
            return [answer(value(request)) for request in requests]
        """)
    with start(repository) as server, server.client() as client:
        server.wait_ready()
        ask(client, "prints")
        for text in ("prints_0: to stdout", "prints_0: to stderr", "prints_0: by the logger"):
            eventually(lambda text=text: text in server.log, timeout_s=10)
        assert max(len(line) for line in server.lines) < 9000


def test_workers_have_no_secrets_and_no_descriptors(repository, monkeypatch):
    python_models.write(repository, "looks", """\
        def execute(self, requests):
            print("secret:", os.environ.get("SECRET_KEY"), "wanted:", os.environ.get("WANTED"))
            print("files:", sorted(os.readlink(f"/proc/self/fd/{fd}").split(":")[0] for fd in os.listdir("/proc/self/fd")
                                   if os.path.exists(f"/proc/self/fd/{fd}")))
            return [answer(value(request)) for request in requests]
        """)
    monkeypatch.setenv("SECRET_KEY", "s3cr3t")
    monkeypatch.setenv("WANTED", "yes")
    with start(repository, 'plugin.python.environment=["WANTED"]') as server, server.client() as client:
        server.wait_ready()
        ask(client, "looks")
        eventually(lambda: "files:" in server.log, timeout_s=10)
        server.wait_logged("secret: None wanted: yes")
        [files] = [line.split("files: ", 1)[1] for line in server.lines if "files: " in line]
        assert set(eval(files)) <= {"/dev/null", "pipe", "socket"}


def test_an_environment_may_come_with_the_model(repository):
    body = """\
        def execute(self, requests):
            print("environment:", os.environ["VIRTUAL_ENV"], os.environ["PATH"].split(":")[0], os.environ["MARK"])
            return [answer(value(request)) for request in requests]
        """
    environment = repository.parent / "environment"
    (environment / "bin").mkdir(parents=True)
    (environment / "bin" / "python3").write_text(f'#!/bin/sh\nMARK=ours exec {sys.executable} "$@"\n')
    (environment / "bin" / "python3").chmod(0o755)

    def parameter(path):
        return f'parameters {{ key: "EXECUTION_ENV_PATH" value {{ string_value: "{path}" }} }}'

    python_models.write(repository, "folder", body, extra=parameter(environment))
    python_models.write(repository, "packed", body, extra=parameter("$$TRITON_MODEL_DIRECTORY/env.tar.gz"))
    with tarfile.open(repository / "packed" / "env.tar.gz", "w:gz") as archive:
        archive.add(environment, ".")
    with start(repository) as server, server.client() as client:
        server.wait_ready()
        ask(client, "folder")
        eventually(lambda: f"environment: {environment} {environment}/bin ours" in server.log, timeout_s=10)
        ask(client, "packed")
        eventually(lambda: server.log.count("environment: ") == 2, timeout_s=10)
        [unpacked] = [line.split("environment: ")[1].split()[0] for line in server.lines if "packed_0: environment: " in line]
        assert pathlib.Path(unpacked).is_dir() and unpacked != str(environment)
    assert not pathlib.Path(unpacked).exists()


def test_a_worker_that_takes_too_much_memory_fails_alone(repository):
    python_models.write(repository, "eats", """\
        def execute(self, requests):
            if value(requests[0])[0] < 0:
                self.all = [bytearray(1 << 28) for _ in range(100)]
            return [answer(value(request)) for request in requests]
        """, extra='parameters { key: "memory_limit" value { string_value: "4GiB" } }')
    with start(repository) as server, server.client() as client:
        server.wait_ready()
        assert "MemoryError" in error_of(lambda: ask(client, "eats", np.array([-1], dtype=np.float32))).message()
        assert (ask(client, "good") == [1, 2]).all()
        assert (ask(client, "eats") == [1, 2]).all()
