"""Models whose files are encrypted: they answer as plain ones do, and whatever is wrong with them is said."""

import pathlib
import re
import shutil
import signal

import numpy as np
import pytest
import tritonclient.grpc as grpcclient
from support import models
from support.encryption import MANIFEST, SIZE, ModelKeys, answer, encrypt, weights, write_plain
from support.server import Server


class World:
    def __init__(self, folder):
        self.folder = folder
        self.repository = folder / "models"
        self.repository.mkdir()
        self.keys = ModelKeys(folder / "keys", main="1", other="2")

    def add(self, name, seed, key_id="main", **options):
        plain = write_plain(self.folder / "plain" / name, seed, **options)
        return encrypt(plain, self.repository / name, self.keys, key_id)

    def serve(self, *settings, kind=Server, environment=None, place=None):
        place = place or f'plugin.model_keys.keys_file="{self.keys.path}"'
        return kind(self.repository, place, *settings, manifest=MANIFEST, grpc_frontend=None, environment=environment)


@pytest.fixture
def world(tmp_path):
    return World(tmp_path)


def refusal(client, name, **options):
    with pytest.raises(grpcclient.InferenceServerException) as failure:
        client.load_model(name, **options)
    return failure.value.message()


def locked_kb(server):
    return int(re.search(r"VmLck:\s+(\d+) kB", pathlib.Path(f"/proc/{server.pid}/status").read_text()).group(1))


def test_answers_are_those_of_the_plain_model(world):
    world.add("inside", 1)
    world.add("outside", 2, external="weights.bin")
    world.add("with-other-key", 3, key_id="other")
    write_plain(world.repository / "plain", 1)
    with world.serve() as server, server.client() as client:
        for name, seed in (("plain", 1), ("inside", 1), ("outside", 2), ("with-other-key", 3)):
            client.load_model(name)
            assert np.array_equal(answer(client, name), weights(seed) + np.float32(1)), name
        inside, plain = (str(client.get_model_config(name, as_json=True)) for name in ("inside", "plain"))
        assert inside.replace("'inside'", "'plain'") == plain, "the configuration was completed from the encrypted file"
        server.wait_logged("outside/1/weights.bin' was decrypted with the key 'main'")
        server.wait_logged("with-other-key/1/model.onnx' was decrypted with the key 'other'")
        assert locked_kb(server) * 1024 < SIZE, "of the plain bytes nothing is left, only keys"
        client.unload_model("inside")
        client.load_model("inside")
        assert np.array_equal(answer(client, "inside"), weights(1) + np.float32(1))


def test_files_that_are_not_as_they_were_written(world):
    model, other = (world.add(name, seed) / "1" / "model.onnx" for name, seed in (("model", 1), ("another", 2)))
    whole = model.read_bytes()
    assert whole[:8] == b"\x89ATLENC\n" and weights(1)[:8].tobytes() not in whole
    # The model is smaller than a chunk, so that the file is a header, its name, one chunk's cipher text, and a tag.
    changed = whole[:50_000] + bytes([whole[50_000] ^ 1]) + whole[50_001:]
    cases = {"is cut: it ends in its header": whole[:100], "is cut: it ends in chunk 1": whole[:140],
             "is damaged: chunk 1 of 1 was changed": changed, "of this file": whole[:128] + other.read_bytes()[128:],
             "or does not belong to this place": whole + b"x", "was encrypted with another key": whole[:20] + b"x" + whole[21:],
             "is encrypted with the key 'unknown', which": whole[:48] + b"unknown" + whole[55:],
             "is encrypted in format 1, expected 2: encrypt the plain file again": whole[:8] + b"\1" + whole[9:]}
    with world.serve() as server, server.client() as client:
        for text, content in cases.items():
            model.write_bytes(content)
            message = refusal(client, "model")
            assert text in message and f"model file '{model}'" in message, (text, message)
        model.write_bytes(whole)
        client.load_model("model")
        assert np.array_equal(answer(client, "model"), weights(1) + np.float32(1))


def test_files_of_a_version_do_not_take_each_others_place(world):
    plain = write_plain(world.folder / "plain" / "model", 1)
    (write_plain(world.folder / "plain" / "other", 2) / "1" / "model.onnx").rename(plain / "1" / "other.onnx")
    version = encrypt(plain, world.repository / "model", world.keys) / "1"
    model, other = (version / name for name in ("model.onnx", "other.onnx"))

    def exchange():
        model.rename(version / "third")
        other.rename(model)
        (version / "third").rename(other)

    with world.serve() as server, server.client() as client:
        exchange()
        message = refusal(client, "model")
        assert f"model file '{model}' was encrypted under the name 'other.onnx', expected 'model.onnx'" in message, message
        exchange()
        client.load_model("model")
        assert np.array_equal(answer(client, "model"), weights(1) + np.float32(1))


def test_a_version_may_get_another_number_and_a_model_another_name(world):
    folder = world.add("model", 1, external="weights.bin")
    shutil.copytree(folder / "1", folder / "2")
    folder.rename(world.repository / "renamed")
    with world.serve() as server, server.client() as client:
        client.load_model("renamed")
        server.wait_logged("renamed/2/weights.bin' was decrypted")
        assert np.array_equal(answer(client, "renamed"), weights(1) + np.float32(1))


def test_keys_change_while_the_server_runs(world):
    world.add("old", 1)
    with world.serve() as server, server.client() as client:
        client.load_model("old")
        world.keys.write(main="1", new="3")
        server.wait_logged("may be encrypted with 'main', 'new'")
        world.add("new", 2, key_id="new")
        client.load_model("new")
        assert np.array_equal(answer(client, "new"), weights(2) + np.float32(1))
        client.unload_model("old")
        world.keys.write(new="3")
        server.newest_line(r"may be encrypted with 'new'$")
        assert "is encrypted with the key 'main', which the file of keys" in refusal(client, "old")
        world.keys.path.write_text("nonsense")
        server.wait_logged("the keys of models are not taken, those read before go on")
        client.unload_model("new")
        client.load_model("new")


def test_a_wrong_key_is_told_from_damage(world):
    world.add("model", 1)
    world.keys.write(main="7")
    with world.serve() as server, server.client() as client:
        assert "was encrypted with another key than the one that is called 'main' here" in refusal(client, "model")


def test_backends_that_need_a_path_refuse_and_name_the_file(world):
    folder = models.write_model(world.folder / "plain", "script", files={"model.py": b"class TritonPythonModel: pass\n"},
                                config='name: "script" backend: "python"\n')
    encrypt(folder, world.repository / "script", world.keys)
    with world.serve() as server, server.client() as client:
        message = refusal(client, "script")
        file = world.repository / "script" / "1" / "model.py"
        assert f"model file '{file}' is encrypted, and backend 'python' needs plain files" in message, message
        assert "backends that run encrypted models: onnxruntime" in message, message


def test_without_the_plugin_the_error_names_it(world):
    world.add("model", 1)
    with world.serve("plugin.model_keys.enabled=false") as server, server.client() as client:
        message = refusal(client, "model")
        assert f"model file '{world.repository}/model/1/model.onnx' is encrypted" in message
        assert "add security/model_keys" in message


def test_the_plugin_comes_and_goes_by_reloads(world):
    world.add("model", 1)
    manifest = world.folder / "atoll.toml"
    without = MANIFEST.read_text().partition("[plugin.model_keys]")[0]
    manifest.write_text(without)
    with Server(world.repository, manifest=manifest, grpc_frontend=None) as server, server.client() as client:
        assert "add security/model_keys" in refusal(client, "model")

        def reload(text, generation):
            manifest.write_text(text)
            server.process.send_signal(signal.SIGHUP)
            server.wait_logged(f"reloaded: generation {generation}, ")

        reload(f'{without}[plugin.model_keys]\nuse = "security/model_keys"\nkeys_file = "{world.keys.path}"\n', 2)
        client.load_model("model")
        assert np.array_equal(answer(client, "model"), weights(1) + np.float32(1))
        reload(without, 3)
        assert np.array_equal(answer(client, "model"), weights(1) + np.float32(1)), "what is loaded goes on"
        client.unload_model("model")
        assert "add security/model_keys" in refusal(client, "model")
        reloads = [line for line in server.log.splitlines() if "reloaded: " in line]
        assert len(reloads) == 2 and not any("onnxruntime" in line for line in reloads), reloads


def test_plain_and_encrypted_files_do_not_mix(world):
    mixed = world.add("mixed", 1, external="weights.bin") / "1"
    encrypted = {name: (mixed / name).read_bytes() for name in ("model.onnx", "weights.bin")}
    plain = {name: (world.folder / "plain" / "mixed" / "1" / name).read_bytes() for name in encrypted}
    with world.serve() as server, server.client() as client:
        (mixed / "weights.bin").write_bytes(plain["weights.bin"])
        assert "weights.bin': found a plain file, expected an encrypted one" in refusal(client, "mixed")
        (mixed / "weights.bin").write_bytes(encrypted["weights.bin"])
        (mixed / "model.onnx").write_bytes(plain["model.onnx"])
        assert "weights.bin' is encrypted, but" in refusal(client, "mixed"), "cipher text is never taken for weights"
        (mixed / "model.onnx").write_bytes(encrypted["model.onnx"])
        client.load_model("mixed")


def test_a_load_may_bring_encrypted_files(world):
    file = (world.add("model", 1) / "1" / "model.onnx").read_bytes()
    with world.serve() as server, server.client() as client:
        client.load_model("brought", config='{"backend": "onnxruntime"}', files={"file:1/model.onnx": file})
        assert np.array_equal(answer(client, "brought"), weights(1) + np.float32(1))


def test_keys_from_a_credential_of_systemd(world):
    world.add("model", 1)
    credentials = world.folder / "credentials"
    credentials.mkdir()
    world.keys.path.rename(credentials / "model-keys")
    with world.serve(place='plugin.model_keys.keys_credential="model-keys"',
                     environment={"CREDENTIALS_DIRECTORY": str(credentials)}) as server, server.client() as client:
        client.load_model("model")
        assert np.array_equal(answer(client, "model"), weights(1) + np.float32(1))


def test_keys_from_a_pipe_that_the_parent_has_opened(world):
    world.add("model", 1)

    class WithPipe(Server):
        def _start(self, command, environment=None):
            super()._start(["bash", "-c", 'keys=$1; shift; exec 9< <(cat "$keys"); exec "$@"', "bash", str(world.keys.path), *command],
                           environment)

    with world.serve(kind=WithPipe, place="plugin.model_keys.keys_descriptor=9") as server, server.client() as client:
        server.wait_logged("file descriptor 9 was read: models may be encrypted with 'main', 'other'")
        client.load_model("model")
        assert np.array_equal(answer(client, "model"), weights(1) + np.float32(1))
