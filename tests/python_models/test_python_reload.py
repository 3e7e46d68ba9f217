"""Development mode of Python models: what is saved is loaded, what is broken is refused while the old one serves."""

import os
import textwrap
import threading

import pytest
from support import python_models
from support.control import EXPLICIT, PROTOCOLS, Control
from support.server import Server
from support.waiting import eventually

WATCH = "plugin.python.watch=true"
CONSTANT = """\
def execute(self, requests):
    return [answer(value(request) * 0 + {}) for request in requests]
"""


def program(body):
    return python_models.HEAD + "class TritonPythonModel:\n" + textwrap.indent(textwrap.dedent(body), "    ")


def save(repository, text, file="model.py", model="edited"):
    """As editors do: another file, renamed."""
    path = repository / model / "1" / file
    other = path.with_name(f".{file}.new")
    other.write_text(text)
    os.replace(other, path)


@pytest.fixture
def repository(tmp_path):
    python_models.write(tmp_path, "edited", CONSTANT.format(1), dims=(4,))
    return tmp_path


@pytest.fixture
def server(repository):
    with Server(repository, python_models.INTERPRETER, WATCH) as running:
        yield running.wait_ready()


def answers(control, expected, model="edited"):
    eventually(lambda: control.infer(model)[1] == expected)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_what_is_saved_is_loaded(server, repository, protocol):
    with Control(server, protocol) as control:
        answers(control, 1)
        save(repository, program(CONSTANT.format(2)))
        answers(control, 2)
        (repository / "edited" / "1" / "model.py").write_text(program(CONSTANT.format(3)))
        answers(control, 3)
        assert control.index()["edited"] == {"1": ("READY", "")}


def test_a_module_beside_the_model_counts(server, repository):
    with Control(server, "grpc") as control:
        (repository / "edited" / "1" / "numbers_of_it.py").write_text("NUMBER = 5\n")
        save(repository, "from numbers_of_it import NUMBER\n" + program(CONSTANT.format("NUMBER")))
        answers(control, 5)
        save(repository, "NUMBER = 6\n", "numbers_of_it.py")
        answers(control, 6)


BROKEN = {
    "syntax": ("def execute(:\n", "SyntaxError: invalid syntax"),
    "import": ("import no_such_module_anywhere\n", "ModuleNotFoundError: No module named 'no_such_module_anywhere'"),
    "initialize": (program("""\
        def initialize(self, args):
            raise RuntimeError("it is broken now")
        def execute(self, requests):
            return []
        """), "RuntimeError: it is broken now"),
    "death": (program("""\
        def initialize(self, args):
            os._exit(9)
        def execute(self, requests):
            return []
        """), "exited with status 9"),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_what_is_broken_is_refused_and_the_old_one_serves(server, repository, kind):
    text, failure = BROKEN[kind]
    with Control(server, "grpc") as control, Control(server, "http") as http:
        answers(control, 1)
        save(repository, text)
        eventually(lambda: failure in control.index()["edited"]["1"][1])
        state, reason = control.index()["edited"]["1"]
        assert state == "READY" and reason.startswith("serves what was loaded before the last load failed: ")
        assert "\n" not in reason
        assert http.index()["edited"]["1"] == (state, reason)
        assert control.infer("edited")[1] == 1
        assert control.client.is_model_ready("edited") and control.client.is_server_ready()
        if kind != "death":
            server.wait_logged("Traceback (most recent call last)")
        server.wait_logged("what was loaded before keeps serving")
        save(repository, program(CONSTANT.format(2)))
        answers(control, 2)
        eventually(lambda: control.index()["edited"] == {"1": ("READY", "")})


def test_no_request_is_lost_while_models_are_saved(server, repository):
    stop, failures = threading.Event(), []

    def ask_on():
        with Control(server, "grpc") as control:
            while not stop.is_set():
                try:
                    control.infer("edited")
                except Exception as error:  # any at all is one too many
                    failures.append(error)

    clients = [threading.Thread(target=ask_on) for _ in range(4)]
    for client in clients:
        client.start()
    try:
        with Control(server, "grpc") as control:
            for number in range(2, 6):
                save(repository, program(CONSTANT.format(number)))
                answers(control, number)
    finally:
        stop.set()
        for client in clients:
            client.join()
    assert failures == []


def exchange_link(link, target):
    """As deploy tools do: another link, renamed."""
    other = link.with_name("..other")
    other.symlink_to(target)
    os.replace(other, link)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_link_above_the_repository_may_be_exchanged(tmp_path, protocol):
    for number in (1, 2, 3):
        python_models.write(tmp_path / f"release{number}", "edited", CONSTANT.format(number), dims=(4,))
    (tmp_path / "current").symlink_to("release1")
    with Server(tmp_path / "current", python_models.INTERPRETER, WATCH) as server, Control(server, protocol) as control:
        server.wait_ready()
        answers(control, 1)
        for number in (2, 3, 1):
            exchange_link(tmp_path / "current", f"release{number}")
            answers(control, number)
        # What serves is watched, and nothing else.
        save(tmp_path / "release2", program(CONSTANT.format(9)))
        save(tmp_path / "release1", program(CONSTANT.format(7)))
        answers(control, 7)
        assert control.index()["edited"] == {"1": ("READY", "")}


def test_a_program_mounted_as_a_config_map_may_be_exchanged(tmp_path):
    python_models.write(tmp_path, "edited", CONSTANT.format(1), dims=(4,))
    version = tmp_path / "edited" / "1"
    for number in (1, 2, 3):
        (version / f"..{number}").mkdir()
        (version / f"..{number}" / "model.py").write_text(program(CONSTANT.format(number)))
    (version / "..data").symlink_to("..1")
    (version / "model.py").unlink()
    (version / "model.py").symlink_to("..data/model.py")
    with Server(tmp_path, python_models.INTERPRETER, WATCH) as server, Control(server, "grpc") as control:
        server.wait_ready()
        answers(control, 1)
        for number in (2, 3):
            exchange_link(version / "..data", f"..{number}")
            answers(control, number)


def test_a_changed_configuration_is_loaded_too(server, repository):
    config = repository / "edited" / "config.pbtxt"
    with server.client() as client:
        assert client.get_model_config("edited").config.max_batch_size == 0
        config.write_text(config.read_text().replace("max_batch_size: 0", "max_batch_size: 8"))
        eventually(lambda: client.get_model_config("edited").config.max_batch_size == 8)


def test_a_model_that_never_loaded_is_tried_again(tmp_path):
    python_models.write(tmp_path, "edited", "def execute(self):\n", dims=(4,))
    with Server(tmp_path, python_models.INTERPRETER, WATCH) as server, Control(server, "grpc") as control:
        eventually(lambda: control.index()["edited"].get("1", ("", ""))[0] == "UNAVAILABLE")
        save(tmp_path, program(CONSTANT.format(4)))
        eventually(lambda: control.index()["edited"]["1"] == ("READY", ""))
        answers(control, 4)


def test_an_unloaded_model_stays_so(repository):
    python_models.write(repository, "other", CONSTANT.format(1), dims=(4,))
    with Server(repository, python_models.INTERPRETER, WATCH, EXPLICIT, 'plugin.control.load_model=["*"]') as server:
        server.wait_ready()
        with Control(server, "grpc") as control:
            control.unload("edited")
            eventually(lambda: control.index()["edited"]["1"][0] == "UNAVAILABLE")
            save(repository, program(CONSTANT.format(2)))
            save(repository, program(CONSTANT.format(2)), model="other")
            answers(control, 2, "other")  # so the other change was seen, too
            assert control.index()["edited"]["1"] == ("UNAVAILABLE", "unloaded")
            control.load("edited")
            answers(control, 2)
            save(repository, program(CONSTANT.format(3)))
            answers(control, 3)


def test_a_model_may_say_so_itself(tmp_path):
    parameter = 'parameters {{ key: "watch" value {{ string_value: "{}" }} }}'
    python_models.write(tmp_path, "edited", CONSTANT.format(1), dims=(4,), extra=parameter.format("true"))
    python_models.write(tmp_path, "fixed", CONSTANT.format(1), dims=(4,))
    python_models.write(tmp_path, "wrong", CONSTANT.format(1), dims=(4,), extra=parameter.format("perhaps"))
    with Server(tmp_path, python_models.INTERPRETER, "plugin.models.strict_readiness=false") as server:
        with Control(server, "grpc") as control:
            eventually(lambda: control.client.is_model_ready("edited") and control.client.is_model_ready("fixed"))
            eventually(lambda: control.index()["wrong"].get("1", ("", ""))[1].endswith(
                "model 'wrong': parameter 'watch' is 'perhaps', expected true or false"))
            save(tmp_path, program(CONSTANT.format(2)), model="fixed")
            save(tmp_path, program(CONSTANT.format(2)))
            answers(control, 2)
            assert control.infer("fixed")[1] == 1
