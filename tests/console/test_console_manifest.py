"""The options of plugins, what an edited manifest would change, and the reload that applies it, as the console tells and does them."""

import re

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys as Key
from selenium.webdriver.support.wait import WebDriverWait
from support.console_world import POLL_S, WAIT_S, World
from support.waiting import eventually

SECRET = "hush-0123456789"
USE = 'use = "frontends/console"\n'


@pytest.fixture
def world(tmp_path):
    """One of its own: the manifest is edited."""
    made = World(tmp_path, starts=False)
    made.manifest.write_text(made.manifest.read_text().replace(
        '\n[plugin.keys]\n', f'\n[plugin.keys]\nrestricted_apis = ["shared-memory:infer-header={SECRET}"]\n'))
    made.server = made.serve()
    with made.server:
        made.server.wait_active()
        yield made


def ask(world, path, method="GET", body=None, token=None):
    status, _, found = world.call(f"/v2/console/{path}", method, body, Authorization=f"Bearer {token or world.admin}")
    return status, found


def edit(world, change):
    text = change(world.manifest.read_text())
    assert text != world.manifest.read_text()
    world.manifest.write_text(text)
    return text


def test_the_calls(world):
    status, running = ask(world, "options")
    assert status == 200 and running["generation"] == 1 and SECRET not in str(running)
    options = {one["name"]: {option["key"]: option for option in one["options"]} for one in running["instances"]}
    interval = options["console"]["history_interval"]
    assert (interval["value"], interval["default"], interval["is_default"], interval["type"]) == ('"5s"', '"5s"', True, "duration")
    assert options["http"]["address"]["value"] == '"0.0.0.0:0"' and not options["http"]["address"]["is_default"]
    assert options["keys"]["restricted_apis"] == {**options["keys"]["restricted_apis"], "secret": True, "value": "", "is_default": False}
    assert options["keys"]["keys_file"]["value"] == f'"{world.keys.path}"'

    same = ask(world, "manifest")[1]
    assert (same["instances"], same["problems"], same["own"], same["unopened"]) == ([], [], False, [])
    old = world.manifest.read_text()
    text = edit(world, lambda old: old.replace(USE, USE + 'history_interval = "1s"\n').replace(SECRET, f"{SECRET}-2") + '\n[plugin.cache]\nuse = "caches/local"\n')
    changed = {one["name"]: one for one in ask(world, "manifest")[1]["instances"]}
    assert changed["console"]["change"] == "replaced" and changed["console"]["why"] == "options"
    assert changed["console"]["options"] == [{"key": "history_interval", "before": '"5s"', "after": '"1s"', "secret": False}]
    assert changed["keys"]["options"] == [{"key": "restricted_apis", "before": "", "after": "", "secret": True}]
    assert changed["cache"]["change"] == "added" and set(changed) == {"console", "keys", "cache"}
    # Code of what is new is not run to look at it.
    assert ask(world, "manifest")[1]["unopened"] == ["cache"]
    assert "caches/local" not in open(f"/proc/{world.server.process.pid}/maps").read()
    # A text is compared like the file.
    assert ask(world, "manifest/check", "POST", text)[1] == ask(world, "manifest")[1]
    wrong = ask(world, "manifest/check", "POST", text.replace("history_interval", "history_intervall") + "\n[log")[1]
    assert wrong["instances"] == [] and wrong["problems"][0].startswith("the text:"), wrong
    (problem,) = ask(world, "manifest/check", "POST", text.replace("history_interval", "history_intervall"))[1]["problems"]
    assert "did you mean 'history_interval'?" in problem
    assert ask(world, "manifest/check", "POST", "x" * (1 << 20) + "y")[1]["problems"] != []
    # What would go on with other options, and plugins that would not fit together.
    (followed,) = ask(world, "manifest/check", "POST", old.replace('use = "models/catalog"\n', 'use = "models/catalog"\nbackend_settings = { identity = "a=1" }\n'))[1]["instances"]
    assert (followed["name"], followed["change"], [one["key"] for one in followed["options"]]) == ("models", "changed", ["backend_settings"])
    lonely = ask(world, "manifest/check", "POST", old.replace('use = "models/catalog"\n', 'use = "models/catalog"\nenabled = false\n'))[1]
    assert any("atoll.model_catalog/1" in line for line in lonely["problems"]) and lonely["instances"] == []
    # Who may look may not act.
    for path in ("manifest/check", "manifest/apply"):
        assert ask(world, path, "POST", text, world.monitor)[0] == 403
    assert ask(world, "manifest", token=world.monitor)[0] == 200
    assert ask(world, "options", token=world.client)[0] == 403
    assert ask(world, "options")[1]["generation"] == 1

    status, begun = ask(world, "manifest/apply", "POST", "{}")
    assert status == 202 and begun["generation"] == 1

    def end():
        found = ask(world, f"timeline?since={begun['since']}")[1].get("entries", [])
        return [entry for entry in found if entry["kind"] in ("reload.applied", "reload.refused")]
    assert [entry["kind"] for entry in eventually(end, WAIT_S)] == ["reload.applied"]
    assert ask(world, "options")[1]["generation"] == 2
    assert ask(world, "manifest")[1]["instances"] == []
    assert SECRET not in "\n".join(world.server.lines)


def test_the_pages(open_browser, assert_accessible, world, pictures):
    page = open_browser()
    until = lambda condition: WebDriverWait(page, WAIT_S, POLL_S).until(condition)  # noqa: E731
    wait_text = lambda text: until(lambda page: text in page.find_element(By.ID, "view").text)  # noqa: E731

    def apply():
        page.find_element(By.CSS_SELECTOR, "[aria-label^='Apply the file']").send_keys(Key.ENTER)
        page.find_element(By.CSS_SELECTOR, "dialog button[value=yes]").click()

    page.get(f"http://127.0.0.1:{world.port}/console/#/manifest")
    until(lambda page: page.find_elements(By.ID, "key"))
    page.find_element(By.ID, "key").send_keys(world.admin, Key.ENTER)
    wait_text("The manifest's file changes nothing")
    good = edit(world, lambda old: old.replace(USE, USE + 'history_interval = "1s"\n'))
    page.find_element(By.ID, "file").click()
    wait_text('history_interval: "5s" becomes "1s"')
    pictures(page, "manifest")
    assert_accessible(page)
    page.execute_script("document.getElementById('text').value = arguments[0]", good.replace("history_interval", "no_such_option"))
    page.find_element(By.ID, "check").click()
    wait_text("unknown key 'no_such_option'")
    apply()
    until(lambda page: page.find_element(By.ID, "said").text.endswith(": done"))
    wait_text("The manifest's file changes nothing: it is what runs, generation 2.")
    # A refusal is told in the words of the log.
    edit(world, lambda old: old.replace("history_interval", "no_such_option"))
    apply()
    until(lambda page: "refused: " in page.find_element(By.ID, "said").text)
    assert "unknown key 'no_such_option'" in page.find_element(By.ID, "said").text

    page.get(f"http://127.0.0.1:{world.port}/console/#/options/console")
    wait_text('"1s"')
    assert re.search(r"(?m)^history_interval \"1s\" set \"5s\" duration", page.find_element(By.ID, "view").text)
    pictures(page, "options")
    assert_accessible(page)
    page.get(f"http://127.0.0.1:{world.port}/console/#/options/keys")
    wait_text("secret, set")
    assert SECRET not in page.page_source
    page.set_window_size(400, 900)
    assert page.execute_script("return document.documentElement.scrollWidth <= window.innerWidth")
    assert page.execute_script("return window.violations") == []
    # Who may only look has nothing to press.
    page.get(f"http://127.0.0.1:{world.port}/console/#/manifest")
    page.find_element(By.ID, "logout").click()
    until(lambda page: page.find_elements(By.ID, "key"))
    page.find_element(By.ID, "key").send_keys(world.monitor, Key.ENTER)
    wait_text("would be refused")
    wait_text("needs the permission console.act")
    assert page.find_elements(By.CSS_SELECTOR, ".act, #check") == []
