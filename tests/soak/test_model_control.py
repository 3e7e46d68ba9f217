"""Models are loaded, exchanged, broken and unloaded under clients that never stop asking. The oracle: an answer is right
for the version it names, as that was at a moment between question and answer; a refusal is documented, and the version
was away at such a moment."""

import concurrent.futures
import math
import random
import shutil
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
import tritonclient.grpc as grpcclient
from support import models
from support.control import EXPLICIT, PROTOCOLS, Control, code_of
from support.server import MEMORY_SLACK_BYTES, ROOT, SANITIZED, Server, usage
from tritonclient.utils import InferenceServerException

CHANGES = 25 if SANITIZED else 80
CYCLES = 40 if SANITIZED else 200
MANY_CYCLES = 100 if SANITIZED else 1000
WORKERS = 4  # the pool for loads starts a thread when there is work for one more
ONNX_CONFIG = '{"backend":"onnxruntime","version_policy":{"all":{}}}'
AWAY = None  # a version's constant while it is not served


class History:
    """What each version of a model may answer, and when: [constant, from, to]. Moments are of one clock."""

    def __init__(self):
        self._lock = threading.Lock()
        self._spans = {}

    def may_become(self, states):
        """From now on versions may be in new states, besides the ones they are in."""
        with self._lock:
            now = time.monotonic()
            for version, constant in states.items():
                self._spans.setdefault(version, [[AWAY, 0, math.inf]]).append([constant, now, math.inf])

    def became(self, states):
        """From now on they are in no other state."""
        with self._lock:
            now = time.monotonic()
            for version, constant in states.items():
                spans = self._spans[version]
                newest = max(i for i, span in enumerate(spans) if span[0] == constant)
                for i, span in enumerate(spans):
                    if i != newest and span[2] == math.inf:
                        span[2] = now

    def holds(self, version, constant, begin, end):
        with self._lock:
            spans = self._spans.get(version, [[AWAY, 0, math.inf]])
            return any(span[0] == constant and span[1] <= end and begin <= span[2] for span in spans)

    def versions(self):
        with self._lock:
            return list(self._spans)


class Changer:
    """One model's, in its own folder and with its own history. Every change is a load or unload call."""

    def __init__(self, repository, name, seed):
        self.name, self.history = name, History()
        self._folder = models.write_model(repository, name, 'backend: "onnxruntime" version_policy { all {} }\n')
        self._random = random.Random(seed)
        self._constant = 1000 * seed
        self._served = {}  # version: constant, of the repository's files
        self._files = {}
        for version in (1, 2):
            self._write(version)

    def _next(self):
        self._constant += 1
        return self._constant

    def _write(self, version, content=None):
        constant = self._next()
        folder = self._folder / str(version)
        folder.mkdir(exist_ok=True)
        (folder / "new").write_bytes(models.onnx_add(constant) if content is None else content)
        (folder / "new").rename(folder / "model.onnx")
        self._files[version] = constant

    def _change(self, call, states):
        absent = {version: AWAY for version in (1, 2, 3)}
        after = absent | states
        self.history.may_become(after)
        call()
        self.history.became(after)

    def run(self, control):
        action = self._random.choice([self.exchange, self.exchange, self.files, self.plain, self.unload, self.break_file,
                                      self.break_config, self.break_override])
        action(control)

    def plain(self, control):
        self._change(lambda: control.load(self.name), dict(self._files))

    def exchange(self, control):
        self._write(self._random.choice((1, 2)))
        self.plain(control)

    def files(self, control):
        constants = {version: self._next() for version in self._random.sample((1, 2, 3), 2)}
        content = {f"{version}/model.onnx": models.onnx_add(constant) for version, constant in constants.items()}
        self._change(lambda: control.load(self.name, config=ONNX_CONFIG, files=content), constants)

    def unload(self, control):
        self._change(lambda: control.unload(self.name), {})

    def break_file(self, control):
        """What fails leaves everything as it was: no state is added."""
        self.plain(control)
        version = self._random.choice((1, 2))
        constant = self._files[version]
        self._write(version, b"no model")
        code, message = control.refusal(control.load, self.name)
        assert code == "INVALID_ARGUMENT" and f"version {version} is at UNAVAILABLE state" in message, message
        self._write(version, models.onnx_add(constant))
        self._files[version] = constant

    def break_config(self, control):
        self.plain(control)
        config = self._folder / "config.pbtxt"
        text = config.read_text()
        config.write_text("max_batchsize: 8\n")
        assert control.refusal(control.load, self.name)[0] == "INTERNAL"
        config.write_text(text)

    def break_override(self, control):
        assert control.refusal(control.load, self.name, config="no JSON")[0] == "INVALID_ARGUMENT"
        assert control.refusal(control.load, self.name, config=ONNX_CONFIG,
                               files={"1/model.onnx": b"no model"})[0] == "INVALID_ARGUMENT"


def ask(server, protocol, changers, seed, end):
    """Asks until the end. Returns how many were answered and refused, and what broke the oracle."""
    chance = random.Random(seed)
    answered, refused, wrong = 0, 0, []
    with Control(server, protocol) as control:
        while not end.is_set():
            changer = chance.choice(changers)
            version = chance.choice(("", "", "1", "2", "3"))
            value = float(chance.randrange(1000))
            begin = time.monotonic()
            try:
                answer_version, answer = control.infer(changer.name, value, version=version)
            except InferenceServerException as error:
                refused += 1
                asked = [int(version)] if version else changer.history.versions()
                away = all(changer.history.holds(one, AWAY, begin, time.monotonic()) for one in asked)
                text = error.message()
                documented = code_of(error) in ("NOT_FOUND", "UNAVAILABLE") and text.startswith("Request for unknown model")
                if not (away and documented):
                    wrong.append(f"{changer.name}/{version} refused: {text}")
            else:
                answered += 1
                constant = answer - value
                if version and answer_version != version:
                    wrong.append(f"{changer.name}/{version} answered by {answer_version}")
                elif not changer.history.holds(int(answer_version), constant, begin, time.monotonic()):
                    wrong.append(f"{changer.name}/{answer_version} answered {constant} when it was not")
    return answered, refused, wrong


def test_clients_get_right_answers_while_models_change(tmp_path):
    changers = [Changer(tmp_path, f"m{i}", i + 1) for i in range(3)]
    end = threading.Event()
    with Server(tmp_path, EXPLICIT) as server, concurrent.futures.ThreadPoolExecutor(16) as pool:
        server.wait_ready()
        clients = [pool.submit(ask, server, PROTOCOLS[i % 2], changers, i, end) for i in range(4)]

        def change(i):
            with Control(server, PROTOCOLS[i % 2]) as control:
                for _ in range(CHANGES):
                    changers[i].run(control)

        try:
            for run in [pool.submit(change, i) for i in range(len(changers))]:
                run.result()
        finally:
            end.set()
        results = [client.result() for client in clients]
        wrong = [text for _, _, texts in results for text in texts]
        assert wrong == [], f"{len(wrong)} of {sum(result[0] + result[1] for result in results)}: {wrong[:5]}"
        assert all(answered > 0 and refused > 0 for answered, refused, _ in results)
        with Control(server, "grpc") as control:
            for changer in changers:
                changer.plain(control)
                for version, constant in changer._files.items():
                    assert control.infer(changer.name, 0, version=str(version)) == (str(version), constant)
            assert control.client.is_server_ready()


def settled(server, control, name, temporary):
    """Usage when nothing of the model is left, neither in the server nor on the disk."""
    deadline = time.monotonic() + 60
    while (any(state not in ("UNAVAILABLE", "") for state, _ in control.index().get(name, {}).values())
           or sum(1 for _ in temporary.rglob("*")) > 1):
        assert time.monotonic() < deadline, control.index()
        time.sleep(0.005)
    return usage(server.pid)


@pytest.mark.parametrize("way", ["repository", "files", "failing", "reload"])
def test_load_and_unload_leave_nothing_behind(tmp_path, way):
    repository = tmp_path / "models"
    folder = models.write_model(repository, "m", files={"model.onnx": models.onnx_add(1)})
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    filler = bytes(1 << 20)
    with Server(repository, EXPLICIT, environment={"TMPDIR": str(temporary)}) as server, Control(server, "grpc") as control:
        server.wait_ready()

        def cycle(count):
            for i in range(count):
                if way == "files":
                    control.load("m", config=ONNX_CONFIG, files={"1/model.onnx": models.onnx_add(i), "1/filler": filler})
                elif way == "failing":
                    control.refusal(control.load, "m", config=ONNX_CONFIG, files={f"{i + 1}/model.onnx": b"no model"})
                    continue
                else:
                    (folder / "1" / "model.onnx").write_bytes(models.onnx_add(i))
                    control.load("m")
                assert control.infer("m", 0) == ("1", i)
                if way != "reload":
                    control.unload("m")
            control.unload("m")
            return settled(server, control, "m", temporary)

        before = cycle(CYCLES // 4)
        after = cycle(CYCLES)
        assert after["descriptors"] <= before["descriptors"]
        assert after["threads"] <= before["threads"] + WORKERS
        assert after["resident_bytes"] <= before["resident_bytes"] + MEMORY_SLACK_BYTES, [before, after]


def write_digits(repository, folder):
    """The classifier of the main job, without what it needs beside its own directory."""
    subprocess.run([sys.executable, ROOT / "etc/models/train_digits.py", "--output", folder / "models",
                    "--heldout", folder / "heldout.npz"], check=True)
    shutil.copytree(folder / "models" / "digits", repository / "digits")


@pytest.mark.parametrize("name", ["echo", "digits"])
def test_a_thousand_loads_and_unloads_are_flat(tmp_path, name):
    repository = tmp_path / "repository"
    repository.mkdir()
    if name == "digits":
        write_digits(repository, tmp_path)
    else:
        models.write_model(repository, name, models.identity_config(name, dims=(4,)))
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    with Server(repository, EXPLICIT, environment={"TMPDIR": str(temporary)}) as server, Control(server, "grpc") as control:
        server.wait_ready()
        control.load(name)
        (tensor,) = control.client.get_model_metadata(name, as_json=True)["inputs"]
        shape = [max(int(dim), 1) for dim in tensor["shape"]]
        given = grpcclient.InferInput(tensor["name"], shape, "FP32")
        given.set_data_from_numpy(np.zeros(shape, np.float32))

        def cycle(count):
            for _ in range(count):
                control.load(name)
                assert control.client.infer(name, [given]).get_response().model_version == "1"
                control.unload(name)
            return settled(server, control, name, temporary)

        before = cycle(MANY_CYCLES // 5)
        after = cycle(MANY_CYCLES)
        assert after["descriptors"] <= before["descriptors"]
        assert after["threads"] <= before["threads"] + WORKERS
        assert after["resident_bytes"] <= before["resident_bytes"] + MEMORY_SLACK_BYTES, [before, after]
