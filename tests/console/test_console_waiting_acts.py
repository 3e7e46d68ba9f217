"""What an operator does about requests that wait, compared with the calls that it stands for."""

import http.client
import json
import urllib.parse

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys as Key
from selenium.webdriver.support.wait import WebDriverWait
from support.console_world import MARKUP, POLL_S, WAIT_S, World
from support.models import identity_config, write_model
from support.waiting import eventually

HOUR = 'parameters { key: "execute_delay_ms" value { string_value: "3600000" } }\n'
LEVELS = "dynamic_batching { priority_levels: 3 default_priority_level: 2 }\n"
PATIENT = "dynamic_batching { preferred_batch_size: 8 max_queue_delay_microseconds: 3600000000 }\n"


class Queues(World):
    """Three models whose only instance is busy for an hour, one with priorities, one with sequences and one with a name that means harm,
    and one that waits for a fuller batch."""

    def __init__(self, folder):
        super().__init__(folder, starts=False)
        self.open = []
        self.manifest.write_text(self.manifest.read_text().replace('load_model = ["echo"]', 'load_model = ["*"]'))
        for name in ("broken", "spare", "echo"):
            for path in sorted((self.models / name).rglob("*"), reverse=True):
                path.unlink() if path.is_file() else path.rmdir()
            (self.models / name).rmdir()
        write_model(self.models, "ranked", identity_config("ranked", dims=(2,), max_batch_size=1, extra=LEVELS + HOUR))
        write_model(self.models, MARKUP, identity_config("m", dims=(2,), extra=HOUR).replace('name: "m"', ""))
        write_model(self.models, "patient", identity_config("patient", dims=(2,), max_batch_size=8, extra=PATIENT))
        write_model(self.models, "tale", identity_config("tale", dims=(2,), extra="sequence_batching { }\n" + HOUR))
        self.server = self.serve()

    def send(self, model, shape, **parameters):
        """A request whose answer comes later, if at all."""
        body = {"inputs": [{"name": "INPUT0", "datatype": "FP32", "shape": shape, "data": [1, 2]}], "parameters": parameters}
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=WAIT_S)
        connection.request("POST", f"/v2/models/{urllib.parse.quote(model, safe='')}/infer", json.dumps(body), {"Authorization": f"Bearer {self.admin}"})
        self.open.append(connection)
        return connection

    def occupy(self, model, shape, **parameters):
        """Its only instance, for an hour."""
        running = lambda: self.call("/v2/console/waiting", Authorization=f"Bearer {self.admin}")[2]["running"]  # noqa: E731
        before = running()
        self.send(model, shape, **parameters)
        eventually(lambda: running() > before, WAIT_S)

    def found(self, model):
        """What the call says of a model; None: nothing."""
        status, _, body = self.call("/v2/console/waiting", Authorization=f"Bearer {self.admin}")
        assert status == 200, body
        return next((one for one in body["models"] if one["name"] == model), None)

    def waits(self, model, requests):
        eventually(lambda: (self.found(model) or {"queue": {"requests": 0}})["queue"]["requests"] == requests, WAIT_S)
        return self.found(model)

    def act(self, call, token=None):
        return self.call(f"/v2/console/waiting/{call}", "POST", "{}", Authorization=f"Bearer {token or self.admin}")


@pytest.fixture(scope="module")
def queues(tmp_path_factory):
    made = Queues(tmp_path_factory.mktemp("queues"))
    with made.server:
        made.server.wait_active()
        for model in ("ranked", MARKUP, "patient", "tale"):
            path = f"/v2/models/{urllib.parse.quote(model, safe='')}/ready"
            eventually(lambda path=path: made.call(path, Authorization=f"Bearer {made.admin}")[0] == 200, WAIT_S)
        yield made
        for connection in made.open:
            connection.close()


def test_the_calls_describe_cancel_and_drain(queues):
    queues.occupy("ranked", [1, 2])
    first = [queues.send("ranked", [1, 2], priority=1) for _ in range(2)]
    last = queues.send("ranked", [1, 2], priority=3)
    found = queues.waits("ranked", 3)
    assert found["waits_for"] == "instance" and found["may_act"]
    assert [(one["priority"], one["requests"]) for one in found["queue"]["levels"]] == [(1, 2), (3, 1)]
    assert found["queue"]["input_bytes"] == 3 * 8 and found["queue"]["input_bytes_of"] == 3
    # One priority, then all.
    assert queues.act("cancel?model=ranked&version=1&priority=3")[2]["cancelled"] == 1
    reply = last.getresponse()
    assert reply.status == 503 and "operator has cancelled" in reply.read().decode()
    queues.waits("ranked", 2)
    # Who only reads changes nothing.
    assert queues.act("cancel?model=ranked&version=1", queues.monitor)[0] == 403
    assert queues.act("drain?model=ranked&version=1&on=true", queues.client)[0] == 403
    queues.waits("ranked", 2)
    assert queues.act("drain?model=ranked&version=1&on=true")[2]["draining"] is True
    refused = queues.send("ranked", [1, 2]).getresponse()
    assert refused.status == 503 and "drains this model" in refused.read().decode()
    assert queues.found("ranked")["queue"]["draining"]
    assert queues.act("cancel?model=ranked&version=1")[2]["cancelled"] == 2
    assert [one.getresponse().status for one in first] == [503, 503]
    # Nothing waits, and still it is seen that it is drained.
    assert queues.waits("ranked", 0)["queue"]["draining"]
    assert queues.act("drain?model=ranked&version=1&on=false")[2]["draining"] is False
    eventually(lambda: queues.found("ranked") is None, WAIT_S)
    assert queues.act("cancel?model=none&version=1")[0] == 404


def test_the_batch_that_forms_is_shown(queues):
    waiting = [queues.send("patient", [1, 2]) for _ in range(3)]
    found = queues.waits("patient", 3)
    assert found["waits_for"] == "batch"
    assert (found["queue"]["batch"]["size"], found["queue"]["batch"]["size_max"]) == (3, 8)
    assert 0 < found["queue"]["batch"]["goes_in_ms"] <= 3_600_000
    # When it is drained nobody can join, so it goes.
    assert queues.act("drain?model=patient&version=1&on=true")[0] == 200
    assert [one.getresponse().status for one in waiting] == [200, 200, 200]
    assert queues.act("drain?model=patient&version=1&on=false")[0] == 200


def test_a_sequence_waits_for_a_slot(queues):
    queues.occupy("tale", [2], sequence_id=1, sequence_start=True)
    waiting = queues.send("tale", [2], sequence_id=2, sequence_start=True)
    found = queues.waits("tale", 1)
    assert found["waits_for"] == "slot" and found["queue"]["input_bytes"] == 8
    assert queues.act("cancel?model=tale&version=1")[2]["cancelled"] == 1
    assert waiting.getresponse().status == 503
    assert queues.act("drain?model=tale&version=1&on=true")[0] == 200
    refused = queues.send("tale", [2], sequence_id=3, sequence_start=True).getresponse()
    assert refused.status == 503 and "drains this model" in refused.read().decode()
    assert queues.act("drain?model=tale&version=1&on=false")[0] == 200


def test_the_page_explains_and_acts(open_browser, assert_accessible, queues):
    queues.occupy(MARKUP, [2])
    waiting = [queues.send(MARKUP, [2]) for _ in range(2)]
    queues.waits(MARKUP, 2)
    page = open_browser()
    until = lambda condition: WebDriverWait(page, WAIT_S, POLL_S).until(condition)  # noqa: E731
    view = lambda page: page.find_element(By.ID, "view").text  # noqa: E731
    page.get(f"http://127.0.0.1:{queues.port}/console/#/waiting")
    until(lambda page: page.find_elements(By.ID, "key"))
    page.find_element(By.ID, "key").send_keys(queues.admin, Key.ENTER)
    until(lambda page: MARKUP in view(page) and "Its only instance is busy" in view(page) and "16 B" in view(page))
    assert_accessible(page)

    def act(text):
        place = f"//button[starts-with(@aria-label, '{text} ')]"
        until(lambda page: page.find_elements(By.XPATH, place))
        page.find_element(By.XPATH, place).send_keys(Key.ENTER)
        until(lambda page: page.find_elements(By.CSS_SELECTOR, "dialog button[value=yes]"))
        page.find_element(By.CSS_SELECTOR, "dialog button[value=yes]").click()

    act("Drain")
    until(lambda page: "Drained: it serves what waits and refuses new requests" in view(page))
    assert queues.found(MARKUP)["queue"]["draining"]
    act("Cancel all")
    assert [one.getresponse().status for one in waiting] == [503, 503]
    until(lambda page: page.find_elements(By.XPATH, "//button[starts-with(@aria-label, 'Resume ')]"))
    act("Resume")
    eventually(lambda: queues.found(MARKUP) is None, WAIT_S)
    assert page.execute_script("return window.harmed") is None
    assert page.find_elements(By.CSS_SELECTOR, "img") == []
    assert page.execute_script("return window.violations") == []
