"""systemd is told what the server does, by a plugin; a double of its socket listens."""
import os
import signal
import time

import pytest
from harness import Server
from support import models
from support.server import BUILD
from support.server import Server as ServingServer
from support.service_manager import ServiceManager

PATH = BUILD / "lib" / "atoll" / "plugins"
SYSTEMD = {"systemd": f'use = "supervision/systemd"\nfile = "{PATH}/supervision/systemd.so"'}
OTHER = {"p": 'use = "fixtures/provider"'}
HANGER = {"bad": 'use = "fixtures/hanger"\nstep = "task"'}


@pytest.fixture(params=["path", "abstract"])
def manager(request, tmp_path):
    address = tmp_path / "notify" if request.param == "path" else f"@atoll-test-{os.getpid()}"
    with ServiceManager(address, watchdog_us=200_000) as manager:
        yield manager


def test_start_reload_and_end(manager, tmp_path):
    with Server(tmp_path, SYSTEMD, environment=manager.environment) as server:
        assert manager.expect("READY")["STATUS"] == "serving, generation 1"
        assert manager.expect("WATCHDOG") == {"WATCHDOG": "1"}
        before_us = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
        server.reload({**SYSTEMD, **OTHER})
        assert before_us <= int(manager.expect("RELOADING")["MONOTONIC_USEC"]) <= time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
        assert manager.expect("READY")["STATUS"] == "serving, generation 2"
        server.reload({**SYSTEMD, "p": 'use = "fixtures/nothing"'})
        manager.expect("RELOADING")
        status = manager.expect("READY")["STATUS"]
        assert status.startswith("serving, generation 2; a reload was refused: ") and "fixtures/nothing" in status
        manager.expect("WATCHDOG")
        server.send(signal.SIGTERM)
        while "STOPPING" not in (message := manager.message()):
            assert message == {"WATCHDOG": "1"}
        assert server.wait() == 0
        with pytest.raises(TimeoutError):
            manager.message(wait_s=0.2)


def test_a_stuck_control_thread_is_not_covered_up(manager, tmp_path):
    with Server(tmp_path, SYSTEMD, environment=manager.environment) as server:
        manager.expect("READY")
        manager.expect("WATCHDOG")
        server.reload({**SYSTEMD, **HANGER})
        manager.expect("RELOADING")
        server.expect(r"still in a control task of plugin 'bad' \(fixtures/hanger\) after 1 s$")
        manager.empty()
        with pytest.raises(TimeoutError):
            message = manager.message(wait_s=2)  # ten times its period
            pytest.fail(f"a server whose control thread is stuck said {message}")


def test_a_plugin_that_keeps_the_start_from_its_end_keeps_the_server_from_being_ready(manager, tmp_path):
    with Server(tmp_path, {**HANGER, **SYSTEMD}, environment=manager.environment) as server:
        server.expect("still in a control task of plugin 'bad'")
        with pytest.raises(TimeoutError):
            while True:
                assert not {"READY", "WATCHDOG", "EXTEND_TIMEOUT_USEC"} & set(manager.message(wait_s=1))


def test_an_instance_that_is_replaced_keeps_the_watchdog_and_one_that_is_removed_ends_it(manager, tmp_path):
    with Server(tmp_path, SYSTEMD, environment=manager.environment) as server:
        manager.expect("READY")
        server.reload({"systemd": SYSTEMD["systemd"] + '\nready_when = "plugins_started"'})
        manager.expect("RELOADING")
        manager.expect("READY")
        while manager.expect("WATCHDOG_USEC") != {"WATCHDOG": "1", "WATCHDOG_USEC": "200000"}:
            pass
        while "WATCHDOG_USEC" in manager.expect("WATCHDOG"):
            pass
        server.reload(OTHER)
        manager.expect("RELOADING")
        assert manager.expect("WATCHDOG_USEC") == {"WATCHDOG_USEC": "0"}
        server.expect("reloaded: generation 3")


def test_it_is_ready_when_it_serves(manager, tmp_path):
    models.write_model(tmp_path / "models", "echo", models.identity_config("echo", dims=(4,)))
    with ServingServer(tmp_path / "models", 'plugin.systemd.use="supervision/systemd"', environment=manager.environment) as server:
        manager.expect("READY")
        with server.client() as client:
            assert client.is_server_ready() and client.is_model_ready("echo")


@pytest.mark.parametrize("address", ["/nowhere/notify", "@atoll-nobody-is-here", "vsock:2:1", "x", "/" + "y" * 200])
def test_a_socket_that_is_none_harms_nothing(address, tmp_path):
    with Server(tmp_path, SYSTEMD, environment={"NOTIFY_SOCKET": address, "WATCHDOG_USEC": "20000"}) as server:
        server.expect(r"the service manager is not (notified|reached): NOTIFY_SOCKET: ")
        server.reload({**SYSTEMD, **OTHER})
        server.expect("reloaded: generation 2")
        server.send(signal.SIGTERM)
        assert server.wait() == 0
