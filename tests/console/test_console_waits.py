"""What waits and why, tenants, sequences and the log, as the console tells them."""

import contextlib
import http.client
import json
import re
import signal

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.support.wait import WebDriverWait
from support.console_world import POLL_S, SHOWN, WAIT_S
from support.models import identity_config, write_model
from support.server import DEFAULT_MANIFEST, Server
from support.waiting import eventually

HOUR = 'parameters { key: "execute_delay_ms" value { string_value: "3600000" } }\n'
LIMITS = """
[plugin.quotas]
use = "admission/quotas"
tenants = ["a:concurrency=1,queue=5,weight=3", "b:rate=1/h,burst=1"]
max_request_wait = "0s"
[plugin.limiter]
use = "admission/rate_limiter"
"""


def needing(resource, copies, extra=""):
    return (f'instance_group {{ count: 1 kind: KIND_CPU rate_limiter {{ resources {{ name: "{resource}" global: true '
            f'count: {copies} }} }} }}\n{extra}')


class World:
    """A server where all kinds of things wait. "hog" holds for an hour what "stuck" needs."""

    def __init__(self, folder):
        self.open = []
        self.manifest = folder / "atoll.toml"
        text = re.sub(r'(?m)^use = "backends/(onnxruntime|python)"', r"\g<0>\nenabled = false", DEFAULT_MANIFEST.read_text())
        text = text.replace('use = "frontends/http"\n', 'use = "frontends/http"\ntenant_header = "x-tenant"\n')
        self.manifest.write_text(text + LIMITS)
        write_model(folder / "models", "hog", identity_config("hog", dims=(2,), extra=needing(SHOWN, 3, HOUR)))
        write_model(folder / "models", "stuck", identity_config("stuck", dims=(2,), extra=needing(SHOWN, 2)))
        write_model(folder / "models", "busy", identity_config("busy", dims=(2,), extra=HOUR))
        write_model(folder / "models", "fast", identity_config("fast", dims=(2,)))
        write_model(folder / "models", "story", identity_config("story", dims=(2,), extra="sequence_batching { }\n"))
        self.server = Server(folder / "models", manifest=self.manifest)

    def send(self, model, tenant="", **parameters):
        """A request that nobody waits for."""
        body = {"inputs": [{"name": "INPUT0", "datatype": "FP32", "shape": [2], "data": [1, 2]}], "parameters": parameters}
        connection = http.client.HTTPConnection(self.server.http_address, timeout=WAIT_S)
        connection.request("POST", f"/v2/models/{model}/infer", json.dumps(body), {"x-tenant": tenant} if tenant else {})
        self.open.append(connection)
        return connection

    def ask(self, path, **headers):
        connection = http.client.HTTPConnection(self.server.http_address, timeout=WAIT_S)
        with contextlib.closing(connection):
            connection.request("GET", path, headers={key.replace("_", "-"): value for key, value in headers.items()})
            reply = connection.getresponse()
            return reply.status, json.loads(reply.read())

    def waiting(self):
        return self.ask("/v2/console/waiting")[1]

    def fill(self):
        """Until each of them waits for what it shall wait for."""
        self.send("hog", "a")
        eventually(lambda: any(one["in_use"] == 3 for one in self.waiting()["resources"]), WAIT_S)
        self.send("stuck")
        self.send("stuck")
        for _ in range(3):
            self.send("busy")
        self.send("busy", "a")
        assert [self.send("fast", "b").getresponse().status for _ in range(2)] == [200, 429]
        assert self.send("story", sequence_id=7, sequence_start=True).getresponse().status == 200

    def close(self):
        for connection in self.open:
            connection.close()


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    made = World(tmp_path_factory.mktemp("waits"))
    with made.server:
        made.server.wait_active()
        for model in ("hog", "stuck", "busy", "fast", "story"):
            made.server.wait_ready(model)
        made.fill()
        yield made
        made.close()


@pytest.fixture
def go(world):
    """Shows a page and waits for what is on it."""
    def shown(page, place, *texts):
        page.get(f"http://{world.server.http_address}/console/#{place}")
        for text in texts:
            WebDriverWait(page, WAIT_S, POLL_S).until(lambda page, text=text: text in page.find_element(By.ID, "view").text)
    return shown


def test_the_call_says_what_each_model_waits_for(world):
    def models():
        return {one["name"]: one for one in world.waiting()["models"]}

    eventually(lambda: {name: one["pending"] for name, one in models().items()} == {"stuck": 2, "busy": 2}, WAIT_S)
    assert models()["stuck"]["waits_for"] == "resource"
    resource = {"name": SHOWN, "device": "global", "copies": 3, "in_use": 3, "waiting_instances": 1}
    # Counts are read once a second; what the scheduler and the admission say is of now.
    assert models()["stuck"]["shortages"] == [{"name": SHOWN, "device": "global", "copies": 3, "in_use": 3, "kept": 0, "needed": 2}]
    assert models()["stuck"]["queue"]["requests"] == 2 and not models()["stuck"]["may_act"]
    eventually(lambda: models()["stuck"]["scarce"] == [resource], WAIT_S)
    assert world.waiting()["resources"] == [resource]
    assert models()["stuck"]["needs"] == [{"name": SHOWN, "count": 2, "global": True}]
    assert models()["busy"]["waits_for"] == "instance" and models()["busy"]["instances"] == 1
    assert [(one["name"], one["waiting"]) for one in world.waiting()["tenants"]] == [("a", 1)]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_pages_explain(open_browser, assert_quiet, assert_accessible, world, go, scheme, pictures):
    page = open_browser(scheme)

    def check(picture):
        pictures(page, picture, scheme)
        if scheme == "light":
            assert_accessible(page)
    go(page, "/waiting", "stuck", f"It waits for the resource {SHOWN} of the whole server: each execution needs 2, and 3 of 3 are in use.",
       "Its only instance is busy", "As many of its requests run as may at a time")
    check("waiting")
    # The page tells itself from others that are open.
    page.execute_script("window.viewers = new Set(); const own = fetch; fetch = (path, asked) => { viewers.add(asked.headers['x-atoll-viewer']); return own(path, asked); }")
    go(page, "/tenants", "1 of 1", "1 of 5", "of 1 an hour", "1 too many in a second", "keeps up")
    check("tenants")
    go(page, "/sequences", "story", "Slots in use")
    check("sequences")
    (viewer,) = page.execute_script("return [...viewers]")
    assert len(viewer) >= 16
    assert page.execute_script("return window.harmed") is None
    assert page.find_elements(By.CSS_SELECTOR, "img") == []
    page.set_window_size(400, 900)
    go(page, "/waiting", "stuck")
    assert page.execute_script("return document.documentElement.scrollWidth <= window.innerWidth")
    assert_quiet(page, f"http://{world.server.http_address}")


def test_tenants_have_use_quota_and_refusals(world):
    found = {one["name"]: one for one in world.ask("/v2/console/tenants")[1]["tenants"]}
    assert list(found) == ["a", "b", "default"]
    assert found["a"]["quota"] == {"weight": 3, "concurrency": 1, "rate": 0.0, "tokens": 0.0, "queue": 5}
    assert found["a"]["running"] == 1 and found["a"]["waiting"] == 1 and found["b"]["admitted"] == 1
    assert found["b"]["refused"] == {"rate": 1, **{reason: 0 for reason in found["b"]["refused"] if reason != "rate"}}


def test_the_last_lines_of_the_log(open_browser, assert_quiet, assert_accessible, world, go, tmp_path, pictures):
    lines = lambda query="": world.ask(f"/v2/console/log?{query}")[1]  # noqa: E731
    assert lines()["lines"] == [] and "standard error" in lines()["why"]
    world.manifest.write_text(re.sub(r"(?m)^\[log\]$", f'[log]\nfile = "{tmp_path}/log"', world.manifest.read_text()))
    world.server.process.send_signal(signal.SIGHUP)
    eventually(lambda: lines("search=reloaded")["lines"], WAIT_S)
    (line,) = lines("search=RELOADED%3a&level=info")["lines"]
    assert line["level"] == "info" and line["instance"] == "kernel" and line["text"].startswith("reloaded: generation 2")
    assert lines("level=error")["lines"] == []
    with (tmp_path / "log").open("a") as log:
        log.write(f"2026-01-31T10:00:00.000000Z ERROR [example] about {SHOWN}\n")
    page = open_browser()
    go(page, "/lines", "reloaded: generation 2", SHOWN)
    pictures(page, "lines")
    assert_accessible(page)
    page.find_element(By.ID, "level").send_keys("errors")
    WebDriverWait(page, WAIT_S, POLL_S).until(lambda page: page.find_element(By.ID, "told").text == "Lines: 1, newest first")
    assert page.execute_script("return window.harmed") is None
    assert_quiet(page, f"http://{world.server.http_address}")
