"""The console in a real browser: each page in both colour schemes, with names of models that mean harm."""

import gzip
import json
import pathlib
import re
import signal
import urllib.error
import urllib.parse
import urllib.request

import numpy as np
import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.wait import WebDriverWait
from support.addresses import free_addresses
from support.console_world import HOSTILE, PICTURED, POLL_S, WAIT_S, write_hostile
from support.models import identity_config, tensor_config, write_model
from support.server import DEFAULT_MANIFEST, ROOT, Server
from support.waiting import eventually
from tritonclient.http import InferInput

MANY = 150


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    repository = tmp_path_factory.mktemp("models")
    write_model(repository, "echo", identity_config("echo", dims=(2,), max_batch_size=8))
    write_model(repository, "words", 'backend: "identity"' + tensor_config("input", "INPUT0", "TYPE_STRING", [1])
                + tensor_config("output", "OUTPUT0", "TYPE_STRING", [1]))
    write_model(repository, "chat", 'platform: "ensemble"' + tensor_config("input", "text_input", "TYPE_STRING", [1])
                + tensor_config("output", "text_output", "TYPE_STRING", [1]) + """ensemble_scheduling { step [ {
                model_name: "words" model_version: -1 input_map { key: "INPUT0" value: "text_input" }
                output_map { key: "OUTPUT0" value: "text_output" } } ] }""")
    write_model(repository, "spare", identity_config("spare", dims=(2,)))
    write_model(repository, "broken", 'backend: "identity" max_batch_size: -1')
    write_hostile(repository)
    for i in range(MANY):
        write_model(repository, f"many{i:03}")
    with Server(repository, 'plugin.control.use="control/explicit"',
                f"plugin.control.load_model={json.dumps(['echo', 'broken', 'chat', *HOSTILE])}",
                'plugin.console.history_interval="100ms"',
                "plugin.onnxruntime.enabled=false", "plugin.python.enabled=false") as running:
        yield running.wait_active().wait_ready("echo")


def ask(server, path, method="GET", data=None, **headers):
    """Status, headers and body."""
    request = urllib.request.Request(f"http://{server.http_address}{path}", data, headers, method=method)
    try:
        with urllib.request.urlopen(request, timeout=WAIT_S) as reply:
            return reply.status, reply.headers, reply.read().decode()
    except urllib.error.HTTPError as refused:
        return refused.code, refused.headers, refused.read().decode()


def infer(server):
    given = InferInput("INPUT0", [1, 2], "FP32")
    given.set_data_from_numpy(np.zeros((1, 2), np.float32))
    with server.http_client() as client:
        client.infer("echo", [given])


def go(page, server, place):
    page.get(f"http://{server.http_address}/console/#{place}")
    WebDriverWait(page, WAIT_S, POLL_S).until(lambda page: page.find_element(By.ID, "state").text.startswith("live"))


def wait_text(page, text):
    WebDriverWait(page, WAIT_S, POLL_S).until(lambda page: text in page.find_element(By.ID, "view").text)


def model_place(name):
    return f"/model/{urllib.parse.quote(name, safe='')}/1"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_page_in_both_schemes(open_browser, assert_quiet, assert_accessible, server, scheme, pictures):
    page = open_browser(scheme)
    backgrounds = {"light": "rgba(255, 255, 255, 1)", "dark": "rgba(13, 17, 23, 1)"}
    for place, text in [("/overview", "Models by state"), ("/models", "echo"), (model_place("echo"), "INPUT0"), ("/ensembles", "chat"),
                        ("/ensemble/chat/1", "Takes"), ("/plugins", "frontends/console"), ("/waiting", "No request waits"), ("/traces", "No request is traced"), ("/sequences", "No model has had"),
                        ("/memory", "Code and mapped files"), ("/tenants", "No tenant has"), ("/page/none", "No plugin brings this page"), ("/lines", "standard error"), ("/timeline", "The server is up"), ("/log", "log_info"), ("/trace", "trace_level")]:
        go(page, server, place)
        wait_text(page, text)
        body = page.find_element(By.TAG_NAME, "body")
        assert body.value_of_css_property("background-color") == backgrounds[scheme]
        name = place.split("/")[1]
        pictures(page, name if name in ("model", "ensemble", "memory") else f"any-{name}", scheme)
        if scheme == "light":  # only the palettes differ, which have a test of their own
            assert_accessible(page)
    assert assert_quiet(page, f"http://{server.http_address}") > 10
    if scheme == "light":
        # What looks for mistakes finds one.
        page.execute_script("document.getElementById('view').append(document.createElement('input'))")
        with pytest.raises(AssertionError, match="label"):
            assert_accessible(page)


def test_the_overview_counts_while_it_is_looked_at(open_browser, assert_quiet, server, pictures):
    page = open_browser()
    go(page, server, "/overview")
    wait_text(page, "Requests that succeeded")

    def counted():
        rows = page.execute_script("return [...document.querySelectorAll('tr')].map(row => row.innerText)")
        return next(int(row.split()[-1]) for row in rows if row.startswith("Requests that succeeded"))

    before = counted()
    infer(server)
    WebDriverWait(page, WAIT_S, POLL_S).until(lambda page: counted() == before + 1)
    pictures(page, "overview")
    # The figures of a chart are in a table, too.
    page.find_element(By.CSS_SELECTOR, ".charts summary").click()
    WebDriverWait(page, WAIT_S, POLL_S).until(lambda page: len(page.find_elements(By.CSS_SELECTOR, ".charts details[open] tbody tr")) >= 2)
    assert_quiet(page, f"http://{server.http_address}")


def test_models_are_searched_and_turned(open_browser, assert_quiet, server):
    page = open_browser()
    go(page, server, "/models?state=NOT%20LOADED")
    place = lambda text: WebDriverWait(page, WAIT_S, POLL_S).until(lambda page: page.find_element(By.ID, "place").text == text)  # noqa: E731
    place(f"1 to 100 of {MANY + 1}")
    page.find_element(By.XPATH, "//button[.='Next']").send_keys(Keys.ENTER)
    place(f"101 to {MANY + 1} of {MANY + 1}")
    page.find_element(By.ID, "search").send_keys("MANY14")
    place("1 to 10 of 10")
    page.find_element(By.ID, "search").clear()
    page.find_element(By.ID, "search").send_keys("broken")
    page.find_element(By.ID, "states").send_keys("all")
    wait_text(page, "max_batch_size")
    wait_text(page, "UNAVAILABLE")
    assert_quiet(page, f"http://{server.http_address}")


def history(server, query=""):
    status, _, body = ask(server, f"/v2/console/history{query}")
    assert status == 200, body
    found = json.loads(body)
    found["points"] = [dict(zip(found["columns"], point)) for point in found["points"]]
    return found


def test_a_page_that_is_loaded_again_has_the_history(open_browser, assert_quiet, server):
    before = sum(point["success"] for point in history(server)["points"])
    for _ in range(3):
        infer(server)
    eventually(lambda: sum(point["success"] for point in history(server)["points"]) >= before + 3, WAIT_S)
    eventually(lambda: len(history(server, "?model=echo&version=1")["points"]) >= 6, WAIT_S)
    page = open_browser()
    go(page, server, "/overview")
    # All of it is there at the first look, without a second one.
    page.execute_script("document.querySelectorAll('.charts details').forEach(one => one.open = true)")
    wait_text(page, "Busiest models of the last 15 minutes")
    rows = page.execute_script("return [...document.querySelectorAll('.charts section')].map(one => one.querySelectorAll('tbody tr').length)")
    assert len(rows) == 4 and min(rows) >= 5, rows
    page.find_element(By.XPATH, '//main//a[.="echo"]').click()
    wait_text(page, "Phases of a request")
    assert_quiet(page, f"http://{server.http_address}")


def test_the_history_outlives_the_plugin(tmp_path):
    manifest = tmp_path / "atoll.toml"
    text = re.sub(r'(?m)^use = "backends/(onnxruntime|python)"', r'\g<0>\nenabled = false', DEFAULT_MANIFEST.read_text())
    use = 'use = "frontends/console"\n'
    manifest.write_text(text.replace(use, use + 'history_interval = "100ms"\n'))
    write_model(tmp_path / "models", "echo", identity_config("echo", dims=(2,), max_batch_size=8))
    with Server(tmp_path / "models", manifest=manifest) as running:
        running.wait_active().wait_ready("echo")
        eventually(lambda: history(running)["points"], WAIT_S)
        infer(running)
        eventually(lambda: history(running)["busiest"], WAIT_S)
        before = history(running)
        manifest.write_text(manifest.read_text().replace(use, use + 'allowed_hosts = ["127.0.0.1", "other.example"]\n'))
        running.process.send_signal(signal.SIGHUP)
        assert "console (options)" in running.newest_line(r"reloaded: generation 2, (.*)").group(1)
        # The new instance has taken over what the one before knew, and goes on.
        last = before["points"][-1]["time_ms"]
        eventually(lambda: any(point["time_ms"] > last for point in history(running)["points"]), WAIT_S)
        after = history(running)
        assert after["run"] == before["run"] and after["started_ms"] <= before["points"][0]["time_ms"]
        assert before["points"][-1] in after["points"]
        assert [one["name"] for one in after["busiest"]] == ["echo"]


def test_a_restart_is_drawn_as_one(open_browser, tmp_path):
    page = open_browser()
    with free_addresses(1) as (address,):
        settings = (f'plugin.http.address="{address}"', "plugin.identity.enabled=false",
                    'plugin.console.history_interval="100ms"', "plugin.onnxruntime.enabled=false", "plugin.python.enabled=false")
        with Server(tmp_path, *settings) as running:
            running.wait_active()
            eventually(lambda: len(history(running)["points"]) > 2, WAIT_S)
            go(page, running, "/overview")
            page.find_element(By.CSS_SELECTOR, ".charts summary").click()
        WebDriverWait(page, WAIT_S, POLL_S).until(lambda page: page.find_element(By.ID, "state").text.startswith("not live"))
        with Server(tmp_path, *settings):
            WebDriverWait(page, WAIT_S, POLL_S).until(lambda page: page.find_element(By.ID, "state").text.startswith("live"))
            wait_text(page, "the server was started")


def test_where_nobody_is_known_the_page_only_reads(open_browser, assert_quiet, server):
    page = open_browser()
    for place, text in [("/models?search=spare", "spare"), (model_place("echo"), "Copy as curl"), ("/log", "log_info"), ("/trace", "trace_level")]:
        go(page, server, place)
        wait_text(page, text)
        shown = page.execute_script("return [...document.querySelectorAll('#view button, #view a')].map(one => one.innerText)")
        assert not {"Load", "Load again", "Unload", "Send", "Apply"} & set(shown), shown
        if not place.startswith("/models"):
            wait_text(page, "the console only reads")
    assert page.find_elements(By.CSS_SELECTOR, "#view form input") == []
    # The calls of the V2 protocol are what they were; those of the console that act are refused.
    for path in ("check", "apply"):
        assert ask(server, f"/v2/console/manifest/{path}", method="POST", data=b"{}")[0] == 403
    assert json.loads(ask(server, "/v2/console/caller")[2]) == {"name": "", "tenant": "", "may_act": False, "may_apply": False}
    assert not any(model["may_control"] for model in json.loads(ask(server, "/v2/console/models?limit=1000")[2])["models"])
    for path in ("overview", "models", "history", "timeline", "ensembles", "plugins", "options", "manifest", "caller"):
        assert ask(server, f"/v2/console/{path}", method="POST", data=b"{}")[0] == 405
    assert_quiet(page, f"http://{server.http_address}")


def test_a_request_is_copied_for_openai(open_browser, assert_quiet, server):
    page = open_browser()
    go(page, server, model_place("echo"))
    wait_text(page, "Copy as tritonclient")
    assert page.find_elements(By.ID, "openai") == []
    go(page, server, model_place("chat"))
    wait_text(page, "Copy as openai")
    page.find_element(By.ID, "openai").click()
    wait_text(page, f'base_url="http://{server.http_address}/v1"')
    assert_quiet(page, f"http://{server.http_address}")


@pytest.mark.parametrize("name", HOSTILE, ids=["markup", "shell", "long", "right_to_left"])
def test_names_of_models_are_texts(open_browser, assert_quiet, server, name):
    page = open_browser(width=400)
    go(page, server, "/models?state=READY")
    wait_text(page, name)
    page.find_element(By.XPATH, f'//a[.="{name}"]').click()
    wait_text(page, "INPUT0")
    assert name in page.find_element(By.TAG_NAME, "h2").text
    for button in ("curl", "python"):
        page.find_element(By.ID, button).click()
        wait_text(page, {"curl": "data-binary", "python": "tritonclient"}[button])
    assert page.execute_script("return window.harmed") is None
    assert page.find_elements(By.CSS_SELECTOR, "img") == []
    # Nothing is wider than the window of a phone.
    assert page.execute_script("return document.documentElement.scrollWidth <= window.innerWidth")
    assert_quiet(page, f"http://{server.http_address}")


# --- the calls ---

@pytest.mark.parametrize("path", ["/console/", "/console/app.js", "/v2/console/overview", "/v2/console/models", "/v2/console/history",
                                  "/v2/console/timeline", "/v2/console/ensembles", "/v2/console/plugins", "/v2/console/caller",
                                  "/v2/console/tenants", "/v2/console/sequences", "/v2/console/waiting", "/v2/console/traces", "/v2/console/log"])
def test_forged_hosts_and_origins_are_refused(server, path):
    port = server.http_address.rsplit(":", 1)[1]
    for headers in ({"Host": f"evil.example:{port}"}, {"Origin": "http://evil.example"}, {"Origin": "null"},
                    {"Origin": "http://127.0.0.1:1"}):
        status, _, body = ask(server, path, **headers)
        assert status == 403 and "error" in json.loads(body), (headers, body)
    status, headers, _ = ask(server, path, Origin=f"http://{server.http_address}")
    assert status == 200
    assert "unsafe" not in headers["content-security-policy"] and headers["x-content-type-options"] == "nosniff"


def test_where_others_reach_it_it_says_what_to_set(server, tmp_path):
    with Server(tmp_path, 'plugin.http.address="0.0.0.0:0"', "plugin.onnxruntime.enabled=false",
                "plugin.python.enabled=false") as opened:
        port = opened.wait_active().http_address.rsplit(":", 1)[1]
        request = urllib.request.Request(f"http://127.0.0.1:{port}/console/")
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(request, timeout=WAIT_S)
        text = refused.value.read().decode()
        assert refused.value.code == 403 and "[plugin.http]" in text and "console.read" in text


def luminance(colour):
    """Relative luminance of "#rgb" or "#rrggbb", as WCAG 2 has it."""
    digits = colour[1:] if len(colour) == 7 else "".join(digit * 2 for digit in colour[1:])
    parts = [int(digits[i:i + 2], 16) / 255 for i in (0, 2, 4)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_both_palettes_have_contrast():
    text = (ROOT / "plugins" / "frontends" / "console" / "page" / "console.css").read_text()
    palettes = [dict(re.findall(r"--(\w+): (#\w+);", block)) for block in re.findall(r":root \{(.*?)\}", text, re.S)]
    assert len(palettes) == 2 and all(len(palette) == 13 for palette in palettes)
    for palette in palettes:
        for colour in set(palette) - {"back", "card"}:
            for ground in ("back", "card"):
                light, dark = sorted((luminance(palette[colour]), luminance(palette[ground])), reverse=True)
                # Texts and lines of charts; borders.
                assert (light + 0.05) / (dark + 0.05) >= (3 if colour == "line" else 4.5), (colour, ground)


def test_the_memory_adds_up_to_what_is_resident(server):
    status, _, body = ask(server, "/v2/console/memory")
    found = json.loads(body)
    assert status == 200 and [one["owner"] for one in found["parts"]] == ["models", "cache", "requests", "rest", "files", "shared"]
    assert sum(one["bytes"] for one in found["parts"]) == found["resident_bytes"]
    (resident,) = re.findall(r"VmRSS:\s+(\d+) kB", pathlib.Path(f"/proc/{server.pid}/status").read_text())
    assert found["resident_bytes"] == pytest.approx(int(resident) * 1024, rel=0.2)
    assert found["processes"] == []


def test_the_whole_page_is_small(server):
    folder = ROOT / "plugins" / "frontends" / "console"
    files = [path.name for path in (*folder.glob("page/*"), *folder.glob("third_party/uplot/*.js"), *folder.glob("third_party/uplot/*.css"))]
    assert {"index.html", "app.js", "uPlot.iife.min.js"} <= set(files)

    def sent(name):
        request = urllib.request.Request(f"http://{server.http_address}/console/{name}", None, {"Accept-Encoding": "gzip"})
        with urllib.request.urlopen(request, timeout=WAIT_S) as reply:
            assert reply.headers["Content-Encoding"] == "gzip", name
            body = reply.read()
        assert gzip.decompress(body).decode() == ask(server, f"/console/{name}")[2]
        return len(body)

    sizes = {name: sent(name) for name in files}
    assert all(sizes.values()) and sum(sizes.values()) < 150_000, sizes


def test_the_manual_has_the_pictures_that_are_made():
    manual = (ROOT / "docs" / "console.md").read_text()
    assert set(re.findall(r"\]\(console/(\w+)\.webp\)", manual)) == set(PICTURED)
    assert {path.name for path in (ROOT / "docs" / "console").iterdir()} == {f"{name}.webp" for name in PICTURED}
