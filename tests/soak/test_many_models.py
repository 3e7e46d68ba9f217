"""Many models that nobody uses: each takes little memory and no thread, also after the metrics were looked at."""

import urllib.request

from support import models
from support.server import MEMORY_SLACK_BYTES, SANITIZED, Server, usage

MODELS = 500
# Twice what they take after a scrape, and half of one read buffer that stayed with each. With 10,000 models, where what the
# process takes once counts for less, bench/models measures it.
BYTES_EACH = 30_000


def loaded(repository):
    with Server(repository, "plugin.onnxruntime.enabled=false") as server:
        server.wait_ready()
        before = usage(server.pid)
        with urllib.request.urlopen(f"http://{server.metrics_address}/metrics", timeout=60) as page:
            size = len(page.read())
        return before, usage(server.pid), size


def test_idle_models(tmp_path):
    empty, full = tmp_path / "empty", tmp_path / "full"
    empty.mkdir()
    full.mkdir()
    for number in range(MODELS):
        models.write_model(full, f"identity_{number:05}", models.identity_config(f"identity_{number:05}", dims=(16,)))
    none, none_scraped, none_page = loaded(empty)
    many, many_scraped, many_page = loaded(full)
    slack = MEMORY_SLACK_BYTES if SANITIZED else 0
    # Workers start with the first work and stay; they are not many.
    assert many["threads"] - none["threads"] < MODELS / 10
    assert many["resident_bytes"] - none["resident_bytes"] < MODELS * BYTES_EACH + slack
    assert many_scraped["resident_bytes"] - none_scraped["resident_bytes"] < MODELS * BYTES_EACH + slack
    assert many_page - none_page < MODELS * 1200
