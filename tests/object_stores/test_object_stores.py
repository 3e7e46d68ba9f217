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
# Room for two models of put_echo().
CACHE_SIZE = 300_000
ENDLESS = ("<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>t</NextContinuationToken><Contents>"
           "<Key>a/1/x</Key><ETag>e</ETag><Size>1</Size></Contents></ListBucketResult>")


def put_add(store, name, constant, version=1, prefix=""):
    """A model that adds a constant."""
    store.put(f"{prefix}{name}/{version}/model.onnx", models.onnx_add(constant))
    store.put(f"{prefix}{name}/config.pbtxt", ADD_CONFIG.encode())


def put_echo(store, name, size=100_000):
    """A model that is served whatever its files hold."""
    store.put(f"{name}/config.pbtxt", models.identity_config(name).encode())
    store.put(f"{name}/1/weights", os.urandom(size))


def cached(cache):
    """Models that are there as wholes, and objects that are under way."""
    return ([path for path in (cache / "models").iterdir() if path.is_dir()], list((cache / "parts").glob("*/*")))


def serve(cache, paths, *settings, environment=None):
    return Server(paths, 'plugin.repository.use="repositories/s3"', f'plugin.repository.cache_directory="{cache}"',
                  'plugin.repository.listing_age="0s"', *settings, environment={**ENVIRONMENT, **(environment or {})})


@pytest.fixture
def store():
    with ObjectStore() as running:
        yield running


@pytest.fixture(scope="module")
def loads(tmp_path_factory):
    """(store, cache, control) of a server whose clients load; each test has models of its own."""
    cache = tmp_path_factory.mktemp("loads") / "cache"
    with ObjectStore() as store, \
         serve(cache, store.url(), EXPLICIT, "plugin.repository.retries=1", "plugin.repository.downloads=1",
               f'plugin.repository.cache_size="{CACHE_SIZE}B"') as server, Control(server, "http") as control:
        yield store, cache, control, server


def test_models_of_buckets_and_folders_are_served(store, tmp_path):
    put_add(store, "stored", 1, prefix="deep/er/")
    store.put("other/1/model.onnx", b"not below the prefix")
    store.put("deep/er/marked/1/", b"")
    store.put("deep/er/marked/config.pbtxt", models.identity_config("marked").encode())
    store.put("deep/er/README", b"no model")
    models.write_add(tmp_path / "plain", "folder", 2)
    with Launched(store.url("deep/er/"), f"--model-repository={tmp_path / 'plain'}",
                  environment={**ENVIRONMENT, "TRITON_AWS_MOUNT_DIRECTORY": str(tmp_path / "cache")}) as server:
        server.wait_ready()
        with Control(server, "http") as control:
            assert control.infer("stored", 5) == ("1", 6)
            assert control.infer("folder", 5) == ("1", 7)
            assert control.infer("marked", 5) == ("1", 5)
            assert set(control.index()) == {"stored", "folder", "marked"}
        assert len(cached(tmp_path / "cache")[0]) == 2


def test_loads_see_what_the_store_has_by_then(loads):
    store, _, control, _ = loads
    put_add(store, "added", 2)
    assert control.index()["added"] == {"": ("", "")}
    control.load("added")
    assert control.infer("added", 0) == ("1", 2)
    put_add(store, "added", 3, version=2)
    control.load("added")
    assert control.infer("added", 0) == ("2", 3)
    assert control.infer("added", 0, version="1") == ("1", 2)
    gets = store.count("get")
    control.load("added")
    assert store.count("get") == gets, "nothing changed"
    # A client's own files, and configuration.
    control.load("added", config='{"backend":"onnxruntime"}', files={"7/model.onnx": models.onnx_add(7)})
    assert control.infer("added", 0) == ("7", 7)
    assert control.refusal(control.load, "none")[0] == "INTERNAL"
    control.unload("added")


def test_what_is_cut_is_resumed(loads):
    store, cache, control, _ = loads
    put_echo(store, "resumed")
    store.cuts = [50_000, 1 << 30, 20_000]  # the second one is the configuration's
    store.busy = 1
    control.load("resumed")
    assert control.infer("resumed", 3) == ("1", 3)
    assert store.resumed == [50_000, 70_000]
    assert not cached(cache)[1]
    control.unload("resumed")


def test_what_is_not_whole_is_not_served_and_the_index_says_why(loads):
    store, cache, control, _ = loads

    def reason(model):
        whole = len(cached(cache)[0])
        assert control.refusal(control.load, model)[1].startswith(POLL_FAILED.format(model))
        assert len(cached(cache)[0]) <= whole
        (state, text), = control.index()[model].values()
        assert state == "UNAVAILABLE", text
        return text

    put_echo(store, "cut")
    store.cut_always = 0
    assert "after 0 of" in reason("cut")
    store.cut_always = None
    control.load("cut")

    put_echo(store, "changing")
    store.changing = {"changing/1/weights"}
    assert "was changed in the store while it was being downloaded" in reason("changing")
    store.changing = set()
    control.load("changing")

    put_echo(store, "large", CACHE_SIZE)
    assert f"the option 'cache_size' allows {CACHE_SIZE}" in reason("large")
    # It fits for itself, but not beside those that are served.
    put_echo(store, "third")
    assert "there is no room" in reason("third")
    control.unload("cut")
    eventually(lambda: control.index()["cut"]["1"][0] == "UNAVAILABLE")
    control.load("third")
    control.unload("changing")
    control.unload("third")


def test_listings_are_not_trusted(loads):
    store, _, control, server = loads
    for key, said in (("m/../../../etc/passwd", "cannot be a file"), ("m/1/a//b", "cannot be a file"), ("m/1", "an object and a folder")):
        put_echo(store, "m")
        store.put(key, b"x")
        control.refusal(control.load, "m")
        assert said in control.index()["m"][""][1]
        store.remove("m/")
    store.put("../out/1/x", b"x")
    store.put("/etc/passwd", b"x")
    known = set(control.index())
    assert not known & {"..", "", "etc", "out"}
    eventually(lambda: "belongs to no model" in server.log)
    store.listing = ENDLESS
    assert set(control.index()) == known, "what is known goes on"
    eventually(lambda: "the same page for ever" in server.log)
    store.listing = None


def test_polls_follow_the_store(store, tmp_path):
    put_add(store, "m", 1)
    with serve(tmp_path / "cache", store.url(), *POLL, environment={"AWS_SECRET_ACCESS_KEY": "wrong"}) as server, \
         Control(server, "grpc") as control:
        assert "the store answers 403 SignatureDoesNotMatch" in control.refusal(control.index)[1]
        store.is_public = True
        server.wait_ready()
        assert control.infer("m", 0) == ("1", 1)
        put_add(store, "m", 2)
        eventually(lambda: control.infer("m", 0) == ("1", 2), say=lambda: server.log)
        # What cannot be listed changes nothing.
        store.busy = 1000
        eventually(lambda: "is served" in server.log)
        assert control.infer("m", 0) == ("1", 2)
        store.busy = 0
        store.remove("m/")
        eventually(lambda: control.index().get("m", {}).get("1", ("",))[0] != "READY", say=lambda: server.log)


def test_without_a_store_what_is_cached_is_served(store, tmp_path):
    put_add(store, "m", 1)
    put_add(store, "n", 2)

    def start(look):
        began = time.monotonic()
        with serve(tmp_path / "cache", store.url()) as server:
            server.wait_ready()
            took = time.monotonic() - began
            with Control(server, "http") as control:
                assert control.infer("m", 0) == ("1", 1) and control.infer("n", 0) == ("1", 2)
                look(server, control)
        return took

    def is_away(server, control):
        eventually(lambda: "the store is away, and what is known of it is" in server.log)
        for versions in control.index().values():
            assert versions["1"][0] == "READY" and "the store is away" in versions["1"][1]

    def goes(server, control):
        assert store.count("get") == 0 and store.count("list") > 0, "the cache has all else"
        assert control.index()["m"]["1"] == ("READY", "")
        store.stop()
        eventually(lambda: "the store is away" in control.index()["m"]["1"][1])
        is_away(server, control)
        store.start()
        eventually(lambda: control.index()["m"]["1"] == ("READY", ""))
        eventually(lambda: "can be listed again" in server.log)

    start(lambda server, control: None)
    store.requests.clear()
    usual = start(goes)
    store.silent.set()
    assert start(is_away) < usual + AWAY_S
