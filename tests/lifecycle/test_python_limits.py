"""What workers of Python models may take: each limit is hit."""

import contextlib
import json
import os
import pathlib
import pwd
import re

import numpy as np
import pytest
import tritonclient.grpc as grpcclient
from support import python_models
from support.open_place import OpenPlace, folder_for_all
from support.server import Server
from support.waiting import eventually
from tritonclient.utils import InferenceServerException

IDENTITY_OF = """\
def execute(self, requests):
    if value(requests[0])[0] < 0:
        {}
    return [answer(value(request)) for request in requests]
"""


@pytest.fixture
def repository():
    """Where other users find it, too."""
    with folder_for_all() as folder:
        python_models.write(folder, "good", python_models.IDENTITY)
        yield folder


@pytest.fixture(scope="module")
def place():
    """For workers of other users."""
    with folder_for_all() as folder:
        yield OpenPlace(folder)


def parameter(name, text):
    return f'parameters {{ key: "{name}" value {{ string_value: "{text}" }} }}\n'


def write(repository, name, statement, extra):
    python_models.write(repository, name, IDENTITY_OF.format(statement), extra=extra)


def ask(client, model, number=1):
    array = np.array([number, 2], dtype=np.float32)
    tensor = grpcclient.InferInput("INPUT0", list(array.shape), "FP32")
    tensor.set_data_from_numpy(array)
    return (client.infer(model, [tensor]).as_numpy("OUTPUT0") == array).all()


def refusal(client, model):
    with pytest.raises(InferenceServerException) as raised:
        ask(client, model, -1)
    return raised.value.message()


def serves_again(client, model):
    def call():
        try:
            return ask(client, model)
        except InferenceServerException:
            return False
    eventually(call)


@contextlib.contextmanager
def served(repository, *settings, place=None):
    """place: for workers of other users"""
    started = Server(repository, python_models.INTERPRETER, *(place.settings if place else ()), *settings,
                     environment=place and place.environment)
    with started as server, server.client() as client:
        yield server.wait_ready(), client


def processes_with(mark):
    """Processes whose environment has the variable."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                if mark.encode() in (entry / "environ").read_bytes():
                    found.append(int(entry.name))
    return found


def test_memory(repository):
    write(repository, "eats", "self.all = [bytearray(1 << 26) for _ in range(400)]", parameter("memory_limit", "2GiB"))
    with served(repository) as (_, client):
        assert "MemoryError" in refusal(client, "eats")
        assert ask(client, "eats") and ask(client, "good")


def test_open_files(repository):
    write(repository, "opens", "self.all = [open('/dev/null') for _ in range(1000)]", parameter("open_files", "64"))
    with served(repository) as (_, client):
        assert "OSError: [Errno 24] Too many open files" in refusal(client, "opens")
        assert ask(client, "good")


def test_memory_that_is_shared_with_the_server(repository):
    python_models.write(repository, "shares", """\
        def execute(self, requests):
            count = int(value(requests[0])[0])
            return [answer(np.full(count, 7, dtype=np.float32)) for request in requests]
        """, extra=parameter("shared_memory", "4MiB"))

    def shares(client, count, size=1):
        tensor = grpcclient.InferInput("INPUT0", [size], "FP32")
        tensor.set_data_from_numpy(np.full(size, count, dtype=np.float32))
        return client.infer("shares", [tensor]).as_numpy("OUTPUT0").size

    with served(repository) as (_, client):
        assert shares(client, 100_000) == 100_000
        with pytest.raises(InferenceServerException) as caught:
            shares(client, 1, size=2_000_000)
        assert "RESOURCE_EXHAUSTED" in caught.value.status(), caught.value
        with pytest.raises(InferenceServerException) as caught:
            shares(client, 2_000_000)
        assert "memory" in caught.value.message().lower(), caught.value
        assert shares(client, 100_000) == 100_000 and ask(client, "good")


def test_time_to_start(repository):
    write(repository, "slow", "pass", parameter("start_timeout", "5s"))
    text = (repository / "slow" / "1" / "model.py").read_text()
    (repository / "slow" / "1" / "model.py").write_text(text + "    def initialize(self, args):\n        time.sleep(1000)\n")
    with Server(repository, python_models.INTERPRETER, "plugin.models.strict_readiness=false") as server:
        server.newest_line("failed to load 'slow' version 1: .*is killed because it was not ready within 5 s")


def test_cores(repository):
    [core, *_] = os.sched_getaffinity(0)
    write(repository, "bound", "raise ValueError(f'{sorted(os.sched_getaffinity(0))}')", parameter("cpu_cores", core))
    with served(repository) as (_, client):
        assert f"ValueError: [{core}]" in refusal(client, "bound")


EVERY = os.sched_getaffinity(0)
FEW = EVERY - {min(EVERY)} or EVERY

# What the kernel says, a child and a thread of initialize(), a thread that has chosen its CPU, and what is seen while it loads.
LOADS = """\
def cpus_of(self, task):
    text = open(f"/proc/{task}/status").read()
    return int(text.split("Cpus_allowed:")[1].split()[0].replace(",", ""), 16)

def keep(self, name, choose=False):
    import threading
    ready, stays = threading.Event(), threading.Event()
    def run():
        if choose:
            os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
        self.tasks[name] = threading.get_native_id()
        ready.set()
        stays.wait()
    threading.Thread(target=run, daemon=True).start()
    ready.wait()

def initialize(self, args):
    import subprocess
    self.seen = {"loading": self.cpus_of("self"), "told": len(os.sched_getaffinity(0)), "preload": os.environ.get("LD_PRELOAD", "")}
    self.child = subprocess.Popen(["sleep", "1000"])
    self.tasks = {"main": os.getpid(), "child": self.child.pid}
    self.keep("thread")
    self.keep("chosen", choose=True)

def execute(self, requests):
    raise ValueError(json.dumps({**self.seen, **{name: self.cpus_of(task) for name, task in self.tasks.items()}}))
"""


def cores(cpus):
    return ",".join(map(str, cpus))


def mask_of(cpus):
    return sum(1 << cpu for cpu in cpus)


@pytest.mark.parametrize("user", ["", pytest.param("nobody", marks=pytest.mark.as_root)])
def test_the_first_cpu_is_left_to_others_while_a_model_loads(repository, place, user):
    python_models.write(repository, "loads", LOADS, extra=parameter("run_as_user", user) if user else "")
    with served(repository, place=place) as (_, client):
        seen = json.loads(refusal(client, "loads").partition("ValueError: ")[2])
    assert seen.pop("loading") == mask_of(FEW)
    assert seen.pop("told") == len(EVERY), "libraries make as many threads as this"
    assert seen.pop("preload") == ""
    # Of two CPUs its choice is what every thread of the load has.
    assert seen.pop("chosen") == (mask_of(EVERY) if len(EVERY) == 2 else mask_of({max(EVERY)}))
    assert set(seen.values()) == {mask_of(EVERY)} and set(seen) == {"main", "child", "thread"}


GROUP = 'instance_group [ { kind: KIND_CPU count: 1 host_policy: "few" } ]\n'


@pytest.mark.parametrize("cpus, extra, settings", [
    pytest.param(EVERY, parameter("cpu_cores", cores(EVERY)), (), id="parameter"),
    pytest.param(FEW, GROUP, (f'plugin.models.host_policies={{"few.cpu-cores"="{cores(FEW)}"}}',), id="host_policy")])
def test_cores_that_are_said_hold_while_a_model_loads_and_later(repository, cpus, extra, settings):
    python_models.write(repository, "loads", LOADS, extra=extra)
    with served(repository, *settings) as (_, client):
        seen = json.loads(refusal(client, "loads").partition("ValueError: ")[2])
    assert seen["loading"] == seen["main"] == seen["thread"] == mask_of(cpus)
    assert seen["told"] == len(cpus)


# Not without end, so that it is not this machine that ends it if the limit does not.
BOMB = "[os.fork() or time.sleep(600) for _ in range(2000)]"


@pytest.mark.as_root
def test_processes_of_root_are_counted(repository):
    write(repository, "forks", BOMB, parameter("processes", "40"))
    with served(repository) as (_, client):
        message = refusal(client, "forks")
        assert "is killed because it has " in message and message.endswith(" processes and threads, more than 40")
        assert ask(client, "good")
        serves_again(client, "forks")


@pytest.mark.as_root
def test_processes_of_a_user_are_refused(repository, place):
    write(repository, "forks", BOMB, parameter("processes", "40") + parameter("run_as_user", "65321"))
    with served(repository, place=place) as (_, client):
        assert "BlockingIOError: [Errno 11] Resource temporarily unavailable" in refusal(client, "forks")
        assert ask(client, "good")


@pytest.mark.as_root
def test_what_a_bomb_has_started_goes_with_its_worker(repository, monkeypatch):
    monkeypatch.setenv("MARK_OF_BOMB", f"x{os.getpid()}")
    write(repository, "forks", BOMB, parameter("processes", "40"))
    with served(repository, 'plugin.python.environment=["MARK_OF_BOMB"]') as (server, client):
        refusal(client, "forks")
        serves_again(client, "forks")
        eventually(lambda: len(processes_with(f"MARK_OF_BOMB=x{os.getpid()}")) <= 3)  # server and two workers


@pytest.mark.as_root
def test_another_user(repository, place):
    nobody = pwd.getpwnam("nobody")
    about = """raise ValueError(json.dumps({"ids": [os.getuid(), os.getgid(), os.geteuid()], "groups": os.getgroups(),
            "home": os.environ["HOME"], "user": os.environ["USER"], "more": open("/proc/self/status").read().split("NoNewPrivs:")[1][:2],
            "capabilities": [line.split()[1] for line in open("/proc/self/status") if line.startswith(("CapEff", "CapPrm"))]}))"""
    write(repository, "other", about, parameter("run_as_user", "nobody"))
    write(repository, "reads", "open('/etc/shadow')", parameter("run_as_user", "nobody"))
    with served(repository, place=place) as (_, client):
        message = refusal(client, "other")
        assert f'"ids": [{nobody.pw_uid}, {nobody.pw_gid}, {nobody.pw_uid}]' in message
        assert f'"home": "{nobody.pw_dir}", "user": "nobody"' in message
        assert '"capabilities": ["0000000000000000", "0000000000000000"]' in message
        assert '"more": "\\t1"' in message
        assert "PermissionError: [Errno 13] Permission denied: '/etc/shadow'" in refusal(client, "reads")
        assert ask(client, "other")


@pytest.mark.as_root
def test_the_user_of_the_option_stays(repository, place):
    write(repository, "climbs", "pass", parameter("run_as_user", "root"))
    write(repository, "nobodys", "raise ValueError(os.getuid())", "")
    with Server(repository, *place.settings, 'plugin.python.run_as_user="65321"', "plugin.models.strict_readiness=false",
                environment=place.environment) as server, server.client() as client:
        eventually(lambda: client.is_model_ready("nobodys"))
        assert "ValueError: 65321" in refusal(client, "nobodys")
        assert not client.is_model_ready("climbs")
        server.newest_line("parameter 'run_as_user' is 'root', expected '65321', as the plugin's option says")


def test_a_user_that_is_none_fails_the_load(repository):
    write(repository, "nobodys", "pass", parameter("run_as_user", "no-such-user"))
    with Server(repository, python_models.INTERPRETER, "plugin.models.strict_readiness=false") as server:
        server.newest_line("run_as_user: there is no user 'no-such-user'")


@pytest.mark.parametrize("what", ["worker", "program"])
def test_a_folder_that_the_user_may_not_enter_is_named(repository, place, what):
    write(repository, "shut", "pass", parameter("run_as_user", "nobody"))
    program = repository / "shut" / "1" / "model.py"
    closed, file = (place.worker, place.worker / "atoll_worker" / "__main__.py") if what == "worker" else (repository / "shut", program)
    mode = closed.stat().st_mode
    closed.chmod(0o700)
    try:
        with Server(repository, *place.settings, "plugin.models.strict_readiness=false", environment=place.environment) as server:
            line = server.newest_line("failed to load 'shut' version 1: .*").group()
    finally:
        closed.chmod(mode)
    assert re.search(rf"; user 'nobody' may not enter folder '{closed}', which is on the way to '{file}'$", line), line


def group_folder():
    """A folder of the system's in which groups with a limit of processes can be made; None: there is none."""
    for root in ("/sys/fs/cgroup", "/sys/fs/cgroup/pids"):
        folder = pathlib.Path(root) / f"atoll-test-{os.getpid()}"
        with contextlib.suppress(OSError):
            folder.mkdir()
            if (folder / "pids.max").exists():
                return folder
            folder.rmdir()
    return None


@pytest.mark.as_root
def test_a_control_group_bounds_the_worker_and_all_that_it_starts(repository):
    escapes = "[os.fork() or (os.setsid(), time.sleep(600)) for _ in range(2000)]"
    write(repository, "forks", escapes, parameter("processes", "40"))
    folder = group_folder()
    setting = f'plugin.python.cgroup="{folder or "/sys/fs/cgroup/nowhere"}"'
    with served(repository, setting) as (server, client):
        if folder is None:  # nothing here can be bounded so: that is one line
            assert server.log.count("limits of workers that option 'cgroup' does not serve are resource limits: ") == 1
            return
        assert len(list(folder.glob("atoll-*"))) == 2
        assert "BlockingIOError: [Errno 11] Resource temporarily unavailable" in refusal(client, "forks")
        [group] = [path for path in folder.glob("atoll-*") if (path / "pids.max").read_text().strip() == "40"]
        pids = [int(pid) for pid in (group / "cgroup.procs").read_text().split()]
        assert 30 < len(pids) <= 40
        os.kill(min(pids), 9)
        serves_again(client, "forks")
        eventually(lambda: not any(pathlib.Path(f"/proc/{pid}").exists() for pid in pids))
    assert list(folder.glob("atoll-*")) == []
    folder.rmdir()


def test_without_control_groups_that_is_one_line(repository):
    write(repository, "eats", "self.all = [bytearray(1 << 26) for _ in range(400)]", parameter("memory_limit", "2GiB"))
    with served(repository, 'plugin.python.cgroup="/nowhere"') as (server, client):
        assert server.log.count("limits of workers that option 'cgroup' does not serve are resource limits: no group can be made in "
                                "'/nowhere': No such file or directory") == 1
        assert "MemoryError" in refusal(client, "eats")
