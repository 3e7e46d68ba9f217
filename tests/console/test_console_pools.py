"""The console's page of pools and leases, compared with the calls that it stands for."""

import json
import re

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys as Key
from selenium.webdriver.support.wait import WebDriverWait
from support.console_world import POLL_S, SHOWN, WAIT_S
from support.identities import Keys
from support.models import identity_config, write_model
from support.pools import Pools
from support.waiting import eventually


class KnownCaller(Pools):
    """Pools of a server that asks who calls."""

    def raw(self, method, path, body=None, headers=None):
        return super().raw(method, path, body, {"Authorization": f"Bearer {self.token}", **(headers or {})})


@pytest.fixture
def pools(tmp_path):
    keys = Keys(tmp_path / "keys")
    write_model(tmp_path / "models", SHOWN, identity_config("echo", dims=(2,)).replace('name: "echo"', ""))
    with_console = ('plugin.console.use="frontends/console"', 'plugin.keys.use="security/keys"', f'plugin.keys.keys_file="{keys.path}"',
                    'plugin.sessions.use="security/sessions"')
    made = KnownCaller(tmp_path, tmp_path / "models", *with_console)
    made.token = keys.add("admin", "*")
    made.monitor = keys.add("monitor", "console.read")
    try:
        yield made.start()
    finally:
        made.close()


def test_pools_and_leases(open_browser, assert_accessible, pools, pictures):
    pools.create(max_instances=1)
    lease = pools.acquire(SHOWN, quota=3)
    page = open_browser()
    until = lambda condition: WebDriverWait(page, WAIT_S, POLL_S).until(condition)  # noqa: E731
    wait_text = lambda text: until(lambda page: text in page.find_element(By.ID, "view").text)  # noqa: E731

    def log_in(token):
        until(lambda page: page.find_elements(By.ID, "key"))
        page.find_element(By.ID, "key").send_keys(token, Key.ENTER)

    def act(text):
        until(lambda page: page.find_elements(By.CSS_SELECTOR, f"[aria-label='{text} {lease['id']}']"))
        page.find_element(By.CSS_SELECTOR, f"[aria-label='{text} {lease['id']}']").send_keys(Key.ENTER)
        page.find_element(By.CSS_SELECTOR, "dialog button[value=yes]").click()
        until(lambda page: page.find_element(By.ID, "said").text.endswith("done"))

    page.get(f"http://{pools.server.http_address}/console/#/page/pools")
    log_in(pools.token)
    wait_text("3 of 8")
    wait_text(lease["id"])
    until(lambda page: [link.text for link in page.find_elements(By.CSS_SELECTOR, "#brought a[aria-current=page]")] == ["Pools"])
    text = page.find_element(By.ID, "view").text
    assert SHOWN in text and re.search(r"\b59 min \d+ s\b", text) and "identity" in text
    width = page.execute_script("return parseFloat(document.querySelector('.part').style.width)")
    assert width == pytest.approx(100 * 3 / 8)

    # A dry run, with the answer of the call that it stands for.
    asked = {"pool": "fraud", "quota": 6, "duration": "1h", "models": [{"name": SHOWN, "source": str(pools.models)}]}
    plan = pools.call("POST", "/v2/leases?dry_run=true", asked)
    for field, value in (("quota", "6"), ("model", SHOWN), ("source", str(pools.models))):
        page.find_element(By.ID, field).clear()
        page.find_element(By.ID, field).send_keys(value)
    page.find_element(By.ID, "try").click()
    wait_text(f"It would be refused: {plan['reason']}")
    assert plan["instance"] is None and plan["instances"][0]["reason"] in page.find_element(By.ID, "plan").text
    pictures(page, "pools")
    assert_accessible(page)
    page.find_element(By.ID, "quota").clear()
    page.find_element(By.ID, "quota").send_keys("9", Key.ENTER)
    refused = json.loads(pools.raw("POST", "/v2/leases?dry_run=true", {**asked, "quota": 9})[1])
    wait_text(refused.get("error") or refused["reason"])

    before = pools.lease(lease)["expires_at"]
    act("Renew")
    assert pools.lease(lease)["expires_at"] > before
    act("Release")
    eventually(lambda: pools.lease(lease)["state"] == "RELEASED", WAIT_S)
    wait_text("RELEASED")
    assert page.execute_script("return window.harmed") is None
    assert page.execute_script("return window.violations") == []
    # Who may not see pools is told so.
    page.find_element(By.ID, "logout").click()
    log_in(pools.monitor)
    until(lambda page: "403" in page.find_element(By.ID, "state").text)
    assert page.find_elements(By.CSS_SELECTOR, ".act") == []
