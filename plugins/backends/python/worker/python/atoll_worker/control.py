"""load_model(), unload_model(), is_model_ready(), get_model_dir()."""

from . import layout, session
from .arguments import text
from .errors import TritonModelException
from .link import to_json


def _calls():
    current = session.get()
    if not current.can_call:
        raise TritonModelException("model control is only supported from 'initialize' to the end of 'execute'.")
    return current.calls


def _prefixed(prefix, call, *arguments):
    try:
        return call(*arguments)
    except TritonModelException as error:
        raise TritonModelException(prefix + str(error)) from None


def load_model(model_name, config="", files=None):
    model_name = text(model_name, "load_model() expects model_name")
    config = text(config, "load_model() expects config")
    if files is not None and not (isinstance(files, dict) and all(
            isinstance(path, (str, bytes)) and isinstance(content, (bytes, bytearray, memoryview)) for path, content in files.items())):
        raise TritonModelException(f"failed to load model '{model_name}', files should be a dictionary of file paths and file "
                                   "contents")
    _prefixed("Failed to load model: ", _load, model_name, config, files or {})


def _load(model_name, config, files):
    places = []
    contents = []
    size = 0
    for path, content in files.items():
        places.append([text(path, "load_model() expects paths of files"), size, len(content)])
        contents.append(bytes(content))
        size += len(content)
    # Offsets count from the payload's start, and have as many digits as they have: the text is made with room for them.
    about = {"name": model_name, "config": config, "files": places}
    room = len(to_json(about)) + 20 * len(places)
    for place in places:
        place[1] += room
    head = to_json(about)
    payload = b"".join([head, b" " * (room - len(head)), *contents])
    _calls().ask_with(layout.LOAD_MODEL, payload, room)


def unload_model(model_name, unload_dependents=False):
    about = {"name": text(model_name, "unload_model() expects model_name"), "unload_dependents": bool(unload_dependents)}
    _prefixed("Failed to unload model: ", lambda: _calls().ask(layout.UNLOAD_MODEL, about))


def is_model_ready(model_name, model_version=""):
    version = model_version if isinstance(model_version, (str, bytes)) else str(model_version)  # a number too
    about = {"name": text(model_name, "is_model_ready() expects model_name"),
             "version": text(version, "is_model_ready() expects model_version")}
    return _prefixed("Failed to check model readiness: ", lambda: _calls().ask(layout.MODEL_READY, about)) != 0


def get_model_dir():
    return session.get().model_directory
