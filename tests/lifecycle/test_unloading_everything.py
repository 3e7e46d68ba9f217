"""Each plugin is unloaded while all the others hold whatever they may hold: traces, requests, answers, regions, statistics."""

import contextlib
import re
import signal
import threading
import urllib.request
from multiprocessing import shared_memory

import numpy as np
import pytest
import tritonclient.grpc as grpcclient
import tritonclient.http as httpclient
from support import models
from support.addresses import free_addresses
from support.server import ATOLL, DEFAULT_MANIFEST, START_TIMEOUT_S, Server
from support.waiting import eventually
from tritonclient.utils import InferenceServerException

INSTANCES = re.findall(r"^\[plugin\.(\w+)\]", DEFAULT_MANIFEST.read_text(), re.M)
EXTRA = {"cache": 'use = "caches/local"', "quotas": 'use = "admission/quotas"', "limiter": 'use = "admission/rate_limiter"',
         "deadlines": 'use = "admission/deadlines"',
         "router": 'use = "routing/weighted"', "keys": 'use = "security/keys"', "repeat": 'use = "backends/repeat"'}
# What has to go with an instance, because it cannot be without it.
USERS_OF_MODELS = ("control", "router", "grpc", "http", "console")
NEEDED_BY = {"repository": ("models", *USERS_OF_MODELS), "configs": ("models", *USERS_OF_MODELS), "models": USERS_OF_MODELS}
SLOW_REQUEST_MS = 500


def manifest_without(gone, addresses, trace, repository):
    """All plugins that need nothing of the machine's, but these instances."""
    text = DEFAULT_MANIFEST.read_text()
    for name, line in EXTRA.items():
        text += f"\n[plugin.{name}]\n{line}\n"
    for name in gone:
        text, count = re.subn(rf"(?ms)^\[plugin\.{name}\]\n.*?(?=^\[|\Z)", "", text)
        assert count == 1, name
    text = text.replace("allow_client_shm = false", "allow_client_shm = true")
    text = text.replace('paths = ["/var/lib/atoll/models"]', f'paths = ["{repository}"]')
    for name, address in addresses.items():
        text = re.sub(rf'(\[plugin\.{name}\]\nuse = "[^"]+"\naddress = )"[^"]+"', rf'\1"{address}"', text)
    return text.replace('use = "telemetry/trace"\n', f'use = "telemetry/trace"\n{trace}\n')


@pytest.fixture
def repository(tmp_path):
    repository = tmp_path / "models"
    cached = "response_cache { enable: true }\n"
    models.write_model(repository, "echo", models.identity_config("echo", dims=(4,), extra=cached))
    slow = f'parameters {{ key: "execute_delay_ms" value {{ string_value: "{SLOW_REQUEST_MS}" }} }}\n'
    models.write_model(repository, "slow", models.identity_config("slow", dims=(4,), extra=slow))
    models.write_model(repository, "repeat", models.REPEAT_CONFIG)
    models.write_model(repository, "sequence", models.identity_config(
        "sequence", dims=(4,), max_batch_size=2, extra="sequence_batching { max_sequence_idle_microseconds: 60000000 }\n"))
    models.write_add(repository, "add", 1.0)
    return repository


def tensor(module, shape=(4,), value=1.0):
    made = module.InferInput("INPUT0", list(shape), "FP32")
    made.set_data_from_numpy(np.full(shape, value, np.float32))
    return made


class Load:
    """What the plugins hold when one of them goes: requests that run, an open stream, a sequence, a region, answers."""

    def __init__(self, stack, server):
        self.grpc, self.http = server.address, server.http_address
        client = stack.enter_context(grpcclient.InferenceServerClient(self.grpc))
        web = stack.enter_context(contextlib.closing(httpclient.InferenceServerClient(self.http)))
        for value in (1.0, 2.0, 1.0):
            client.infer("echo", [tensor(grpcclient, value=value)], request_id="x" * 64)
            web.infer("echo", [tensor(httpclient, value=value)])
        client.infer("sequence", [tensor(grpcclient, (1, 4))], sequence_id=7, sequence_start=True)
        region = shared_memory.SharedMemory(create=True, size=4096)
        stack.callback(region.unlink)
        stack.callback(region.close)
        client.register_system_shared_memory("region", "/" + region.name.lstrip("/"), 4096)
        client.start_stream(callback=lambda result, error: None)
        client.async_stream_infer("echo", [tensor(grpcclient)])
        client.get_inference_statistics()
        urllib.request.urlopen(f"http://{server.metrics_address}/metrics", timeout=START_TIMEOUT_S).read()
        self.threads = [threading.Thread(target=self.ask, args=(module, address))
                        for module, address in ((grpcclient, self.grpc), (httpclient, self.http))]
        for thread in self.threads:
            thread.start()

    def end_sequence(self):
        """The server's end waits for it; by whichever frontend there is."""
        for module, address in ((grpcclient, self.grpc), (httpclient, self.http)):
            with contextlib.suppress(InferenceServerException, OSError):
                module.InferenceServerClient(address).infer("sequence", [tensor(module, (1, 4))], sequence_id=7, sequence_end=True)

    @staticmethod
    def ask(module, address):
        """A request that is running meanwhile; it is answered, or refused because its plugin goes."""
        with contextlib.suppress(InferenceServerException, OSError):
            client = module.InferenceServerClient(address)
            client.infer("slow", [tensor(module)])


def living(server):
    """Instances that have not ended."""
    page = urllib.request.urlopen(f"http://{server.metrics_address}/metrics", timeout=START_TIMEOUT_S).read().decode()
    return re.findall(r'^atoll_plugin_state\{instance="(\w+)"', page, re.M)


# Traces wait until the end of their plugin.
TRACES = {"opentelemetry": 'mode = "opentelemetry"\nurl = "http://127.0.0.1:9/v1/traces"\nbsp_schedule_delay = "60s"',
          "triton": 'trace_file = "{folder}/trace.json"\nlog_frequency = 100000'}


@pytest.mark.parametrize(("gone", "mode"), [*((gone, "opentelemetry") for gone in (*INSTANCES, *EXTRA)),
                                            *((gone, "triton") for gone in ("grpc", "http", "trace", "models"))])
def test_each_plugin_goes_while_the_others_hold_what_they_may(tmp_path, repository, gone, mode):
    manifest = tmp_path / "atoll.toml"
    trace = f'level = ["TIMESTAMPS", "TENSORS"]\nrate = 1\n{TRACES[mode].format(folder=tmp_path)}'
    with free_addresses(2) as (grpc_address, http_address), contextlib.ExitStack() as stack:
        addresses = {"grpc": grpc_address, "http": http_address, "metrics": "127.0.0.1:0"}
        manifest.write_text(manifest_without((), addresses, trace, repository))
        with Started(manifest) as server:
            server.wait_active().wait_ready()
            load = Load(stack, server)
            all_gone = (gone, *NEEDED_BY.get(gone, ()))
            manifest.write_text(manifest_without(all_gone, addresses, trace, repository))
            server.process.send_signal(signal.SIGHUP)
            applied = server.wait_for_line(r"reloaded: generation|reload refused")
            assert applied.group() != "reload refused", server.log
            for thread in load.threads:
                thread.join()
            load.end_sequence()
            if gone != "metrics":
                eventually(lambda: set(all_gone).isdisjoint(living(server)), say=lambda: server.log)
            # What is left goes on, and looks at what it holds.
            if "grpc" not in all_gone:
                with server.client() as client:
                    assert client.is_server_live()
                    client.get_inference_statistics()
                    client.get_model_repository_index()
            if gone != "metrics":
                urllib.request.urlopen(f"http://{server.metrics_address}/metrics", timeout=START_TIMEOUT_S).read()
            assert server.process.poll() is None, server.log
        assert "fatal" not in server.log


class Started(Server):
    """With nothing beside the manifest, which is edited while the server runs."""

    def __init__(self, manifest):
        self._start([str(ATOLL), "--manifest", str(manifest)])
        self.address = self.wait_for_line(r"Started GRPCInferenceService at (\S+)").group(1)
