"""The disk that the server's traces and clients' files go to: full, read-only, and so slow that it stands still."""

import contextlib
import pathlib
import shutil
import subprocess
import tempfile

from chaos_faults import RECOVERY_S, recovered
from support import models
from support.waiting import eventually
from tritonclient.utils import InferenceServerException

DISK_BYTES = 64 << 20
FULL_S = 1.0  # traces are written once a second
STANDSTILLS = 3
SENT_CONFIG = '{"backend":"onnxruntime"}'
TRACED = 50  # requests while something is wrong with the disk
# Writes wait until a line comes, or whoever would send it is gone.
STAND_STILL = 'fsfreeze -f "$0" && echo stands && read line; fsfreeze -u "$0"'


def run(*command):
    subprocess.run([str(word) for word in command], check=True, capture_output=True)


class Disk:
    """A folder that is a small disk of its own. image: a file that holds it, or None: memory does"""

    def __init__(self, folder, image=None):
        self.folder, self._image = folder, image

    def __enter__(self):
        if self._image is None:
            run("mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES},mode=755", "tmpfs", self.folder)
            return self
        with open(self._image, "wb") as image:
            image.truncate(DISK_BYTES)
        run("mkfs.ext4", "-q", "-m", "0", self._image)
        run("mount", "-o", "loop", self._image, self.folder)
        return self

    def __exit__(self, *_):
        run("umount", "-l", self.folder)

    def remount(self, how):
        """how: "ro" or "rw". Nothing may be open for writing when it becomes read-only: what is, is only for a moment."""
        def is_done():
            return subprocess.run(["mount", "-o", f"remount,{how}", str(self.folder)], capture_output=True).returncode == 0
        eventually(is_done, RECOVERY_S, lambda: f"the disk cannot be mounted {how}")

    @contextlib.contextmanager
    def standing_still(self):
        """Whatever writes waits. Reading goes on."""
        with subprocess.Popen(["sh", "-c", STAND_STILL, str(self.folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              text=True) as process:
            stands = process.stdout.readline()
            try:
                assert stands == "stands\n", "the disk cannot be brought to a standstill"
                yield
            finally:
                process.communicate("\n")


def impossible():
    """{kind of fault: why it cannot be had on this machine}"""
    with tempfile.TemporaryDirectory() as folder:
        if shutil.which("mount") is None or not _can(Disk(pathlib.Path(folder))):
            return {kind: "no mount" for kind in FAULTS}
    with tempfile.TemporaryDirectory() as folder, tempfile.NamedTemporaryFile() as image:
        return {} if _can(Disk(pathlib.Path(folder), image.name), stands_still=True) else {"slow disk": "no disk in a file that can be frozen"}


def _can(disk, stands_still=False):
    try:
        with disk:
            with disk.standing_still() if stands_still else contextlib.nullcontext():
                return True
    except (subprocess.CalledProcessError, OSError, AssertionError):
        return False


def sent_files():
    return {"file:1/model.onnx": models.onnx_add(9)}


def send(client):
    client.load_model("polled", config=SENT_CONFIG, files=sent_files(), client_timeout=RECOVERY_S)


def load_files(world):
    """A model of files that the client sends comes, is asked, and goes."""
    with world.client() as client:
        send(client)
        recovered(world, "polled")
        client.unload_model("polled", client_timeout=RECOVERY_S)
        eventually(lambda: not client.is_model_ready("polled"), RECOVERY_S)


@contextlib.contextmanager
def traced(site):
    """Some requests are traced meanwhile; afterwards all is as it was."""
    with site.world.configuring, site.world.client() as client:
        client.update_trace_settings(None, {"trace_level": ["TIMESTAMPS"], "trace_rate": "1", "trace_count": str(TRACED)})
        yield client
        client.update_trace_settings(None, {"trace_level": ["OFF"]})
        load_files(site.world)


def fill(file):
    with contextlib.suppress(OSError), open(file, "wb", buffering=0) as ballast:
        while True:
            ballast.write(bytes(1 << 20))


def full(site):
    """Serving goes on, a load fails or not, and afterwards it is done."""
    ballast = site.world.places.disk.folder / "ballast"
    with traced(site) as client:
        try:
            fill(ballast)
            with contextlib.suppress(InferenceServerException):
                send(client)
            recovered(site.world, "echo", "add")
            site.end.wait(FULL_S)
        finally:
            ballast.unlink(missing_ok=True)
    return f"{ballast.parent}"


def read_only(site):
    """Serving goes on, and a load of files that would have to be written fails."""
    disk = site.world.places.disk
    with traced(site) as client:
        try:
            disk.remount("ro")
            try:
                send(client)
            except InferenceServerException as error:
                said = error.message()
            else:
                raise AssertionError("files were kept on a disk that is read-only")
            recovered(site.world, "echo", "add")
            site.end.wait(FULL_S)
        finally:
            disk.remount("rw")
    return f"{disk.folder}: {said[:200]}"


def slow(site):
    """Serving does not wait for the disk, and what does wait for it is done afterwards."""
    disk = site.world.places.disk
    with traced(site) as client:
        for _ in range(STANDSTILLS):
            with disk.standing_still():
                recovered(site.world, "echo", "add", "py")
                site.end.wait(site.rng.uniform(0, FULL_S / STANDSTILLS))
        send(client)
    return f"{disk.folder} stood still {STANDSTILLS} times"


FAULTS = {"full disk": full, "read-only disk": read_only, "slow disk": slow}
