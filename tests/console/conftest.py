"""A real browser, for the console."""

import base64
import json
import pathlib

import pytest
from selenium import webdriver
from support.console_world import PICTURED, PICTURES, WAIT_S, World
from support.waiting import eventually


@pytest.fixture
def open_browser(tmp_path):
    """Gives a browser of a colour scheme; it keeps the log of its console and of its network."""
    drivers = []

    def browser(scheme="light", width=1280):
        options = webdriver.ChromeOptions()
        options.binary_location = "/usr/bin/chromium"
        for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--no-proxy-server",
                         f"--window-size={width},900", f"--user-data-dir={tmp_path / f'profile{len(drivers)}'}"):
            options.add_argument(argument)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        driver = webdriver.Chrome(options=options, service=webdriver.ChromeService("/usr/bin/chromedriver"))
        driver.set_page_load_timeout(WAIT_S)
        drivers.append(driver)
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]})
        driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": """
            window.violations = [];
            document.addEventListener("securitypolicyviolation", (event) => violations.push(event.violatedDirective + " " + event.blockedURI));
            """})
        return driver

    yield browser
    for driver in drivers:
        driver.quit()


def requested_urls(driver):
    """What the page has asked for since this was called last; not what the browser's own pages have."""
    urls = []
    for entry in driver.get_log("performance"):
        message = json.loads(entry["message"])["message"]
        if message["method"] == "Network.requestWillBeSent" and not message["params"]["documentURL"].startswith("chrome://"):
            urls.append(message["params"]["request"]["url"])
    return urls


@pytest.fixture(scope="session")
def assert_accessible():
    """Fails where axe-core finds on the page something serious or critical: names, roles, contrast, order of headings and more."""
    from axe_core_python.base import AXE_SCRIPT  # what only these tests need is looked for only here

    def check(driver):
        if not driver.execute_script("return 'axe' in window"):
            driver.execute_script(AXE_SCRIPT)
        found = driver.execute_async_script("axe.run(arguments[0]).then(({violations}) => arguments[1](violations))",
                                            {"resultTypes": ["violations"]})
        serious = [f"{one['id']}: {one['help']}: {[node['html'] for node in one['nodes']]}" for one in found if one["impact"] in ("serious", "critical")]
        assert serious == []
    return check


@pytest.fixture
def assert_quiet():
    def check(driver, origin):
        """Nothing was complained about, and nothing was asked of anybody else. Returns how much was asked."""
        assert driver.execute_script("return window.violations") == []
        assert [entry for entry in driver.get_log("browser") if entry["level"] in ("WARNING", "SEVERE")] == []
        urls = requested_urls(driver)
        assert [url for url in urls if not url.startswith((f"{origin}/", "data:"))] == []
        return len(urls)
    return check


@pytest.fixture
def pictures(tmp_path):
    """Keeps a picture of what a page shows. With ATOLL_PICTURES=docs/console in the environment, those of docs/console.md are made anew."""
    def take(page, name, scheme="light"):
        assert page.save_screenshot(str(tmp_path / f"{name}-{scheme}.png"))
        if PICTURES and scheme == "light" and name in PICTURED:
            data = page.execute_cdp_cmd("Page.captureScreenshot", {"format": "webp", "quality": 60})["data"]
            (pathlib.Path(PICTURES) / f"{name}.webp").write_bytes(base64.b64decode(data))
    return take


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    made = World(tmp_path_factory.mktemp("console"))
    with made.server:
        made.server.wait_active()
        eventually(lambda: made.call("/v2/models/echo/ready", Authorization=f"Bearer {made.admin}")[0] == 200, WAIT_S)
        yield made
