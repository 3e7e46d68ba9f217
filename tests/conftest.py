import os
import pathlib
import shutil
import signal
import sys
import tempfile
import threading

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from support.control import PROTOCOLS, Control  # noqa: E402
from support import left_out  # noqa: E402
from support.grpc_frontends import GRPC_FRONTENDS  # noqa: E402

# A shell that has no terminal starts what it puts into the background with these two ignored, and so would every server of the tests.
signal.signal(signal.SIGQUIT, signal.SIG_DFL)
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Their files share what takes long to make (packages, an installation), so that one process runs all of a folder.
FOLDERS_OF_ONE_PROCESS = ("packages", "sdk")

# What takes longest, longest first: folders of one process and files, as several processes share them. Begun first, none of them
# is what everybody waits for at the end. A new long one belongs here too: `pytest --durations=100` shows it.
LONG_FIRST = ("packages", "sdk", "test_files", "test_gpu_bench_on_double", "test_perf_analyzer", "test_chaos", "test_failing_calls", "test_generation",
              "test_little_memory", "test_unloading_everything", "test_serve", "test_model_control", "test_many_sequences",
              "test_python_workers", "test_python_limits", "test_hangs", "test_flat", "test_grpc_frames", "test_h2spec",
              "test_perf_analyzer_watch", "test_python_loads", "test_python_reload", "test_python_models_examples",
              "test_pytorch_models", "test_endpoint_picker", "test_console_pages", "test_every_edit", "test_testssl", "test_many_connections", "test_slurm", "test_lint")


def hide_python_packages():
    """What backends find in the Python of whoever runs the tests would be another engine on each machine. So no virtual environment is
    active, and the python3 in PATH runs the same program as before, out of an environment that has no packages."""
    os.environ.pop("VIRTUAL_ENV", None)
    real = shutil.which("python3")
    if real is None:
        return None
    folder = pathlib.Path(tempfile.mkdtemp(prefix="atoll-tests-python-"))
    folder.chmod(0o755)  # programs of other users look through PATH too
    (folder / "lib" / "python3.0" / "site-packages").mkdir(parents=True)
    (folder / "pyvenv.cfg").write_text("include-system-site-packages = false\n")
    (folder / "bin").mkdir()
    (folder / "bin" / "python3").write_text(f'#!/bin/sh\nexec "{real}" "$@"\n')
    (folder / "bin" / "python3").chmod(0o755)
    os.environ["PATH"] = f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}"
    return folder


def pytest_configure(config):
    if "PYTEST_XDIST_WORKER" in os.environ:
        # Such a process ignores Ctrl-C, and so would all programs that its tests start.
        signal.signal(signal.SIGINT, signal.default_int_handler)
    config.option.loadscopereorder = False  # xdist would begin with the files of most tests, which are quick
    config.python_folder = hide_python_packages()
    config.addinivalue_line("markers", "xdist_group(name): one process runs all tests of a group, where several run the tests")
    config.addinivalue_line("markers", "as_root: its server runs models as other users; etc/dev/test takes sudo for it")


def pytest_sessionfinish(session, exitstatus):
    session.config.exit_code = int(exitstatus)


def pytest_unconfigure(config):
    if folder := getattr(config, "python_folder", None):
        shutil.rmtree(folder, ignore_errors=True)
    end_threads(config)


def end_threads(config):
    """A test that failed may have left threads behind, which the interpreter would wait for, for ever."""
    left = [thread.name for thread in threading.enumerate() if thread is not threading.main_thread() and not thread.daemon]
    if left:
        print(f"tests have left threads behind: {', '.join(left)}", file=sys.stderr, flush=True)
        sys.stdout.flush()
        os._exit(getattr(config, "exit_code", 1) or 1)


def pytest_terminal_summary(terminalreporter, config):
    for line in left_out.lines(config.args):
        terminalreporter.write_line(line)


def group_of(path):
    return path.parent.name if path.parent.name in FOLDERS_OF_ONE_PROCESS else path.stem


@pytest.hookimpl(tryfirst=True)  # xdist reads the marks in its own hook
def pytest_collection_modifyitems(items):
    """With `-n 2 --dist loadgroup` (etc/dev/test) several processes run the tests; the tests of a file have one server and stay together."""
    place = {name: number for number, name in enumerate(LONG_FIRST)}
    items.sort(key=lambda item: place.get(group_of(item.path), len(place)))
    for item in items:
        item.add_marker(pytest.mark.xdist_group(group_of(item.path)))


def pytest_runtest_setup(item):
    if item.get_closest_marker("as_root"):
        assert os.geteuid() == 0, "the server of this test has to be root's: etc/dev/test runs it with sudo"


@pytest.fixture(params=PROTOCOLS)
def control(request, server):
    """A client of either protocol of a module's own server, which has nothing loaded."""
    with Control(server, request.param) as control:
        for model in control.index():
            control.unload(model)
        yield control


@pytest.fixture(scope="module", params=GRPC_FRONTENDS)
def grpc_frontend(request):
    """The plugin that serves gRPC, for tests that hold for each of them."""
    return request.param
