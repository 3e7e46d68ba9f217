"""The real executable while it serves: signals, reloads, drains."""
import os
import pathlib
import re
import resource
import shutil
import signal

import pytest
from harness import FIXTURES, PLUGINS, SANITIZED, Server

PROVIDER = 'use = "fixtures/provider"'
CONSUMER = 'use = "fixtures/consumer"'
STUBBORN = 'use = "fixtures/watcher"\nstubborn = true'
BOTH = {"p": PROVIDER, "c": CONSUMER}


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_starts_and_ends_cleanly(tmp_path, number):
    with Server(tmp_path, BOTH) as server:
        assert re.fullmatch(r"active: 2 plugin instances in \d+ ms", server.expect("active"))
        assert server.mapped(FIXTURES / "provider.so")
        server.send(number)
        server.expect("ended")
        assert server.wait() == 0


def test_a_closed_pipe_does_not_end_it(tmp_path):
    """SIGPIPE is ignored."""
    with Server(tmp_path, BOTH) as server:
        server.expect("active")
        server.send(signal.SIGPIPE)
        server.send(signal.SIGTERM)
        assert server.wait() == 0


def test_the_limit_of_open_files_is_raised(tmp_path):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    # This process has to start the server with it, whatever other tests have open.
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(map(int, os.listdir("/proc/self/fd"))) + 100, hard))
    try:
        server = Server(tmp_path, BOTH)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    with server:
        server.expect("active")
        limits = pathlib.Path(f"/proc/{server.process.pid}/limits").read_text()
        assert re.search(rf"^Max open files +{hard} +{hard} ", limits, re.MULTILINE), limits
        server.send(signal.SIGTERM)
        assert server.wait() == 0


def test_the_servers_state_is_told_and_draining_before_anything_drains(tmp_path):
    with Server(tmp_path, {"t": 'use = "fixtures/teller"'}, log='level = "debug"') as server:
        server.expect("server state 0 generation 0")
        server.expect("server state 1 generation 1")
        server.reload()
        server.expect("server state 1 generation 2")
        server.send(signal.SIGTERM)
        server.expect("server state 2 generation 2")
        server.expect(r"plugin 't' \(fixtures/teller\): draining")
        assert server.wait() == 0


def test_holder_of_a_replaced_provider_is_named(tmp_path):
    """The watcher does not follow ServiceChanged, so the old provider stays, draining, until the watcher goes."""
    with Server(tmp_path, {"p": PROVIDER, "w": STUBBORN}, atoll='drain_timeout = "50ms"') as server:
        server.expect("active")
        server.reload({"p": PROVIDER + "\nsize = 2", "w": STUBBORN})
        server.expect("reloaded: generation 2")
        line = server.expect("still draining")
        assert re.fullmatch(r"plugin 'p' \(fixtures/provider\): still draining after \d+ ms: "
                            r"services held by w \(atoll.fixture/1\)", line)
        server.send(signal.SIGTERM)
        server.expect("let go by its last holder, now stopped")
        assert server.wait() == 0


def test_second_signal_ends_at_once(tmp_path):
    with Server(tmp_path, {"p": PROVIDER, "a": 'use = "fixtures/stuck"'}, atoll='drain_timeout = "1h"') as server:
        server.expect("active")
        server.send(signal.SIGTERM)
        server.expect("draining")
        server.send(signal.SIGINT)
        server.expect("ended at once, without the rest of its work: SIGINT came while the server was ending")
        assert server.wait() == 128 + signal.SIGINT


def test_overrun_at_the_end_exits_1(tmp_path):
    with Server(tmp_path, {"p": PROVIDER, "a": 'use = "fixtures/stuck"'}, atoll='drain_timeout = "20ms"') as server:
        server.expect("active")
        server.send(signal.SIGTERM)
        line = server.expect("still draining")
        assert re.fullmatch(r"plugin 'a' \(fixtures/stuck\): still draining after \d+ ms: 1 caller is inside it; "
                            r"it says: 1 request that never ends", line)
        server.expect("ended with plugins still draining")
        assert server.wait() == 1


def test_the_line_of_a_reload_says_what_changed(tmp_path):
    with Server(tmp_path, BOTH) as server:
        server.expect("active")
        for instances, said in [
            (BOTH, "nothing changed"),
            (BOTH | {"a": PROVIDER, "c": CONSUMER + '\nneeds = { "atoll.fixture/1" = "p" }'}, "added a; replaced c (needs)"),
            ({"p": PROVIDER + "\nsize = 2", "c": CONSUMER}, "replaced p (options), c (needs); removed a"),
            ({"p": PROVIDER + "\nsize = 3", "c": CONSUMER}, "replaced p (options), c (it needs p)"),
            ({"p": 'use = "fixtures/singleton"'}, "replaced p (plugin); removed c"),
            ({}, "removed p"),
        ]:
            server.reload(instances)
            assert re.fullmatch(rf"reloaded: generation \d+, {len(instances)} plugin instances in \d+ ms: {re.escape(said)}",
                                server.expect("^reloaded"))
        server.send(signal.SIGTERM)
        assert server.wait() == 0


def test_settings_of_the_server_itself_are_said_too(tmp_path):
    with Server(tmp_path, BOTH) as server:
        server.expect("active")
        server.reload(BOTH, atoll='drain_timeout = "12s"')
        assert server.expect("^reloaded").endswith(" ms: [atoll] or [log] changed; plugins: nothing changed")
        server.send(signal.SIGTERM)
        assert server.wait() == 0


def test_reload_adds_removes_and_reconfigures(tmp_path):
    with Server(tmp_path, {"p": PROVIDER}, log='level = "debug"') as server:
        server.expect("active: 1 plugin")
        server.reload(BOTH)
        server.expect(r"plugin 'c' \(fixtures/consumer\): active, generation 2")
        server.expect("reloaded: generation 2, 2 plugin instances")
        server.reload({"p": PROVIDER})
        server.expect("reloaded: generation 3, 1 plugin instances")
        server.expect(r"plugin 'c' \(fixtures/consumer\): " + ("destroyed" if SANITIZED else "unloaded"))
        if not SANITIZED:
            assert not server.mapped(FIXTURES / "consumer.so")
        server.reload({"p": PROVIDER + "\nsize = 4"})
        server.expect(r"plugin 'p' \(fixtures/provider\): active, generation 4")
        server.expect(r"plugin 'p' \(fixtures/provider\): draining, generation 1")
        server.send(signal.SIGTERM)
        assert server.wait() == 0


@pytest.mark.parametrize("broken, reason", [
    ({"p": PROVIDER, "c": CONSUMER + '\nfail = "start"\nsize = 2'}, "{place}plugin 'c' (fixtures/consumer): start "
                                                                    "failed: told to fail"),
    ({"p": PROVIDER, "c": CONSUMER + '\nfail = "create"\nsize = 2'}, "{place}plugin 'c' (fixtures/consumer): create "
                                                                     "failed: told to fail"),
    ({"c": CONSUMER}, "{place}plugin 'c' (fixtures/consumer): needs atoll.fixture/1, no enabled plugin provides it; these "
                      "do: {hint}"),
    ({"p": PROVIDER, "c": CONSUMER, "x": 'use = "fixtures/wrong_magic"'},
     f"{{place}}plugin 'x' (fixtures/wrong_magic): {FIXTURES}/wrong_magic.so: its descriptor does not begin with the magic number "
     "of one"),
])
def test_failed_reload_changes_nothing(tmp_path, broken, reason):
    with Server(tmp_path, BOTH) as server:
        server.expect("active")
        server.reload(broken)
        place = re.escape(str(server.path)) + r":\d+:\d+: "
        pattern = re.escape(reason).replace(r"\{place\}", place).replace(r"\{hint\}", r"\w+/\w+(, \w+/\w+)*")
        assert re.fullmatch(f"reload refused: {pattern}; generation 1 goes on", server.expect("reload refused"))
        assert server.mapped(FIXTURES / "provider.so")
        server.reload(BOTH)
        server.expect("reloaded: generation 2")
        server.send(signal.SIGTERM)
        assert server.wait() == 0


def test_manifest_that_became_unreadable(tmp_path):
    with Server(tmp_path, BOTH) as server:
        server.expect("active")
        server.path.write_text("[plugin")
        server.send(signal.SIGHUP)
        assert re.fullmatch(r"reload refused: .*atoll.toml:1:.*; generation 1 goes on", server.expect("reload refused"))
        server.send(signal.SIGTERM)
        assert server.wait() == 0


def test_log_level_follows_a_reload(tmp_path):
    with Server(tmp_path, BOTH, log='level = "info"') as server:
        server.expect("active")
        server.settings["log"] = 'level = "debug"'
        server.reload({"p": PROVIDER, "c": CONSUMER, "q": PROVIDER + "\nsize = 9"} |
                      {"c": CONSUMER + '\nneeds = { "atoll.fixture/1" = "p" }'})
        server.expect("plugin 'q' .*: created, generation 2")
        server.send(signal.SIGTERM)
        assert server.wait() == 0


def test_new_file_under_the_same_name_is_really_loaded(tmp_path):
    folder = tmp_path / "plugins" / "fixtures"
    folder.mkdir(parents=True)
    file = folder / "provider.so"
    shutil.copy(FIXTURES / "provider.so", file)
    with Server(tmp_path, {"p": PROVIDER}, plugin_path=tmp_path / "plugins", log='level = "debug"') as server:
        server.expect("active: 1")
        for generation, source in ((2, "next"), (3, "fixtures"), (4, "next")):
            os.rename(shutil.copy(PLUGINS / source / "provider.so", folder / "new"), file)
            server.reload()
            server.expect(rf"plugin 'p' \(fixtures/provider\): active, generation {generation}")
            server.expect("reloaded")
            server.expect(rf"plugin 'p' .*: {'destroyed' if SANITIZED else 'unloaded'}, generation {generation - 1}")
        assert server.mapped(file)
        server.send(signal.SIGTERM)
        assert server.wait() == 0


def test_file_overwritten_in_place_is_refused(tmp_path):
    folder = tmp_path / "plugins" / "fixtures"
    folder.mkdir(parents=True)
    file = folder / "provider.so"
    shutil.copy(FIXTURES / "provider.so", file)
    with Server(tmp_path, {"p": PROVIDER}, plugin_path=tmp_path / "plugins") as server:
        server.expect("active: 1")
        os.utime(file, ns=(1, 1))
        server.reload()
        assert re.fullmatch(
            r"reload refused: .*atoll.toml:\d+:\d+: " + re.escape(
                f"plugin 'p' (fixtures/provider): {file}: was written to while it is mapped; replace a plugin "
                "by renaming a new file over it; generation 1 goes on"), server.expect("reload refused"))
        server.send(signal.SIGTERM)
        assert server.wait() == 0


def test_resident_plugin_stays_mapped(tmp_path):
    with Server(tmp_path, {"p": PROVIDER, "r": 'use = "fixtures/resident"'}, log='level = "debug"') as server:
        server.expect("active: 2")
        server.reload({"p": PROVIDER})
        server.expect(r"plugin 'r' \(fixtures/resident\): destroyed")
        server.reload({"p": PROVIDER, "r": 'use = "fixtures/resident"'})
        server.expect("reloaded: generation 3, 2 plugin instances")
        assert server.mapped(FIXTURES / "resident.so")
        server.send(signal.SIGTERM)
        assert server.wait() == 0
