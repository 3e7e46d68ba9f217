"""docs/metrics.md has every metric of the tree and no other, with the types and labels that a server shows."""

import re
import urllib.request

import numpy as np
import pytest
from prometheus_client.parser import text_string_to_metric_families
from support import models
from support.server import ROOT, Server

ROW = re.compile(r"^\| `((?:atoll|nv)_[a-z0-9_]+)` \| (\w+) \| (.*?) \| .+ \|$", re.M)
NAME = re.compile(r'"((?:atoll|nv)_[a-z0-9_]+)"')
# Text of this form in the sources that names something else.
NO_METRICS = {"atoll_open_batch_strategy", "atoll_pytorch_make_backend", "atoll_pytorch_free_backend", "atoll_backend_shm_region_",
              "atoll_plugin_v", "atoll_server"}
SETTINGS = ('plugin.metrics.summary_latencies=true', 'plugin.metrics.phase_histograms=["all"]', 'plugin.metrics.histogram_latencies=true', 'plugin.quotas.use="admission/quotas"', 'plugin.quotas.request_concurrency=64',
            'plugin.limiter.use="admission/rate_limiter"', 'plugin.cache.use="caches/local"',
            'plugin.shared.allow_client_shm=true')


def rows():
    """(type, labels) by name."""
    found = ROW.findall((ROOT / "docs" / "metrics.md").read_text())
    assert len(found) == len({name for name, _, _ in found}), "a metric has two rows"
    return {name: (kind, set(re.findall(r"`(\w+)`", labels))) for name, kind, labels in found}


def test_the_page_has_those_of_the_sources():
    named = set()
    for folder in ("plugins", "kernel", "sdk/runtime"):
        for source in (*(ROOT / folder).rglob("*.cc"), *(ROOT / folder).rglob("*.h")):
            if not source.name.endswith("_test.cc") and "testing" not in source.parts:
                named |= set(NAME.findall(source.read_text()))
    assert set(rows()) == named - NO_METRICS


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    repository = tmp_path_factory.mktemp("repository")
    models.write_model(repository, "m", models.identity_config("m") + "response_cache { enable: true }")
    with Server(repository, *SETTINGS) as running:
        yield running.wait_ready()


def test_a_server_shows_what_the_page_says(server):
    import tritonclient.grpc as grpcclient
    tensor = grpcclient.InferInput("INPUT0", [4], "FP32")
    tensor.set_data_from_numpy(np.zeros(4, np.float32))
    with server.client() as client:
        client.infer("m", [tensor])
    with urllib.request.urlopen(f"http://{server.metrics_address}/metrics", timeout=30) as answer:
        page = answer.read().decode()
    told, seen = rows(), set()
    for family in text_string_to_metric_families(page):
        name = next((name for name in (family.name, f"{family.name}_total") if name in told), family.name)
        if not name.startswith(("atoll_", "nv_")):
            continue
        kind, labels = told[name]
        assert family.type == kind, name
        for sample in family.samples:
            assert set(sample.labels) - {"le", "quantile"} <= labels, (name, sample.labels)
        seen.add(name)
    assert {"nv_inference_count", "atoll_plugin_state", "atoll_admission_running", "nv_cache_util"} <= seen
