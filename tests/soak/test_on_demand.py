"""Many clients ask for more models than the memory budget holds: models come and go all the time, and every request gets
exactly one answer, the right one."""

import concurrent.futures
import json
import random
import time

from support import models
from support.control import PROTOCOLS, Control
from support.server import MEMORY_SLACK_BYTES, SANITIZED, Server, usage

ON_DEMAND = 'plugin.control.use="control/on_demand"'
MODELS = 6
CLIENTS = 8
SECONDS = 10 if SANITIZED else 20
MIB = 1 << 20


def ask(server, protocol, seed, end):
    """(answers, what was wrong)"""
    chance = random.Random(seed)
    answered, wrong = 0, []
    with Control(server, protocol) as control:
        while time.monotonic() < end:
            model, value = chance.randrange(MODELS), float(chance.randrange(1000))
            try:
                answer = control.infer(f"m{model}", value, version=chance.choice(("", "1")))
            except Exception as error:  # noqa: BLE001 - whatever it is, it is no answer
                wrong.append(f"m{model}: {error}")
                continue
            answered += 1
            if answer != ("1", value + model):
                wrong.append(f"m{model} made {answer} of {value}")
    return answered, wrong


def test_every_request_is_answered_while_models_take_turns(tmp_path):
    for i in range(MODELS):
        folder = models.write_add(tmp_path, f"m{i}", i)
        (folder / "1" / "filler").write_bytes(bytes(4 * MIB))
    with Server(tmp_path, ON_DEMAND, "plugin.control.memory_budget=" + json.dumps("13MiB"),
                "plugin.control.unload_after=" + json.dumps("200ms")) as server:
        server.wait_ready()

        def run(seconds):
            end = time.monotonic() + seconds
            with concurrent.futures.ThreadPoolExecutor(CLIENTS) as pool:
                runs = [pool.submit(ask, server, PROTOCOLS[i % 2], i, end) for i in range(CLIENTS)]
                results = [one.result() for one in runs]
            wrong = [text for _, texts in results for text in texts]
            assert wrong == [], f"{len(wrong)}: {wrong[:5]}"
            assert all(answered > 0 for answered, _ in results)
            return usage(server.pid)

        before = run(SECONDS / 4)
        after = run(SECONDS)
        unloads = server.log.count("unloading 'm")
        assert unloads > 10, "models took turns"
        assert after["descriptors"] <= before["descriptors"] + 4
        assert after["resident_bytes"] <= before["resident_bytes"] + 2 * MEMORY_SLACK_BYTES, [before, after]
