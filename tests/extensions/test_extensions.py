"""Plugins of kinds that authors would write are enabled in a manifest, and everything else is as it was."""

import numpy as np
import pytest
from support.control import PROTOCOLS, Control
from support.models import identity_config, write_add, write_model
from support.server import BUILD, DEFAULT_MANIFEST, Server
from tritonclient.utils import InferenceServerException

PLUGINS = [BUILD / "lib" / "atoll" / "plugins", BUILD / "tests" / "extensions" / "plugins"]


def serve(folder, repository, instances):
    """A server with the default manifest and these instances: {name: body of its table}."""
    manifest = folder / "atoll.toml"
    manifest.write_text(DEFAULT_MANIFEST.read_text() +
                        "".join(f"\n[plugin.{name}]\n{body}\n" for name, body in instances.items()))
    paths = ", ".join(f'"{path}"' for path in PLUGINS)
    return Server(repository, f"atoll.plugin_path=[{paths}]", manifest=manifest)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_router(tmp_path, protocol):
    repository = tmp_path / "models"
    write_add(repository, "adder", 3)
    write_model(repository, "adder", 'backend: "onnxruntime"')
    with serve(tmp_path, repository, {"router": 'use = "tests/router"\nnames = { plus = "adder" }'}) as server:
        server.wait_ready("adder")
        with Control(server, protocol) as client:
            assert client.infer("plus") == ("1", 4.0)
            assert client.infer("adder") == ("1", 4.0)
            with pytest.raises(InferenceServerException, match="Request for unknown model: 'minus' is not found"):
                client.infer("minus")


def infer(client, model, value):
    """(the values it answered, whether they were cached)"""
    tensor = client._module.InferInput("INPUT0", [4], "FP32")
    tensor.set_data_from_numpy(np.full(4, value, np.float32))
    result = client.client.infer(model, [tensor])
    response = result.get_response()
    cached = response.parameters["cached"].bool_param if client._grpc else \
        response.get("parameters", {}).get("cached", False)
    return result.as_numpy("OUTPUT0").tolist(), cached


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_response_cache(tmp_path, protocol):
    repository = tmp_path / "models"
    write_model(repository, "kept", identity_config("kept", dims=(4,), extra="response_cache { enable: true }"))
    write_model(repository, "plain", identity_config("plain", dims=(4,)))
    with serve(tmp_path, repository, {"cache": 'use = "tests/cache"'}) as server:
        server.wait_ready("kept").wait_ready("plain")
        with Control(server, protocol) as client:
            assert infer(client, "kept", 1) == ([1.0] * 4, False)
            assert infer(client, "kept", 1) == ([1.0] * 4, True)
            assert infer(client, "kept", 2) == ([2.0] * 4, False)
            assert infer(client, "kept", 2) == ([2.0] * 4, True)
            for _ in range(2):
                assert infer(client, "plain", 1) == ([1.0] * 4, False), "its configuration does not ask for a cache"


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_scheduler(tmp_path, protocol):
    repository = tmp_path / "models"
    ration = 'parameters { key: "ration" value { string_value: "2" } }'
    write_model(repository, "rationed", identity_config("rationed", dims=(4,), extra=ration))
    write_model(repository, "plain", identity_config("plain", dims=(4,)))
    with serve(tmp_path, repository, {"rationed": 'use = "tests/rationed"'}) as server:
        server.wait_ready("rationed").wait_ready("plain")
        with Control(server, protocol) as client:
            for value in range(2):
                assert infer(client, "rationed", value)[0] == [value] * 4
            with pytest.raises(InferenceServerException, match="the ration is used up"):
                infer(client, "rationed", 2)
            for value in range(3):
                assert infer(client, "plain", value)[0] == [value] * 4, "its configuration asks for no ration"


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_access_that_is_decided_later(tmp_path, protocol):
    repository = tmp_path / "models"
    write_model(repository, "any", identity_config("any", dims=(4,)))
    with serve(tmp_path, repository, {"access": 'use = "tests/access"\ntokens = { "t1" = "alice" }'}) as server:
        server.wait_ready("any")
        with Control(server, protocol) as control:
            for _ in range(20):
                assert control.infer("any", headers={"x-token": "t1"}) == ("1", 1.0)
            with pytest.raises(InferenceServerException, match="nobody has this token"):
                control.infer("any", headers={"x-token": "t2"})
            with pytest.raises(InferenceServerException, match="one x-token is expected, found 0"):
                control.client.get_server_metadata()
            assert control.client.get_server_metadata(headers={"x-token": "t1"})
            assert control.client.is_server_live()
