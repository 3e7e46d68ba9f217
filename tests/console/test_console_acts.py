"""What a person who is known does with the page, compared with the calls that it stands for."""

import json
import urllib.parse

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys as Key
from selenium.webdriver.support.wait import WebDriverWait
from support.console_world import HOSTILE, POLL_S, WAIT_S
from support.waiting import eventually


@pytest.fixture
def page(open_browser, world):
    """Logged in as who may do everything."""
    driver = open_browser(width=400)
    driver.get(f"http://127.0.0.1:{world.port}/console/")
    until(driver, lambda driver: driver.find_elements(By.ID, "key"))
    driver.find_element(By.ID, "key").send_keys(world.admin, Key.ENTER)
    wait_text(driver, "Models by state")
    return driver


def until(page, condition):
    WebDriverWait(page, WAIT_S, POLL_S).until(condition)


def wait_text(page, text):
    until(page, lambda page: text in page.find_element(By.ID, "view").text)


def go(page, world, place):
    page.get(f"http://127.0.0.1:{world.port}/console/#{place}")
    until(page, lambda page: page.find_element(By.ID, "state").text.startswith("live"))


def call(world, path, method="GET", body=None):
    return world.call(path, method, body, Authorization=f"Bearer {world.admin}")


def said(page, text):
    until(page, lambda page: text in page.find_element(By.ID, "said").text)


def test_models_are_loaded_and_unloaded_as_by_the_call(page, world):
    def act(text, name, told):
        go(page, world, f"/models?search={urllib.parse.quote(name)}")
        page.refresh()
        until(page, lambda page: page.find_elements(By.CSS_SELECTOR, f"[aria-label='{text} {name}']"))
        page.find_element(By.CSS_SELECTOR, f"[aria-label='{text} {name}']").send_keys(Key.ENTER)
        page.find_element(By.CSS_SELECTOR, "dialog button[value=yes]").click()
        said(page, told)

    def states(name):
        index = json.loads(call(world, "/v2/repository/index", "POST")[2])
        return [model.get("state") for model in index if model["name"] == name]

    act("Load", "spare", "done")
    assert states("spare") == ["READY"]
    act("Unload", "spare", "done")
    # Answered when nobody can use it any more, which may be before it is gone.
    eventually(lambda: states("spare") == ["UNAVAILABLE"], WAIT_S)
    assert page.execute_script("return window.violations") == []
    # What fails is told in the words of the call.
    status, _, body = call(world, "/v2/repository/models/broken/load", "POST", "{}")
    assert status >= 400
    act("Load", "broken", body["error"])
    # Who thinks better of it changes nothing.
    page.find_element(By.CSS_SELECTOR, "[aria-label='Load broken']").click()
    page.find_element(By.CSS_SELECTOR, "dialog button[value=no]").click()
    # A dialog is gone when the browser has told the page that it was closed.
    until(page, lambda page: page.find_elements(By.CSS_SELECTOR, "dialog") == [])


def test_log_settings_are_changed_as_by_the_call(page, world):
    settings = lambda: call(world, "/v2/logging")[2]  # noqa: E731
    before = settings()
    go(page, world, "/log")
    for wanted in (not before["log_info"], before["log_info"]):
        page.find_element(By.ID, "log_info").click()
        page.find_element(By.ID, "apply").click()
        eventually(lambda wanted=wanted: settings()["log_info"] == wanted, WAIT_S)
        until(page, lambda page: page.find_element(By.ID, "said").text == "applied")
    assert settings() == before
    assert page.execute_script("return window.violations") == []


def test_trace_settings_are_changed_as_by_the_call(page, world):
    settings = lambda: call(world, "/v2/trace/setting")[2]  # noqa: E731
    before = settings()
    go(page, world, "/trace")
    rate = page.find_element(By.ID, "trace_rate")
    rate.clear()
    rate.send_keys("7", Key.ENTER)
    said(page, "applied")
    assert settings() == {**before, "trace_rate": "7"}
    # What is refused is told in the words of the call.
    refused = call(world, "/v2/trace/setting", "POST", '{"trace_level": ["TIMESTAMPS"]}')
    assert refused[0] == 400, refused
    page.find_element(By.ID, "trace_level").send_keys("TIMESTAMPS")
    page.find_element(By.ID, "apply").click()
    said(page, refused[2]["error"])
    assert settings() == {**before, "trace_rate": "7"}
    assert call(world, "/v2/trace/setting", "POST", json.dumps({"trace_rate": before["trace_rate"]}))[2] == before


def test_requests_are_sent_to_models_of_any_name(page, world):
    for name in HOSTILE:
        status, _, body = call(world, f"/v2/repository/models/{urllib.parse.quote(name, safe='')}/load", "POST", "{}")
        assert status == 200, body
        go(page, world, f"/model/{urllib.parse.quote(name, safe='')}/1")
        wait_text(page, "INPUT0")
        page.find_element(By.ID, "send").click()
        wait_text(page, '"OUTPUT0"')
    assert page.execute_script("return window.harmed") is None
    assert page.find_elements(By.CSS_SELECTOR, "img") == []
    assert page.execute_script("return window.violations") == []
