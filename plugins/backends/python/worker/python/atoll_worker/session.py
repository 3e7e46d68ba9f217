"""What this process serves: one model instance, or nothing when the modules are used without a server."""

from .errors import TritonModelException


class Session:
    """Filled in by the worker as it goes."""

    def __init__(self, link):
        self.link = link
        self.calls = None  # calls.Calls
        self.outbox = None  # outbox.Outbox
        self.model_name = ""
        self.instance_name = ""
        self.model_directory = ""
        self.is_decoupled = False
        self.is_iterative = False  # its requests may come again, as set_release_flags() says
        self.output_names = frozenset()  # of the configuration
        self.can_infer = False  # between initialize and finalize
        self.can_call = False  # since before initialize, until finalize


current = None


def get():
    """The session; without one there is no server to talk to."""
    if current is None:
        raise TritonModelException("This works in a model that a server runs; there is no server.")
    return current
