"""The example etc/examples/chat: its page in a real browser, and its chat in the terminal, with a model of Python whose answers are known."""

import os
import pty
import select
import subprocess
import sys
import urllib.error
import urllib.request

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.support.wait import WebDriverWait
from support.models import write_model
from support.python_models import INTERPRETER
from support.server import ROOT, START_TIMEOUT_S, Server

FOLDER = ROOT / "etc/examples/chat"
WAIT_S = 60
CONFIG = """
backend: "python"
model_transaction_policy { decoupled: true }
input [ { name: "text_input" data_type: TYPE_STRING dims: [ 1 ] },
        { name: "sampling_parameters" data_type: TYPE_STRING dims: [ 1 ] optional: true } ]
output [ { name: "text_output" data_type: TYPE_STRING dims: [ 1 ] } ]
"""
# Says the last message again, a word at a time; "forever" goes on until nobody listens, and "fail" is an error.
REPEATS = """
import threading
import numpy as np
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    pause = threading.Event()  # not so many words that a browser does nothing else

    def answer(self, request):
        prompt = pb_utils.get_input_tensor_by_name(request, "text_input").as_numpy()[0].decode()
        text = prompt.split("<|im_start|>user\\n")[-1].split("<|im_end|>")[0]
        sender = request.get_response_sender()

        def send(word):
            sender.send(pb_utils.InferenceResponse([pb_utils.Tensor("text_output", np.array([word], dtype=object))]))

        if text == "fail":
            sender.send(pb_utils.InferenceResponse(error=pb_utils.TritonError("out of words")))
        while text == "forever" and not sender.is_cancelled():
            send("on ")
            self.pause.wait(0.01)
        if text not in ("fail", "forever"):
            for i, word in enumerate(text.split(" ")):
                send((" " if i else "") + word)
        sender.send(flags=pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL)

    def execute(self, requests):
        for request in requests:
            threading.Thread(target=self.answer, args=(request,)).start()
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    repository = tmp_path_factory.mktemp("models")
    write_model(repository, "echo", CONFIG, files={"model.py": REPEATS.encode()})
    with Server(repository, "plugin.llamacpp.enabled=false", 'plugin.python.use="backends/python"', INTERPRETER,
                f'plugin.pages.folders={{ "/chat/" = "{FOLDER}/page" }}', manifest=FOLDER / "atoll.toml") as running:
        yield running.wait_active().wait_ready("echo")


# --- the page ---

def boxes(browser, kind):
    return [box.text for box in browser.find_elements(By.CSS_SELECTOR, f".{kind}")]


def say(browser, text):
    browser.find_element(By.ID, "text").send_keys(text + "\n")


@pytest.fixture
def page(browser, server):
    browser.get(f"http://{server.http_address}/chat")
    WebDriverWait(browser, WAIT_S).until(lambda page: page.find_elements(By.CSS_SELECTOR, "#model option"))
    assert browser.current_url.endswith("/chat/")
    return browser


def test_the_page_shows_answers(page):
    say(page, "good morning")
    WebDriverWait(page, WAIT_S).until(lambda page: boxes(page, "assistant") == ["good morning"])
    say(page, "and again")
    WebDriverWait(page, WAIT_S).until(lambda page: boxes(page, "assistant") == ["good morning", "and again"])
    WebDriverWait(page, WAIT_S).until(lambda page: page.find_element(By.ID, "state").text.startswith("first words after 0."))
    assert boxes(page, "user") == ["good morning", "and again"] and boxes(page, "error") == []
    page.find_element(By.ID, "clear").click()
    assert boxes(page, "user") == boxes(page, "assistant") == []


def test_an_answer_can_be_stopped(page):
    say(page, "forever")
    WebDriverWait(page, WAIT_S).until(lambda page: boxes(page, "assistant")[0].startswith("on on"))
    page.find_element(By.ID, "stop").click()
    WebDriverWait(page, WAIT_S).until(lambda page: page.find_element(By.ID, "send").is_displayed())
    say(page, "still here")
    WebDriverWait(page, WAIT_S).until(lambda page: boxes(page, "assistant")[-1] == "still here")


def test_a_failure_is_shown(page):
    say(page, "fail")
    WebDriverWait(page, WAIT_S).until(lambda page: boxes(page, "error") != [])
    assert "out of words" in boxes(page, "error")[0] and boxes(page, "assistant") == []


# --- the files ---

def test_a_file_that_is_not_there_is_404(server):
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(f"http://{server.http_address}/chat/none.html", timeout=60)
    assert refused.value.code == 404


# --- the terminal ---

def chat(server, *words, **options):
    return subprocess.run([sys.executable, FOLDER / "chat.py", "--url", f"http://{server.http_address}", *words], capture_output=True,
                          text=True, timeout=START_TIMEOUT_S, **options)


def test_one_message(server):
    done = chat(server, "good morning")
    assert (done.returncode, done.stdout, done.stderr) == (0, "good morning\n", "")


def test_a_chat_ends_with_its_input(server):
    done = chat(server, input="good morning\n\nand again\n")
    first, *rest = done.stdout.split("\n")
    assert done.returncode == 0 and first.startswith("echo at http://") and rest == ["> good morning", "> > and again", "> ", ""]


@pytest.mark.parametrize("words, code, text", [
    (["--model", "none", "x"], 1, "chat.py: 404: "),
    (["--url", "http://127.0.0.1:1", "x"], 1, "chat.py: http://127.0.0.1:1/v1/models: [Errno 111] Connection refused\n"),
    (["fail"], 1, "chat.py: 500: out of words\n"),
    (["--nonsense"], 2, "usage: chat.py"),
])
def test_what_does_not_work_is_one_line(server, words, code, text):
    done = chat(server, *words)
    assert done.returncode == code and done.stderr.lstrip("\n").startswith(text), done.stderr


def test_ctrl_c_stops_an_answer_and_not_the_chat(server):
    child, terminal = pty.fork()
    if child == 0:
        os.execv(sys.executable, [sys.executable, str(FOLDER / "chat.py"), "--url", f"http://{server.http_address}"])
    shown = ""

    def read_until(wanted):
        nonlocal shown
        while wanted not in shown:
            assert select.select([terminal], [], [], WAIT_S)[0], shown
            shown += os.read(terminal, 4096).decode()
        shown = shown[shown.index(wanted) + len(wanted):]

    read_until("> ")
    os.write(terminal, b"forever\n")
    read_until("on on on")
    os.write(terminal, b"\x03")
    read_until(" ...\r\n> ")
    os.write(terminal, b"good morning\n")
    read_until("good morning\r\ngood morning\r\n> ")
    os.write(terminal, b"\x04")
    assert os.waitpid(child, 0)[1] == 0
    os.close(terminal)
