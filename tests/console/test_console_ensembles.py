"""Ensembles as graphs, with what their members do."""

import numpy as np
import pytest
from selenium.common.exceptions import StaleElementReferenceException
from selenium.webdriver.common.by import By
from selenium.webdriver.support.wait import WebDriverWait
from support.console_world import MARKUP, POLL_S, WAIT_S
from support.models import identity_config, tensor_config, write_model
from support.server import Server
from tritonclient.http import InferInput

HIDDEN_TENSOR = "<b>middle</b>"
STEPS = [("first", "given", HIDDEN_TENSOR), (MARKUP, HIDDEN_TENSOR, "left"), ("second", HIDDEN_TENSOR, "right")]


def ensemble_config():
    steps = ", ".join(f"""{{ model_name: "{model}" model_version: -1 input_map {{ key: "INPUT0" value: "{taken}" }}
                          output_map {{ key: "OUTPUT0" value: "{made}" }} }}""" for model, taken, made in STEPS)
    return ('platform: "ensemble"' + tensor_config("input", "given", "TYPE_FP32", [2]) + tensor_config("output", "left", "TYPE_FP32", [2])
            + tensor_config("output", "right", "TYPE_FP32", [2]) + f"ensemble_scheduling {{ step [ {steps} ] }}")


@pytest.fixture
def server(tmp_path):
    for name in ("first", MARKUP, "second"):
        write_model(tmp_path, name, identity_config("echo", dims=(2,)).replace('name: "echo"', ""))
    write_model(tmp_path, "pipeline", ensemble_config())
    with Server(tmp_path, 'plugin.console.history_interval="100ms"', "plugin.onnxruntime.enabled=false",
                "plugin.python.enabled=false") as running:
        yield running.wait_active().wait_ready("pipeline")


def test_the_steps_and_their_rates(open_browser, assert_quiet, server, tmp_path):
    page = open_browser()
    text = lambda: page.find_element(By.ID, "view").text  # noqa: E731
    given = InferInput("given", [2], "FP32")
    given.set_data_from_numpy(np.zeros(2, np.float32))
    page.get(f"http://{server.http_address}/console/#/ensembles")
    WebDriverWait(page, WAIT_S, POLL_S).until(lambda page: page.find_elements(By.LINK_TEXT, "pipeline"))
    page.find_element(By.LINK_TEXT, "pipeline").click()
    WebDriverWait(page, WAIT_S, POLL_S).until(lambda page: page.find_elements(By.CSS_SELECTOR, "svg.graph"))
    drawn = lambda selector: page.execute_script(  # noqa: E731
        "return [...document.querySelectorAll(arguments[0])].map(one => one.querySelector('title').textContent)", f"svg.graph {selector}")
    assert sorted(drawn(".node")) == sorted(["Request", "first", MARKUP, "second", "Response"])
    assert sorted(drawn(".edge")) == sorted(["given", HIDDEN_TENSOR, HIDDEN_TENSOR, "left", "right"])
    # From left to right, and what is side by side has the same place.
    left = page.execute_script("""return Object.fromEntries([...document.querySelectorAll('svg.graph .node')].map(one =>
        [one.querySelector('title').textContent, one.querySelector('rect').getBoundingClientRect().left]))""")
    assert left["Request"] < left["first"] < left[MARKUP] == left["second"] < left["Response"]
    # The same in a table, and with the means of those that had requests.
    rows = lambda: [row.text for row in page.find_elements(By.CSS_SELECTOR, "tbody tr")]  # noqa: E731
    assert [row.split()[0] for row in rows()] == ["1", "2", "3"] and "latest" in rows()[0]

    def has_rates(_):
        with server.http_client() as client:
            client.infer("pipeline", [given])
        return all(float(cells[5].text) > 0 and float(cells[7].text) > 0
                   for cells in (row.find_elements(By.TAG_NAME, "td") for row in page.find_elements(By.CSS_SELECTOR, "tbody tr")))

    WebDriverWait(page, WAIT_S, POLL_S, ignored_exceptions=(ValueError, StaleElementReferenceException)).until(has_rates)
    assert page.save_screenshot(str(tmp_path / "ensemble.png"))
    # A member is a link.
    page.execute_script("document.querySelector('svg.graph a').focus(); document.activeElement.dispatchEvent(new MouseEvent('click', {bubbles: true, cancelable: true}))")
    WebDriverWait(page, WAIT_S, POLL_S).until(lambda page: page.find_element(By.TAG_NAME, "h2").text == "Model first")
    page.get(f"http://{server.http_address}/console/#/model/pipeline/1")
    WebDriverWait(page, WAIT_S, POLL_S).until(lambda page: page.find_elements(By.LINK_TEXT, "Its steps as a graph"))
    page.get(f"http://{server.http_address}/console/#/ensemble/first/1")
    WebDriverWait(page, WAIT_S, POLL_S).until(lambda _: "This model is no ensemble." in text())
    assert page.execute_script("return window.harmed") is None
    assert page.find_elements(By.CSS_SELECTOR, "img") == []
    assert_quiet(page, f"http://{server.http_address}")
