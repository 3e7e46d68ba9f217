"""What the console tells of what has happened: to models, to plugins and to the manifest."""

import json
import re
import signal
import urllib.error
import urllib.parse
import urllib.request

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys as Key
from selenium.webdriver.support.wait import WebDriverWait
from support.console_world import MARKUP, POLL_S, WAIT_S, World
from support.models import identity_config, write_model
from support.server import DEFAULT_MANIFEST, Server
from support.waiting import eventually

USE = 'use = "frontends/console"\n'


@pytest.fixture
def manifest(tmp_path):
    path = tmp_path / "atoll.toml"
    text = re.sub(r'(?m)^use = "backends/(onnxruntime|python)"', r"\g<0>\nenabled = false", DEFAULT_MANIFEST.read_text())
    path.write_text(text.replace('use = "control/none"', 'use = "control/explicit"\nload_model = ["echo"]'))
    return path


@pytest.fixture
def server(tmp_path, manifest):
    write_model(tmp_path / "models", "echo", identity_config("echo", dims=(2,), max_batch_size=8))
    write_model(tmp_path / "models", MARKUP, 'backend: "identity" max_batch_size: -1')
    with Server(tmp_path / "models", manifest=manifest) as running:
        yield running.wait_active().wait_ready("echo")


def ask(server, path, data=None):
    try:
        with urllib.request.urlopen(urllib.request.Request(f"http://{server.http_address}{path}", data), timeout=WAIT_S) as reply:
            return json.loads(reply.read() or b"{}")
    except urllib.error.HTTPError as refused:
        return json.loads(refused.read())


def entries(server, **wanted):
    """Oldest first."""
    found = ask(server, "/v2/console/timeline")["entries"][::-1]
    return [entry for entry in found if all(entry.get(key) == value for key, value in wanted.items())]


def wait_entry(server, **wanted):
    return eventually(lambda: entries(server, **wanted), WAIT_S)[-1]


def reload(server, manifest, change):
    manifest.write_text(change(manifest.read_text()))
    server.process.send_signal(signal.SIGHUP)


def test_what_happens_is_told(open_browser, assert_quiet, server, manifest):
    wait_entry(server, kind="server.active", generation=1)
    wait_entry(server, kind="model.ready", model="echo", version="1")
    # How long a load takes is known of those that begin when the console is there: not of the first one for certain.
    ask(server, "/v2/repository/models/echo/unload", b"{}")
    wait_entry(server, kind="model.unloaded", model="echo")
    ask(server, "/v2/repository/models/echo/load", b"{}")
    eventually(lambda: len(entries(server, kind="model.ready", model="echo")) == 2, WAIT_S)
    assert wait_entry(server, kind="model.ready", model="echo", version="1")["took_ms"] >= 0
    # Failures with the words of the index, those that no version comes of included.
    assert "error" in ask(server, f"/v2/repository/models/{urllib.parse.quote(MARKUP, safe='')}/load", b"{}")
    reason = wait_entry(server, kind="model.failed", model=MARKUP)["reason"]
    assert "max_batch_size" in reason
    assert reason in [model.get("reason") for model in ask(server, "/v2/repository/index", b"{}") if model["name"] == MARKUP]
    ask(server, "/v2/repository/models/echo/unload", b"{}")
    eventually(lambda: len(entries(server, kind="model.unloaded", model="echo")) == 2, WAIT_S)
    # A manifest that is refused, and one that puts another instance in the console's place.
    good = manifest.read_text()
    reload(server, manifest, lambda text: text.replace(USE, USE + "no_such_option = 1\n"))
    assert "no_such_option" in wait_entry(server, kind="reload.refused", generation=1)["reason"]
    before = entries(server)
    reload(server, manifest, lambda _: good.replace(USE, USE + 'allowed_hosts = ["127.0.0.1", "other.example"]\n'))
    wait_entry(server, kind="reload.applied", generation=2)
    # Both tell of each other, and neither forgets what was before.
    wait_entry(server, kind="plugin.stopped", instance="console", generation=1)
    after = entries(server)
    assert [entry for entry in after if entry["number"] <= before[-1]["number"]] == before
    assert [entry["number"] for entry in after] == list(range(1, len(after) + 1))
    assert len(entries(server, kind="plugin.active", instance="console", generation=2)) == 1
    assert ask(server, f"/v2/console/timeline?since={after[-2]['number']}")["entries"] == [after[-1]]
    plugins = ask(server, "/v2/console/plugins")
    assert plugins["generation"] == 2
    listed = {one["name"]: one for one in plugins["instances"]}
    assert len(listed) == len(plugins["instances"])
    assert (listed["console"]["state"], listed["console"]["generation"], listed["http"]["generation"]) == ("ACTIVE", 2, 1)
    assert "atoll.model_catalog/1" in listed["models"]["services"]

    page = open_browser()
    show = lambda place: page.get(f"http://{server.http_address}/console/#/{place}")  # noqa: E731
    text = lambda: page.find_element(By.ID, "view").text  # noqa: E731
    show("timeline")
    WebDriverWait(page, WAIT_S, POLL_S).until(lambda _: MARKUP in text())
    assert "The manifest was refused" in text() and "no_such_option" in text() and "The process began" in text()
    rows = page.find_elements(By.CSS_SELECTOR, "tbody tr")
    assert len(rows) == len(entries(server)) + 1
    page.find_element(By.ID, "kinds").send_keys("failures")
    WebDriverWait(page, WAIT_S, POLL_S).until(lambda _: len(page.find_elements(By.CSS_SELECTOR, "tbody tr")) == 2)
    show("plugins")
    WebDriverWait(page, WAIT_S, POLL_S).until(lambda _: "atoll.model_catalog/1" in text())
    assert page.execute_script("return window.harmed") is None
    assert page.find_elements(By.CSS_SELECTOR, "img") == []
    assert_quiet(page, f"http://{server.http_address}")


def test_who_did_it(tmp_path, open_browser):
    world = World(tmp_path, starts=False)
    audit = f'[plugin.audit]\nuse = "telemetry/audit"\naudit_file = "{tmp_path / "audit.log"}"\n'
    world.manifest.write_text(world.manifest.read_text() + audit)
    partly = world.keys.add("partly", "console.read@spare,model-repository@spare")
    with world.serve() as world.server:
        world.server.wait_active()
        as_key = lambda token, path, *arguments: world.call(path, *arguments, Authorization=f"Bearer {token}")  # noqa: E731
        eventually(lambda: as_key(world.admin, "/v2/models/echo/ready")[0] == 200, WAIT_S)
        calls = lambda token: [  # noqa: E731
            {key: entry[key] for key in ("kind", "caller", "call", "model", "status")}
            for entry in as_key(token, "/v2/console/timeline")[2]["entries"] if entry["kind"].startswith("call.")]
        load = "/v2/repository/models/spare/load"
        assert as_key(world.monitor, load, "POST", "{}")[0] == 403  # of this the audit log alone has a line
        assert as_key(world.admin, "/v2/repository/index", "POST", "{}")[0] == 200  # changes nothing
        assert as_key(partly, load, "POST", "{}")[0] == 200
        assert as_key(world.admin, "/v2/repository/models/broken/load", "POST", "{}")[0] == 500
        expected = [{"kind": "call.failed", "caller": "admin", "call": "POST /v2/repository/models/broken/load", "model": "broken", "status": 500},
                    {"kind": "call.ended", "caller": "partly", "call": f"POST {load}", "model": "spare", "status": 200}]
        eventually(lambda: len(calls(world.monitor)) == len(expected), WAIT_S)
        assert calls(world.monitor) == expected
        # Who sees some models sees what happens to them, and not who does it.
        kinds = {entry["kind"] for entry in as_key(partly, "/v2/console/timeline")[2]["entries"]}
        assert kinds == {"model.ready"}

        page = open_browser()
        page.get(f"http://127.0.0.1:{world.port}/console/#/timeline")
        WebDriverWait(page, WAIT_S, POLL_S).until(lambda _: page.find_elements(By.ID, "key"))
        page.find_element(By.ID, "key").send_keys(world.monitor, Key.ENTER)
        view = lambda: page.find_element(By.ID, "view").text  # noqa: E731
        WebDriverWait(page, WAIT_S, POLL_S).until(lambda _: f"POST {load} by partly from ipv4:127.0.0.1" in view())
        page.find_element(By.ID, "kinds").send_keys("calls")
        WebDriverWait(page, WAIT_S, POLL_S).until(lambda _: len(page.find_elements(By.CSS_SELECTOR, "tbody tr")) == len(expected))
        assert page.execute_script("return window.violations") == []
