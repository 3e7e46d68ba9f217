"""etc/dev/fetch-llamacpp --compile: the engine compiled from the sources serves as the prebuilt one does. Takes ten minutes of two CPUs, so
it runs where ATOLL_TEST_COMPILES is "all"."""

import json
import shutil
import subprocess
import urllib.request

from support.language_models import ENGINE, LLAMACPP, PlainLoop, add_model, model_file
from support.server import ROOT, Server

PROMPT = "10, 20, 30, 40, 50, 60,"


def add_own_files(made, engine):
    """What the build makes to go with the libraries: the chat library is linked with them, the program opens them."""
    shutil.copy(ENGINE / "atoll-llamacpp-probe", engine)
    subprocess.run(["g++", "-std=c++20", "-O1", "-shared", "-fPIC", f"-I{ROOT}/plugins", f"-I{ROOT}/sdk/include", f"-isystem{made}/include",
                    ROOT / "plugins/backends/llamacpp/chat/chat_library.cc", f"-L{engine}", "-lllama-common", "-lllama",
                    "-Wl,-rpath,$ORIGIN", "-Wl,--disable-new-dtags", "-o", engine / "libatoll_llamacpp_chat.so"], check=True)


def test_the_compiled_engine_says_what_the_prebuilt_one_does(tmp_path):
    (tmp_path / "etc/dev").mkdir(parents=True)
    program = shutil.copy(ROOT / "etc/dev/fetch-llamacpp", tmp_path / "etc/dev")
    subprocess.run([program, "--compile"], check=True)
    made = tmp_path / "build/deps/llamacpp"
    assert "compiled from the sources, for this CPU" in (made / "VERSION").read_text()
    again = subprocess.run([program, "--compile"], check=True, capture_output=True, text=True)
    assert again.stdout == "", "there was nothing left to do"
    engine = made / "lib"
    assert (engine / "cpu_flags").exists()
    add_own_files(made, engine)
    expected = PlainLoop(model_file()).most_likely(PROMPT, 16)
    add_model(tmp_path / "models")
    body = {"text_input": PROMPT, "exclude_input_in_output": True, "sampling_parameters": '{"temperature": 0, "max_tokens": 16}'}
    with Server(tmp_path / "models", *LLAMACPP, f'plugin.llamacpp.library="{engine}"') as server:
        server.wait_ready("smol")
        server.wait_active()
        request = urllib.request.Request(f"http://{server.http_address}/v2/models/smol/generate", json.dumps(body).encode())
        with urllib.request.urlopen(request, timeout=120) as answer:
            assert json.load(answer)["text_output"] == expected
