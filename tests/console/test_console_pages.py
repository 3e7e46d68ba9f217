"""The console in a real browser: each page in both colour schemes, with names of models that mean harm."""

import json
import urllib.error
import urllib.parse
import urllib.request

import numpy as np
import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.wait import WebDriverWait
from support.models import identity_config, write_model
from support.server import Server
from tritonclient.http import InferInput

WAIT_S = 60
CONSOLE = 'plugin.console.use="frontends/console"'
MARKUP = "<img src=x onerror=window.harmed=1>"
SHELL = "it's $(touch harmed) `x`"
LONG = "n" * 255
RIGHT_TO_LEFT = "\u202eנמוך"
HOSTILE = [MARKUP, SHELL, LONG, RIGHT_TO_LEFT]
MANY = 150


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    repository = tmp_path_factory.mktemp("models")
    write_model(repository, "echo", identity_config("echo", dims=(2,), max_batch_size=8))
    write_model(repository, "broken", 'backend: "identity" max_batch_size: -1')
    for name in HOSTILE:
        write_model(repository, name, identity_config("echo", dims=(2,)).replace('name: "echo"', ""))
    for i in range(MANY):
        write_model(repository, f"many{i:03}")
    with Server(repository, CONSOLE, 'plugin.control.use="control/explicit"',
                f"plugin.control.load_model={json.dumps(['echo', 'broken', *HOSTILE])}",
                "plugin.onnxruntime.enabled=false", "plugin.python.enabled=false") as running:
        yield running.wait_active().wait_ready("echo")


def ask(server, path, **headers):
    """Status, headers and body."""
    request = urllib.request.Request(f"http://{server.http_address}{path}", headers=headers)
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
    WebDriverWait(page, WAIT_S).until(lambda page: page.find_element(By.ID, "state").text.startswith("live"))


def wait_text(page, text):
    WebDriverWait(page, WAIT_S).until(lambda page: text in page.find_element(By.ID, "view").text)


def model_place(name):
    return f"/model/{urllib.parse.quote(name, safe='')}/1"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_page_in_both_schemes(open_browser, assert_quiet, server, scheme, tmp_path):
    page = open_browser(scheme)
    backgrounds = {"light": "rgba(255, 255, 255, 1)", "dark": "rgba(13, 17, 23, 1)"}
    for place, text in [("/overview", "Models by state"), ("/models", "echo"), (model_place("echo"), "INPUT0"), ("/log", "log_info")]:
        go(page, server, place)
        wait_text(page, text)
        body = page.find_element(By.TAG_NAME, "body")
        assert body.value_of_css_property("background-color") == backgrounds[scheme]
        assert page.save_screenshot(str(tmp_path / f"{place.split('/')[1]}-{scheme}.png"))
    assert assert_quiet(page, f"http://{server.http_address}") > 10


def test_the_overview_counts_while_it_is_looked_at(open_browser, assert_quiet, server):
    page = open_browser()
    go(page, server, "/overview")
    wait_text(page, "Requests that succeeded")

    def counted():
        rows = page.execute_script("return [...document.querySelectorAll('tr')].map(row => row.innerText)")
        return next(int(row.split()[-1]) for row in rows if row.startswith("Requests that succeeded"))

    before = counted()
    infer(server)
    WebDriverWait(page, WAIT_S).until(lambda page: counted() == before + 1)
    # The figures of a chart are in a table, too.
    page.find_element(By.CSS_SELECTOR, ".charts summary").click()
    WebDriverWait(page, WAIT_S).until(lambda page: len(page.find_elements(By.CSS_SELECTOR, ".charts details[open] tbody tr")) >= 2)
    assert_quiet(page, f"http://{server.http_address}")


def test_models_are_searched_and_turned(open_browser, assert_quiet, server):
    page = open_browser()
    go(page, server, "/models?state=NOT%20LOADED")
    place = lambda text: WebDriverWait(page, WAIT_S).until(lambda page: page.find_element(By.ID, "place").text == text)  # noqa: E731
    place(f"1 to 100 of {MANY}")
    page.find_element(By.XPATH, "//button[.='Next']").send_keys(Keys.ENTER)
    place(f"101 to {MANY} of {MANY}")
    page.find_element(By.ID, "search").send_keys("MANY14")
    place("1 to 10 of 10")
    page.find_element(By.ID, "search").clear()
    page.find_element(By.ID, "search").send_keys("broken")
    page.find_element(By.ID, "states").send_keys("all")
    wait_text(page, "max_batch_size")
    wait_text(page, "UNAVAILABLE")
    assert_quiet(page, f"http://{server.http_address}")


@pytest.mark.parametrize("name", HOSTILE, ids=["markup", "shell", "long", "right_to_left"])
def test_names_of_models_are_texts(open_browser, assert_quiet, server, name):
    page = open_browser(width=400)
    go(page, server, "/models?state=READY")
    wait_text(page, name)
    page.find_element(By.XPATH, f'//a[.="{name}"]').click()
    wait_text(page, "INPUT0")
    assert name in page.find_element(By.TAG_NAME, "h2").text
    for button in ("curl", "python", "send"):
        page.find_element(By.ID, button).click()
        wait_text(page, {"curl": "data-binary", "python": "tritonclient", "send": '"OUTPUT0"'}[button])
    assert page.execute_script("return window.harmed") is None
    assert page.find_elements(By.CSS_SELECTOR, "img") == []
    # Nothing is wider than the window of a phone.
    assert page.execute_script("return document.documentElement.scrollWidth <= window.innerWidth")
    assert_quiet(page, f"http://{server.http_address}")


# --- the calls ---

@pytest.mark.parametrize("path", ["/console/", "/console/app.js", "/v2/console/overview", "/v2/console/models"])
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
    with Server(tmp_path, CONSOLE, 'plugin.http.address="0.0.0.0:0"', "plugin.onnxruntime.enabled=false",
                "plugin.python.enabled=false") as opened:
        port = opened.wait_active().http_address.rsplit(":", 1)[1]
        request = urllib.request.Request(f"http://127.0.0.1:{port}/console/")
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(request, timeout=WAIT_S)
        text = refused.value.read().decode()
        assert refused.value.code == 403 and "[plugin.http]" in text and "console.read" in text


def test_the_whole_page_is_small(server):
    files = ["", "app.js", "api.js", "chart.js", "console.css", "dom.js", "histogram.js", "log.js", "model.js", "models.js", "overview.js",
             "request_form.js", "uPlot.iife.min.js", "uPlot.min.css"]
    sizes = {name: len(ask(server, f"/console/{name}")[2].encode()) for name in files}
    assert all(sizes.values()) and sum(sizes.values()) < 150_000, sizes
