"""People who log in to the console with a key."""

import json

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys as Key
from selenium.webdriver.support.wait import WebDriverWait
from support.console_world import OWN, POLL_S, WAIT_S
from support.waiting import eventually

def test_a_person_logs_in_acts_and_logs_out(open_browser, world):
    page = open_browser()
    place = f"http://127.0.0.1:{world.port}/console/"
    until = lambda condition: WebDriverWait(page, WAIT_S, POLL_S).until(condition)  # noqa: E731

    def log_in(token):
        until(lambda page: page.find_elements(By.ID, "key"))
        page.find_element(By.ID, "key").send_keys(token, Key.ENTER)

    page.get(place)
    log_in("atk_admin_wrong")
    until(lambda page: "401" in page.find_element(By.ID, "said").text)
    assert page.get_cookies() == []
    log_in(world.admin)
    until(lambda page: "Models by state" in page.find_element(By.ID, "view").text)
    (cookie,) = page.get_cookies()
    assert cookie["httpOnly"] and cookie["sameSite"] == "Strict" and "atk" not in cookie["value"]
    assert world.admin not in page.execute_script("return JSON.stringify(localStorage) + document.cookie + document.body.innerHTML")
    page.get(place + "#/models?search=spare")
    until(lambda page: page.find_elements(By.CSS_SELECTOR, "[aria-label='Load spare']"))
    page.find_element(By.CSS_SELECTOR, "[aria-label='Load spare']").click()
    page.find_element(By.CSS_SELECTOR, "dialog button[value=yes]").click()
    until(lambda page: "done" in page.find_element(By.ID, "said").text)
    assert world.call("/v2/models/spare/ready", Authorization=f"Bearer {world.admin}")[0] == 200
    page.find_element(By.ID, "logout").click()
    until(lambda page: page.find_elements(By.ID, "key"))
    assert page.get_cookies() == []
    # Who may only look has nothing to act with.
    log_in(world.monitor)
    until(lambda page: page.find_elements(By.XPATH, '//main//a[.="spare"]'))
    assert page.find_elements(By.CSS_SELECTOR, ".act") == []
    assert page.execute_script("return window.violations") == []


@pytest.mark.parametrize("path, method, permitted, denied", [
    ("/v2/console/overview", "GET", "monitor", "client"), ("/v2/console/history", "GET", "monitor", "client"),
    ("/v2/repository/index", "POST", "admin", "monitor"), ("/v2/logging", "GET", "admin", "monitor")])
def test_a_cookie_may_what_its_key_may(world, path, method, permitted, denied):
    for who in (permitted, denied):
        token = getattr(world, who)
        by_key = world.call(path, method, Authorization=f"Bearer {token}")[0]
        assert (by_key == 200) == (who == permitted)
        if who == "client":
            continue  # it may not log in
        assert world.call(path, method, Cookie=world.log_in(token), **OWN)[0] == by_key


def test_what_another_site_makes_a_browser_send_is_nobodys(world):
    cookie = world.log_in(world.admin)
    path = "/v2/repository/models/echo/load"
    assert world.call(path, "POST", "{}", Cookie=cookie)[0] == 401
    for origin in ("http://evil.example", "null", f"http://localhost:{world.port}"):
        assert world.call(path, "POST", "{}", Cookie=cookie, Origin=origin, **OWN)[0] == 401
    assert world.call(path, "POST", "{}", Cookie=cookie, Origin=f"http://127.0.0.1:{world.port}", **OWN)[0] == 200
    # A site whose name was made to point here is refused by the console, and has no cookie for elsewhere.
    assert world.call("/console/", Host=f"evil.example:{world.port}")[0] == 403
    # A preflight allows nothing.
    status, headers, _ = world.call(path, "OPTIONS", Origin="http://evil.example", Access_Control_Request_Method="POST",
                                    Access_Control_Request_Headers="x-atoll-console")
    assert "access-control-allow-origin" not in headers, status


def test_a_session_ends_with_its_key(world):
    token = world.keys.add("leaver", "console.read")
    eventually(lambda: world.call("/v2/console/models", Authorization=f"Bearer {token}")[0] == 200, WAIT_S)
    cookie = world.log_in(token)
    asked = lambda: world.call("/v2/console/models", Cookie=cookie, **OWN)[0]  # noqa: E731
    assert asked() == 200
    # A change of the file that leaves the key in it changes nothing.
    world.keys.add("other", "health")
    world.keys.remove("other")
    assert asked() == 200
    world.keys.remove("leaver")
    eventually(lambda: asked() == 401, WAIT_S)


def test_without_a_key_there_is_the_page_and_nothing_else(world):
    for path in ("/console/", "/console/app.js"):
        assert world.call(path)[0] == 200
    for path in ("/v2/console/overview", "/v2/console/models", "/v2/console/history", "/v2/logging", "/v2/models/echo"):
        assert world.call(path)[0] == 401
    assert world.call("/v2/console/login", "POST", json.dumps({"token": world.client}), **OWN)[0] == 403
    assert world.call("/v2/console/login", "POST", "x" * 100000, **OWN)[0] == 400
    statuses = [world.call("/v2/console/login", "POST", '{"token": "atk_admin_0"}', **OWN)[0] for _ in range(30)]
    assert set(statuses) <= {401, 429}
