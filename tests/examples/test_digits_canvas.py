"""The page of etc/examples/digits_canvas in a real browser, drawn on with its mouse."""

import functools
import http.server
import math
import subprocess
import sys
import threading

import pytest
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.support.wait import WebDriverWait
from support.server import ROOT, Server

WAIT_S = 60


class QuietFiles(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def page_origin():
    files = functools.partial(QuietFiles, directory=ROOT / "etc/examples/digits_canvas")
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), files) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    folder = tmp_path_factory.mktemp("digits")
    subprocess.run([sys.executable, ROOT / "etc/models/train_digits.py", "--output", folder / "models",
                    "--heldout", folder / "heldout.npz"], check=True)
    return folder / "models"


def text(browser, identifier):
    return browser.find_element(By.ID, identifier).text


def stroke(browser, points):
    """Moves the pressed mouse along points, which are fractions of the canvas."""
    canvas = browser.find_element(By.ID, "canvas")
    width, height = canvas.size["width"], canvas.size["height"]
    places = [(round((x - 0.5) * width), round((y - 0.5) * height)) for x, y in points]
    actions = ActionChains(browser, duration=0)
    actions.move_to_element_with_offset(canvas, *places[0]).click_and_hold()
    for place in places[1:]:
        actions.move_to_element_with_offset(canvas, *place)
    actions.release().perform()


def circle(turns=24):
    return [(0.5 + 0.2 * math.sin(2 * math.pi * i / turns), 0.5 - 0.35 * math.cos(2 * math.pi * i / turns))
            for i in range(turns + 1)]


def answered(browser):
    """The digit and the shares of all of them, once the page has them."""
    WebDriverWait(browser, WAIT_S).until(lambda page: text(page, "digit") or text(page, "message"))
    assert text(browser, "message") == ""
    shares = [float(text(browser, f"percent{digit}").removesuffix(" %")) for digit in range(10)]
    assert sum(shares) == pytest.approx(100, abs=1)
    assert "ms" in text(browser, "latency")
    return text(browser, "digit"), shares


def test_what_is_drawn_is_classified(browser, page_origin, models):
    with Server(models, f'plugin.http.cors_allowed_origins=["{page_origin}"]') as server:
        server.wait_active()
        browser.get(f"{page_origin}/?server=http://{server.http_address}")
        stroke(browser, circle())
        digit, shares = answered(browser)
        assert digit == "0" and max(shares) == shares[0]

        browser.find_element(By.ID, "clear").click()
        assert text(browser, "digit") == "" and text(browser, "percent0") == ""
        stroke(browser, [(0.25, 0.2), (0.75, 0.2)])
        stroke(browser, [(0.75, 0.2), (0.45, 0.85)])
        stroke(browser, [(0.35, 0.5), (0.75, 0.5)])
        WebDriverWait(browser, WAIT_S).until(lambda page: text(page, "digit") == "7")


def test_a_page_that_is_not_allowed_says_so(browser, page_origin, models):
    with Server(models, 'plugin.http.cors_allowed_origins=["http://127.0.0.1:1"]') as server:
        server.wait_active()
        browser.get(f"{page_origin}/?server=http://{server.http_address}")
        stroke(browser, circle())
        WebDriverWait(browser, WAIT_S).until(lambda page: "cors_allowed_origins" in text(page, "message"))
        assert page_origin in text(browser, "message") and text(browser, "digit") == ""


def test_errors_of_the_server_are_shown(browser, page_origin, tmp_path):
    (tmp_path / "models").mkdir()
    with Server(tmp_path / "models", 'plugin.http.cors_allowed_origins=["*"]') as server:
        server.wait_active()
        browser.get(f"{page_origin}/?server=http://{server.http_address}")
        stroke(browser, circle())
        WebDriverWait(browser, WAIT_S).until(lambda page: "digits" in text(page, "message"))
        assert "not found" in text(browser, "message")
