"""load_model(), unload_model(), is_model_ready(), get_model_dir()."""

from . import layout, session
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
    if files is not None and not (isinstance(files, dict) and all(
            isinstance(path, str) and isinstance(content, (bytes, bytearray, memoryview)) for path, content in files.items())):
        raise TritonModelException(f"failed to load model '{model_name}', files should be a dictionary of file paths and file "
                                   "contents")
    _prefixed("Failed to load model: ", _load, model_name, config or "", files or {})


def _load(model_name, config, files):
    places = []
    contents = []
    size = 0
    for path, content in files.items():
        places.append([path, size, len(content)])
        contents.append(bytes(content))
        size += len(content)
    # Offsets count from the payload's start, and have as many digits as they have: the text is made with room for them.
    about = {"name": model_name, "config": config, "files": places}
    room = len(to_json(about)) + 20 * len(places)
    for place in places:
        place[1] += room
    text = to_json(about)
    payload = b"".join([text, b" " * (room - len(text)), *contents])
    _calls().ask_with(layout.LOAD_MODEL, payload, room)


def unload_model(model_name, unload_dependents=False):
    about = {"name": model_name, "unload_dependents": bool(unload_dependents)}
    _prefixed("Failed to unload model: ", lambda: _calls().ask(layout.UNLOAD_MODEL, about))


def is_model_ready(model_name, model_version=""):
    about = {"name": model_name, "version": str(model_version)}
    return _prefixed("Failed to check model readiness: ", lambda: _calls().ask(layout.MODEL_READY, about)) != 0


def get_model_dir():
    return session.get().model_directory
