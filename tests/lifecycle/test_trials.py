"""Plugin files that a reload brings are run in a process of their own first: whatever they do there, the server goes on."""

import re
import signal

import pytest
from harness import SANITIZED, Server

PROVIDER = {"p": 'use = "fixtures/provider"'}
LIMIT = 'trial_timeout = "3s"'
STEPS = ("create", "start", "drain", "stop", "destroy")
X = r"plugin 'x' \(fixtures/crasher\)"


def crasher(step, crash, plugin="crasher", **options):
    lines = [f'use = "fixtures/{plugin}"', f'crash = "{crash}"', f'step = "{step}"']
    return {"x": "\n".join(lines + [f'{key} = "{value}"' for key, value in options.items()])}


def goes_on(server, generation=1):
    """It serves and reloads as ever, and nothing of the trial is there."""
    server.reload(PROVIDER | {"q": 'use = "fixtures/singleton"'})
    server.expect(f"reloaded: generation {generation + 1}, 2 plugin instances")
    server.send(signal.SIGTERM)
    assert server.wait() == 0


def refused(tmp_path, instances, limit=""):
    with Server(tmp_path, PROVIDER, atoll=limit) as server:
        server.expect("active")
        server.reload(PROVIDER | instances)
        line = server.expect("^reload")
        goes_on(server)
        return line


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("crash, cause", [("segv", "SIGSEGV at address 0x10"), ("abort", "SIGABRT"),
                                          ("terminate", "an exception that nobody caught, std::runtime_error: no licence")])
def test_what_ends_its_process_is_a_refused_reload(tmp_path, step, crash, cause):
    line = refused(tmp_path, crasher(step, crash))
    if SANITIZED:  # which report signals themselves
        cause, where = "", ""
    else:
        where = r" in the code of plugin fixtures/crasher \(.*/crasher.so\)"
        cause = f"atoll: fatal: {cause} in thread 'atoll-trial', while calling '{step}' of {X},"
    assert re.fullmatch(f"reload refused: a trial of the new plugin files ended: .*{cause}.*{where}; generation 1 goes on", line)
    assert "; ;" not in line


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("crash, said", [("exit", r"atoll: fatal: exit\(3\) was called in thread 'atoll-trial'"),
                                         ("exit_at_once", "exit code 0")])
def test_an_exit_is_a_refused_reload(tmp_path, step, crash, said):
    assert re.fullmatch(f"reload refused: a trial of the new plugin files ended: {said}, while calling '{step}' of {X}"
                        ".*; generation 1 goes on", refused(tmp_path, crasher(step, crash)))


def test_what_it_said_last_is_told(tmp_path):
    line = refused(tmp_path, crasher("start", "says_why"))
    assert re.search(r"ended: .*; it said last: crasher: the licence has run out; generation 1 goes on$", line), line


@pytest.mark.parametrize("step", STEPS)
def test_a_hang_has_a_limit_and_is_named(tmp_path, step):
    assert re.fullmatch(f"reload refused: a trial of the new plugin files takes more than 3000 ms, while calling '{step}' of {X}"
                        "; generation 1 goes on", refused(tmp_path, crasher(step, "hang"), LIMIT))


@pytest.mark.parametrize("step", ["create", "start"])
def test_a_throw_is_told_by_the_reload_itself(tmp_path, step):
    assert re.fullmatch(rf"reload refused: {re.escape(str(tmp_path))}/atoll\.toml:\d+:1: plugin 'x' \(fixtures/crasher\): "
                        f"{step} failed: {step} threw: no licence; generation 1 goes on", refused(tmp_path, crasher(step, "throw")))


def test_the_end_of_the_server_does_not_wait_for_a_trial(tmp_path):
    with Server(tmp_path, PROVIDER) as server:
        server.expect("active")
        server.reload(PROVIDER | crasher("start", "hang", mark=tmp_path / "mark"))
        while not (tmp_path / "mark").exists():
            assert server.process.poll() is None
        server.send(signal.SIGTERM)
        assert server.wait() == 0


@pytest.mark.parametrize("plugin, trials", [("crasher", 1), ("untried", 0)])
def test_a_trial_has_a_free_port_and_a_place_of_its_own(tmp_path, monkeypatch, plugin, trials):
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    mark = tmp_path / "mark"
    own = {"address": "127.0.0.1:8123", "state": f"{tmp_path}/state"}
    with Server(tmp_path, PROVIDER) as server:
        server.expect("active")
        server.reload(PROVIDER | crasher("start", "", plugin, mark=mark, **own))
        server.expect("reloaded: generation 2, 2 plugin instances")
        *tried, served = mark.read_text().splitlines()
        assert served == f"{own['address']} {own['state']}"
        assert len(tried) == trials
        for line in tried:
            address, state = line.split(" ")
            assert address == "127.0.0.1:0"
            assert re.fullmatch(rf"{temporary}/atoll-trial-\w+/x\.state", state)
        # A file that has run here is not tried again.
        server.reload(PROVIDER | crasher("stop", "", plugin, mark=mark, **own))
        server.expect("reloaded: generation 3")
        assert len(mark.read_text().splitlines()) == trials + 2
        server.send(signal.SIGTERM)
        assert server.wait() == 0
    assert not list(temporary.iterdir())


def test_one_is_tried_with_what_it_requires_and_in_spite_of_others_that_fail(tmp_path):
    """The consumer finds its provider in the trial; another's failure there hides nothing."""
    fails = {"a": 'use = "fixtures/singleton"\nfail = "start"'}
    needs = {"c": 'use = "fixtures/consumer"'}
    line = refused(tmp_path, fails | needs | crasher("start", "abort"))
    assert "a trial of the new plugin files ended: " in line
    with Server(tmp_path, PROVIDER) as server:
        server.expect("active")
        server.reload(PROVIDER | needs)
        server.expect("reloaded: generation 2, 2 plugin instances in .* ms: added c$")
        server.send(signal.SIGTERM)
        assert server.wait() == 0


def test_what_was_not_started_with_the_rest_can_still_end_the_server_and_says_who(tmp_path):
    """A plugin whose descriptor says that it is not tried."""
    with Server(tmp_path, PROVIDER) as server:
        server.expect("active")
        server.reload(PROVIDER | crasher("start", "terminate", "untried"))
        server.expect(r"fatal: .* in thread 'atoll', while calling 'start' of plugin 'x' \(fixtures/untried\)")
        assert server.wait() == -signal.SIGABRT
