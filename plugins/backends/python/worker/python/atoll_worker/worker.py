"""The worker's life: what the server asks for on the work ring, one after the other."""

import gc
import json
import os
import signal
import sys

from . import cpus, layout, logger, session
from .calls import Calls
from .ending import end_worker
from .errors import exception_text, traceback_text
from .link import Link, ProtocolError
from .native import WHY_NOT, die_with_parent

_IDLE_MS = 1000


def main(fd, leaves_first_cpu=False):
    """The exit status.

    leaves_first_cpu -- the server has started this process on all CPUs but one, for as long as the model loads
    """
    cpus.forget_preloaded()
    # Not SIG_IGN, which programs that the model starts would inherit.
    signal.signal(signal.SIGINT, _no_action)
    signal.signal(signal.SIGTERM, _no_action)
    parent = os.getppid()
    die_with_parent()
    if os.getppid() != parent:
        return 1  # it was gone before
    try:
        link = Link(fd)
    except (ProtocolError, OSError, ValueError) as error:
        print(f"the worker cannot start: {error}", file=sys.stderr, flush=True)
        return 3
    try:
        link.watch()
        Worker(link, leaves_first_cpu).run()
    except BaseException as error:  # the interpreter would first wait for the model's threads, and nobody would learn of it
        end_worker("of an exception", error)
    return 0


def _no_action(number, frame):
    pass


class Worker:
    """Of one model instance."""

    def __init__(self, link, leaves_first_cpu):
        self._link = link
        self._leaves_first_cpu = leaves_first_cpu
        self._session = session.current = session.Session(link)
        self._session.calls = Calls(link)
        self._model = None
        self._module_path = ""
        self._runner = None

    def run(self):
        logger.take_over_logging()
        handlers = {layout.INITIALIZE: self._initialize, layout.AUTO_COMPLETE: self._auto_complete}
        timeout = -1
        while True:
            message = self._link.receive(self._link.work, timeout)
            if message is None:
                self._link.arena.rest()
                timeout = -1
                continue
            timeout = _IDLE_MS
            if message[0] == layout.FINALIZE:
                self._finalize()
                return
            if message[0] == layout.EXECUTE:
                self._runner.run(message)
                continue
            handler = handlers.get(message[0])
            if handler is None:
                raise ProtocolError(f"the server sent a message of type {message[0]} on the work ring")
            handler(message)

    def _content(self, message):
        """The JSON of a message; its block is given back."""
        return json.loads(bytes(self._link.block(message)))

    def _load(self, content):
        from . import loader  # late, as NumPy is: the process is there sooner
        self._session.model_name = content["model_name"]
        self._session.model_directory = content["model_directory"]
        self._module_path = content["module_path"]
        loader.import_contract()
        return loader.import_model(content["module_path"], content["module_name"], content["paths"])

    def _auto_complete(self, message):
        content = self._content(message)
        try:
            module = self._load(content)
            answer = {"config": self._completed(module, content)}
        except BaseException as error:
            answer = {"error": self._failure("auto_complete_config", error)}
        self._link.send_json(layout.AUTO_COMPLETED, answer)

    def _completed(self, module, content):
        function = getattr(module.TritonPythonModel, "auto_complete_config", None)
        if function is None:
            return None
        from .model_config import ModelConfig, to_plain
        completed = function(ModelConfig(content["config"]))
        if not isinstance(completed, ModelConfig):
            raise _BareError(f"auto_complete_config function in model '{content['model_name']}' must return a valid pb.ModelConfig "
                             "object.")
        return to_plain(completed.as_dict(), "")

    def _initialize(self, message):
        from . import outbox, runner
        content = self._content(message)
        self._session.instance_name = content["instance_name"]
        self._session.is_decoupled = content["decoupled"]
        config = json.loads(content["args"].get("model_config", "{}"))
        self._session.is_iterative = bool(config.get("sequence_batching", {}).get("iterative_sequence", False))
        self._session.output_names = frozenset(output["name"] for output in config.get("output", ()))
        self._session.outbox = outbox.Outbox(self._link, self._session)
        self._session.can_call = True
        if WHY_NOT:
            logger.send(logger.WARNING, f"{sys.executable} does not load Atoll's module, a slower one in Python takes its place: "
                        f"{WHY_NOT}", "", 0)
        try:
            module = self._load(content)
            self._model = module.TritonPythonModel()
            if hasattr(self._model, "initialize"):
                self._model.initialize(content["args"])
        except BaseException as error:
            self._link.send_json(layout.INITIALIZED, {"error": self._failure("initialize", error)})
            return
        self._runner = runner.Runner(self._session, self._model, content["module_path"])
        self._session.can_infer = True
        if self._runner.has_probe():
            self._session.calls.on_probe = self._runner.probe
            self._session.calls.start_reader()
        # What is there now stays: collections need not look at it again, nor touch pages that a fork would share.
        gc.collect()
        gc.freeze()
        if self._leaves_first_cpu:
            cpus.use_all()
        self._link.send_json(layout.INITIALIZED, {"is_ready": self._runner.has_probe()})

    def _failure(self, hook, error):
        if isinstance(error, _BareError):
            return str(error)
        logger.send(logger.ERROR, f"{hook} of model '{self._session.model_name}' failed:\n{traceback_text(error)}", "", 0)
        text = exception_text(error)
        if isinstance(error, ModuleNotFoundError):
            from . import loader
            text += loader.left_behind(self._module_path, error.name) or (
                f"; the model runs in {sys.executable}: the model's parameter PYTHON_EXECUTABLE or EXECUTION_ENV_PATH, or the "
                "option 'interpreter' of backends/python, chooses another Python")
        return text

    def _finalize(self):
        self._session.can_infer = False
        if self._runner is not None and hasattr(self._model, "finalize"):
            try:
                self._model.finalize()
            except BaseException as error:
                self._failure("finalize", error)
        self._session.can_call = False
        self._model = self._runner = None
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except (OSError, ValueError):
                pass  # closed by the model
        if self._leaves_first_cpu:
            cpus.leave_first()  # its memory is given back now
        self._link.send(layout.FINALIZED)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


class _BareError(Exception):
    """Its text is the answer as it is."""
