"""What a run has beside the server: a small disk, Redis, certificates, a server that keeps a pool. Each may be impossible here."""

import contextlib
import glob
import os
import pathlib
import shutil

import chaos_disks
import chaos_embedded
import chaos_models
from chaos_world import is_built
from support import models, pki
from support.pools import Pools
from support.redis import Redis
from support.server import BUILD

# Where distributions install it. A search of whole trees would follow links for ever.
CLOCK_LIBRARIES = ("/usr/lib/*/faketime/libfaketimeMT.so.1", "/usr/lib64/faketime/libfaketimeMT.so.1",
                   "/usr/lib/faketime/libfaketimeMT.so.1")
POOL_PLUGINS = ("pools/leases", "launchers/process", "placement/best_fit", "control/explicit", "backends/identity")


def clock_library():
    """libfaketime for programs with threads, or None. ATOLL_FAKETIME: where it is"""
    return os.environ.get("ATOLL_FAKETIME") or next((path for pattern in CLOCK_LIBRARIES for path in glob.glob(pattern)), None)


def impossible():
    """{kind of fault, or "KIND clients": why it cannot be had on this machine}"""
    found = {}
    if shutil.which("redis-server") is None:
        found["redis"] = "no redis-server"
    elif not is_built("caches/redis"):
        found["redis"] = "caches/redis is not built"
    if not is_built("control/poll"):
        found["poll"] = "control/poll is not built"
    if not (BUILD / "bin" / "tritonserver").exists():
        found["launched"] = "bin/tritonserver is not built"
    elif missing := [plugin for plugin in POOL_PLUGINS if not is_built(plugin)]:
        found["launched"] = f"{missing[0]} is not built"
    if shutil.which("openssl") is None:
        found["certificates"] = "no openssl"
    found |= chaos_disks.impossible()
    if "launched" in found:
        found["clock"] = "no pool"
    elif clock_library() is None:
        found["clock"] = "no libfaketime"
    if not is_built("frontends/openai"):
        found["openai clients"] = "frontends/openai is not built"
    if "launched" in found:
        found["leased clients"] = found["launched"]
    if missing := chaos_embedded.missing():
        found["c_api clients"] = f"{missing} is not built"
    return found


class Pool:
    """A server that keeps a pool, with one model leased for the whole run."""

    def __init__(self, folder):
        folder.mkdir()
        self._clock, library = folder / "clock", clock_library()
        self.step_clock(0)
        # Steps of the clock alone: waiting is by the monotonic one.
        clock = {"LD_PRELOAD": library, "FAKETIME_TIMESTAMP_FILE": str(self._clock), "FAKETIME_NO_CACHE": "1",
                 "FAKETIME_DONT_FAKE_MONOTONIC": "1"}
        for name in ("leased", "hour", "moment"):
            models.write_model(folder / "models", name, models.identity_config(name, dims=(chaos_models.ELEMENTS,)))
        self.pools = Pools(folder, folder / "models", environment=clock if library else None)

    def __enter__(self):
        try:
            self.pools.start()
            self.pools.create("chaos", max_instances=2, enforce_backends=False)
            self.pools.acquire("leased", pool="chaos", duration="24h")
        except BaseException:
            self.__exit__()
            raise
        return self

    def step_clock(self, hours):
        """The server's clock is so much ahead of this machine's."""
        beside = self._clock.with_suffix(".new")
        beside.write_text(f"{hours * 3600:+d}\n")
        beside.rename(self._clock)

    @property
    def http_address(self):
        return self.pools.server.http_address

    def __exit__(self, *_):
        self.pools.close()


class Places:
    """All that is possible. Use as a context manager, around the server."""

    def __init__(self, folder, unavailable):
        self.folder, self._unavailable = pathlib.Path(folder), unavailable
        self.redis = self.pki = self.pool = self.disk = self.program = None

    def __enter__(self):
        with contextlib.ExitStack() as stack:
            if "redis" not in self._unavailable:
                self.redis = stack.enter_context(Redis())
            if "full disk" not in self._unavailable:
                image = self.folder / "disk" if "slow disk" not in self._unavailable else None
                self.disk = stack.enter_context(chaos_disks.Disk(self.folder / "tmp", image))
            if "certificates" not in self._unavailable:
                self.pki = self.folder / "pki"
                self.pki.mkdir()
                pki.make_pki(self.pki)
            if "launched" not in self._unavailable:
                self.pool = stack.enter_context(Pool(self.folder / "pool"))
            if "c_api clients" not in self._unavailable:
                self.program = stack.enter_context(chaos_embedded.Program(self.folder / "program"))
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_):
        self._stack.close()
