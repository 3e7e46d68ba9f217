"""The faults of what a server uses: its repository, Redis, launched servers, certificates."""

import datetime
import os
import shutil
import signal
import ssl

from chaos_faults import RECOVERY_S, leased_answers, recovered
from support import models, pki
from support.waiting import eventually


def poll(site):
    """The control plugin is exchanged for one that polls, a model comes and goes, and it is exchanged back."""
    world = site.world
    with world.configuring:
        control = world.manifest["plugin"]["control"]
        folder = world.repository / "polled"
        try:
            world.manifest["plugin"]["control"] = {"use": "control/poll", "interval": "200ms", "settle_time": "100ms"}
            world.reload()
            models.write_add(world.repository, "polled", 9)
            recovered(world, "polled")
            shutil.rmtree(folder)
            with world.client() as client:
                eventually(lambda: not client.is_model_ready("polled"), RECOVERY_S)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
            world.manifest["plugin"]["control"] = control
            world.reload()
    return "a model came and went"


def redis(site):
    """Requests are computed while it is away."""
    server = site.world.places.redis
    with site.world.processing:
        away_s = site.rng.uniform(0, 2)
        server.kill()
        try:
            recovered(site.world, "cached")
            site.end.wait(away_s)
        finally:
            server.start()
        recovered(site.world, "cached")
    return f"away for {away_s:.1f} s"


def launched(site):
    """An instance of a pool: its lease is served again, by the next one."""
    pool = site.world.places.pool
    with site.world.processing:
        (pid,) = pool.pools.processes()
        os.kill(pid, signal.SIGKILL)
        eventually(lambda: pool.pools.processes() and pid not in pool.pools.processes(), RECOVERY_S,
                   lambda: f"no instance in place of {pid}; the log:\n{pool.pools.server.log[-1000:]}")
        for _ in range(3):
            recovered_lease(pool)
    return f"instance {pid}"


def clock(site):
    """Of the server that keeps the pool, two hours on, and two back: leases have the time that they have, no more and no less."""
    pool = site.world.places.pool
    with site.world.processing:
        hour = pool.pools.acquire("hour", pool="chaos", duration="1h", quota=1)
        try:
            pool.step_clock(2)
            moment = pool.pools.acquire("moment", pool="chaos", duration="2s", quota=1)
            ahead = datetime.datetime.fromisoformat(moment["created_at"]) - datetime.datetime.fromisoformat(hour["created_at"])
            assert ahead >= datetime.timedelta(hours=1.9), f"the clock was not stepped: {ahead}"
            pool.step_clock(-2)
            eventually(lambda: pool.pools.lease(moment)["state"] == "EXPIRED", RECOVERY_S,
                       lambda: f"a lease of two seconds is {pool.pools.lease(moment)['state']}")
            recovered_lease(pool)
            assert pool.pools.lease(hour)["state"] == "ACTIVE", f"a lease of one hour is {pool.pools.lease(hour)['state']}"
        finally:
            pool.step_clock(0)
            pool.pools.release(hour)
        recovered_lease(pool)
    return "two hours on, and two back"


def recovered_lease(pool):
    eventually(lambda: leased_answers(pool), RECOVERY_S, lambda: "the leased model does not answer again")


def presented(world):
    """The certificate that a new connection is shown, or None if there is none."""
    host, port = world.tls_address.rsplit(":", 1)
    try:
        return ssl.get_server_certificate((host, int(port)), timeout=RECOVERY_S)
    except OSError:
        return None


def certificates(site):
    """New ones are there without a reload, and each connection gets one or the other."""
    world = site.world
    with world.configuring:
        before = presented(world)
        assert before, "no certificate before it was exchanged"
        pki.sign(world.places.pki, "server")
        new = (world.places.pki / "server.crt").read_text().strip()

        def is_presented():
            now = presented(world)
            assert now, "no certificate while it was exchanged"
            return now.strip() == new
        eventually(is_presented, RECOVERY_S, lambda: "the new certificate is not presented")
    return "the server's"


FAULTS = {"poll": poll, "redis": redis, "launched": launched, "clock": clock, "certificates": certificates}
