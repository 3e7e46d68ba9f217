"""repositories/s3: models of an object store are served, by copies that are whole or not there at all."""

import os
import time

import pytest
from support import models
from support.control import EXPLICIT, POLL_FAILED, Control
from support.launched import Launched
from support.object_store import ENVIRONMENT, ObjectStore
from support.server import Server
from support.waiting import eventually

POLL = ('plugin.control.use="control/poll"', 'plugin.control.interval="100ms"', 'plugin.control.settle_time="100ms"')
ADD_CONFIG = 'backend: "onnxruntime" version_policy { all {} }\n'
# How much longer than with its store a server may take to start without it.
AWAY_S = 5


def put_add(store, name, constant, version=1, prefix="", config=ADD_CONFIG):
    """A model that adds a constant."""
    store.put(f"{prefix}{name}/{version}/model.onnx", models.onnx_add(constant))
    store.put(f"{prefix}{name}/config.pbtxt", config.encode())


def put_echo(store, name, megabytes=0):
    """A model that is served whatever its files hold."""
    store.put(f"{name}/config.pbtxt", models.identity_config(name).encode())
    store.put(f"{name}/1/weights", os.urandom((megabytes << 20) + 100_000))


def cached(cache):
    """Models that are there as wholes, and objects that are under way."""
    return ([path for path in (cache / "models").iterdir() if path.is_dir()], list((cache / "objects").glob("*.part")))


@pytest.fixture
def store():
    with ObjectStore() as running:
        yield running


@pytest.fixture
def cache(tmp_path):
    return tmp_path / "cache"


@pytest.fixture
def serve(cache):
    def start(paths, *settings, environment=None, **more):
        return Server(paths, 'plugin.repository.use="repositories/s3"', f'plugin.repository.cache_directory="{cache}"',
                      'plugin.repository.listing_age="0s"', *settings, environment={**ENVIRONMENT, **(environment or {})}, **more)
    return start


def test_models_of_buckets_and_folders_are_served(store, serve, tmp_path):
    put_add(store, "stored", 1, prefix="deep/er/")
    store.put("other/1/model.onnx", b"not below the prefix")
    store.put("deep/er/marked/1/", b"")
    store.put("deep/er/marked/config.pbtxt", models.identity_config("marked").encode())
    store.put("deep/er/README", b"no model")
    models.write_add(tmp_path / "plain", "folder", 2)
    with serve([store.url("deep/er/"), tmp_path / "plain"]) as server:
        server.wait_ready()
        with Control(server, "http") as control:
            assert control.infer("stored", 5) == ("1", 6)
            assert control.infer("folder", 5) == ("1", 7)
            assert control.infer("marked", 5) == ("1", 5)
            assert set(control.index()) == {"stored", "folder", "marked"}


def test_loads_see_what_the_store_has_by_then(store, serve, cache):
    put_add(store, "first", 1)
    with serve(store.url(), EXPLICIT) as server, Control(server, "http") as control:
        assert control.index() == {"first": {"": ("", "")}}
        put_add(store, "second", 2)
        control.load("second")
        assert control.infer("second", 0) == ("1", 2)
        put_add(store, "second", 3, version=2)
        control.load("second")
        assert control.infer("second", 0) == ("2", 3)
        assert control.infer("second", 0, version="1") == ("1", 2)
        gets = store.count("get")
        control.load("second")
        assert store.count("get") == gets, "nothing changed"
        # A client's own files, and configuration.
        control.load("second", config='{"backend":"onnxruntime"}', files={"7/model.onnx": models.onnx_add(7)})
        assert control.infer("second", 0) == ("7", 7)
        assert control.refusal(control.load, "none")[0] == "INTERNAL"
        assert len(cached(cache)[0]) == 2 and not cached(cache)[1]


def test_polls_follow_the_store(store, serve):
    put_add(store, "m", 1)
    with serve(store.url(), *POLL) as server:
        server.wait_ready()
        with Control(server, "grpc") as control:
            assert control.infer("m", 0) == ("1", 1)
            put_add(store, "m", 2)
            eventually(lambda: control.infer("m", 0) == ("1", 2), say=lambda: server.log)
            # What cannot be listed changes nothing.
            store.busy = 1000
            eventually(lambda: "is served" in server.log)
            assert control.infer("m", 0) == ("1", 2)
            store.busy = 0
            store.remove("m/")
            eventually(lambda: "m" not in control.index() or control.index()["m"]["1"][0] != "READY", say=lambda: server.log)


def test_what_is_cut_is_resumed(store, serve, cache):
    put_echo(store, "cut", megabytes=1)
    store.cuts = [50_000, 1 << 30, 70_000, 0]  # the second one is the configuration's
    store.busy = 2
    with serve(store.url(), EXPLICIT, "plugin.repository.downloads=1") as server, Control(server, "http") as control:
        control.load("cut")
        assert control.infer("cut", 3) == ("1", 3)
        assert sum(begin > 0 for begin in store.resumed) >= 2, store.resumed
        assert not cached(cache)[1]


def test_what_is_not_whole_is_not_served_and_the_index_says_why(store, serve, cache):
    put_echo(store, "cut")
    store.cut_always = 0
    with serve(store.url(), EXPLICIT, "plugin.repository.retries=1", 'plugin.repository.cache_size="300000B"') as server, \
         Control(server, "http") as control:
        def reason(model):
            assert control.refusal(control.load, model)[1].startswith(POLL_FAILED.format(model))
            (state, text), = control.index()[model].values()
            assert state == "UNAVAILABLE", text
            return text

        assert "after 0 of" in reason("cut")
        assert cached(cache)[0] == []
        store.cut_always = None
        control.load("cut")

        put_echo(store, "changing")
        store.changing = {"changing/1/weights"}
        assert "was changed in the store while it was being downloaded" in reason("changing")
        store.changing = set()
        control.load("changing")

        put_echo(store, "large", megabytes=1)
        assert "the option 'cache_size' allows 300000" in reason("large")
        # Each fits for itself, but not beside those that are served.
        put_echo(store, "third")
        assert "there is no room" in reason("third")
        assert len(cached(cache)[0]) == 2
        control.unload("cut")
        eventually(lambda: control.index()["cut"]["1"][0] == "UNAVAILABLE")
        control.load("third")

        for key, said in (("m/../../../etc/passwd", "cannot be a file"), ("m/1/a//b", "cannot be a file"), ("m/1", "an object and a folder")):
            put_echo(store, "m")
            store.put(key, b"x")
            assert said in reason("m")
            store.remove("m/")


def test_listings_are_not_trusted(store, serve):
    put_add(store, "m", 1)
    store.put("../out/1/x", b"x")
    store.put("/etc/passwd", b"x")
    with serve(store.url(), EXPLICIT) as server, Control(server, "grpc") as control:
        assert set(control.index()) == {"m"}
        assert "belongs to no model" in server.log
        control.load("m")
        endless = ("<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>t</NextContinuationToken><Contents>"
                   "<Key>a/1/x</Key><ETag>e</ETag><Size>1</Size></Contents></ListBucketResult>")
        store.listing = endless
        # What is known goes on.
        assert set(control.index()) == {"m"}
        eventually(lambda: "the same page for ever" in server.log, say=lambda: server.log)
        assert control.infer("m", 0) == ("1", 1)


def test_without_a_store_what_is_cached_is_served(store, serve):
    put_add(store, "m", 1)
    put_add(store, "n", 2)

    def start(say):
        began = time.monotonic()
        with serve(store.url()) as server:
            server.wait_ready()
            took = time.monotonic() - began
            with Control(server, "http") as control:
                assert control.infer("m", 0) == ("1", 1) and control.infer("n", 0) == ("1", 2)
                for versions in control.index().values():
                    assert ("the store is away" in versions["1"][1]) == ("the store is away" in server.log), versions
            assert say in server.log
        return took

    start("bytes in 2 objects were downloaded")
    store.requests.clear()
    usual = start("models loaded")
    assert store.count("get") == 0 and store.count("list") > 0, store.requests
    store.silent.set()
    assert start("the store is away, and what is known of it is") < usual + AWAY_S
    store.stop()
    assert start("Failed to connect") < usual + AWAY_S


def test_a_store_that_was_never_seen_is_named(store, serve):
    put_add(store, "m", 1)
    with serve(store.url(), EXPLICIT, environment={"AWS_SECRET_ACCESS_KEY": "wrong"}) as server, Control(server, "http") as control:
        assert "the store answers 403 SignatureDoesNotMatch" in control.refusal(control.index)[1]
    store.is_public = True
    with serve(store.url(), EXPLICIT, environment={"AWS_ACCESS_KEY_ID": ""}) as server, Control(server, "http") as control:
        control.load("m")


def test_tritonserver_takes_buckets_and_folders(store, cache, tmp_path):
    put_add(store, "stored", 1)
    models.write_add(tmp_path / "plain", "folder", 2)
    with Launched(store.url(), f"--model-repository={tmp_path / 'plain'}",
                  environment={**ENVIRONMENT, "TRITON_AWS_MOUNT_DIRECTORY": str(cache)}) as server:
        server.wait_ready()
        with Control(server, "http") as control:
            assert control.infer("stored", 0) == ("1", 1)
            assert control.infer("folder", 0) == ("1", 2)
        assert len(cached(cache)[0]) == 1
