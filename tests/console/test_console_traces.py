"""The slowest traces, as the call tells them and as the page draws them."""

import json
import re
import signal
import urllib.error
import urllib.request

import numpy as np
import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys as Key
from selenium.webdriver.support.wait import WebDriverWait
from support.console_world import POLL_S, SHOWN, WAIT_S
from support.identities import Keys
from support.models import identity_config, tensor_config, write_model
from support.server import DEFAULT_MANIFEST, Server
from support.waiting import eventually
from tritonclient.http import InferInput

STEPS = [("first", "given", "middle"), (SHOWN, "middle", "made")]
HOSTILE_ID = f"r {SHOWN}"
ON = {"trace_level": ["TIMESTAMPS"]}


def serve(folder, *settings):
    """A server that traces every request once a level is set, with the ensemble "pair" of "first" and a model whose name means harm."""
    models = folder / "models"
    for name in ("echo", "first", SHOWN):
        write_model(models, name, identity_config("echo", dims=(2,)).replace('name: "echo"', ""))
    steps = ", ".join(f"""{{ model_name: "{model}" model_version: -1 input_map {{ key: "INPUT0" value: "{taken}" }}
                          output_map {{ key: "OUTPUT0" value: "{made}" }} }}""" for model, taken, made in STEPS)
    write_model(models, "pair", 'platform: "ensemble"' + tensor_config("input", "given", "TYPE_FP32", [2])
                + tensor_config("output", "made", "TYPE_FP32", [2]) + f"ensemble_scheduling {{ step [ {steps} ] }}")
    manifest = folder / "atoll.toml"
    text = re.sub(r'(?m)^use = "backends/(onnxruntime|python)"', r"\g<0>\nenabled = false", DEFAULT_MANIFEST.read_text())
    manifest.write_text(text.replace('use = "telemetry/trace"\n', f'use = "telemetry/trace"\nrate = 1\ntrace_file = "{folder}/trace.json"\n'))
    return Server(models, *settings, manifest=manifest)


@pytest.fixture
def server(tmp_path):
    with serve(tmp_path) as running:
        for model in ("echo", "pair"):
            running.wait_active().wait_ready(model)
        yield running


def ask(server, path, data=None, token=None):
    """Status and body."""
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    request = urllib.request.Request(f"http://{server.http_address}{path}", None if data is None else json.dumps(data).encode(), headers)
    try:
        with urllib.request.urlopen(request, timeout=WAIT_S) as reply:
            return reply.status, json.loads(reply.read())
    except urllib.error.HTTPError as refused:
        return refused.code, json.loads(refused.read())


def traces(server, query="", token=None):
    status, found = ask(server, f"/v2/console/traces?{query}", token=token)
    assert status == 200, found
    return found


def infer(server, model, tensor="INPUT0", request_id="", token=None):
    given = InferInput(tensor, [2], "FP32")
    given.set_data_from_numpy(np.zeros(2, np.float32))
    with server.http_client() as client:
        client.infer(model, [given], request_id=request_id, headers={"Authorization": f"Bearer {token}"} if token else None)


def trace_some(server, token=None):
    """Four requests. \\returns their traces"""
    assert ask(server, "/v2/trace/setting", ON, token)[0] == 200
    infer(server, "pair", "given", HOSTILE_ID, token)
    for _ in range(3):
        infer(server, "echo", token=token)
    return eventually(lambda: (found := traces(server, token=token)["traces"]) and len(found) == 4 and found, WAIT_S)


def test_why_there_are_none_and_what_was_slow(server, tmp_path):
    found = traces(server)
    assert not found["active"] and found["traces"] == [] and "Set trace_level to TIMESTAMPS" in found["why"]
    assert ask(server, "/v2/trace/setting", ON)[0] == 200
    assert traces(server)["active"] and "No trace of these models has ended" in traces(server)["why"]
    listed = trace_some(server)
    durations = [one["duration_ns"] for one in listed]
    assert durations == sorted(durations, reverse=True) and durations[-1] > 0
    assert len({one["id"] for one in listed}) == 4 and all(one["begin_ms"] > 0 and one["left_out"] == 0 for one in listed)
    assert len(traces(server, "limit=2")["traces"]) == 2 and traces(server, "limit=2")["matching"] == 4
    assert {one["model"] for one in traces(server, "model=echo")["traces"]} == {"echo"}
    (summary,) = traces(server, "model=pair")["traces"]
    status, one = ask(server, f"/v2/console/traces?id={summary['id']}")
    assert status == 200 and one["request_id"] == HOSTILE_ID and one["span_count"] == len(one["spans"])
    spans = one["spans"]
    assert [span["name"] for span in spans if "parent" not in span] == ["trace"] and spans[0]["end_ns"] == one["duration_ns"]
    requests = {span["model"]: i for i, span in enumerate(spans) if span["name"] == "request"}
    assert list(requests) == ["pair", "first", SHOWN]
    assert [spans[i]["parent"] for i in requests.values()] == [0, requests["pair"], requests["pair"]]
    for model in ("first", SHOWN):
        phases = [span["name"] for span in spans if span.get("parent") == requests[model]]
        assert phases == ["queue", "compute input", "compute", "compute output"]
    assert {"HTTP_RECV", "HTTP_SEND"} <= {span["name"] for span in spans}
    # Its number is that of the file.
    file = tmp_path / "trace.json"
    eventually(lambda: file.exists() and any(str(entry["id"]) == one["trace_id"] and entry.get("model_name") == "pair"
                                             for entry in json.loads(file.read_text() or "[]")), WAIT_S)
    assert ask(server, "/v2/console/traces?id=999999")[0] == 404
    for wrong in ("id=x", "id=1&model=echo", "limit=101", "since=1"):
        assert ask(server, f"/v2/console/traces?{wrong}")[0] == 400, wrong


def test_traces_of_the_models_that_a_caller_may_see(tmp_path):
    keys = Keys(tmp_path / "keys")
    admin, some = keys.add("admin", "*"), keys.add("some", "console.read@pair")
    client = keys.add("client", "inference")
    with serve(tmp_path, 'plugin.keys.use="security/keys"', f'plugin.keys.keys_file="{keys.path}"') as server:
        server.wait_active()
        eventually(lambda: ask(server, "/v2/console/models?state=READY", token=admin)[1]["matching"] == 4, WAIT_S)
        trace_some(server, admin)
        seen = traces(server, token=some)
        assert [one["model"] for one in seen["traces"]] == ["pair"] and seen["matching"] == 1
        assert traces(server, "model=echo", some)["traces"] == []
        hidden = traces(server, "model=echo", admin)["traces"][0]["id"]
        assert ask(server, f"/v2/console/traces?id={hidden}", token=some)[0] == 404
        spans = ask(server, f"/v2/console/traces?id={seen['traces'][0]['id']}", token=some)[1]["spans"]
        assert [span.get("model") for span in spans if span["name"] == "request"] == ["pair", None, None]
        assert ask(server, "/v2/console/traces", token=client)[0] == 403
        assert ask(server, "/v2/console/traces")[0] == 401


def go(page, server, place, *texts):
    page.get(f"http://{server.http_address}/console/#{place}")
    until(page, lambda page: page.find_element(By.ID, "state").text.startswith("live"))
    for text in texts:
        wait_text(page, text)


def until(page, condition):
    WebDriverWait(page, WAIT_S, POLL_S).until(condition)


def wait_text(page, text):
    until(page, lambda page: text in page.find_element(By.ID, "view").text)


def rows(page):
    return page.execute_script("return [...document.querySelectorAll('tbody tr')].map(row => [...row.cells].map(cell => cell.innerText))")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_and_its_waterfall(open_browser, assert_quiet, assert_accessible, server, scheme, pictures):
    page = open_browser(scheme)
    go(page, server, "/traces", "Set trace_level to TIMESTAMPS on the page Trace settings")
    listed = trace_some(server)
    wait_text(page, HOSTILE_ID)
    assert [row[1] for row in rows(page)] == [one["model"] for one in listed]
    if scheme == "light":
        assert_accessible(page)
    page.find_element(By.ID, "models").send_keys("pair")
    until(page, lambda page: [row[1] for row in rows(page)] == ["pair"])
    # By the keyboard, from the table to the waterfall.
    page.find_element(By.CSS_SELECTOR, "tbody a").send_keys(Key.ENTER)
    wait_text(page, "Waterfall")
    one = ask(server, f"/v2/console/traces?id={next(one['id'] for one in listed if one['model'] == 'pair')}")[1]
    drawn = page.execute_script("""return [...document.querySelectorAll('.fall li')].map(row => {
        const [track, bar] = ['.track', '.track span'].map(which => row.querySelector(which).getBoundingClientRect());
        return {what: row.querySelector('.what').innerText, text: row.innerText, left: (bar.left - track.left) / track.width, right: (bar.right - track.left) / track.width}})""")
    assert len(drawn) == one["span_count"] == len(rows(page))
    for row, span, cells in zip(drawn, one["spans"], rows(page), strict=True):
        assert row["what"] == f"{span['name']} {span['model']}" if "model" in span else span["name"]
        assert row["text"].endswith(f"{cells[4]} ms") and cells[0] == row["what"]
        # A bar of less than two pixels is drawn as wide as that.
        assert abs(row["left"] - span["begin_ns"] / one["duration_ns"]) < 0.01
        assert abs(row["right"] - span["end_ns"] / one["duration_ns"]) < 0.02
    pictures(page, "traces", scheme)
    if scheme == "light":
        assert_accessible(page)
    page.set_window_size(400, 900)
    assert page.execute_script("return document.documentElement.scrollWidth <= window.innerWidth")
    page.find_element(By.LINK_TEXT, "All traces").click()
    wait_text(page, HOSTILE_ID)
    assert page.execute_script("return document.documentElement.scrollWidth <= window.innerWidth")
    assert page.execute_script("return window.harmed") is None
    assert page.find_elements(By.CSS_SELECTOR, "img") == []
    assert_quiet(page, f"http://{server.http_address}")


def test_a_trace_is_asked_for_once_and_a_hidden_page_asks_nothing(open_browser, server):
    page = open_browser()
    listed = trace_some(server)
    go(page, server, f"/traces/{listed[0]['id']}", "Waterfall")
    # Each time that a page is shown again it asks, unless it has all that it wants.
    asked = """window.asked = []; const own = fetch; fetch = (path, asked) => { window.asked.push(path); return own(path, asked); };"""
    shown = "Object.defineProperty(document, 'hidden', {value: %s, configurable: true}); document.dispatchEvent(new Event('visibilitychange'));"
    page.execute_script(asked + shown % "false")
    assert page.execute_script("return window.asked") == []
    page.execute_script("location.hash = '#/traces'")
    wait_text(page, HOSTILE_ID)
    before = page.execute_script(shown % "true" + "return window.asked.length")
    assert before > 0
    page.execute_script("document.getElementById('models').dispatchEvent(new Event('change'))")
    assert page.execute_script("return window.asked.length") == before
    page.execute_script(shown % "false")
    until(page, lambda page: page.execute_script("return window.asked.length") == before + 1)


def test_traces_outlive_the_plugin_and_go_with_it(server, tmp_path):
    """The console follows the plugin and stays as it is."""
    def reload(change):
        manifest = tmp_path / "atoll.toml"
        manifest.write_text(change(manifest.read_text()))
        generation = ask(server, "/v2/console/plugins")[1]["generation"] + 1
        server.process.send_signal(signal.SIGHUP)
        return server.newest_line(rf"reloaded: generation {generation}, (.*)").group(1)

    before = {one["id"] for one in trace_some(server)}
    assert "trace (options)" in reload(lambda text: text.replace("rate = 1\n", "rate = 1\nlog_frequency = 7\n"))
    assert {one["id"] for one in traces(server)["traces"]} == before
    infer(server, "echo")
    after = eventually(lambda: {one["id"] for one in traces(server)["traces"]} - before, WAIT_S)
    assert len(after) == 1
    use = 'use = "telemetry/trace"\n'
    assert "console" not in reload(lambda text: text.replace(use, f"{use}enabled = false\n"))
    assert "Add telemetry/trace to the manifest" in traces(server)["why"]
    assert ask(server, f"/v2/console/traces?id={before.pop()}")[0] == 404
    reload(lambda text: text.replace(f"{use}enabled = false\n", use))
    assert traces(server)["traces"] == []
