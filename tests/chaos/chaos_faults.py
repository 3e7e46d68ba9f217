"""The faults of configuration and of processes. Each is a function of a Site: it injects, waits until what it hit works
again, and says what it hit. An exception means that the server did not do what it promises."""

import contextlib
import dataclasses
import http.client
import os
import random
import shutil
import signal
import threading

import numpy as np
from chaos_actors import grpc_tensor, refusal_of
from chaos_oracle import expected, same
from chaos_world import REPLACED, is_built
from support import edits, models
from support.python_models import children
from support.waiting import eventually

RECOVERY_S = 90
STOPPED_S = (0.1, 1.5)


@dataclasses.dataclass
class Site:
    """Where a fault is injected."""
    world: object
    ledger: object
    rng: random.Random
    end: threading.Event  # of the run; waits of faults end with it


def answers(world, model):
    """Whether a model answers one request rightly, over a connection of its own."""
    values = np.array([1, 2, 3, 4], np.float32)
    try:
        with world.client() as client:
            result = client.infer(model, [grpc_tensor(values)], client_timeout=RECOVERY_S)
    except Exception as error:
        refusal_of(error)
        return False
    assert same(result.as_numpy("OUTPUT0"), expected(model, values)), result.as_numpy("OUTPUT0")
    return True


def generates(world):
    """Whether the model of texts answers."""
    with contextlib.closing(http.client.HTTPConnection(world.http_address, timeout=RECOVERY_S)) as connection:
        connection.request("POST", "/v2/models/gen/generate_stream", '{"text_input": "az"}')
        response = connection.getresponse()
        return response.status == 200 and b'"text_output":"a"' in response.read().replace(b" ", b"")


def leased_answers(pool):
    """Whether the leased model answers, by the server that keeps the pool."""
    body = '{"inputs": [{"name": "INPUT0", "shape": [4], "datatype": "FP32", "data": [1, 2, 3, 4]}]}'
    with contextlib.closing(http.client.HTTPConnection(pool.http_address, timeout=RECOVERY_S)) as connection:
        connection.request("POST", "/v2/models/leased/infer", body)
        response = connection.getresponse()
        return response.status == 200 and b"[1.0,2.0,3.0,4.0]" in response.read()


def recovered(world, *names):
    for name in names:
        eventually(lambda name=name: answers(world, name), RECOVERY_S, lambda name=name: f"{name} does not answer again")


# --- configuration ---


def reload(site):
    instance, option = site.rng.choice((("grpc", "server_name"), ("http", "server_name"), ("python", "stop_timeout")))
    with site.world.configuring:
        value = f"{site.rng.randint(15, 40)}s" if option == "stop_timeout" else f"n{site.rng.randrange(1 << 20)}"
        site.world.manifest["plugin"][instance][option] = value
        site.world.reload()
    return f"plugin.{instance}.{option} = {value}"


BREAKS = {
    "no text": lambda text: text[:len(text) // 2] + "\n[",
    "unknown option": lambda text: text.replace("[plugin.http]", "[plugin.http]\nno_such_option = 1"),
    "unknown plugin": lambda text: text + '\n[plugin.none]\nuse = "backends/none_such"\n',
    "wrong type": lambda text: text.replace("[plugin.grpc]", "[plugin.grpc]\nmax_connections = \"many\""),
    "without the catalog": lambda text: text.replace('use = "models/catalog"', 'use = "schedulers/default"'),
}


def broken_reload(site):
    name = site.rng.choice(sorted(BREAKS))
    with site.world.configuring:
        site.world.reload_refused(BREAKS[name](edits.write(site.world.manifest)))
    return name


def plugin(site):
    file = site.rng.choice(REPLACED)
    with site.world.configuring, site.world.processing:
        site.world.replace(file)
    return f"{file}.so"


def load(site):
    """A model comes, is asked, and goes."""
    with site.world.configuring:
        models.write_model(site.world.repository, "echo2", models.identity_config("echo2", dims=(4,)))
        with site.world.client() as client:
            client.load_model("echo2", client_timeout=RECOVERY_S)
            recovered(site.world, "echo2")
            client.unload_model("echo2", client_timeout=RECOVERY_S)
            eventually(lambda: not client.is_model_ready("echo2"), RECOVERY_S)
        shutil.rmtree(site.world.repository / "echo2")
    return "echo2"


def broken_load(site):
    """What was loaded before goes on."""
    name = site.rng.choice(("add", "dyn"))
    file = site.world.repository / name / "1" / "model.onnx"
    with site.world.configuring:
        good = file.read_bytes()
        beside = file.with_suffix(".new")
        try:
            beside.write_bytes(good[:len(good) // 2])
            beside.rename(file)
            with site.world.client() as client:
                try:
                    client.load_model(name, client_timeout=RECOVERY_S)
                except Exception as error:
                    refusal_of(error)
                else:
                    raise AssertionError(f"half of {name}'s file was loaded")
            recovered(site.world, name)
        finally:
            beside.write_bytes(good)
            beside.rename(file)
        with site.world.client() as client:
            client.load_model(name, client_timeout=RECOVERY_S)
    return f"half of {name}'s file"


# --- processes ---

def kill(site):
    with site.world.processing:
        pid = site.rng.choice(sorted(children(site.world.pid)))
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        # The next one is there in its place, and whichever model it was answers.
        eventually(lambda: pid not in children(site.world.pid) and len(children(site.world.pid)) == site.world.workers, RECOVERY_S,
                   lambda: f"{len(children(site.world.pid))} workers, not {site.world.workers}")
        eventually(lambda: generates(site.world), RECOVERY_S, lambda: "gen does not answer again")
        recovered(site.world, "py", "py", "py")
    return f"worker {pid}"


def stop(site):
    """For a while: nobody has to notice but by waiting."""
    with site.world.processing:
        pid = site.rng.choice(sorted(children(site.world.pid)))
        for_s = site.rng.uniform(*STOPPED_S)
        try:
            os.kill(pid, signal.SIGSTOP)
            site.end.wait(for_s)
        finally:
            os.kill(pid, signal.SIGCONT)
        recovered(site.world, "py")
    return f"worker {pid} for {for_s:.1f} s"


FAULTS = {"reload": reload, "broken reload": broken_reload, "plugin": plugin, "load": load, "broken load": broken_load,
          "kill": kill, "stop": stop}
