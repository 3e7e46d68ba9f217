"""That a server in which models come and go without end takes no more than it did after the first of them."""

from support.server import MEMORY_SLACK_BYTES, usage

WARM_UP = 100
ROUNDS = 1000


def check_reloads_are_flat(server, load_run_unload):
    """load_run_unload: is called 1,100 times"""
    warm = []
    for _ in range(WARM_UP):
        load_run_unload()
        warm.append(usage(server.pid))
    for _ in range(ROUNDS):
        load_run_unload()
    after = usage(server.pid)
    # Threads and descriptors come and go by themselves, so their highest numbers of before are what is allowed.
    for what in ("threads", "descriptors"):
        assert after[what] <= max(one[what] for one in warm), (what, warm[-1], after)
    # Of a round not even 16 KiB.
    assert after["resident_bytes"] <= max(one["resident_bytes"] for one in warm) + MEMORY_SLACK_BYTES + (8 << 20), (warm[-1], after)
