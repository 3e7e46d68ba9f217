"""The CPUs of a worker that keeps off the server's first one while its model loads, and again at its end: requests of other models find it free."""

import contextlib
import os

_ROUNDS = 10  # threads that are made meanwhile have what their maker had
_PRELOADED = "/libatoll_worker_cpus.so"


def forget_preloaded():
    """Programs that the model starts have nothing to do with it."""
    others = [path for path in os.environ.pop("LD_PRELOAD", "").split(":") if path and not path.endswith(_PRELOADED)]
    if others:
        os.environ["LD_PRELOAD"] = ":".join(others)


def use_all():
    """For the threads and processes that the model has made, too, but for those that it gave CPUs of their own."""
    every, without_first = _of_server()
    seen = set()
    for _ in range(_ROUNDS):
        tasks = set(_tasks())
        if tasks <= seen:
            return
        for task in tasks - seen:
            with contextlib.suppress(OSError):  # it has ended, or is another user's
                if os.sched_getaffinity(task) in (every, without_first):
                    os.sched_setaffinity(task, every)
        seen |= tasks


def leave_first():
    with contextlib.suppress(OSError):
        os.sched_setaffinity(0, _of_server()[1])


def _of_server():
    every = os.sched_getaffinity(os.getppid())
    return every, every - {min(every)} or every


def _tasks():
    """Threads of this process and of those that it has started, by their numbers."""
    processes = [os.getpid()]
    while processes:
        folder = f"/proc/{processes.pop()}/task"
        with contextlib.suppress(OSError):
            for task in os.listdir(folder):
                yield int(task)
                with contextlib.suppress(OSError), open(f"{folder}/{task}/children") as children:
                    processes += map(int, children.read().split())
