"""Models that are leased onto the real Triton, which bench/serve/peers/install brings."""

import tritonclient.grpc
import tritonclient.http
import tritonclient.utils
import numpy as np
import pytest
from support.pools import WAIT_S, Pools, Refused
from support.server import BUILD, ROOT
from support.waiting import eventually

IDENTITY = """
backend: "identity"
max_batch_size: 8
input [ { name: "INPUT0" data_type: TYPE_FP32 dims: [ 2 ] } ]
output [ { name: "OUTPUT0" data_type: TYPE_FP32 dims: [ 2 ] } ]
"""
BACKENDS = BUILD / "tests/pools/triton_backends"


@pytest.fixture
def pools(tmp_path):
    (program,) = (ROOT / "build/peers/triton").glob("lib/python3*/site-packages/pytriton/tritonserver/bin/tritonserver")
    for name, config in (("a", IDENTITY), ("b", IDENTITY), ("broken", 'backend: "nothing_like_it"')):
        (tmp_path / "models" / name / "1").mkdir(parents=True)
        (tmp_path / "models" / name / "config.pbtxt").write_text(config)
    runtime = (f"{program} --model-repository={{repository}} --model-control-mode=explicit --backend-directory={BACKENDS} "
               "--http-address=127.0.0.1 --http-port={http_port} --grpc-address=127.0.0.1 --grpc-port={grpc_port} "
               "--allow-metrics=false --http-restricted-api=model-repository,trace,logging,shared-memory:atoll-key={key} "
               "--grpc-restricted-protocol=model-repository,trace,logging,shared-memory:atoll-key={key}")
    pools = Pools(tmp_path, tmp_path / "models", f"plugin.launcher.runtimes={{triton = '{runtime}'}}").start()
    yield pools
    pools.close()


def test_models_are_leased_onto_the_real_triton(pools):
    pools.create(instance={"runtime": "triton"})
    lease = pools.acquire("a", "b")
    assert lease["state"] == "ACTIVE"
    with tritonclient.http.InferenceServerClient(lease["address"]) as client:
        assert client.get_server_metadata()["version"].startswith("2.51")
        for control in (client.get_model_repository_index, client.get_trace_settings, client.get_log_settings,
                        client.get_system_shared_memory_status, lambda: client.unload_model("a")):
            with pytest.raises(tritonclient.utils.InferenceServerException, match="This API is restricted"):
                control()
        with tritonclient.grpc.InferenceServerClient(lease["grpc_address"]) as other:
            for control in (other.get_model_repository_index, other.get_trace_settings, other.get_log_settings,
                            other.get_system_shared_memory_status, lambda: other.unload_model("a")):
                with pytest.raises(tritonclient.utils.InferenceServerException, match="This protocol is restricted"):
                    control()
        assert "takes model control of anybody" not in pools.server.log
        tensor = tritonclient.http.InferInput("INPUT0", [1, 2], "FP32")
        tensor.set_data_from_numpy(np.array([[1, 2]], np.float32))
        for model in ("a", "b"):
            assert client.infer(model, [tensor]).as_numpy("OUTPUT0").tolist() == [[1, 2]]
        eventually(lambda: pools.lease(lease).get("use", {}).get("requests") == 2, WAIT_S)
        with pytest.raises(Refused) as refused:
            pools.acquire("broken")
        assert refused.value.status == 422 and "nothing_like_it" in refused.value.text
        assert pools.release(lease)["state"] == "RELEASED"
        assert not client.is_model_ready("a")
    pools.call("DELETE", "/v2/pools/fraud")
    eventually(lambda: pools.processes() == [], WAIT_S)
